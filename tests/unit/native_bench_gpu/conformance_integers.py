"""Cases of integer arithmetic and bit manipulation, judged by Python's integers."""

from collections.abc import Iterator
from functools import partial
from itertools import product

from tests.unit.native_bench_gpu.conformance_case import INTEGERS, Case, Oracle, bits_in, integers
from tests.unit.native_bench_gpu.exact_numbers import wrapped


def _quotient(x: int, y: int) -> int:
    if y == 0:
        return -1
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(x: int, y: int) -> int:
    return x if y == 0 else x - _quotient(x, y) * y


def _unsigned(value: int, name: str) -> int:
    return value & ((1 << bits_in(name)) - 1)


def _shift_right(name: str, x: int, n: int) -> int:
    return x >> min(n, 200)


def _extract(name: str, x: int, at: int, count: int) -> int:
    at, count, bits = at & 255, count & 255, bits_in(name)
    if name[0] == "u":
        return (x >> at) & ((1 << count) - 1)
    if count == 0:
        return 0
    # Beyond the top the sign repeats.
    sign = x >> min(at + count - 1, bits - 1) & 1
    field_bits = [(x >> (at + i) & 1) if i < count and at + i < bits else sign for i in range(bits)]
    return sum(bit << i for i, bit in enumerate(field_bits))


def _insert(name: str, new: int, old: int, at: int, count: int) -> int:
    at, count = at & 255, count & 255
    mask = ((1 << count) - 1) << at
    return (old & ~mask) | (new << at & mask)


def _find_top(name: str, x: int) -> int:
    return (~x if x < 0 else x).bit_length() - 1


def _permuted(_name: str, x: int, y: int, selector: int) -> int:
    octets = [(y << 32 | x) >> 8 * i & 0xFF for i in range(8)]
    out = 0
    for place in range(4):
        choice = selector >> 4 * place & 15
        octet = octets[choice & 7]
        out |= ((0xFF if octet & 0x80 else 0) if choice & 8 else octet) << 8 * place
    return out


def _dot(name: str, sizes: tuple[int, int], start: int, x: int, y: int, added: int) -> int:
    x_name, y_name = name.split(".")
    total = added
    count = 32 // sizes[0]
    for at in range(count):
        left = wrapped(x >> sizes[0] * at, f"{x_name[0]}{sizes[0]}")
        total += left * wrapped(y >> sizes[1] * (at + start), f"{y_name[0]}{sizes[1]}")
    return total


def _product24(name: str, x: int, y: int) -> int:
    return wrapped(x, name[0] + "24") * wrapped(y, name[0] + "24")


_WIDER = {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}
_INTEGER_TABLE: dict[str, tuple[tuple[str, ...], str, str, Oracle]] = {
    # instruction: types, sources, result, oracle of (type, values)
    "add": (INTEGERS, "t t", "t", lambda t, x, y: x + y),
    "sub": (INTEGERS, "t t", "t", lambda t, x, y: x - y),
    "mul.lo": (INTEGERS, "t t", "t", lambda t, x, y: x * y),
    "mul.hi": (INTEGERS, "t t", "t", lambda t, x, y: x * y >> bits_in(t)),
    "mul.wide": (INTEGERS[:4], "t t", "w", lambda t, x, y: x * y),
    "mad.lo": (INTEGERS, "t t t", "t", lambda t, x, y, z: x * y + z),
    "mad.hi": (INTEGERS, "t t t", "t", lambda t, x, y, z: (x * y >> bits_in(t)) + z),
    "mad.wide": (INTEGERS[:4], "t t w", "w", lambda t, x, y, z: x * y + z),
    "mul24.lo": (("u32", "s32"), "t t", "t", _product24),
    "mad24.lo": (("u32", "s32"), "t t t", "t", lambda t, x, y, z: _product24(t, x, y) + z),
    "div": (INTEGERS, "t t", "t", lambda t, x, y: _quotient(x, y)),
    "rem": (INTEGERS, "t t", "t", lambda t, x, y: _remainder(x, y)),
    "abs": (INTEGERS[1::2], "t", "t", lambda t, x: abs(x)),
    "neg": (INTEGERS[1::2], "t", "t", lambda t, x: -x),
    "min": (INTEGERS, "t t", "t", lambda t, x, y: min(x, y)),
    "max": (INTEGERS, "t t", "t", lambda t, x, y: max(x, y)),
    "sad": (INTEGERS, "t t t", "t", lambda t, x, y, z: abs(x - y) + z),
    "and": (("b16", "b32", "b64"), "t t", "t", lambda t, x, y: x & y),
    "or": (("b16", "b32", "b64"), "t t", "t", lambda t, x, y: x | y),
    "xor": (("b16", "b32", "b64"), "t t", "t", lambda t, x, y: x ^ y),
    "not": (("b16", "b32", "b64"), "t", "t", lambda t, x: ~x),
    "cnot": (("b16", "b32", "b64"), "t", "t", lambda t, x: int(x == 0)),
    "shl": (("b16", "b32", "b64"), "t u32", "t", lambda t, x, n: x << min(n, 200)),
    "shr": ((*INTEGERS, "b16", "b32", "b64"), "t u32", "t", _shift_right),
    "bfe": (INTEGERS[2:], "t u32 u32", "t", _extract),
    "bfi": (("b32", "b64"), "t t u32 u32", "t", _insert),
    "popc": (("b32", "b64"), "t", "u32", lambda t, x: x.bit_count()),
    "clz": (("b32", "b64"), "t", "u32", lambda t, x: bits_in(t) - x.bit_length()),
    "bfind": (INTEGERS[2:], "t", "u32", _find_top),
    "brev": (("b32", "b64"), "t", "t", lambda t, x: int(f"{x:0{bits_in(t)}b}"[::-1], 2)),
    "prmt": (("b32",), "b32 b32 u32", "b32", _permuted),
    "slct": (
        tuple(f"{name}.s32" for name in ("b16", "b32", "b64", *INTEGERS)),
        "t t s32",
        "t",
        lambda t, x, y, c: x if c >= 0 else y,
    ),
}


def integer_cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    for name, (types, sources, result, oracle) in _INTEGER_TABLE.items():
        for full in types:
            own = full.split(".")[0]
            named = {"t": own, "w": _WIDER.get(own, "")}
            operands = tuple(named.get(word, word) for word in sources.split())
            yield Case(
                (name, full),
                f"{name}.{full} {{d0}}, " + ", ".join(f"{{s{at}}}" for at in range(len(operands))) + ";",
                operands,
                (named.get(result, result),),
                partial(oracle, own),
                integers(*operands),
            )
    for kinds in product("us", "us"):
        types = ".".join(f"{kind}32" for kind in kinds)
        values = integers("b32", "b32", "u32")
        for name, sizes, start in (("dp4a", (8, 8), 0), ("dp2a.lo", (16, 8), 0), ("dp2a.hi", (16, 8), 2)):
            text = f"{name}.{types} {{d0}}, {{s0}}, {{s1}}, {{s2}};"
            yield Case(
                (name, types), text, ("b32", "b32", "u32"), ("u32",), partial(_dot, types, sizes, start), values
            )
    yield from _other_integer_cases()


def _other_integer_cases() -> Iterator[Case]:
    for how, oracle in (
        ("l.wrap", _left_wrap),
        ("r.clamp", _right_clamp),
        ("l.clamp", _left_clamp),
        ("r.wrap", _right_wrap),
    ):
        values = tuple((*pair, n) for pair in integers("b32", "b32")[::5] for n in (0, 1, 31, 32, 33, 70))
        yield Case(
            ("shf", "b32"),
            f"shf.{how}.b32 {{d0}}, {{s0}}, {{s1}}, {{s2}};",
            ("b32", "b32", "u32"),
            ("b32",),
            oracle,
            values,
        )
    for table in (0x00, 0xE8, 0x96, 0x1B, 0xFF):
        text = f"lop3.b32 {{d0}}, {{s0}}, {{s1}}, {{s2}}, {table};"
        yield Case(
            ("lop3", "b32"), text, ("b32",) * 3, ("b32",), partial(_logic3, table), integers("b32", "b32", "b32")
        )
    yield Case(
        ("bfind", "u32"),
        "bfind.shiftamt.u32 {d0}, {s0};",
        ("u32",),
        ("u32",),
        lambda x: 32 - x.bit_length() if x else -1,
        integers("u32"),
    )
    for name, limit in (("add", lambda x, y: x + y), ("sub", lambda x, y: x - y)):
        text = f"{name}.sat.s32 {{d0}}, {{s0}}, {{s1}};"
        oracle = lambda x, y, f=limit: max(-(2**31), min(2**31 - 1, f(x, y)))  # noqa: E731
        yield Case((name, "s32"), text, ("s32", "s32"), ("s32",), oracle, integers("s32", "s32"))
    for name, logic in (("and", lambda x, y: x and y), ("or", lambda x, y: x or y), ("xor", lambda x, y: x != y)):
        both = tuple(product((False, True), repeat=2))
        yield Case(
            (name, "pred"), f"{name}.pred {{d0}}, {{s0}}, {{s1}};", ("pred", "pred"), ("pred",), logic, both
        )
    yield Case(("not", "pred"), "not.pred {d0}, {s0};", ("pred",), ("pred",), lambda x: not x, ((False,), (True,)))


def _left_wrap(low: int, high: int, n: int) -> int:
    return (high << 32 | low) << (n & 31) >> 32


def _left_clamp(low: int, high: int, n: int) -> int:
    return (high << 32 | low) << min(n, 32) >> 32


def _right_wrap(low: int, high: int, n: int) -> int:
    return (high << 32 | low) >> (n & 31)


def _right_clamp(low: int, high: int, n: int) -> int:
    return (high << 32 | low) >> min(n, 32)


def _logic3(table: int, x: int, y: int, z: int) -> int:
    return sum((table >> (4 * (x >> i & 1) + 2 * (y >> i & 1) + (z >> i & 1)) & 1) << i for i in range(32))
