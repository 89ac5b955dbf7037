"""The colour scheme a reader chose, kept in a cookie so that the first paint is right."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

THEMES = ("light", "dark")
_YEAR_SECONDS = 365 * 24 * 3600


# Exempt so that pages carry no token for it: all a forged request could change is a colour.
@csrf_exempt
@require_POST
def theme(request: HttpRequest) -> HttpResponse:
    """Keep the choice and go back; an empty choice follows the system again."""
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(target, allowed_hosts={request.get_host()}):
        target = "/"
    response = HttpResponseRedirect(target)
    chosen = request.POST.get("theme", "")
    if chosen in THEMES:
        response.set_cookie("theme", chosen, max_age=_YEAR_SECONDS, samesite="Lax")
    else:
        response.delete_cookie("theme")
    return response
