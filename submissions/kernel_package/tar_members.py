"""Read tar members strictly: plain files and folders only, every header checked, no recursion, linear time.

tarfile is not used on hostile bytes: it recurses once per chained long-name header and matches pax headers with
patterns that backtrack.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.files import decode_name

_BLOCK = 512
_DEVICES = {b"3": "a character device", b"4": "a block device", b"6": "a fifo"}
_LINKS = {b"1": "a hard link", b"2": "a symbolic link"}
_FILES = (b"0", b"\0", b"7")


@dataclass(frozen=True)
class Member:
    """One file or folder as the archive names it."""

    name: str
    is_folder: bool
    content: bytes


@dataclass
class _Overrides:
    """What extension headers say of the next member."""

    name: str | None = None
    size: int | None = None


def tar_members(stream: bytes) -> Iterator[Member]:
    """Yield the members in order; raises Rejected `package:{link,device,bad-encoding,not-an-archive}`."""
    overrides = _Overrides()
    position = 0
    while position < len(stream):
        header = stream[position : position + _BLOCK]
        if not header.strip(b"\0"):
            break
        _check_header(header)
        kind = header[156:157]
        size = _size(header[124:136])
        if kind in _FILES and overrides.size is not None:
            size = overrides.size
        start = position + _BLOCK
        content = stream[start : start + size]
        if len(content) != size:
            raise _broken("a member reaches past the end of the archive")
        position = start + -(-size // _BLOCK) * _BLOCK
        if kind in (b"L", b"x", b"g", b"K"):
            _read_extension(kind, content, overrides)
            continue
        yield _member(header, kind, content, overrides)
        overrides = _Overrides()
    if overrides != _Overrides():
        raise _broken("an extension header stands before no member")
    _check_end(stream, position)


def _check_end(stream: bytes, position: int) -> None:
    if position == 0:
        raise _broken("it holds no member")
    if stream[position:].strip(b"\0"):
        raise _broken("there are bytes after the end of the archive")


def _check_header(header: bytes) -> None:
    if len(header) != _BLOCK:
        raise _broken("a header is cut off")
    expected = _octal(header[148:156])
    actual = sum(header[:148]) + 8 * 32 + sum(header[156:])
    if expected != actual:
        raise _broken("a header's checksum is wrong")


def _octal(field: bytes) -> int:
    digits = field.split(b"\0", 1)[0].strip(b" ")
    if not digits:
        return 0
    if digits.strip(b"01234567"):
        raise _broken("a number in a header is not octal")
    return int(digits, 8)


def _size(field: bytes) -> int:
    if field[0] & 0x80:
        # GNU's base-256 form; a negative size reads as one past any archive's end.
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big")
    return _octal(field)


def _read_extension(kind: bytes, content: bytes, overrides: _Overrides) -> None:
    if kind == b"L":
        overrides.name = decode_name(content.rstrip(b"\0"))
    elif kind in (b"x", b"g"):
        for key, value in _pax_records(content):
            _apply_pax(kind, key, value, overrides)


def _pax_records(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    position = 0
    while position < len(content):
        digits, space, _ = content[position : position + 12].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = content[position + len(digits) + 1 : position + length]
        key, equals, value = record.partition(b"=")
        if not (space and equals and record.endswith(b"\n")) or position + length > len(content):
            raise _broken("a pax header is malformed")
        yield key, value[:-1]
        position += length


def _apply_pax(kind: bytes, key: bytes, value: bytes, overrides: _Overrides) -> None:
    if key.startswith(b"GNU.sparse"):
        raise _broken("sparse files are not allowed: pack without --sparse")
    if key not in (b"path", b"size"):
        return
    if kind == b"g":
        raise _broken("a global header renames or resizes members")
    if key == b"path":
        overrides.name = decode_name(value)
    elif value.isdigit() and len(value) < 12:
        overrides.size = int(value)
    else:
        raise _broken("a pax header has a bad size")


def _member(header: bytes, kind: bytes, content: bytes, overrides: _Overrides) -> Member:
    name = overrides.name if overrides.name is not None else _name(header)
    if kind in _LINKS:
        raise Rejected("package:link", f"{name!r} is {_LINKS[kind]}: pack the file itself", name=name)
    if kind in _DEVICES:
        raise Rejected("package:device", f"{name!r} is {_DEVICES[kind]}: only plain files are allowed", name=name)
    is_folder = kind == b"5" or (kind in _FILES and name.endswith("/"))
    if not is_folder and kind not in _FILES:
        raise _broken(f"{name!r} has the unknown member type {kind!r}")
    return Member(name, is_folder, b"" if is_folder else content)


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    # Only POSIX headers have a prefix; GNU's use those bytes for times.
    if header[257:263] == b"ustar\0":
        prefix = header[345:500].split(b"\0", 1)[0]
        if prefix:
            name = prefix + b"/" + name
    return decode_name(name)


def _broken(why: str) -> Rejected:
    return Rejected("package:not-an-archive", f"the archive cannot be read: {why}; make it with `tar -czf`")
