"""Lets root's tests ask a sandbox that an ordinary user has opened: each run happens in a process of that user."""

import functools
import pickle
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
UID = 65533
PYTHON = "/usr/bin/python3"
_AS_USER = ["setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "env", "-i", f"PYTHONPATH={ROOT}"]
_SERVE = "from tests.unit.sandbox.ordinary_user import serve; serve()"


def as_user(code: str, *arguments: str, **options) -> subprocess.CompletedProcess:
    command = [*_AS_USER, PYTHON, "-B", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, check=False, cwd="/", **options)


@functools.cache
def is_possible() -> bool:
    """The user needs to read this checkout, with a Python that is new enough."""
    code = "import sys, native_bench.sandbox; sys.exit(sys.version_info < (3, 11))"
    return as_user(code).returncode == 0


class UserSandbox:
    isolation = "user"

    def run(self, argv, limits, binds=(), stdin=b"", pass_fds=(), env=None):
        request = pickle.dumps(("run", argv, limits, tuple(binds), stdin, tuple(pass_fds), env))
        done = as_user(_SERVE, input=request, pass_fds=pass_fds)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())
        return pickle.loads(done.stdout)


def serve() -> None:
    from native_bench.sandbox import open_sandbox

    kind, *arguments = pickle.load(sys.stdin.buffer)
    sys.stdout.buffer.write(pickle.dumps(getattr(open_sandbox(), kind)(*arguments)))
