"""System checks that stop a start which could only go wrong later."""

from collections.abc import Sequence
from typing import Any

import yaml
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register()
def task_queue_timing(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """A retry before the timeout runs one task twice at once."""
    base: dict[str, Any] = settings.Q_CLUSTER
    clusters = {"default": base}
    clusters |= {name: {**base, **own} for name, own in base["ALT_CLUSTERS"].items()}
    return [
        Error(f"Q_CLUSTER {name}: retry must exceed timeout times (queue_limit / workers + 2)", id="zoo_site.E001")
        for name, cluster in clusters.items()
        if cluster["retry"] <= cluster["timeout"] * (cluster["queue_limit"] / cluster["workers"] + 2)
    ]


@register()
def yaml_is_fast(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """The strict loader is built on libyaml's."""
    if yaml.__with_libyaml__:
        return []
    return [
        Error(
            "PyYAML is installed without libyaml", hint="pip install --force-reinstall PyYAML", id="zoo_site.E002"
        )
    ]
