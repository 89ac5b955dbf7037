"""The reader of libraries and what speaks against one: bytes in, findings out."""

import struct
from dataclasses import replace

import pytest

from native_bench.cpu.elf import BadElf, Elf, Segment, Symbol, read_elf
from native_bench.cpu.inspect import StaticReport, elf_findings, require_clean
from native_bench.cpu.opcodes import forbidden_instructions
from native_bench.cpu.symbols import is_allowed
from native_bench.host import native_arch
from native_bench.outcome import RunEnded


@pytest.fixture
def clean() -> Elf:
    entry = Symbol("zoo_entry", 2, 1, True)
    return Elf(native_arch(), (Segment(1, 5, 0, 0, 10, 10),), {}, ("libc.so.6",), (entry,), frozenset())


def codes(elf: Elf) -> list[str]:
    return [finding.code for finding in elf_findings(elf)]


def test_it_finds_nothing_in_a_clean_library(clean: Elf) -> None:
    assert codes(clean) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"machine": "aarch64" if native_arch() == "x86_64" else "x86_64"}, "inspect:bad-library"),
        ({"dynamic": {"INIT_ARRAY": 64, "INIT_ARRAYSZ": 8}}, "inspect:constructor"),
        ({"dynamic": {"INIT": 64}}, "inspect:constructor"),
        ({"dynamic": {"RPATH": 1}}, "inspect:loader"),
        ({"dynamic": {"TEXTREL": 0}}, "inspect:loader"),
        ({"needed": ("libcblas.so.3",)}, "inspect:needed"),
        ({"segments": (Segment(1, 7, 0, 0, 10, 10),)}, "inspect:writable-code"),
        ({"segments": (Segment(0x6474E551, 7, 0, 0, 0, 0),)}, "inspect:writable-code"),
        ({"segments": (Segment(7, 4, 0, 0, 0, 8),)}, "inspect:thread-local"),
        ({"segments": (Segment(1, 6, 0, 0, 0, 70000),)}, "inspect:static-data"),
        ({"symbols": (Symbol("other", 2, 1, True),)}, "inspect:export"),
        ({"symbols": (Symbol("socket", 2, 1, False),)}, "inspect:forbidden-symbol"),
        ({"symbols": (Symbol("zoo_entry", 10, 1, True),)}, "inspect:ifunc"),
        ({"relocation_kinds": frozenset({37 if native_arch() == "x86_64" else 1032})}, "inspect:ifunc"),
    ],
)
def test_it_finds_what_speaks_against_a_library(clean: Elf, changes: dict[str, object], code: str) -> None:
    assert code in codes(replace(clean, **changes))


def test_it_does_not_count_what_relocation_makes_read_only(clean: Elf) -> None:
    segments = (Segment(1, 6, 0, 0, 0, 70000), Segment(0x6474E552, 4, 0, 0, 0, 9000))
    assert replace(clean, segments=segments).writable_bytes == 61000


@pytest.mark.parametrize("name", ["memcpy", "expf", "sincosf", "fma", "__expf_finite", "__truncsfhf2"])
def test_it_allows_memory_moves_and_mathematics(name: str) -> None:
    assert is_allowed(name)


@pytest.mark.parametrize("name", ["malloc", "_Znwm", "fork", "clock_gettime", "dlsym", "cblas_sgemm", "getenv"])
def test_it_allows_nothing_else(name: str) -> None:
    assert not is_allowed(name)


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + b"\0" * 200, b"MZ" + b"\0" * 100])
def test_it_refuses_what_is_no_library(data: bytes) -> None:
    with pytest.raises(BadElf):
        read_elf(data)


def test_it_refuses_a_library_that_points_outside_itself() -> None:
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    program = struct.pack("<IIQQQQQQ", 2, 6, 0, 0x1000, 0x1000, 16, 16, 8)
    with pytest.raises(BadElf, match="in no segment"):
        read_elf(header + program)


def test_it_names_forbidden_instructions_and_no_others() -> None:
    listing = """
    1000:\tendbr64
    1004:\tmov    $0x50f,%eax
    1009:\tcall   2000 <rdtsc_table>
    100e:\tsyscall
    1010:\tlock rdtscp
    1013:\tint    $0x80
    1015:\tint3
    1018:\tmrs\tx0, cntvct_el0
    101c:\tsvc\t#0x0
"""
    assert forbidden_instructions(listing) == ["int $0x80", "mrs x0, cntvct_el0", "rdtscp", "svc", "syscall"]


def test_a_report_survives_json_and_refuses_by_its_first_finding() -> None:
    document = {
        "sha256": "0" * 64,
        "file_bytes": 1,
        "writable_bytes": 0,
        "undefined": ["fork"],
        "findings": [{"code": "inspect:x", "message": "no"}],
    }
    report = StaticReport.from_json(document)
    assert StaticReport.from_json(report.as_json()) == report
    with pytest.raises(RunEnded) as caught:
        require_clean(report)
    assert (caught.value.code, caught.value.details["findings"]) == ("inspect:x", document["findings"])
