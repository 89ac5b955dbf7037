"""Cases of atomic instructions: each order of lanes is right, the emulator's is the lanes' own."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tests.unit.native_bench_gpu.exact_numbers import from_bits, rounded, to_bits, wrapped
from tests.unit.native_bench_gpu.hand_written import run_lines
from tests.unit.native_bench_gpu.shown import Shown

_RNG = np.random.default_rng(13)
_BYTES = "mov.u32 %tid, %tid.x;"


def _size(name: str) -> int:
    return int(name[1:]) // 8


_PLACES = 5


def _atomic_values(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return what lies in memory at first, and each thread's value, as bits."""
    if name[0] in "usb" and not name.startswith("bf"):
        dtype, sign = f"u{_size(name)}", -1 if name[0] == "s" else 1
        return _RNG.integers(0, 9, _PLACES).astype(dtype), (sign * _RNG.integers(0, 2**15, 64)).astype(dtype)
    element = name.removesuffix("x2")
    count = 2 if name.endswith("x2") else 1
    first, values = (to_bits((_RNG.integers(-8, 9, n * count) / 4).tolist(), element) for n in (_PLACES, 64))
    return (first.view(np.uint32), values.view(np.uint32)) if count == 2 else (first, values)


def _number(bits: Any, name: str) -> Any:
    if name[0] in "usb" and not name.startswith("bf"):
        return wrapped(int(bits), name)
    if name.endswith("x2"):
        return tuple(from_bits(np.array([bits]).view(np.uint16), name[:-2]).tolist())
    return float(from_bits(np.array([bits]), name)[0])


def _updated(how: str, name: str, old: Any, value: Any, expected: Any) -> Any:
    if isinstance(old, tuple):
        return tuple(rounded(Fraction(a) + Fraction(b), name[:-2]) for a, b in zip(old, value, strict=True))
    if isinstance(old, float):
        return rounded(Fraction(old) + Fraction(value), name)
    return {
        "add": lambda: wrapped(old + value, name),
        "min": lambda: min(old, value),
        "max": lambda: max(old, value),
        "and": lambda: old & value,
        "or": lambda: old | value,
        "xor": lambda: old ^ value,
        "exch": lambda: value,
        "cas": lambda: value if old == expected else old,
        "inc": lambda: 0 if old >= value else old + 1,
        "dec": lambda: value if old == 0 or old > value else old - 1,
    }[how]()


def _check_atomic(opcode: str, how: str, name: str, space: str) -> None:
    first, values = _atomic_values(name)
    size, is_returning = first.dtype.itemsize, opcode == "atom"
    raw, value, other = {2: ("%h1", "%h2", "%h3"), 4: ("%r1", "%r2", "%r3"), 8: ("%w5", "%w6", "%w7")}[size]
    bits = f"b{8 * size}"
    expected = first[0] if how == "cas" else None
    lines = [_BYTES, f"mad.wide.u32 %at, %tid, {size}, %a1;", f"ld.global.{bits} {value}, [%at];"]
    lines += [f"rem.u32 %r9, %tid, {_PLACES};", f"mad.wide.u32 %w1, %r9, {size}, %a0;"]
    if space == "shared":
        lines += [".shared .align 8 .b8 room[64];", f"mov.u64 %w2, room;  mad.wide.u32 %w2, %r9, {size}, %w2;"]
        lines += [f"setp.lt.u32 %p1, %tid, {_PLACES};", f"@%p1 ld.global.{bits} {raw}, [%w1];"]
        lines += [f"@%p1 st.shared.{bits} [%w2], {raw};", "bar.sync 0;", "mov.u64 %w3, %w1;", "mov.u64 %w1, %w2;"]
    where = "" if space == "generic" else f".{space}"
    extra = ".noftz" if name in ("f16", "f16x2", "bf16", "bf16x2") else ""
    operands = f"[%w1], {value}"
    if how == "cas":
        lines += [f"ld.global.{bits} {other}, [%a2];"]
        operands = f"[%w1], {other}, {value}"
    lines += [f"{opcode}{where}.{how}{extra}.{name} {raw + ', ' if is_returning else ''}{operands};"]
    if is_returning:
        lines += [f"st.global.{bits} [%at], {raw};"]
    if space == "shared":
        lines += ["bar.sync 0;", f"@%p1 ld.shared.{bits} {raw}, [%w2];", f"@%p1 st.global.{bits} [%w3], {raw};"]
    memory, found, _ = run_lines(lines, [first, values, first[:1].copy()], block=64)
    state = [_number(bits, name) for bits in first]
    wanted = None if expected is None else _number(expected, name)
    for at, value in enumerate(values):
        old = state[at % _PLACES]
        if is_returning:
            assert _number(found[at], name) == old
        state[at % _PLACES] = _updated(how, name, old, _number(value, name), wanted)
    assert [_number(bits, name) for bits in memory] == state


ATOMICS = {
    "add": ("u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"),
    "min": ("u32", "s32", "u64", "s64"),
    "max": ("u32", "s32", "u64", "s64"),
    "and": ("b32", "b64"),
    "or": ("b32", "b64"),
    "xor": ("b32", "b64"),
    "inc": ("u32",),
    "dec": ("u32",),
    "exch": ("b32", "b64"),
    "cas": ("b16", "b32", "b64"),
}


def atomic_cases() -> Iterator[Shown]:
    """Yield the cases of this file."""
    for how, types in ATOMICS.items():
        for name in types:
            for opcode in ("atom",) if how in ("exch", "cas") else ("atom", "red"):
                for space in ("global", "shared", "generic"):
                    yield Shown(
                        ((f"{opcode}.{how}", name),),
                        partial(_check_atomic, opcode, how, name, space),
                        f"{opcode}.{space}.{how}.{name}",
                    )
