from django.apps import AppConfig


class ZooSiteConfig(AppConfig):
    name = "zoo_site"
