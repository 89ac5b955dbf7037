from django.apps import AppConfig


class ZooSiteConfig(AppConfig):
    name = "zoo_site"

    def ready(self) -> None:
        from zoo_site import checks  # noqa: F401
