"""Cases of comparisons and choices."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from tests.unit.native_bench_gpu.conformance_case import (
    HALVES,
    INTEGERS,
    SINGLES,
    Case,
    by_halves,
    floats,
    integers,
    is_float,
)

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda x, y: x == y,
    "ne": lambda x, y: x != y,
    "lt": lambda x, y: x < y,
    "le": lambda x, y: x <= y,
    "gt": lambda x, y: x > y,
    "ge": lambda x, y: x >= y,
}


def _ordered_only(name: str, x: float, y: float) -> bool:
    return not (math.isnan(x) or math.isnan(y)) and _COMPARE[name](x, y)


def _compared_values(own: str) -> tuple[tuple[Any, ...], ...]:
    if not is_float(own):
        return integers(own, own)
    return floats(own, own, extra=()) + _special_pairs(own)


def _special_pairs(own: str) -> tuple[tuple[Any, ...], ...]:
    pairs = ((math.nan, 1.0), (1.0, math.nan), (math.inf, 1.0))
    return tuple(((x, x), (y, y)) for x, y in pairs) if own.endswith("x2") else pairs


_COMPARED = ("b16", "b32", "b64", *INTEGERS, *SINGLES, *HALVES)


def choice_cases() -> Iterator[Case]:
    """Yield the cases of this file."""
    for own in _COMPARED:
        names = ("eq", "ne") if own[0] == "b" and not is_float(own) else tuple(_COMPARE)
        for name in names:
            yield from _setp_cases(own, name)
    yield from _unordered_cases()
    yield from _set_cases()
    for own in ("b16", "b32", "b64", *INTEGERS, *SINGLES):
        values = _compared_values(own)[:60]
        chosen = tuple((*pair, at % 2 == 0) for at, pair in enumerate(values))
        text = f"selp.{own} {{d0}}, {{s0}}, {{s1}}, {{s2}};"
        yield Case(("selp", own), text, (own, own, "pred"), (own,), lambda x, y, c: x if c else y, chosen)
    for own in SINGLES:
        values = tuple((*pair, n) for pair in floats(own, own)[:40] for n in (-3, 0, 5))
        text = f"slct.{own}.s32 {{d0}}, {{s0}}, {{s1}}, {{s2}};"
        yield Case(
            ("slct", f"{own}.s32"), text, (own, own, "s32"), (own,), lambda x, y, c: x if c >= 0 else y, values
        )


def _setp_cases(own: str, name: str) -> Iterator[Case]:
    values = _compared_values(own)
    if own.endswith("x2"):
        holds = lambda x, y: tuple(_ordered_only(name, a, b) for a, b in zip(x, y, strict=True))  # noqa: E731
        yield Case(
            ("setp", own),
            f"setp.{name}.{own} {{d0}}|{{d1}}, {{s0}}, {{s1}};",
            (own, own),
            ("pred", "pred"),
            holds,
            values,
        )
    else:
        single = partial(_ordered_only, name) if is_float(own) else _COMPARE[name]
        holds = lambda x, y: (single(x, y), not single(x, y))  # noqa: E731
        yield Case(
            ("setp", own),
            f"setp.{name}.{own} {{d0}}|{{d1}}, {{s0}}, {{s1}};",
            (own, own),
            ("pred", "pred"),
            holds,
            values,
        )
    for how, combine in (("and", lambda a, b: a and b), ("or", lambda a, b: a or b), ("xor", lambda a, b: a != b)):
        text = f"setp.{name}.{how}.{own} {{d0}}|{{d1}}, {{s0}}, {{s1}}, {{s2}};"
        mixed = tuple((*pair, at % 2 == 0) for at, pair in enumerate(values[:80]))
        oracle = lambda x, y, c, h=holds, f=combine: tuple(f(one, c) for one in h(x, y))  # noqa: E731
        yield Case((f"setp.{how}", own), text, (own, own, "pred"), ("pred", "pred"), oracle, mixed)


def _unordered_cases() -> Iterator[Case]:
    for own in ("f32", "f64", "f16", "bf16"):
        values = floats(own, own)[:40] + _special_pairs(own)
        for name, test in _COMPARE.items():
            oracle = lambda x, y, f=test: math.isnan(x) or math.isnan(y) or f(x, y)  # noqa: E731
            yield Case(
                ("setp", own), f"setp.{name}u.{own} {{d0}}, {{s0}}, {{s1}};", (own, own), ("pred",), oracle, values
            )
        both = lambda x, y: not (math.isnan(x) or math.isnan(y))  # noqa: E731
        yield Case(("setp", own), f"setp.num.{own} {{d0}}, {{s0}}, {{s1}};", (own, own), ("pred",), both, values)
    for name, test in (("lo", "lt"), ("ls", "le"), ("hi", "gt"), ("hs", "ge")):
        text = f"setp.{name}.u32 {{d0}}, {{s0}}, {{s1}};"
        yield Case(("setp", "u32"), text, ("u32", "u32"), ("pred",), _COMPARE[test], integers("u32", "u32"))


def _set_cases() -> Iterator[Case]:
    for of in ("b32", "u32", "s32", "u64", "s64", "f32", "f64"):
        for to in ("u32", "s32", "f32"):
            test = partial(_ordered_only, "ne") if is_float(of) else _COMPARE["ne"]
            yes = 1.0 if to == "f32" else -1
            oracle = lambda x, y, f=test, v=yes: v if f(x, y) else type(v)(0)  # noqa: E731
            yield Case(
                ("set", f"{to}.{of}"),
                f"set.ne.{to}.{of} {{d0}}, {{s0}}, {{s1}};",
                (of, of),
                (to,),
                oracle,
                _compared_values(of),
            )
    for of in HALVES:
        test = partial(_ordered_only, "gt")
        oracle = lambda x, y, t=of, f=test: by_halves(t, lambda a, b: float(f(a, b)), x, y)  # noqa: E731
        yield Case(
            ("set", f"{of}.{of}"),
            f"set.gt.{of}.{of} {{d0}}, {{s0}}, {{s1}};",
            (of, of),
            (of,),
            oracle,
            _compared_values(of),
        )
        yield Case(
            ("set", f"u32.{of}"),
            f"set.gt.u32.{of} {{d0}}, {{s0}}, {{s1}};",
            (of, of),
            ("u32",),
            partial(_as_mask, of, test),
            _compared_values(of),
        )


def _as_mask(name: str, test: Callable[..., bool], x: Any, y: Any) -> int:
    if not name.endswith("x2"):
        return -1 if test(x, y) else 0
    return sum(0xFFFF << 16 * half for half in (0, 1) if test(x[half], y[half]))
