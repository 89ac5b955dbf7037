"""`python -m native_bench`."""

import sys

from native_bench.cli import main

if __name__ == "__main__":
    sys.exit(main())
