"""Inspect a built library as data, before anything of it runs."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Any, Self

from native_bench.cpu.elf import (
    IFUNC_RELOCATIONS,
    PF_W,
    PF_X,
    PT_GNU_STACK,
    PT_LOAD,
    PT_TLS,
    STT_GNU_IFUNC,
    BadElf,
    Elf,
    read_elf,
)
from native_bench.cpu.opcodes import scan_library
from native_bench.cpu.symbols import is_allowed
from native_bench.host import native_arch
from native_bench.outcome import RunEnded
from native_bench.sandbox.interface import Sandbox
from submissions.evaluation.verdicts import Verdict

WRITABLE_LIMIT_BYTES = 64 * 1024
CODE_LIMIT_BYTES = 4 << 20
_NEEDED = (
    "libstdc++.so.6",
    "libm.so.6",
    "libgcc_s.so.1",
    "libc.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
)
_STARTERS = ("INIT", "FINI", "PREINIT_ARRAY", "INIT_ARRAY", "FINI_ARRAY")
_LOADER_TRICKS = ("RPATH", "RUNPATH", "AUDIT", "FILTER", "AUXILIARY", "TEXTREL")


@dataclass(frozen=True)
class Finding:
    """One reason to refuse a library."""

    code: str
    message: str


@dataclass(frozen=True)
class StaticReport:
    """What was read off a library; `findings` empty means that it may run."""

    sha256: str
    file_bytes: int
    writable_bytes: int
    undefined: tuple[str, ...]
    findings: tuple[Finding, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> Self:
        findings = tuple(Finding(**finding) for finding in document["findings"])
        return cls(**{**document, "undefined": tuple(document["undefined"]), "findings": findings})


def inspect_library(data: bytes, sandbox: Sandbox) -> StaticReport:
    """Return the report on a library, its disassembly included; raises RunEnded where that is not complete."""
    sha256 = hashlib.sha256(data).hexdigest()
    try:
        elf = read_elf(data)
    except BadElf as error:
        return StaticReport(sha256, len(data), 0, (), (Finding("inspect:bad-library", str(error)),))
    findings = elf_findings(elf)
    if _code_bytes(elf) <= CODE_LIMIT_BYTES:
        findings += _instruction_findings(data, sandbox)
    return StaticReport(sha256, len(data), elf.writable_bytes, tuple(elf.undefined), tuple(findings))


def _instruction_findings(data: bytes, sandbox: Sandbox) -> list[Finding]:
    return [
        Finding("inspect:forbidden-instruction", f"the code holds `{name}`: a kernel computes, and nothing else")
        for name in scan_library(data, sandbox)
    ]


def require_clean(report: StaticReport) -> None:
    """Raise RunEnded inspect_refused on the first finding, with all of them in the details."""
    if report.findings:
        first = report.findings[0]
        listed = [{"code": finding.code, "message": finding.message} for finding in report.findings]
        raise RunEnded(Verdict.INSPECT_REFUSED, first.code, first.message, findings=listed)


def elf_findings(elf: Elf) -> list[Finding]:
    """Return what in the library's headers speaks against it; pure."""
    return [
        *_kind_findings(elf),
        *_symbol_findings(elf),
        *_loader_findings(elf),
        *_code_findings(elf),
        *_memory_findings(elf),
    ]


def _kind_findings(elf: Elf) -> list[Finding]:
    if elf.machine == native_arch():
        return []
    return [Finding("inspect:bad-library", f"built for {elf.machine}, this runner is {native_arch()}")]


def _symbol_findings(elf: Elf) -> list[Finding]:
    found = [
        Finding(
            "inspect:forbidden-symbol",
            f"the kernel calls `{name}`, which is not allowed: it may use memcpy and its family and the maths "
            "library; it allocates nothing and asks the system nothing",
        )
        for name in elf.undefined
        if not is_allowed(name)
    ]
    found += [
        Finding("inspect:export", f"the library exports `{name}`; only zoo_entry may be seen")
        for name in elf.exported
        if name != "zoo_entry"
    ]
    ifunc = IFUNC_RELOCATIONS[elf.machine]
    if ifunc in elf.relocation_kinds or any(symbol.kind == STT_GNU_IFUNC for symbol in elf.symbols):
        found.append(
            Finding("inspect:ifunc", "an indirect function runs code while it is loaded: use a plain one")
        )
    return found


def _loader_findings(elf: Elf) -> list[Finding]:
    found = [
        Finding(
            "inspect:constructor",
            f"{name.lower()} present: code that runs at load or exit (constructors, destructors, static objects "
            "that need one) is not allowed; make it constexpr, or compute it in the call",
        )
        for name in _STARTERS
        if elf.dynamic.get(name) is not None and elf.dynamic.get(f"{name}SZ") != 0
    ]
    found += [
        Finding("inspect:loader", f"the library uses the loader's {name}, which is not allowed")
        for name in _LOADER_TRICKS
        if name in elf.dynamic
    ]
    found += [
        Finding("inspect:needed", f"the library wants {name}, which is not allowed")
        for name in elf.needed
        if name not in _NEEDED
    ]
    return found


def _code_bytes(elf: Elf) -> int:
    return sum(
        max(segment.file_bytes, segment.memory_bytes)
        for segment in elf.segments
        if segment.kind == PT_LOAD and segment.flags & PF_X
    )


def _code_findings(elf: Elf) -> list[Finding]:
    size = _code_bytes(elf)
    if size <= CODE_LIMIT_BYTES:
        return []
    message = f"{size} bytes of code, allowed are {CODE_LIMIT_BYTES}: unroll less, or share code between sizes"
    return [Finding("inspect:code-size", message)]


def _memory_findings(elf: Elf) -> list[Finding]:
    found = []
    for segment in elf.segments:
        both = segment.flags & PF_W and segment.flags & PF_X
        if (segment.kind == PT_LOAD and both) or (segment.kind == PT_GNU_STACK and segment.flags & PF_X):
            found.append(Finding("inspect:writable-code", "a segment is both writable and executable"))
        if segment.kind == PT_TLS:
            found.append(Finding("inspect:thread-local", "thread-local state is not allowed: use the stack"))
    if elf.writable_bytes > WRITABLE_LIMIT_BYTES:
        found.append(
            Finding(
                "inspect:static-data",
                f"{elf.writable_bytes} bytes of writable static data, allowed are {WRITABLE_LIMIT_BYTES}: "
                "use the stack (1 MiB)",
            )
        )
    return found
