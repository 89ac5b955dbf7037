"""A reader of 64-bit little-endian ELF libraries: what the loader will use, read from bytes we don't trust.

Only program headers and the dynamic section count: section headers are decoration that a linker script can forge.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

PT_LOAD, PT_DYNAMIC, PT_TLS, PT_GNU_STACK, PT_GNU_RELRO = 1, 2, 7, 0x6474E551, 0x6474E552
PF_X, PF_W = 1, 2
ET_DYN = 3
MACHINES = {62: "x86_64", 183: "aarch64"}
IFUNC_RELOCATIONS = {"x86_64": 37, "aarch64": 1032}
STT_GNU_IFUNC = 10

DT = {
    "NEEDED": 1, "HASH": 4, "STRTAB": 5, "SYMTAB": 6, "RELA": 7, "RELASZ": 8, "RELAENT": 9, "STRSZ": 10,
    "INIT": 12, "FINI": 13, "RPATH": 15, "PLTRELSZ": 2, "TEXTREL": 22, "JMPREL": 23, "INIT_ARRAY": 25,
    "FINI_ARRAY": 26, "INIT_ARRAYSZ": 27, "FINI_ARRAYSZ": 28, "RUNPATH": 29, "FLAGS": 30, "PREINIT_ARRAY": 32,
    "RELRSZ": 35, "GNU_HASH": 0x6FFFFEF5, "AUDIT": 0x6FFFFEFC, "AUXILIARY": 0x7FFFFFFD, "FILTER": 0x7FFFFFFF,
}  # fmt: skip
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_PROGRAM = struct.Struct("<IIQQQQQQ")
_DYNAMIC = struct.Struct("<qQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELA = struct.Struct("<QQq")
_MAX_SYMBOLS = 100_000


class BadElf(Exception):
    """The bytes are no library that we can read."""


@dataclass(frozen=True)
class Segment:
    """One program header."""

    kind: int
    flags: int
    offset: int
    address: int
    file_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Symbol:
    """One dynamic symbol."""

    name: str
    kind: int
    binding: int
    is_defined: bool


@dataclass(frozen=True)
class Elf:
    """What matters of a library."""

    machine: str
    segments: tuple[Segment, ...]
    dynamic: dict[str, int] = field(repr=False)
    needed: tuple[str, ...]
    symbols: tuple[Symbol, ...]
    relocation_kinds: frozenset[int]

    @property
    def undefined(self) -> list[str]:
        return sorted(symbol.name for symbol in self.symbols if not symbol.is_defined and symbol.name)

    @property
    def exported(self) -> list[str]:
        return sorted(symbol.name for symbol in self.symbols if symbol.is_defined)

    @property
    def writable_bytes(self) -> int:
        """Bytes of .data and .bss: writable segments less what is read-only after relocation."""
        writable = sum(s.memory_bytes for s in self.segments if s.kind == PT_LOAD and s.flags & PF_W)
        return max(0, writable - sum(s.memory_bytes for s in self.segments if s.kind == PT_GNU_RELRO))


def read_elf(data: bytes) -> Elf:
    """Read a library; raises BadElf on anything odd."""
    try:
        return _Reader(data).read()
    except (struct.error, UnicodeDecodeError, IndexError, ValueError) as error:
        raise BadElf(f"not a readable library: {error}") from None


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._segments: list[Segment] = []

    def read(self) -> Elf:
        ident, kind, machine, *_ = header = _HEADER.unpack_from(self._data)
        if ident[:6] != b"\x7fELF\x02\x01" or kind != ET_DYN or machine not in MACHINES:
            raise BadElf("not a 64-bit little-endian shared library of a known machine")
        table, entry_bytes, count = header[5], header[9], header[10]
        if entry_bytes != _PROGRAM.size or count > 64:
            raise BadElf("odd program headers")
        self._segments = [self._segment(table + index * entry_bytes) for index in range(count)]
        entries = list(self._dynamic())
        dynamic = {name: value for name, number in DT.items() for tag, value in entries if tag == number}
        return Elf(
            machine=MACHINES[machine],
            segments=tuple(self._segments),
            dynamic=dynamic,
            needed=tuple(self._string(dynamic, value) for tag, value in entries if tag == DT["NEEDED"]),
            symbols=tuple(self._symbols(dynamic)),
            relocation_kinds=frozenset(self._relocations(dynamic)),
        )

    def _segment(self, at: int) -> Segment:
        kind, flags, offset, address, _, file_bytes, memory_bytes, _ = _PROGRAM.unpack_from(self._data, at)
        return Segment(kind, flags, offset, address, file_bytes, memory_bytes)

    def _dynamic(self) -> Iterator[tuple[int, int]]:
        for segment in self._segments:
            if segment.kind != PT_DYNAMIC:
                continue
            # By address, as the loader does it: p_offset could point at another table.
            start = self._offset(segment.address)
            for at in range(start, start + segment.memory_bytes, _DYNAMIC.size):
                tag, value = _DYNAMIC.unpack_from(self._data, at)
                if tag == 0:
                    return
                yield tag, value

    def _offset(self, address: int) -> int:
        for segment in self._segments:
            if segment.kind == PT_LOAD and segment.address <= address < segment.address + segment.file_bytes:
                return address - segment.address + segment.offset
        raise BadElf(f"address {address:#x} is in no segment")

    def _string(self, dynamic: dict[str, int], index: int) -> str:
        start = self._offset(dynamic["STRTAB"]) + index
        return self._data[start : self._data.index(b"\0", start)].decode("utf-8")

    def _symbols(self, dynamic: dict[str, int]) -> Iterator[Symbol]:
        if "SYMTAB" not in dynamic:
            return
        start = self._offset(dynamic["SYMTAB"])
        for index in range(1, self._symbol_count(dynamic)):
            name, info, _, section, _, _ = _SYMBOL.unpack_from(self._data, start + index * _SYMBOL.size)
            yield Symbol(self._string(dynamic, name), info & 15, info >> 4, section != 0)

    def _symbol_count(self, dynamic: dict[str, int]) -> int:
        if "HASH" in dynamic:
            count = struct.unpack_from("<II", self._data, self._offset(dynamic["HASH"]))[1]
        else:
            count = self._gnu_hash_count(self._offset(dynamic["GNU_HASH"]))
        if count > _MAX_SYMBOLS:
            raise BadElf("too many symbols")
        return int(count)

    def _gnu_hash_count(self, start: int) -> int:
        buckets, first, bloom, _ = struct.unpack_from("<IIII", self._data, start)
        if buckets > _MAX_SYMBOLS:
            raise BadElf("too many symbols")
        table = start + 16 + 8 * bloom
        last = max(struct.unpack_from(f"<{buckets}I", self._data, table), default=0)
        if last < first:
            return int(first)
        chain = table + 4 * buckets
        while not struct.unpack_from("<I", self._data, chain + 4 * (last - first))[0] & 1:
            last += 1
        return int(last) + 1

    def _relocations(self, dynamic: dict[str, int]) -> Iterator[int]:
        for start_name, size_name in (("RELA", "RELASZ"), ("JMPREL", "PLTRELSZ")):
            if start_name not in dynamic:
                continue
            start = self._offset(dynamic[start_name])
            for at in range(start, start + dynamic[size_name], _RELA.size):
                yield _RELA.unpack_from(self._data, at)[1] & 0xFFFFFFFF
