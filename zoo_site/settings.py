"""Settings of the site, read top to bottom; every value from outside comes through `env`."""

from pathlib import Path

import django_stubs_ext

from zoo_site import env
from zoo_site.database_url import database_settings
from zoo_site.secret_key import kept_secret_key

# Lets generic classes of Django be subscripted, as in ModelAdmin[Run].
django_stubs_ext.monkeypatch()

BASE_DIR = env.CHECKOUT
VALUES = env.all_values()

# Where things are kept.
HOME: Path = VALUES["KERNEL_ZOO_HOME"]
HOME.mkdir(parents=True, exist_ok=True)
PLATFORM_REPO_PATH: Path = VALUES["KERNEL_ZOO_PLATFORM_REPO_PATH"]
KERNEL_REPO_PATH: Path = VALUES["KERNEL_ZOO_KERNEL_REPO_PATH"] or HOME / "kernel_data.git"
QUEUE_DIR: Path = VALUES["KERNEL_ZOO_QUEUE_DIR"] or HOME / "queue"
INDEX_PATH: Path = VALUES["KERNEL_ZOO_INDEX_PATH"] or HOME / "index.json"
ARTIFACTS_DIR = HOME / "artifacts"
SECRETS_DIR = HOME / "secrets"
PACKAGES_DIR = HOME / "packages"
RUN_DIR = HOME / "run"
RUNNER_WORKDIR: Path = VALUES["KERNEL_ZOO_RUNNER_WORKDIR"] or HOME / "runner"

# What the site does.
GIT_AUTHOR_NAME: str = VALUES["KERNEL_ZOO_GIT_AUTHOR_NAME"]
GIT_AUTHOR_EMAIL: str = VALUES["KERNEL_ZOO_GIT_AUTHOR_EMAIL"]
LONGPOLL_TIMEOUT_SECONDS: float = VALUES["KERNEL_ZOO_LONGPOLL_TIMEOUT_SECONDS"]
OPEN_SUBMISSIONS: bool = VALUES["KERNEL_ZOO_OPEN_SUBMISSIONS"]
STARTER_PROBLEMS: frozenset[str] | None = VALUES["KERNEL_ZOO_STARTER_PROBLEMS"]
HEARTBEAT_SECONDS: float = VALUES["KERNEL_ZOO_HEARTBEAT_SECONDS"]
LEASE_SECONDS: float = VALUES["KERNEL_ZOO_LEASE_SECONDS"]
RUNNER_KEYS: dict[str, list[str]] = VALUES["KERNEL_ZOO_RUNNER_KEYS_JSON"]
CONTAINER_BACKEND: str = VALUES["KERNEL_ZOO_CONTAINER_BACKEND"]
CONTAINER_TIMEOUT_SECONDS: int = VALUES["KERNEL_ZOO_CONTAINER_TIMEOUT_S"]
RUNNER_CACHE_BYTES: int = VALUES["KERNEL_ZOO_RUNNER_CACHE_BYTES"]
HOST: str = VALUES["KERNEL_ZOO_HOST"]
PORT: int = VALUES["KERNEL_ZOO_PORT"]

# Django.
SECRET_KEY = VALUES["KERNEL_ZOO_SECRET_KEY"] or kept_secret_key(SECRETS_DIR)
DEBUG = False
ALLOWED_HOSTS = (VALUES["KERNEL_ZOO_ALLOWED_HOSTS"] or f"{HOST},localhost,127.0.0.1,[::1]").split(",")
INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_q",
    "channels",
    "rest_framework",
    "zoo_site",
    "submissions",
    "runners",
    "leaderboard",
]
MIDDLEWARE = [
    "zoo_site.middleware.request_id",
    # Outside of all that can refuse a request, so that every refusal under /api has its words.
    "zoo_site.middleware.api_errors",
    "django.middleware.security.SecurityMiddleware",
    "zoo_site.middleware.content_security_policy",
    "zoo_site.middleware.readable_requests",
    "zoo_site.middleware.head_as_get",
    "zoo_site.static_files.StaticFilesMiddleware",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "zoo_site.urls"
ASGI_APPLICATION = "zoo_site.asgi.application"
APPEND_SLASH = False
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "zoo_site.context.site",
            ],
        },
    }
]
DATABASES = {"default": database_settings(VALUES["KERNEL_ZOO_DATABASE_URL"], HOME)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
LOGIN_URL = "/login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
USE_TZ = True
TIME_ZONE = "UTC"
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 << 20
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 << 20

# The API.
REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "zoo_site.api_errors.exception_handler",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "UNAUTHENTICATED_USER": None,
}

# Live hints: rows are the truth, so a lost hint costs a second, not a change.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [VALUES["KERNEL_ZOO_REDIS_URL"]]},
    }
    if VALUES["KERNEL_ZOO_REDIS_URL"]
    else {
        "BACKEND": "zoo_site.channel_layer.DatagramChannelLayer",
        "CONFIG": {"folder": str(RUN_DIR / "layer.d")},
    }
}

# django-q2. Retry counts from the fetch of a task, so it exceeds timeout * (prefetched + 2).
# save_limit -1: keeping successes makes each finished task read all of them.
Q_CLUSTER = {
    "name": "default",
    "orm": "default",
    "workers": 2,
    "queue_limit": 2,
    "timeout": 300,
    "retry": 1300,
    "max_attempts": 1,
    "ack_failures": True,
    "save_limit": -1,
    "bulk": 1,
    "poll": 0.2,
    "catch_up": False,
    "recycle": 500,
    "label": "Task queue",
    "ALT_CLUSTERS": {
        cluster: {"workers": 1, "queue_limit": 1, "timeout": 7200, "retry": 22000} for cluster in ("cpu", "gpu")
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname:7} {name}: {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    "loggers": {
        name: {"level": "INFO"} for name in ("zoo_site", "submissions", "runners", "leaderboard", "native_bench")
    },
}
