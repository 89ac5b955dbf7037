"""Routes of the queue and of the fleet."""

from django.urls import path
from django.views.generic import RedirectView

from runners import views

app_name = "runners"

urlpatterns = [
    path("queue", views.queue, name="queue"),
    path("runners", views.runners, name="runners"),
    path("runners/", RedirectView.as_view(pattern_name="runners:runners")),
    path("runners/<str:name>", views.runner, name="runner"),
]
