"""Archives from anyone: each attack has its code, and honest archives of every tar come through unchanged."""

import gzip
import io
import random
import subprocess
import tarfile
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.kernel_package import inflate
from submissions.kernel_package.archive import read_archive, write_archive
from submissions.kernel_package.limits import DEFAULT_LIMITS, TRUSTED_LIMITS, PackageLimits
from tests.unit.kernel_package.conftest import archive, member, rejection, standard_archive

DESC = ".kernel_package/desc.yaml"


def pax(key: str, value: str) -> bytes:
    """One record of a pax header, with its length."""
    body = f" {key}={value}\n".encode()
    length = len(body)
    while len(str(length)) + len(body) != length:
        length += 1
    return b"%d%s" % (length, body)


def signed(header: bytes) -> bytes:
    """The member with its header's checksum made right."""
    total = sum(header[:148]) + 256 + sum(header[156:512])
    return header[:148] + b"%06o\0 " % total + header[156:]


def with_size(header: bytes, size: bytes) -> bytes:
    return signed(header[:124] + size + header[136:])


def code_of(data: bytes, limits: PackageLimits = DEFAULT_LIMITS) -> str:
    return rejection(lambda: read_archive(data, limits)).code


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (archive(member("../evil", b"x")), "package:path-escapes"),
        (archive(member("src/../../evil", b"x")), "package:path-escapes"),
        (archive(member("..", kind=tarfile.DIRTYPE)), "package:path-escapes"),
        (archive(member("/etc/passwd", b"x")), "package:absolute-path"),
        (archive(member("C:/x", b"x")), "package:absolute-path"),
        (archive(member("src/a", kind=tarfile.SYMTYPE, target="/etc/passwd")), "package:link"),
        (archive(member("src/a", kind=tarfile.LNKTYPE, target="src/b")), "package:link"),
        (archive(member("src/a", kind=tarfile.CHRTYPE)), "package:device"),
        (archive(member("src/a", kind=tarfile.BLKTYPE)), "package:device"),
        (archive(member("src/a", kind=tarfile.FIFOTYPE)), "package:device"),
        (archive(member("src/a", b"1"), member("src/a", b"2")), "package:duplicate-name"),
        (archive(member("src/a", b"1"), member("./src//a", b"2")), "package:duplicate-name"),
        (archive(member("src/a", b"1"), member("src/A", b"2")), "package:duplicate-name"),
        (archive(member("src/a", b"1"), member("SRC/b", b"2")), "package:duplicate-name"),
        (archive(member("src/é", b"1"), member("src/e\u0301", b"2")), "package:duplicate-name"),
        (archive(member("src", b"1"), member("src/a", b"2")), "package:duplicate-name"),
        (archive(member("src/a", b"1"), member("src", b"2")), "package:duplicate-name"),
        (archive(member("src/\udcff", b"1")), "package:bad-encoding"),
        (archive(member("src\\a", b"1")), "package:bad-encoding"),
        (archive(member("src/a\nb", b"1")), "package:bad-encoding"),
        (archive(member("src/a\u202eb", b"1")), "package:bad-encoding"),
        (archive(member("src/" + "a" * 300, b"1")), "package:bad-encoding"),
        (archive(member("/".join(["abcdefgh"] * 60), b"1")), "package:bad-encoding"),
        (archive(member("a/" * 800 + "b", b"1")), "package:bad-encoding"),
        (archive(member(".", b"1")), "package:bad-encoding"),
        (archive(member("src/.git/config", b"1")), "package:reserved-name"),
        (archive(member("src/.GIT/config", b"1")), "package:reserved-name"),
        (archive(member(".gitattributes", b"1")), "package:reserved-name"),
        (archive(member(f"a/{DESC}"), member(f"b/{DESC}")), "package:two-roots"),
        (archive(member(f"a/{DESC}"), member("b/x")), "package:two-roots"),
        (archive(member(DESC), member(f"a/{DESC}")), "package:two-roots"),
        (archive(member(f"a/b/{DESC}")), "package:two-roots"),
        (b"not a gzip at all", "package:not-an-archive"),
        (b"", "package:not-an-archive"),
        (gzip.compress(b"not a tar" * 100), "package:not-an-archive"),
        (gzip.compress(b""), "package:not-an-archive"),
        (archive(), "package:not-an-archive"),
        (archive(member("src/a", b"x"))[:-20], "package:not-an-archive"),
        (archive(member("src/a", b"x")) + archive(member("src/b", b"x")), "package:not-an-archive"),
        (gzip.compress(member("src/a", b"x" * 2000)[:1024]), "package:not-an-archive"),
        (gzip.compress(member("src/a", b"x") + b"\0" * 1024 + member("src/b", b"x")), "package:not-an-archive"),
        (archive(member("src/a", kind=tarfile.GNUTYPE_SPARSE)), "package:not-an-archive"),
        (archive(member("src/a", kind=b"Q")), "package:not-an-archive"),
    ],
)  # fmt: skip
def test_it_refuses_with_the_code_of_the_attack(data: bytes, code: str) -> None:
    assert code_of(data) == code


def test_it_does_not_repeat_an_endless_name() -> None:
    name = member("././@LongLink", b"x" * 50_000, kind=tarfile.GNUTYPE_LONGNAME)
    data = archive(name, member("a", kind=tarfile.SYMTYPE, target="b"))
    fault = rejection(lambda: read_archive(data))
    assert fault.code == "package:bad-encoding"
    assert len(fault.message) + len(str(fault.details)) < 500


def test_it_cuts_a_name_at_the_first_nul() -> None:
    hidden = signed(b"src/a\0b" + member("src/aXb", b"1")[7:])
    assert list(read_archive(archive(hidden))) == ["src/a"]


def test_it_refuses_a_header_cut_off() -> None:
    assert code_of(gzip.compress(member("src/a") + member("src/b")[:300])) == "package:not-an-archive"


def test_it_refuses_a_nul_in_a_long_name() -> None:
    long_name = member("././@LongLink", b"src/a\0b\0", kind=tarfile.GNUTYPE_LONGNAME)
    assert code_of(archive(long_name, member("short", b"1"))) == "package:bad-encoding"


def test_it_refuses_a_broken_checksum() -> None:
    header = bytearray(member("src/a", b"1"))
    header[0:1] = b"S"
    assert code_of(archive(bytes(header))) == "package:not-an-archive"


@pytest.mark.parametrize(
    "size", [b"\xff" * 12, b"\x80" + b"\xff" * 11, b"00000000009\0", b"77777777777\0", b"8" * 12]
)
def test_it_refuses_absurd_sizes(size: bytes) -> None:
    assert code_of(archive(with_size(member("src/a"), size))) == "package:not-an-archive"


@pytest.mark.parametrize(
    "records",
    [
        b"garbage",
        b"99 path=short\n",
        b"12 path=src/a",
        b"0 path=src/a\n",
        b"12 pathsrc/a\n",
        b"9" * 400,
        pax("size", "-1000"),
        pax("size", "1" * 13),
        pax("size", "6000"),
        pax("GNU.sparse.major", "1"),
    ],
)
def test_it_refuses_bad_pax_headers(records: bytes) -> None:
    assert code_of(archive(member("x", records, kind=tarfile.XHDTYPE), member("a"))) == "package:not-an-archive"


@pytest.mark.parametrize("record", [pax("path", "evil"), pax("size", "1")])
def test_it_refuses_a_global_header_that_changes_members(record: bytes) -> None:
    header = member("x", record, kind=tarfile.XGLTYPE)
    assert code_of(archive(header, member("a"))) == "package:not-an-archive"


@pytest.mark.parametrize("name", ["../evil", "/evil", "src/\x1b", ".git/config", "src\\a"])
def test_it_checks_the_name_a_pax_header_gives(name: str) -> None:
    header = member("x", pax("path", name), kind=tarfile.XHDTYPE)
    assert code_of(archive(header, member("innocent"))) in (
        "package:path-escapes",
        "package:absolute-path",
        "package:bad-encoding",
        "package:reserved-name",
    )


def test_it_takes_name_and_size_from_a_pax_header() -> None:
    header = member("x", pax("mtime", "1.5") + pax("path", "src/b") + pax("size", "3"), kind=tarfile.XHDTYPE)
    assert read_archive(archive(header, member("a", b"123"), member("c", b"4"))) == {"src/b": b"123", "c": b"4"}


def test_it_takes_a_size_in_base_256() -> None:
    assert read_archive(archive(with_size(member("src/a", b"1"), b"\x80" + b"\0" * 10 + b"\x01"))) == {
        "src/a": b"1"
    }


def test_it_ignores_a_global_comment_as_git_archive_writes() -> None:
    header = member("pax_global_header", b"52 comment=" + b"a" * 40 + b"\n", kind=tarfile.XGLTYPE)
    assert read_archive(archive(header, member("src/a", b"1"))) == {"src/a": b"1"}


def test_it_survives_many_chained_long_names() -> None:
    chain = [member("././@LongLink", b"x\0", kind=tarfile.GNUTYPE_LONGNAME)] * 3000
    assert code_of(archive(*chain), TRUSTED_LIMITS) == "package:not-an-archive"
    assert read_archive(archive(*chain, member("short", b"1")), TRUSTED_LIMITS) == {"x": b"1"}


def test_it_reads_a_long_extension_header_once() -> None:
    header = member("x", pax("comment", "c" * 70_000) * 20, kind=tarfile.XHDTYPE)
    assert read_archive(archive(header, member("a", b"1")), TRUSTED_LIMITS) == {"a": b"1"}


def test_it_counts_files() -> None:
    members = [member(f"src/f{number}", b"x") for number in range(201)]
    assert code_of(archive(*members)) == "package:too-many-files"
    assert len(read_archive(archive(*members[:200]))) == 200


def test_it_counts_folders_too() -> None:
    members = [member(f"d{number}", kind=tarfile.DIRTYPE) for number in range(801)]
    assert code_of(archive(*members)) == "package:too-many-files"


def test_it_refuses_too_many_packed_bytes() -> None:
    noise = random.Random(1).randbytes((1 << 20) + 1)
    assert code_of(noise) == "package:too-large"
    data = archive(member("src/a", b"1"))
    assert read_archive(data, PackageLimits(packed_bytes=len(data))) == {"src/a": b"1"}
    assert code_of(data, PackageLimits(packed_bytes=len(data) - 1)) == "package:too-large"


def test_it_refuses_too_many_unpacked_bytes() -> None:
    noise = random.Random(1).randbytes(1 << 18)
    limits = PackageLimits(unpacked_bytes=1 << 16, files=10)
    just_too_many = archive(member("src/a", noise[: 1 << 15]), member("src/b", noise[: (1 << 15) + 1]))
    assert code_of(just_too_many, limits) == "package:too-large"
    assert code_of(archive(member("src/a", noise)), limits) == "package:too-large"
    at_the_limit = archive(member("src/a", noise[: 1 << 15]), member("src/b", noise[: 1 << 15]))
    assert len(read_archive(at_the_limit, limits)) == 2


@pytest.mark.parametrize("size", [1 << 20, 7 << 20, 24 << 20])
def test_it_refuses_a_bomb_by_its_ratio(size: int) -> None:
    assert code_of(archive(member("src/zeros", bytes(size)))) == "package:bomb"


@pytest.mark.parametrize(
    ("content", "limits", "code", "most"),
    [
        (bytes(32 << 20), DEFAULT_LIMITS, "package:bomb", 10 << 20),
        (bytes(8 << 20), PackageLimits(unpacked_bytes=1 << 16, files=10), "package:bomb", 1 << 18),
        (random.Random(1).randbytes(1 << 20), PackageLimits(2 << 20, 1 << 16, 10), "package:too-large", 1 << 18),
    ],
)
def test_it_never_decompresses_much_past_the_limit(
    monkeypatch: pytest.MonkeyPatch, content: bytes, limits: PackageLimits, code: str, most: int
) -> None:
    produced = 0
    real = zlib.decompressobj

    class Counting:
        def __init__(self, wbits: int) -> None:
            self._engine = real(wbits)

        def decompress(self, data: bytes, limit: int) -> bytes:
            nonlocal produced
            part = self._engine.decompress(data, limit)
            produced += len(part)
            return part

        def __getattr__(self, name: str) -> object:
            return getattr(self._engine, name)

    monkeypatch.setattr(inflate.zlib, "decompressobj", Counting)
    assert code_of(archive(member("src/a", content)), limits) == code
    assert produced < most


def test_it_lets_a_tiny_package_of_padding_pass_the_ratio() -> None:
    files = {f"src/f{number:03}": b"x" for number in range(100)}
    assert read_archive(standard_archive(files)) == files


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_it_reads_what_each_tar_format_writes(tar_format: int) -> None:
    files = {DESC: b"a: 1\n", "src/" + "d" * 60 + "/" + "f" * 60 + ".cpp": b"int x;\n", "src/empty": b""}
    assert read_archive(standard_archive(files, tar_format)) == files


@pytest.mark.parametrize("options", [[], ["--format=ustar"], ["--format=pax"], ["--format=v7"]])
def test_it_reads_what_the_tar_command_writes(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.cpp").write_bytes(b"int a;\n")
    packed = subprocess.run(
        ["tar", *options, "-C", str(tmp_path), "-czf", "-", "."], capture_output=True, check=True
    )
    assert read_archive(packed.stdout) == {"src/a.cpp": b"int a;\n"}


def test_it_removes_one_wrapping_folder() -> None:
    data = archive(
        member("mykernel", kind=tarfile.DIRTYPE),
        member("mykernel/.kernel_package/desc.yaml", b"a: 1"),
        member("./mykernel/src/a.cpp", b"1"),
    )
    assert read_archive(data) == {DESC: b"a: 1", "src/a.cpp": b"1"}


def test_it_reads_old_folders_marked_by_a_slash() -> None:
    assert read_archive(archive(member("src/"), member("src/a", b"1"))) == {"src/a": b"1"}


def test_it_writes_nothing_that_depends_on_time_or_order() -> None:
    files = {"b": b"2", "a": b"1", "ü/" + "x" * 120: b"3"}
    assert write_archive(files) == write_archive(dict(reversed(files.items())))
    with tarfile.open(fileobj=io.BytesIO(write_archive(files))) as stream:
        members = stream.getmembers()
    assert [entry.name for entry in members] == sorted(files)
    assert {(entry.mtime, entry.uid, entry.uname, entry.mode) for entry in members} == {(0, 0, "", 0o644)}


SEGMENT = st.text(st.characters(categories=["L", "Nd"], include_characters="._-+ "), min_size=1, max_size=30)


@st.composite
def trees(draw: st.DrawFn) -> dict[str, bytes]:
    """Files whose names no file system confuses: each under its own numbered folder."""
    contents = draw(st.lists(st.binary(max_size=3000), min_size=1, max_size=12))
    return {f"{number}/n{draw(SEGMENT)}": content for number, content in enumerate(contents)}


@given(trees())
@settings(max_examples=60, deadline=None)
def test_it_round_trips_any_files(files: dict[str, bytes]) -> None:
    assert read_archive(write_archive(files), TRUSTED_LIMITS) == files


@given(st.binary(max_size=4000))
@settings(max_examples=100, deadline=None)
def test_it_answers_any_tar_bytes_with_files_or_a_code(noise: bytes) -> None:
    try:
        read_archive(gzip.compress(member("src/a", b"x") + noise))
    except Exception as fault:
        assert str(getattr(fault, "code", fault)).startswith("package:")
