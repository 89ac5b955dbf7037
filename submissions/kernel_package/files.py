"""A kernel's files in memory: which paths may stand in a package, and which may stand beside each other."""

import unicodedata
from collections.abc import Mapping

from submissions.kernel_package.errors import Rejected

Files = Mapping[str, bytes]

PACKAGE_FOLDER = ".kernel_package"
DESCRIPTION_PATH = f"{PACKAGE_FOLDER}/desc.yaml"
BENCH_RESULT_PATH = f"{PACKAGE_FOLDER}/bench_result.yaml"
BUILD_SCRIPT_PATH = f"{PACKAGE_FOLDER}/build_test_env.py"
BENCHMARK_SCRIPT_PATH = f"{PACKAGE_FOLDER}/benchmark.py"
GRADER_PATHS = (BUILD_SCRIPT_PATH, BENCHMARK_SCRIPT_PATH)

_SEGMENT_BYTES = 255
_PATH_BYTES = 400
_NAME_BYTES = 1000
# A checkout of the store must neither run nor rewrite anything because of a submitted file.
_GIT_NAMES = frozenset({".git", "git~1", ".gitmodules", ".gitattributes", ".lfsconfig"})
_ENGINE_NAME = ".zoo"


def decode_name(raw: bytes) -> str:
    """Return a member's name; raises Rejected `package:bad-encoding` when it is not UTF-8."""
    if len(raw) > _NAME_BYTES:
        raise Rejected("package:bad-encoding", f"the name {raw[:80]!r}… is longer than {_NAME_BYTES} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Rejected(
            "package:bad-encoding", f"the name {raw[:80]!r} is not UTF-8", name=repr(raw[:80])
        ) from None


def clean_path(name: str) -> str:
    """Return `name` without `.` and empty segments ("" for the root itself); raises Rejected on a bad name."""
    _refuse_odd_characters(name)
    if name.startswith("/") or name[1:2] == ":":
        raise Rejected("package:absolute-path", f"{name!r} is absolute: use paths relative to the kernel's folder")
    segments = [segment for segment in name.split("/") if segment not in ("", ".")]
    for segment in segments:
        _check_segment(segment, name)
    path = "/".join(segments)
    if len(path.encode()) > _PATH_BYTES:
        raise Rejected("package:bad-encoding", f"{path[:80]!r}… is longer than {_PATH_BYTES} bytes")
    return path


def _refuse_odd_characters(name: str) -> None:
    for character in name:
        if character == "\\" or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
            raise Rejected(
                "package:bad-encoding",
                f"{name!r} has a backslash, a control or an invisible character: rename the file",
                name=name,
            )


def _check_segment(segment: str, name: str) -> None:
    if segment == "..":
        raise Rejected("package:path-escapes", f"{name!r} leaves the kernel's folder: remove the `..`", name=name)
    if len(segment.encode()) > _SEGMENT_BYTES:
        raise Rejected("package:bad-encoding", f"a part of {name[:80]!r}… is longer than {_SEGMENT_BYTES} bytes")
    if _folded(segment).rstrip(" .") in _GIT_NAMES:
        raise Rejected("package:reserved-name", f"{name!r}: git gives {segment!r} a meaning; rename it", name=name)


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())


def check_reserved(files: Files) -> None:
    """Raise Rejected `package:reserved-name` where a package uses the top-level name that the engine keeps."""
    for path in sorted(files):
        if _folded(path.split("/")[0]).rstrip(" .") == _ENGINE_NAME:
            message = f"{path!r}: the name {_ENGINE_NAME} is the engine's own; rename it"
            raise Rejected("package:reserved-name", message, name=path)


class Tree:
    """Collects files under clean paths and refuses two names that one file system could take for the same."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._spellings: dict[str, str] = {}
        self._folders: set[str] = set()

    def add(self, path: str, content: bytes) -> None:
        """Add one file; raises Rejected `package:duplicate-name`."""
        if path in self.files or path in self._folders:
            raise Rejected("package:duplicate-name", f"{path!r} is in the package twice", name=path)
        segments = path.split("/")
        for depth in range(1, len(segments) + 1):
            self._claim_spelling("/".join(segments[:depth]))
        for depth in range(1, len(segments)):
            self._enter_folder("/".join(segments[:depth]))
        self.files[path] = content

    def _claim_spelling(self, path: str) -> None:
        known = self._spellings.setdefault(_folded(path), path)
        if known != path:
            raise Rejected(
                "package:duplicate-name",
                f"{path!r} and {known!r} differ only in case or form: rename one",
                name=path,
                other=known,
            )

    def _enter_folder(self, folder: str) -> None:
        if folder in self.files:
            raise Rejected("package:duplicate-name", f"{folder!r} is both a file and a folder", name=folder)
        self._folders.add(folder)
