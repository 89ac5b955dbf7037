"""`kernel_zoo-indexer-now`: the command indexer_now, without manage.py."""

import sys

from zoo_site import env


def main() -> int:
    """Follow the store to its head and write index.json; status 1 with one line where that fails."""
    env.set_default("DJANGO_SETTINGS_MODULE", "zoo_site.settings")
    # Django reads the settings at import, so only now.
    import django
    from django.core.management import CommandError, call_command

    django.setup()
    try:
        call_command("indexer_now")
    except CommandError as error:
        print(f"kernel_zoo-indexer-now: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
