"""Routes of the read API, under /api/."""

from django.urls import path

from leaderboard import api, api_kernels, api_runs

_PROBLEM = "<str:op_class>/<str:sub_class>/<str:quant>"
_KERNEL = f"kernels/<str:arch>/{_PROBLEM}/<str:name>"

urlpatterns = [
    path("index.json", api.index),
    path("problems", api.problems),
    path(f"problems/{_PROBLEM}", api.problem),
    path(f"boards/<str:arch>/{_PROBLEM}", api.board),
    path("kernels", api_kernels.kernels),
    path(_KERNEL, api_kernels.kernel),
    path(f"{_KERNEL}/bench-history", api_kernels.bench_history),
    path(f"{_KERNEL}/source", api_kernels.source),
    path("runs/<uuid:uuid>", api_runs.run),
]
