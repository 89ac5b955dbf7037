"""A reader of cubins, the ELF files that GPUs run: what each kernel takes, from bytes we don't trust.

Read by section, as the driver does it. The tags of `.nv.info` are those that cuobjdump names EIATTR_….
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

MAGIC = b"\x7fELF\x02\x01"
_MACHINE_CUDA = 190
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_ITEM = struct.Struct("<BBH")
_PAIR = struct.Struct("<II")
_THREE = struct.Struct("<III")
_MAX_SECTIONS = 20_000
# How often a file may be read over, at most; twice is usual.
_READINGS, _SMALL_BYTES = 8, 1 << 16

_SHT_SYMTAB, _SHT_NOBITS = 2, 8
_STT_OBJECT, _STT_FUNCTION = 1, 2
# Of a symbol's st_other: the function is a kernel.
_STO_ENTRY = 0x10
# Of the flags of a section of code; from sm_100 on `.nv.info` has the barriers instead.
_BARRIERS_SHIFT, _BARRIERS_MASK = 20, 0x7F

_FORMAT_WITH_CONTENT = 4
_TAG_MAX_THREADS = 0x05
_TAG_FRAME_BYTES = 0x11
_TAG_MIN_STACK_BYTES = 0x12
_TAG_REGISTERS = 0x2F
_TAG_BARRIERS = 0x4C

_CODE, _SHARED, _PARAMETERS, _INFO = ".text.", ".nv.shared.", ".nv.constant0.", ".nv.info"
_DEVICE_MEMORY = ".nv.global"
_CONSTANT_MEMORY = ".nv.constant3"
# The linker's names for shared memory that the system keeps.
_SYSTEM_PREFIX = ".nv.reservedSmem"
# Where the system keeps shared memory for itself (from sm_90 on), each kernel's section holds that too.
_RESERVED_SHARED = ".nv.shared.reserved."
_RESERVED_SHARED_BYTES = 1024


class BadCubin(Exception):
    """The bytes are no cubin that we can read."""


@dataclass(frozen=True)
class CubinKernel:
    """What one kernel takes; sizes in bytes, registers for each thread.

    `max_threads` is None where `__launch_bounds__` does not tell. `constant_bytes` is the bank that holds the
    launch's arguments.
    """

    name: str
    registers: int
    static_shared_bytes: int
    frame_bytes: int
    min_stack_bytes: int
    max_threads: int | None
    barriers: int
    constant_bytes: int
    code_bytes: int


@dataclass(frozen=True)
class Variable:
    """One variable in device memory that outlives a launch."""

    name: str
    size_bytes: int


@dataclass(frozen=True)
class Cubin:
    """What matters of a cubin.

    `device_bytes` outlives a launch and can be written by kernels (`__device__` variables, static ones within
    functions too); `constant_bytes` is `__constant__` memory. `undefined` is what the driver is to supply.
    `code_bytes` is all code, functions that are not inlined included.
    """

    kernels: tuple[CubinKernel, ...]
    code_bytes: int
    device_bytes: int
    device_variables: tuple[Variable, ...]
    constant_bytes: int
    undefined: tuple[str, ...]

    def kernel(self, name: str) -> CubinKernel | None:
        return next((kernel for kernel in self.kernels if kernel.name == name), None)


def read_cubin(data: bytes) -> Cubin:
    """Read a cubin; raises BadCubin on anything odd."""
    try:
        return _Reader(data).read()
    except (struct.error, UnicodeDecodeError, IndexError, ValueError) as error:
        raise BadCubin(f"not a readable cubin: {error}") from None


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    kind: int
    other: int
    section: int
    size: int


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._sections: list[_Section] = []
        self._by_name: dict[str, _Section] = {}
        self._symbols: list[_Symbol] = []
        self._facts: dict[tuple[str, int], int] = {}
        # Tables may overlap: without a bound, a small file could be read for hours.
        self._bytes_left = _READINGS * len(data) + _SMALL_BYTES

    def read(self) -> Cubin:
        self._read_sections()
        self._by_name = {section.name: section for section in self._sections}
        self._symbols = list(self._read_symbols())
        self._facts = dict(self._read_info())
        device = [number for number, section in enumerate(self._sections) if _is_device_memory(section)]
        return Cubin(
            kernels=tuple(self._kernel(symbol) for symbol in self._symbols if _is_kernel(symbol)),
            code_bytes=sum(section.size for section in self._sections if section.name.startswith(_CODE)),
            device_bytes=sum(self._sections[number].size for number in device),
            device_variables=tuple(
                Variable(symbol.name, symbol.size)
                for symbol in self._symbols
                if symbol.kind == _STT_OBJECT and symbol.section in device
            ),
            constant_bytes=self._size(_CONSTANT_MEMORY),
            undefined=tuple(sorted({symbol.name for symbol in self._symbols if _is_undefined(symbol)})),
        )

    def _read_sections(self) -> None:
        ident, _, machine, *rest = _HEADER.unpack_from(self._data)
        table, entry_bytes, count, names_at = rest[3], rest[8], rest[9], rest[10]
        if ident[:6] != MAGIC or machine != _MACHINE_CUDA:
            raise BadCubin("not a 64-bit ELF file for CUDA")
        if entry_bytes != _SECTION.size or not 0 < count <= _MAX_SECTIONS:
            raise BadCubin("odd section headers")
        raw = [_SECTION.unpack_from(self._data, table + index * entry_bytes) for index in range(count)]
        names = raw[names_at][4]
        for name, kind, flags, _, offset, size, link, *_ in raw:
            self._sections.append(_Section(self._string(names + name), kind, flags, offset, size, link))
        for section in self._sections:
            if section.kind not in (0, _SHT_NOBITS) and section.offset + section.size > len(self._data):
                raise BadCubin(f"the section {section.name!r} is not all there")

    def _spend(self, count: int) -> None:
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise BadCubin("its tables overlap")

    def _string(self, start: int) -> str:
        end = self._data.index(b"\0", start)
        self._spend(end - start)
        return self._data[start:end].decode("utf-8")

    def _read_symbols(self) -> Iterator[_Symbol]:
        for table in self._sections:
            if table.kind != _SHT_SYMTAB:
                continue
            self._spend(table.size)
            names = self._sections[table.link].offset
            for at in range(table.offset, table.offset + table.size, _SYMBOL.size):
                name, info, other, section, _, size = _SYMBOL.unpack_from(self._data, at)
                yield _Symbol(self._string(names + name), info & 15, other, section, size)

    def _read_info(self) -> Iterator[tuple[tuple[str, int], int]]:
        """Yield ((kernel, tag), value) for each tag that we know."""
        for section in self._sections:
            if section.name != _INFO and not section.name.startswith(f"{_INFO}."):
                continue
            own = section.name.removeprefix(f"{_INFO}.")
            for tag, content in self._items(section):
                if tag == _TAG_MAX_THREADS:
                    x, y, z = _THREE.unpack(content)
                    yield (own, tag), x * y * z
                elif tag in (_TAG_FRAME_BYTES, _TAG_MIN_STACK_BYTES, _TAG_REGISTERS):
                    symbol, value = _PAIR.unpack(content)
                    yield (self._symbols[symbol].name, tag), value
                elif tag == _TAG_BARRIERS:
                    yield (own, tag), content[0]

    def _items(self, section: _Section) -> Iterator[tuple[int, bytes]]:
        """Yield tag and content of each item that has a content beyond its two bytes, and those of the rest."""
        self._spend(section.size)
        at, end = section.offset, section.offset + section.size
        while at < end:
            form, tag, value = _ITEM.unpack_from(self._data, at)
            at += _ITEM.size
            if form == _FORMAT_WITH_CONTENT:
                yield tag, self._data[at : at + value]
                at += value
            else:
                yield tag, value.to_bytes(2, "little")

    def _kernel(self, symbol: _Symbol) -> CubinKernel:
        name = symbol.name
        code = self._by_name.get(_CODE + name)
        if code is None or (name, _TAG_REGISTERS) not in self._facts:
            raise BadCubin(f"the kernel {name!r} has no code, or does not tell its registers")
        return CubinKernel(
            name=name,
            registers=self._facts[name, _TAG_REGISTERS],
            static_shared_bytes=max(0, self._size(_SHARED + name) - self._reserved_shared_bytes),
            frame_bytes=self._facts.get((name, _TAG_FRAME_BYTES), 0),
            min_stack_bytes=self._facts.get((name, _TAG_MIN_STACK_BYTES), 0),
            max_threads=self._facts.get((name, _TAG_MAX_THREADS)),
            barriers=self._facts.get((name, _TAG_BARRIERS), code.flags >> _BARRIERS_SHIFT & _BARRIERS_MASK),
            constant_bytes=self._size(_PARAMETERS + name),
            code_bytes=code.size,
        )

    @property
    def _reserved_shared_bytes(self) -> int:
        is_reserved = any(name.startswith(_RESERVED_SHARED) for name in self._by_name)
        return _RESERVED_SHARED_BYTES if is_reserved else 0

    def _size(self, name: str) -> int:
        section = self._by_name.get(name)
        return section.size if section is not None else 0


def _is_device_memory(section: _Section) -> bool:
    return section.name.startswith(_DEVICE_MEMORY)


def _is_kernel(symbol: _Symbol) -> bool:
    return symbol.kind == _STT_FUNCTION and bool(symbol.other & _STO_ENTRY) and symbol.section != 0


def _is_undefined(symbol: _Symbol) -> bool:
    return symbol.section == 0 and bool(symbol.name) and not symbol.name.startswith(_SYSTEM_PREFIX)
