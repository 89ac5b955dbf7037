"""Where NVRTC and CUDA's headers lie on this machine, what the compiler is, and which archs it builds for."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from native_bench.outcome import infra

CHILD = Path(__file__).with_name("nvrtc_child.py")
PACKAGES_12 = (
    "nvidia-cuda-nvrtc-cu12",
    "nvidia-cuda-runtime-cu12",
    "nvidia-cuda-nvcc-cu12",
    "nvidia-cuda-cccl-cu12",
)
PACKAGES_13 = ("nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-cuda-crt", "nvidia-cuda-cccl")

_SYSTEM_CUDA = Path("/usr/local/cuda")
_HEADERS = ("cuda_fp16.h", "crt/mma.h", "nv/target")
_SECONDS = 60
_FIRST_WITH_OWN_FEATURES = 90
_FIRST_WITH_FAMILY_FEATURES = 100
_FIRST_VERSION_WITH_FAMILIES = (12, 9)


@dataclass(frozen=True)
class Layout:
    """Where a way of installing CUDA puts the libraries and the headers, under its folder."""

    libraries: str
    includes: tuple[str, ...]


# A cubin of CUDA 12 runs on the drivers of 12 and 13, one of 13 only on those of 13: hence the order.
_WHEELS = (
    Layout("cuda_nvrtc/lib", ("cuda_runtime/include", "cuda_nvcc/include", "cuda_cccl/include")),
    Layout("cu13/lib", ("cu13/include", "cu13/include/cccl")),
)
_TOOLKIT = Layout("lib64", ("include", "include/cccl"))


@dataclass(frozen=True)
class Toolchain:
    """NVRTC, its library of built-in functions (to be loaded first), and the folders of headers in their order."""

    library: Path
    builtins: Path
    includes: tuple[Path, ...]

    @property
    def fingerprint(self) -> str:
        """Changes when one of the packages does, without the 100 MB being read."""
        marks = [self.library, self.builtins, *(_header(self.includes, name) for name in _HEADERS)]
        facts = [(mark.name, mark.stat()) for mark in marks if mark is not None]
        return json.dumps([(name, about.st_size, about.st_mtime_ns) for name, about in facts])


@dataclass(frozen=True)
class Compiler:
    """The compiler itself: its version, and the archs that it knows by number."""

    version: tuple[int, int]
    arch_numbers: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"NVRTC {self.version[0]}.{self.version[1]}"

    @property
    def archs(self) -> tuple[str, ...]:
        """All names `sm_XX` that it can be asked for, with an arch's (a) or family's (f) own features too."""
        names = []
        for number in self.arch_numbers:
            names.append(f"sm_{number}")
            if number >= _FIRST_WITH_OWN_FEATURES:
                names.append(f"sm_{number}a")
            if number >= _FIRST_WITH_FAMILY_FEATURES and self.version >= _FIRST_VERSION_WITH_FAMILIES:
                names.append(f"sm_{number}f")
        return tuple(names)


def installed_toolchain() -> Toolchain:
    """Return this machine's toolchain; raises RunEnded infra_error `prepare:no-nvrtc`."""
    spec = importlib.util.find_spec("nvidia")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    return find_toolchain([Path(folder) for folder in folders], _SYSTEM_CUDA)


def find_toolchain(nvidia_folders: Sequence[Path], toolkit: Path) -> Toolchain:
    """Return the first whole toolchain in wheels' `nvidia` folders, or in a toolkit.

    Raises RunEnded infra_error `prepare:no-nvrtc`, with the packages to install.
    """
    places = [(folder, layout) for layout in _WHEELS for folder in nvidia_folders]
    for folder, layout in (*places, (toolkit, _TOOLKIT)):
        found = _toolchain(folder, layout)
        if found is not None:
            return found
    message = (
        "NVRTC or CUDA's headers are missing; install them with: pip install "
        f"{' '.join(PACKAGES_12)} (CUDA 12) or pip install {' '.join(PACKAGES_13)} (CUDA 13)"
    )
    raise infra("prepare:no-nvrtc", message, packages=[*PACKAGES_12, *PACKAGES_13])


def _toolchain(folder: Path, layout: Layout) -> Toolchain | None:
    library = next(iter(sorted((folder / layout.libraries).glob("libnvrtc.so.*"))), None)
    builtins = next(iter(sorted((folder / layout.libraries).glob("libnvrtc-builtins.so.*"))), None)
    includes = tuple(path for path in (folder / name for name in layout.includes) if path.is_dir())
    if library is None or builtins is None or any(_header(includes, name) is None for name in _HEADERS):
        return None
    return Toolchain(library, builtins, includes)


def _header(includes: Sequence[Path], name: str) -> Path | None:
    return next((path for path in (folder / name for folder in includes) if path.is_file()), None)


@lru_cache(maxsize=4)
def ask_compiler(toolchain: Toolchain) -> Compiler:
    """Return what the compiler says of itself, loaded in a process of its own; raises RunEnded infra_error."""
    request = json.dumps({"libraries": [str(toolchain.builtins), str(toolchain.library)]})
    command = [sys.executable, "-I", "-S", "-B", str(CHILD), request]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
        answer = json.loads(ended.stdout.partition(b"\n")[0])
        return Compiler((answer["version"][0], answer["version"][1]), tuple(answer["archs"]))
    except subprocess.CalledProcessError as error:
        words = error.stderr.decode("utf-8", "replace")[-500:]
        raise infra("prepare:no-nvrtc", f"{toolchain.library.name} cannot be loaded: {words}") from None
    except (subprocess.TimeoutExpired, OSError, ValueError, LookupError) as error:
        raise infra("prepare:no-nvrtc", f"{toolchain.library.name} does not answer: {error}") from None


def supported_archs() -> tuple[str, ...]:
    """Return the archs that CUDA kernels can be built for here; raises RunEnded infra_error `prepare:no-nvrtc`."""
    return ask_compiler(installed_toolchain()).archs
