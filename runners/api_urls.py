"""Routes of the queue and the fleet under /api/."""

from django.urls import path

from runners import api

urlpatterns = [
    path("queue", api.queue, name="api-queue"),
    path("runners", api.runners, name="api-runners"),
]
