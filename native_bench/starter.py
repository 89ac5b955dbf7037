"""The starter zoo: problems and kernels that come with the engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from native_bench.job import read_files
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import BoardId, KernelId, ProblemId

PROBLEMS = Path(__file__).parent / "problems"
PROBLEM_FILES = ("problem.yaml", "reference.py")
_CUDA_PREFIX = "sm_"


@dataclass(frozen=True)
class _Family:
    """Kernels of one set of sources: where they lie under a problem, and the arch their ids are written for."""

    folder: str
    written_for: str


_NATIVE = _Family("kernels", "x86_64")
_CUDA = _Family("cuda", "sm_90")


def problems() -> list[tuple[ProblemId, dict[str, bytes]]]:
    """Return every starter problem with its problem.yaml and reference.py."""
    return [
        (problem_id, {name: (folder / name).read_bytes() for name in PROBLEM_FILES})
        for problem_id, folder in problem_folders()
    ]


def problem_folders(root: Path | None = None) -> Iterator[tuple[ProblemId, Path]]:
    """Yield each problem under `root` (default: the starter zoo's) with its folder, in order of their names."""
    root = root or PROBLEMS
    for path in sorted(root.glob("*/*/*/problem.yaml")):
        yield ProblemId(*path.parent.relative_to(root).parts), path.parent


def is_cuda(arch: str) -> bool:
    """Say whether CUDA kernels are built for an arch."""
    return arch.startswith(_CUDA_PREFIX)


def kernels(arch: str) -> list[tuple[KernelId, dict[str, bytes]]]:
    """Return every starter kernel for a native arch, or for a CUDA one (`sm_90`), each board's baseline first."""
    family = _CUDA if is_cuda(arch) else _NATIVE
    found: list[tuple[KernelId, dict[str, bytes]]] = []
    for problem_id, folder in problem_folders():
        board = BoardId(arch, problem_id)
        ids = [KernelId(board, path.name) for path in _kernel_folders(folder / family.folder)]
        for kernel_id in sorted(ids, key=lambda kernel_id: (not kernel_id.is_baseline, kernel_id.name)):
            found.append((kernel_id, _files_for(kernel_id, folder / family.folder / kernel_id.name, family)))
    return found


def _kernel_folders(parent: Path) -> list[Path]:
    return [path for path in parent.iterdir() if path.is_dir()] if parent.is_dir() else []


def _files_for(kernel_id: KernelId, folder: Path, family: _Family) -> dict[str, bytes]:
    """Return the kernel's files with the arch put into its description, where it stands in kernel ids only."""
    files = read_files(folder)
    written = f"{family.written_for}/{kernel_id.problem}/".encode()
    files[DESCRIPTION_PATH] = files[DESCRIPTION_PATH].replace(written, f"{kernel_id.board}/".encode())
    return files
