"""Routes that Django's own urls do not carry: the websocket, and HTTP paths that wait asynchronously."""

from django.urls import path

from leaderboard.consumers import LiveConsumer
from leaderboard.status_poll import submission_status

http_urlpatterns = [path("api/submissions/<str:uuid>/status", submission_status)]  # type: ignore[arg-type]

websocket_urlpatterns = [path("ws/live", LiveConsumer.as_asgi())]
