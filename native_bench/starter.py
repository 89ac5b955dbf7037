"""The starter zoo: problems and kernels that come with the engine."""

from collections.abc import Iterator
from pathlib import Path

from native_bench.job import read_files
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import BoardId, KernelId, ProblemId

PROBLEMS = Path(__file__).parent / "problems"
PROBLEM_FILES = ("problem.yaml", "reference.py")
_WRITTEN_FOR = "x86_64"


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


def kernels(arch: str) -> list[tuple[KernelId, dict[str, bytes]]]:
    """Return every starter kernel for a native arch, each board's baseline first."""
    found: list[tuple[KernelId, dict[str, bytes]]] = []
    for problem_id, folder in problem_folders():
        board = BoardId(arch, problem_id)
        ids = [KernelId(board, path.name) for path in (folder / "kernels").iterdir() if path.is_dir()]
        for kernel_id in sorted(ids, key=lambda kernel_id: (not kernel_id.is_baseline, kernel_id.name)):
            found.append((kernel_id, _files_for(kernel_id, folder / "kernels" / kernel_id.name)))
    return found


def _files_for(kernel_id: KernelId, folder: Path) -> dict[str, bytes]:
    """Return the kernel's files with the arch put into its description, where it stands in kernel ids only."""
    files = read_files(folder)
    written = f"{_WRITTEN_FOR}/{kernel_id.problem}/".encode()
    files[DESCRIPTION_PATH] = files[DESCRIPTION_PATH].replace(written, f"{kernel_id.board}/".encode())
    return files
