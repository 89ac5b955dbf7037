"""Badges for states and verdicts: the word, and a tone that only repeats it."""

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from leaderboard.headline import TONES
from submissions.evaluation.verdicts import Verdict
from submissions.models import State

register = template.Library()

_RUNNER_TONES = {"busy": "live", "idle": "good", "away": "bad", "paused": "warn", "quarantined": "bad"}


def _badge(tone: str, word: str) -> SafeString:
    return format_html('<span class="badge{}">{}</span>', f" is-{tone}" if tone else "", word.replace("_", " "))


@register.simple_tag
def state_badge(state: str) -> SafeString:
    return _badge(TONES.get(State(state), "") if state in State.values else "", state)


@register.simple_tag
def verdict_badge(verdict: str) -> SafeString | str:
    if verdict not in set(Verdict):
        return _badge("", verdict) if verdict else ""
    known = Verdict(verdict)
    tone = "good" if known == Verdict.OK else "bad" if known.is_entrant_fault else "warn"
    return _badge(tone, verdict)


@register.simple_tag
def condition_badge(condition: str) -> SafeString:
    return _badge(_RUNNER_TONES.get(condition, ""), condition)
