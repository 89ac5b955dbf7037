"""Run the compiler in the sandbox: what it is told, what it can see, and who of its programs says what."""

import secrets
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from native_bench.cpu.compile_log import GENERATED_ROOT, SOURCE_ROOT, Said, parted
from native_bench.cpu.flags import COMPILE_FLAGS, LINK_FLAGS, WRAPPER_NAME
from native_bench.sandbox.files import write_files
from native_bench.sandbox.interface import Bind, Exit, Limits, Sandbox
from submissions.kernel_package.description import Description

Folders = Mapping[str, Mapping[str, bytes]]

SECONDS = 30.0
LIBRARY_BYTES = 64 << 20
_LIMITS = Limits(
    wall_seconds=SECONDS,
    cpu_seconds=SECONDS,
    memory_bytes=2 << 30,
    processes=16,
    file_bytes=LIBRARY_BYTES,
    output_bytes=LIBRARY_BYTES + (1 << 20),
    tmp_bytes=192 << 20,
)
_PROCESS_ROOT = "/proc/"
# $0 is the mark, $@ the flags. Each program is marked on stderr, and stdout carries the library and nothing else.
# What an assembler says is to be shown only where it cannot have read a file: one that succeeds lists its files,
# and without macros or comments, which join words, only a directive in plain letters reads one.
_SCRIPT = """cd "$(mktemp -d)" || exit 1
failed= number=100
for source in {sources}; do
    number=$((number + 1))
    echo "$0 compile" >&2
    g++ "$@" -S -H -fno-diagnostics-show-caret "$source" -o $number.s >/dev/null || failed=1
done
[ -z "$failed" ] || exit 1
for assembly in *.s; do
    step=assemble-unseen
    grep -qiE '/[*]|[.](inc|macro|irp|mri)' "$assembly"
    [ $? -ne 1 ] || step=assemble
    echo "$0 $step" >&2
    g++ "$@" -c "$assembly" "-Wa,--MD,$assembly.d" -o "$assembly.o" >/dev/null &&
        echo "$0 read" >&2 && cat "$assembly.d" >&2 || failed=1
done
[ -z "$failed" ] || exit 1
echo "$0 link" >&2
g++ "$@" *.o {link_flags} -o kernel.so >/dev/null && exec cat kernel.so
"""


@dataclass(frozen=True)
class Compiled:
    """How the compiler ended, with the library on its stdout, and what each of its programs said."""

    ended: Exit
    said: list[Said]


def command(description: Description) -> tuple[str, ...]:
    """Return the shell's script and its arguments."""
    sources = [*(SOURCE_ROOT + path for path in description.sources), GENERATED_ROOT + WRAPPER_NAME]
    script = _SCRIPT.format(sources=shlex.join(sources), link_flags=shlex.join(LINK_FLAGS))
    include = [f"-I{SOURCE_ROOT}{folder}" for folder in description.include_dirs]
    defines = [f"-D{name}={value}" for name, value in sorted(description.defines.items())]
    return (script, *COMPILE_FLAGS, *include, *defines)


def run_compiler(description: Description, folders: Folders, sandbox: Sandbox) -> Compiled:
    """Compile and link what lies in `folders`, named by where they lie inside."""
    script, *flags = command(description)
    mark = secrets.token_hex(16)
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C", "TMPDIR": "/tmp", "SOURCE_DATE_EPOCH": "0"}  # noqa: S108
    with _on_disk({**folders, _PROCESS_ROOT: _process_files()}) as binds:
        ended = sandbox.run(["/bin/sh", "-c", script, mark, *flags], _LIMITS, binds, env=environment)
    return Compiled(ended, parted(ended.stderr, mark))


def _process_files() -> dict[str, bytes]:
    """Return what lies in the compiler's /proc, where an include could read of the host: the processor alone.

    `-march=native` reads that on aarch64.
    """
    return {"cpuinfo": Path("/proc/cpuinfo").read_bytes()}


@contextmanager
def _on_disk(folders: Folders) -> Iterator[list[Bind]]:
    """Write each folder apart from the others, so that no name in one can meet a name in another."""
    with tempfile.TemporaryDirectory(prefix="zoo-build-") as name:
        Path(name).chmod(0o755)
        binds = []
        for root, files in folders.items():
            folder = Path(name, root.strip("/"))
            folder.mkdir()
            write_files(folder, files)
            binds.append(Bind(folder, root.rstrip("/")))
        yield binds
