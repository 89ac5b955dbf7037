"""The reader of libraries and what speaks against one: bytes in, findings out."""

import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from native_bench.cpu import opcodes
from native_bench.cpu.elf import BadElf, Elf, Segment, Symbol, read_elf
from native_bench.cpu.inspect import (
    CODE_LIMIT_BYTES,
    StaticReport,
    elf_findings,
    inspect_library,
    require_clean,
)
from native_bench.cpu.opcodes import forbidden_instruction, scan_library
from native_bench.cpu.symbols import is_allowed
from native_bench.host import native_arch
from native_bench.outcome import RunEnded
from native_bench.sandbox.interface import Sandbox
from native_bench.sandbox.opening import open_sandbox


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
        ({"segments": (Segment(1, 5, 0, 0, 3 << 20, 3 << 20),) * 2}, "inspect:code-size"),
        ({"segments": (Segment(1, 5, 0, 0, 0, 5 << 20),)}, "inspect:code-size"),
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


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("syscall", "syscall"),
        ("rex.W syscall ", "syscall"),
        ("repnz repz rdtscp", "rdtscp"),
        ("sysretq", "sysretq"),
        ("int $0x80", "int $0x80"),
        ("mrs x0, cntvct_el0", "mrs x0, cntvct_el0"),
        ("svc ", "svc"),
        ("endbr64", None),
        ("mov $0x50f,%eax", None),
        ("int3", None),
        ("int $0x81", None),
        ("mrs x0, tpidr_el0", None),
        ("vfmadd231ps (%rdi,%rax,4),%ymm1,%ymm0", None),
    ],
)
def test_it_names_forbidden_instructions_and_no_others(text: str, name: str | None) -> None:
    assert forbidden_instruction(text) == name


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox(slot=1)


@pytest.fixture
def library(tmp_path: Path) -> Callable[[str], bytes]:
    """Assemble the body of a function into a library, with this machine's own tools."""

    def assemble(body: str) -> bytes:
        source = tmp_path / "a.s"
        source.write_text(f".globl zoo_entry\n.type zoo_entry, @function\nzoo_entry:\n{body}\n ret\n")
        command = ["gcc", "-shared", "-nostdlib", "-Wl,-z,separate-code", "-o", tmp_path / "a.so", source]
        subprocess.run(command, check=True)
        return (tmp_path / "a.so").read_bytes()

    return assemble


needs_x86 = pytest.mark.skipif(native_arch() != "x86_64", reason="needs x86_64 instructions")


@pytest.mark.sandbox
@needs_x86
@pytest.mark.parametrize(
    ("body", "names"),
    [
        (" mov $0x50f, %eax\n call syscall_table\nsyscall_table: nop", []),
        (" syscall", ["syscall"]),
        (" .byte 0x48, 0x0f, 0x05", ["syscall"]),
        (" .byte 0xf2, 0xf3, 0x0f, 0x31", ["rdtsc"]),
        (" .byte 0x0f\ninside: .byte 0x05\n nop", ["syscall"]),
        (" .byte 0xb8\ninside: rdtsc\n nop\n nop", ["rdtsc"]),
        (" rdtscp\n rdpmc\n int $0x80\n sysenter\n int3", ["int $0x80", "rdpmc", "rdtscp", "sysenter"]),
        # What would be left out by a listing that ends early, or skips what looks empty.
        (" .rept 100000\n int $0x20\n .endr\n .zero 4096\n syscall", ["syscall"]),
    ],
)
def test_it_finds_them_in_a_library(
    sandbox: Sandbox, library: Callable[[str], bytes], body: str, names: list[str]
) -> None:
    assert scan_library(library(body), sandbox) == names


@pytest.mark.sandbox
@needs_x86
def test_it_reads_large_code_to_its_end(sandbox: Sandbox, library: Callable[[str], bytes]) -> None:
    assert scan_library(library(" .rept 1000000\n nop\n .endr\n rdtsc"), sandbox) == ["rdtsc"]


@pytest.mark.sandbox
@needs_x86
def test_it_reads_no_code_that_is_too_large(
    sandbox: Sandbox, library: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("native_bench.cpu.inspect.scan_library", None)
    report = inspect_library(library(f" .zero {CODE_LIMIT_BYTES}, 0x90"), sandbox)
    assert "inspect:code-size" in [finding.code for finding in report.findings]


@pytest.mark.sandbox
@pytest.mark.parametrize("data", [b"\x7fELF" + bytes(60), b"no library"])
def test_it_takes_code_it_cannot_read_for_refused(sandbox: Sandbox, data: bytes) -> None:
    with pytest.raises(RunEnded) as caught:
        scan_library(data, sandbox)
    assert (str(caught.value.verdict), caught.value.code) == ("inspect_refused", "inspect:disassembly")


@pytest.mark.sandbox
@needs_x86
@pytest.mark.parametrize(
    "tight",
    [
        {"tmp_bytes": 16 << 10},
        {"file_bytes": 4 << 10},
        {"output_bytes": 8},
        {"wall_seconds": 0.0},
    ],
)
def test_it_passes_nothing_when_it_runs_out_of_anything(
    sandbox: Sandbox, library: Callable[[str], bytes], monkeypatch: pytest.MonkeyPatch, tight: dict[str, Any]
) -> None:
    monkeypatch.setattr(opcodes, "_LIMITS", replace(opcodes._LIMITS, **tight))
    with pytest.raises(RunEnded, match="cannot be read to its end"):
        scan_library(library(" .rept 100000\n int $0x20\n .endr"), sandbox)


@pytest.mark.sandbox
def test_it_takes_missing_tools_for_its_own_fault(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opcodes, "_SCRIPT", opcodes._SCRIPT.replace("command -v objdump", "command -v no-objdump"))
    with pytest.raises(RunEnded) as caught:
        scan_library(b"", sandbox)
    assert (str(caught.value.verdict), caught.value.code) == ("infra_error", "inspect:objdump")


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
