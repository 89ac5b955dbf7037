"""What every page may show of the site itself."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest

from zoo_site.version import VERSION


def site(request: HttpRequest) -> dict[str, Any]:
    """Return the template context shared by all pages."""
    theme = request.COOKIES.get("theme", "")
    return {
        "site_version": VERSION,
        "open_submissions": settings.OPEN_SUBMISSIONS,
        "theme": theme if theme in ("light", "dark") else "",
    }
