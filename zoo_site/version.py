"""The site's version, as the installed package says it."""

from importlib.metadata import PackageNotFoundError, version

try:
    VERSION = version("kernel-zoo")
except PackageNotFoundError:
    VERSION = "0.1.0"
