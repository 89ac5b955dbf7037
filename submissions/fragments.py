"""Pages answer themselves whole, or one fragment: `home.html?fragment=now` renders `_home_now.html`."""

import re
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template import TemplateDoesNotExist

_NAME = re.compile(r"[a-z]{1,20}")


def render_page(
    request: HttpRequest, template: str, context: dict[str, Any], status: int | None = None
) -> HttpResponse:
    """Render the page or the one fragment asked for, by the same view: rights and figures live once."""
    fragment = request.GET.get("fragment")
    if fragment is None:
        return render(request, template, context, status=status)
    if not _NAME.fullmatch(fragment):
        raise Http404(f"no fragment {fragment!r}")
    folder, _, page = template.removesuffix(".html").rpartition("/")
    try:
        return render(request, f"{folder}/_{page}_{fragment}.html", context)
    except TemplateDoesNotExist as missing:
        raise Http404(f"no fragment {fragment!r}") from missing
