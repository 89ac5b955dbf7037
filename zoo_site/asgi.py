"""The ASGI application: long polls and live sockets beside Django, in one process."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "zoo_site.settings")

import django

# Django must be set up before anything that imports models.
django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator
from django.urls import re_path

from leaderboard.routing import http_urlpatterns, websocket_urlpatterns
from zoo_site.handler import Handler

django_application = Handler()

application = ProtocolTypeRouter(
    {
        "http": URLRouter(
            [*http_urlpatterns, re_path("", django_application)]  # type: ignore[arg-type]
        ),
        "websocket": AllowedHostsOriginValidator(URLRouter(websocket_urlpatterns)),
    }
)
