"""Run NVRTC in the sandbox: what it is told, what it can see, and what comes back."""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from native_bench.cpu.compile_log import SOURCE_ROOT
from native_bench.gpu.compile_log import CUDA_ROOT
from native_bench.gpu.toolchain import CHILD, Toolchain
from native_bench.outcome import infra
from native_bench.sandbox.files import write_files
from native_bench.sandbox.interface import Bind, Exit, Limits, Sandbox
from native_bench.sandbox.python import PYTHON_FOLDER, interpreter
from submissions.kernel_package.files import Files

SECONDS = 30.0
CUBIN_BYTES = 32 << 20
MEMORY_BYTES = 2 << 30
_LOG_BYTES = 1 << 20
_LIMITS = Limits(
    wall_seconds=SECONDS,
    cpu_seconds=SECONDS,
    memory_bytes=MEMORY_BYTES,
    processes=16,
    file_bytes=1 << 20,
    output_bytes=CUBIN_BYTES + 6 * _LOG_BYTES,
    tmp_bytes=1 << 20,
)
# What a program needs of /usr to run; the rest only tells of this machine.
_KEPT_OF_USR = ("bin", "lib", "lib32", "lib64", "libx32")


@dataclass(frozen=True)
class Order:
    """What to compile: the package's files, the one that is the source, NVRTC's options, the kernels by name."""

    files: Files
    source: str
    options: tuple[str, ...]
    kernels: tuple[str, ...]


@dataclass(frozen=True)
class Reply:
    """How the compiler ended; the rest is empty where it gave no answer.

    `result` is NVRTC's own, 0 where it compiled; `lowered` has the symbol of each kernel that there is.
    """

    ended: Exit
    result: int
    log: str
    lowered: Mapping[str, str]
    ptx: bytes
    cubin: bytes


def run_nvrtc(order: Order, toolchain: Toolchain, sandbox: Sandbox) -> Reply:
    """Compile in the sandbox; raises RunEnded infra_error where our own side of it fails."""
    libraries = [f"{CUDA_ROOT}lib/{path.name}" for path in (toolchain.builtins, toolchain.library)]
    includes = [f"-I{CUDA_ROOT}include{number}" for number in range(len(toolchain.includes))]
    request = {
        "libraries": libraries,
        "source": SOURCE_ROOT + order.source,
        "options": [*order.options, *includes],
        "name_expressions": order.kernels,
        "log_bytes": _LOG_BYTES,
    }
    python, python_binds = interpreter()
    argv = [python, "-I", "-S", "-B", "-c", CHILD.read_text(), json.dumps(request)]
    environment = {
        "PATH": "/usr/bin:/bin",
        "LANG": "C.UTF-8",
        "LD_LIBRARY_PATH": f"{CUDA_ROOT}lib:{PYTHON_FOLDER}/lib",
        "SOURCE_DATE_EPOCH": "0",
    }
    with _on_disk(order.files) as own:
        binds = [*own, *python_binds, *_cuda(toolchain)]
        ended = sandbox.run(argv, _LIMITS, binds, env=environment)
    return _reply(ended)


def _reply(ended: Exit) -> Reply:
    """Read the child's answer as what it is: bytes of a process that hostile source has run through."""
    if not ended.is_ok:
        return Reply(ended, 0, "", {}, b"", b"")
    line, _, content = ended.stdout.partition(b"\n")
    try:
        answer: dict[str, Any] = json.loads(line)
        lowered = {str(name): str(symbol) for name, symbol in answer["lowered"].items() if symbol}
        cut = int(answer["ptx_bytes"])
        return Reply(ended, int(answer["result"]), str(answer["log"]), lowered, content[:cut], content[cut:])
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise infra("build:sandbox", f"the compiler's process gave no answer: {error}") from None


def _cuda(toolchain: Toolchain) -> Iterator[Bind]:
    for path in (toolchain.builtins, toolchain.library):
        yield Bind(path.resolve(), f"{CUDA_ROOT}lib/{path.name}")
    for number, folder in enumerate(toolchain.includes):
        yield Bind(folder, f"{CUDA_ROOT}include{number}")


@contextmanager
def _on_disk(files: Files) -> Iterator[list[Bind]]:
    """Write the package's files; hide /proc, and of /usr what no program needs, behind an empty folder.

    A source can include any file that it sees, and tell by its values what is in there.
    """
    with tempfile.TemporaryDirectory(prefix="zoo-nvrtc-") as name:
        root = Path(name)
        root.chmod(0o755)
        empty, own = root / "empty", root / "src"
        empty.mkdir()
        own.mkdir()
        write_files(own, files)
        hidden = ["/proc", *(str(folder) for folder in _hidden_of_usr())]
        yield [*(Bind(empty, path) for path in hidden), Bind(own, SOURCE_ROOT.rstrip("/"))]


def _hidden_of_usr() -> list[Path]:
    folders = (path for path in Path("/usr").iterdir() if path.is_dir() and not path.is_symlink())
    return sorted(path for path in folders if path.name not in _KEPT_OF_USR)
