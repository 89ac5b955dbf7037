"""Cases for control flow, barriers, warps and matrices."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from native_bench.gpu.emulator import FaultKind, LaunchFault
from tests.unit.native_bench_gpu.conformance_matrices import matrix_cases
from tests.unit.native_bench_gpu.hand_written import run_lines
from tests.unit.native_bench_gpu.shown import Shown

_RNG = np.random.default_rng(21)
_TID = "mov.u32 %tid, %tid.x;"
_OUT = ["mad.wide.u32 %at, %tid, 4, %a0;", "st.global.u32 [%at], %r1;"]


def _outcome(lines: list[str], block: int = 64, **options: Any) -> list[int]:
    (out,) = run_lines([_TID, *lines, *_OUT], [np.zeros(block, "u4")], block=block, **options)
    return [int(value) for value in out]


def _given(lines: list[str], values: np.ndarray, block: int = 64) -> list[int]:
    """Run lines with each thread's value in %r2; what they leave in %r1 comes back."""
    load = [_TID, "mad.wide.u32 %at, %tid, 4, %a1;", "ld.global.u32 %r2, [%at];"]
    out, _ = run_lines([*load, *lines, *_OUT], [np.zeros(block, "u4"), values.astype(np.uint32)], block=block)
    return [int(value) for value in out]


def _check_branch() -> None:
    lines = ["mov.u32 %r1, 0;", "mov.u32 %r3, 0;", "top:", "add.u32 %r1, %r1, 3;", "add.u32 %r3, %r3, 1;"]
    lines += ["setp.le.u32 %p1, %r3, %tid;", "@%p1 bra top;", "bra.uni over;", "mov.u32 %r1, 0;", "over:"]
    assert _outcome(lines) == [3 * (at + 1) for at in range(64)]


def _check_table_branch() -> None:
    lines = ["and.b32 %r2, %tid, 3;", "table: .branchtargets a, b, c, d;", "brx.idx %r2, table;"]
    for at, name in enumerate("abcd"):
        lines += [f"{name}:", f"mov.u32 %r1, {10 * at};", "bra end;"]
    assert _outcome([*lines, "end:"]) == [10 * (at & 3) for at in range(64)]


def _check_leaving(opcode: str) -> None:
    lines = ["setp.gt.u32 %p1, %tid, 40;", f"@%p1 {opcode};", "mov.u32 %r1, 1;"]
    assert _outcome(lines) == [int(at <= 40) for at in range(64)]


def _check_fault(line: str, kind: FaultKind) -> None:
    with pytest.raises(LaunchFault) as caught:
        _outcome(["setp.eq.u32 %p1, %tid, 40;", f"@%p1 {line};"])
    assert caught.value.fault.kind is kind and caught.value.fault.thread == (40, 0, 0)


def _check_assertion() -> None:
    variables = (
        ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
    )
    variables += f".global .align 1 .b8 text[6] = {{{', '.join(str(ord(c)) for c in 'a > b')}, 0}};"
    lines = [
        "mov.u64 %w1, text;",
        "cvta.global.u64 %w1, %w1;",
        "{ .param .b64 q0; .param .b64 q1; .param .b32 q2;",
    ]
    lines += [
        ".param .b64 q3; .param .b64 q4; st.param.b64 [q0], %w1;",
        "call.uni __assertfail, (q0, q1, q2, q3, q4); }",
    ]
    with pytest.raises(LaunchFault) as caught:
        _outcome(lines, variables=variables)
    assert caught.value.fault.kind is FaultKind.ASSERTION and "'a > b'" in caught.value.fault.message


def _check_print() -> None:
    variables = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);"
    lines = [
        "{ .param .b64 q0; .param .b64 q1; .param .b32 q2; call.uni (q2), vprintf, (q0, q1); }",
        "mov.u32 %r1, %tid;",
    ]
    assert _outcome(lines, variables=variables) == list(range(64))


def _check_barrier(opcode: str) -> None:
    lines = [".shared .align 4 .b8 room[256];", "mov.u64 %w1, room;", "mad.wide.u32 %w2, %tid, 4, %w1;"]
    lines += [
        "st.shared.u32 [%w2], %tid;",
        f"{opcode} 0;",
        "sub.u32 %r3, 63, %tid;",
        "mad.wide.u32 %w2, %r3, 4, %w1;",
    ]
    assert _outcome([*lines, "ld.shared.u32 %r1, [%w2];"]) == list(range(63, -1, -1))


def _check_arrival(family: str) -> None:
    """The first warp brings values and arrives, the second waits for them."""
    lines = [
        ".shared .align 4 .b8 room[128];",
        "mov.u64 %w1, room;",
        "and.b32 %r3, %tid, 31;",
        "mad.wide.u32 %w2, %r3, 4, %w1;",
    ]
    lines += ["mov.u32 %r1, 7;", "setp.lt.u32 %p1, %tid, 32;", "@!%p1 bra wait;", "st.shared.u32 [%w2], %tid;"]
    lines += [
        f"{family}.arrive 3, 64;",
        "bra end;",
        "wait:",
        f"{family}.sync 3, 64;",
        "ld.shared.u32 %r1, [%w2];",
        "end:",
    ]
    assert _outcome(lines) == [7] * 32 + list(range(32))


def _check_reduction(family: str, how: str) -> None:
    for least in (0, 10, 64):
        target, tail = ("%r1", "") if how == "popc" else ("%p2", "selp.u32 %r1, 1, 0, %p2;")
        own = "u32" if how == "popc" else "pred"
        lines = [f"setp.ge.u32 %p1, %tid, {least};", f"{family}.red.{how}.{own} {target}, 0, %p1;", tail]
        wanted = {"popc": 64 - least, "and": int(least == 0), "or": int(least < 64)}[how]
        assert _outcome(lines) == [wanted] * 64


def _check_warp_barrier() -> None:
    """Two halves of a warp meet at different instructions."""
    lines = [
        ".shared .align 4 .b8 room[256];",
        "mov.u64 %w1, room;",
        "mad.wide.u32 %w2, %tid, 4, %w1;",
        "setp.lt.u32 %p1, %tid, 16;",
    ]
    lines += ["st.shared.u32 [%w2], %tid;", "@%p1 bra low;", "bar.warp.sync 0xffffffff;", "bra both;", "low:"]
    lines += [
        "bar.warp.sync -1;",
        "both:",
        "xor.b32 %r3, %tid, 31;",
        "mad.wide.u32 %w2, %r3, 4, %w1;",
        "ld.shared.u32 %r1, [%w2];",
    ]
    assert _outcome(lines, block=32) == list(range(31, -1, -1))


def _check_fence(line: str) -> None:
    assert _outcome([line, "mov.u32 %r1, %tid;"]) == list(range(64))


def _control_cases() -> Iterator[Shown]:
    yield Shown((("bra", ""),), _check_branch, "bra")
    yield Shown((("brx.idx", ""),), _check_table_branch, "brx.idx")
    for opcode in ("ret", "exit"):
        yield Shown(((opcode, ""),), partial(_check_leaving, opcode), opcode)
    for opcode in ("trap", "brkpt"):
        yield Shown(((opcode, ""),), partial(_check_fault, opcode, FaultKind.TRAP), opcode)
    yield Shown((("call.__assertfail", ""),), _check_assertion, "assert")
    yield Shown((("call.vprintf", ""),), _check_print, "printf")
    for opcode in ("bar.sync", "bar.cta.sync", "barrier.sync", "barrier.cta.sync"):
        yield Shown(((opcode, ""),), partial(_check_barrier, opcode), opcode)
    for family in ("bar", "barrier"):
        yield Shown(((f"{family}.arrive", ""),), partial(_check_arrival, family), f"{family}.arrive")
        for how, own in (("popc", "u32"), ("and", "pred"), ("or", "pred")):
            yield Shown(
                ((f"{family}.red.{how}", own),), partial(_check_reduction, family, how), f"{family}.red.{how}"
            )
    yield Shown((("bar.warp.sync", ""),), _check_warp_barrier, "bar.warp.sync")
    for line in ("membar.cta;", "membar.gl;", "membar.sys;"):
        yield Shown((("membar", ""),), partial(_check_fence, line), line)
    for line in ("fence.acq_rel.gpu;", "fence.sc.cta;"):
        yield Shown((("fence", ""),), partial(_check_fence, line), line)


def _check_shuffle(mode: str) -> None:
    """Against the rule in the ISA's pseudocode, for several segments."""
    values = _RNG.integers(0, 2**32, 64).astype(np.uint32)
    for width in (32, 8):
        clamp = (32 - width) << 8 | (0 if mode == "up" else 31)
        for offset in (1, 5, 9):
            lines = [
                f"shfl.sync.{mode}.b32 %r1|%p1, %r2, {offset}, {clamp}, 0xffffffff;",
                "@!%p1 not.b32 %r1, %r1;",
            ]
            found = _given(lines, values)
            assert found == [_shuffled(values, mode, width, offset, at) for at in range(64)]


def _shuffled(values: np.ndarray, mode: str, width: int, offset: int, at: int) -> int:
    lane, base = at % 32, at // 32 * 32
    start = lane // width * width
    source = {"up": lane - offset, "down": lane + offset, "bfly": lane ^ offset, "idx": start + offset % width}[
        mode
    ]
    is_inside = source >= start if mode == "up" else source <= start + width - 1
    value = int(values[base + (source if is_inside else lane)])
    return value if is_inside else value ^ 0xFFFF_FFFF


def _check_vote(how: str) -> None:
    for values in (np.arange(64) % 3, np.ones(64), np.zeros(64)):
        lines = ["setp.ne.u32 %p1, %r2, 0;"]
        lines += (
            ["vote.sync.ballot.b32 %r1, %p1, -1;"]
            if how == "ballot"
            else [f"vote.sync.{how}.pred %p2, %p1, -1;", "selp.u32 %r1, 1, 0, %p2;"]
        )
        found = _given(lines, values)
        for warp in (0, 1):
            flags = values[32 * warp :][:32] != 0
            bits = sum(1 << at for at in range(32) if flags[at])
            wanted = {
                "ballot": bits,
                "all": int(flags.all()),
                "any": int(flags.any()),
                "uni": int(flags.all() or not flags.any()),
            }[how]
            assert set(found[32 * warp :][:32]) == {wanted}


def _check_match(how: str, own: str) -> None:
    for values in (_RNG.integers(0, 4, 64), np.full(64, 9)):
        value = "%r2"
        lines = []
        if own == "b64":
            lines, value = ["mov.b64 %w5, {%r2, %r2};"], "%w5"
        if how == "any":
            lines += [f"match.any.sync.{own} %r1, {value}, -1;"]
        else:
            lines += [f"match.all.sync.{own} %r1|%p1, {value}, -1;", "@%p1 add.u32 %r1, %r1, 1;"]
        found = _given(lines, values)
        for at in range(64):
            warp = values[at // 32 * 32 :][:32]
            equal = sum(1 << lane for lane in range(32) if warp[lane] == values[at])
            assert found[at] == (equal if how == "any" else 0)


def _check_redux(how: str, own: str) -> None:
    values = _RNG.integers(0, 2**32, 64).astype(np.uint32)
    found = _given([f"redux.sync.{how}.{own} %r1, %r2, -1;"], values)
    functions: dict[str, Callable[..., Any]] = {
        "add": np.add.reduce,
        "min": np.min,
        "max": np.max,
        "and": np.bitwise_and.reduce,
        "or": np.bitwise_or.reduce,
        "xor": np.bitwise_xor.reduce,
    }
    for warp in (0, 1):
        part = values[32 * warp :][:32].view(np.int32 if own == "s32" else np.uint32)
        wanted = int(functions[how](part.astype(np.int64))) & 0xFFFF_FFFF
        assert set(found[32 * warp :][:32]) == {wanted}


def _check_active() -> None:
    lines = ["mov.u32 %r1, 0;", "and.b32 %r3, %tid, 5;", "setp.eq.u32 %p1, %r3, 1;", "@%p1 activemask.b32 %r1;"]
    mask = sum(1 << lane for lane in range(32) if lane & 5 == 1)
    assert _outcome(lines) == [mask if at & 5 == 1 else 0 for at in range(64)]


def _check_election() -> None:
    lines = ["setp.lt.u32 %p1, %tid, 6;", "mov.u32 %r1, 77;", "@%p1 bra end;", "elect.sync %r3|%p2, 0xffffffc0;"]
    lines += ["selp.u32 %r1, 1000, 0, %p2;", "add.u32 %r1, %r1, %r3;", "end:"]
    assert _outcome(lines, block=32) == [77] * 6 + [1006] + [6] * 25


def _warp_cases() -> Iterator[Shown]:
    for mode in ("up", "down", "bfly", "idx"):
        yield Shown(((f"shfl.sync.{mode}", "b32"),), partial(_check_shuffle, mode), f"shfl.{mode}")
    for how in ("ballot", "all", "any", "uni"):
        pair = (f"vote.sync.{how}", "b32" if how == "ballot" else "pred")
        yield Shown((pair,), partial(_check_vote, how), f"vote.{how}")
    for how in ("any", "all"):
        for own in ("b32", "b64"):
            yield Shown(((f"match.{how}.sync", own),), partial(_check_match, how, own), f"match.{how}.{own}")
    for how in ("add", "min", "max", "and", "or", "xor"):
        for own in ("u32", "s32") if how in ("add", "min", "max") else ("b32",):
            yield Shown(((f"redux.sync.{how}", own),), partial(_check_redux, how, own), f"redux.{how}.{own}")
    yield Shown((("activemask", "b32"),), _check_active, "activemask")
    yield Shown((("elect.sync", ""),), _check_election, "elect")


def warp_cases() -> list[Shown]:
    """Return the cases of control flow, barriers, warps and matrices."""
    return [*_control_cases(), *_warp_cases(), *matrix_cases()]
