"""`kernel_zoo-server [--config FILE]`: the site by configuration, for people who operate it."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from submissions.kernel_package.errors import ZooError
from zoo_site import env


def main(argv: Sequence[str] | None = None) -> int:
    """Read the configuration, refuse a wrong value with status 2, and bring the site up."""
    parser = ArgumentParser(prog="kernel_zoo-server", description=__doc__)
    parser.add_argument("--config", type=Path, metavar="FILE", help="YAML file of variables; the environment wins")
    parser.add_argument("--check", action="store_true", help="only check the configuration")
    options = parser.parse_args(argv)
    try:
        if options.config:
            env.load_config_file(options.config)
        env.all_values()
    except ZooError as error:
        print(f"kernel_zoo-server: {error.message}", file=sys.stderr)
        return 2
    if options.check:
        print("the configuration is right")
        return 0
    env.set_default("DJANGO_SETTINGS_MODULE", "zoo_site.settings")
    return _bring_up()


def _bring_up() -> int:
    # Django reads the settings at import, so only now, with the configuration in place.
    import django
    from django.core.management import CommandError, call_command

    django.setup()
    try:
        call_command("up")
    except CommandError as error:
        print(f"kernel_zoo-server: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
