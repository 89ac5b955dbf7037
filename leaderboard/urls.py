"""Routes of the reading pages, the submit form and the session."""

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path, re_path
from django.views.generic import RedirectView

from leaderboard import submit_page, views
from leaderboard.theme import theme

app_name = "leaderboard"

urlpatterns = [
    path("", views.home, name="home"),
    re_path(r"^(?:boards|kernels)/?$", RedirectView.as_view(url="/")),
    path("problems/", views.problems, name="problems"),
    path("problems", RedirectView.as_view(pattern_name="leaderboard:problems")),
    path("problems/<path:problem_id>", views.problem, name="problem"),
    path("boards/<path:board_id>", views.board, name="board"),
    path("kernels/<path:kernel_id>/source.tar.gz", views.kernel_download, name="download"),
    path("kernels/<path:kernel_id>", views.kernel, name="kernel"),
    path("submissions/", views.submissions, name="submissions"),
    path("submissions", RedirectView.as_view(pattern_name="leaderboard:submissions", query_string=True)),
    path("submissions/<uuid:uuid>", views.submission, name="submission"),
    path("submissions/<uuid:uuid>/cancel", submit_page.cancel, name="cancel"),
    path("submit", submit_page.submit, name="submit"),
    path("login", LoginView.as_view(template_name="login.html"), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
    path("theme", theme, name="theme"),
]
