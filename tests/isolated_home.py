"""A pytest plugin that gives every test process a home of its own, before the settings are read."""

import atexit
import os
import shutil
import tempfile

for name in [name for name in os.environ if name.startswith("KERNEL_ZOO_")]:
    del os.environ[name]
_home = tempfile.mkdtemp(prefix="kernel-zoo-tests-")
os.environ["KERNEL_ZOO_HOME"] = _home
atexit.register(shutil.rmtree, _home, ignore_errors=True)
