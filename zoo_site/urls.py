"""Every route of the site: pages, the API, the admin."""

from importlib.util import find_spec

from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from zoo_site import health

admin.site.site_header = "Kernel Zoo"
admin.site.site_title = "Kernel Zoo admin"
admin.site.index_title = "Triage"

urlpatterns = [
    path("admin/", admin.site.urls),
    path("webui/", RedirectView.as_view(url="/")),
    path("api/health", health.health),
] + [
    path("api/" if module.endswith("api_urls") else "", include(module))
    for module in (
        "submissions.api_urls",
        "runners.api_urls",
        "leaderboard.api_urls",
        "runners.urls",
        "leaderboard.urls",
    )
    if find_spec(module)
]
