"""The cast of the emulator's tests: CUDA C++ to PTX by the real compiler, and kernels run on arrays."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from native_bench.gpu.emulator import Budget, DeviceMemory, LaunchFault, Module, load_module

FILE = "kernel.cu"


def wheel_folder() -> Path | None:
    """Return the folder of NVIDIA's wheels, or None where they are not installed."""
    found = find_spec("nvidia")
    places = [Path(place) for place in found.submodule_search_locations or ()] if found else []
    return next((place for place in places if (place / "cuda_nvrtc").is_dir()), None)


needs_nvrtc = pytest.mark.skipif(wheel_folder() is None, reason="NVRTC is not installed")


@lru_cache(maxsize=1)
def _nvrtc() -> ctypes.CDLL:
    folder = wheel_folder()
    assert folder is not None
    library = folder / "cuda_nvrtc" / "lib"
    # The compiler looks for its built-ins by name alone: they must be in the process before it.
    ctypes.CDLL(str(next(library.glob("libnvrtc-builtins.so.*"))), mode=ctypes.RTLD_GLOBAL)
    return ctypes.CDLL(str(next(library.glob("libnvrtc.so.*"))))


@dataclass(frozen=True)
class Compiled:
    """A module of one source, and the names that its templates have in it."""

    module: Module
    names: dict[str, str]


@lru_cache(maxsize=256)
def compiled(source: str, arch: str = "compute_90", names: tuple[str, ...] = ()) -> Compiled:
    """Compile a source and load its PTX."""
    ptx, lowered = to_ptx(source, arch, names)
    return Compiled(load_module(ptx), lowered)


def to_ptx(source: str, arch: str = "compute_90", names: Sequence[str] = ()) -> tuple[str, dict[str, str]]:
    """Return the PTX of a source and the lowered name of each name expression."""
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), FILE.encode(), 0, None, None)
    for name in names:
        nvrtc.nvrtcAddNameExpression(program, name.encode())
    folder = wheel_folder()
    assert folder is not None
    includes = [f"-I{folder / part / 'include'}" for part in ("cuda_runtime", "cuda_nvcc", "cuda_cccl")]
    flags = [f"--gpu-architecture={arch}", "-std=c++17", "-lineinfo", "-default-device", *includes]
    array = (ctypes.c_char_p * len(flags))(*(flag.encode() for flag in flags))
    failed = nvrtc.nvrtcCompileProgram(program, len(flags), array)
    assert not failed, _text(nvrtc, program, "ProgramLog")
    lowered = {name: _lowered(nvrtc, program, name) for name in names}
    return _text(nvrtc, program, "PTX"), lowered


def _text(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, text)
    return text.value.decode()


def _lowered(nvrtc: ctypes.CDLL, program: ctypes.c_void_p, name: str) -> str:
    lowered = ctypes.c_char_p()
    nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered))
    assert lowered.value is not None
    return lowered.value.decode()


@dataclass(frozen=True)
class Input:
    """An array that the kernel may only read."""

    array: np.ndarray[Any, Any]


def run(
    kernel: Compiled,
    name: str,
    shape: tuple[int | tuple[int, ...], int | tuple[int, ...]],
    *arguments: Any,
    shared_bytes: int = 0,
    budget: Budget | None = None,
) -> list[np.ndarray[Any, Any]]:
    """Launch a kernel on arrays and return what the writable ones hold afterwards.

    `shape` is grid and block; `name` may be one of the compiled name expressions.
    """
    memory = DeviceMemory()
    passed, outputs = [], []
    for at, argument in enumerate(arguments):
        if isinstance(argument, Input):
            passed.append(memory.allocate(argument.array.nbytes, f"input{at}", True, argument.array))
        elif isinstance(argument, np.ndarray):
            passed.append(memory.allocate(argument.nbytes, f"output{at}", False, argument))
            outputs.append((passed[-1], argument))
        else:
            passed.append(argument)
    grid, block = (_three(extents) for extents in shape)
    lowered = kernel.names.get(name, name)
    kernel.module.launch(lowered, grid, block, shared_bytes, passed, memory, budget)
    return [memory.fetch(buffer, array.dtype, array.shape) for buffer, array in outputs]


def _three(extents: int | tuple[int, ...]) -> tuple[int, int, int]:
    given = (extents,) if isinstance(extents, int) else extents
    x, y, z = (*given, 1, 1, 1)[:3]
    return x, y, z


def fault_of(*arguments: Any, **options: Any) -> Any:
    """Return the fault that a launch ends with; see `run`."""
    with pytest.raises(LaunchFault) as caught:
        run(*arguments, **options)
    return caught.value.fault


def line_of(source: str, text: str) -> int:
    """Return the number of the first line with this text."""
    return next(at for at, line in enumerate(source.splitlines(), 1) if text in line)
