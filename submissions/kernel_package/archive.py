"""Packages as tar.gz: read from anyone under limits, written the same for the same files."""

import gzip
import io
import tarfile

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import PACKAGE_FOLDER, Files, Tree, clean_path
from submissions.kernel_package.inflate import inflate, too_large
from submissions.kernel_package.limits import DEFAULT_LIMITS, PackageLimits
from submissions.kernel_package.tar_members import tar_members


def read_archive(data: bytes, limits: PackageLimits = DEFAULT_LIMITS) -> dict[str, bytes]:
    """Return the files of a tar.gz, one wrapping folder removed; raises Rejected with the first fault found."""
    tree = Tree()
    unpacked = members = 0
    for member in tar_members(inflate(data, limits)):
        members += 1
        if members > 4 * limits.files or (len(tree.files) >= limits.files and not member.is_folder):
            raise too_many_files(limits)
        path = clean_path(member.name)
        if member.is_folder:
            continue
        if not path:
            raise Rejected("package:bad-encoding", f"a file has the empty name {member.name!r}")
        unpacked += len(member.content)
        if unpacked > limits.unpacked_bytes:
            raise too_large(limits)
        tree.add(path, member.content)
    return strip_wrapping_folder(tree.files)


def too_many_files(limits: PackageLimits) -> Rejected:
    return Rejected(
        "package:too-many-files",
        f"the package has more than {limits.files} files: leave out what is not source",
        limit=limits.files,
    )


def strip_wrapping_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files relative to the kernel's folder; raises Rejected `package:two-roots`."""
    roots = sorted({_root_of(path) for path in files if f"/{PACKAGE_FOLDER}/" in f"/{path}"})
    if not roots or roots == [""]:
        return files
    if len(roots) > 1 or "/" in roots[0]:
        raise _two_roots(roots)
    prefix = f"{roots[0]}/"
    outside = sorted(path for path in files if not path.startswith(prefix))
    if outside:
        raise _two_roots([roots[0], outside[0]])
    return {path.removeprefix(prefix): content for path, content in files.items()}


def _root_of(path: str) -> str:
    segments = path.split("/")
    deepest = len(segments) - 1 - segments[::-1].index(PACKAGE_FOLDER)
    return "/".join(segments[:deepest])


def _two_roots(roots: list[str]) -> Rejected:
    named = " and ".join(repr(root or ".") for root in roots[:2])
    return Rejected(
        "package:two-roots",
        f"the archive must hold one kernel's folder, at its top or in one wrapping folder; it has {named}",
        roots=roots[:8],
    )


def write_archive(files: Files) -> bytes:
    """Return a tar.gz that depends on nothing but the files: sorted, no owner, no time."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        for path in sorted(files):
            member = tarfile.TarInfo(path)
            member.size = len(files[path])
            archive.addfile(member, io.BytesIO(files[path]))
    return packed.getvalue()
