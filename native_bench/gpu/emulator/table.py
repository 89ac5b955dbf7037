"""The table of all that is emulated. What is not in it is refused when a module is loaded, by name and line."""

from itertools import chain

from native_bench.gpu.emulator import (
    async_copy,
    atomics,
    bit_math,
    carry,
    compare,
    control,
    convert,
    float_math,
    half_math,
    integer_math,
    matrix_fragments,
    matrix_sync,
    moves,
    warps,
)
from native_bench.gpu.emulator.entry import Entry
from native_bench.gpu.emulator.site import Site
from native_bench.gpu.emulator.steps import Plain, Step

_MODULES = (
    integer_math,
    bit_math,
    carry,
    float_math,
    half_math,
    convert,
    compare,
    moves,
    control,
    warps,
    atomics,
    async_copy,
    matrix_sync,
    matrix_fragments,
)

ENTRIES: tuple[Entry, ...] = tuple(chain.from_iterable(module.ENTRIES for module in _MODULES))

# Every instruction with every type that it is written and tested for.
WHITELIST: tuple[tuple[str, str], ...] = tuple((entry.name, name) for entry in ENTRIES for name in entry.types)

_BY_OPCODE: dict[str, list[Entry]] = {}
for _entry in ENTRIES:
    _BY_OPCODE.setdefault(_entry.name.split(".")[0], []).append(_entry)


def entry_of(site: Site) -> Entry:
    """Return the entry for an instruction: of those that accept it the one that names most of its modifiers.

    Raises Unsupported without one.
    """
    found = [entry for entry in _BY_OPCODE.get(site.opcode, []) if entry.accepts(site)]
    if not found:
        raise site.unsupported()
    return max(found, key=lambda entry: len(entry.selecting))


def step_of(site: Site) -> Step:
    """Return what the stepping loop does with an instruction."""
    built = entry_of(site).build(site)
    return Plain(built) if callable(built) else built
