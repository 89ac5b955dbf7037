"""A package's files written where a sandbox binds them."""

from pathlib import Path

from submissions.kernel_package.files import Files


def write_files(folder: Path, files: Files) -> None:
    """Write files by their posix paths under a folder that is there."""
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
