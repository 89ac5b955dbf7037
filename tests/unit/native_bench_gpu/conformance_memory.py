"""Cases for loads, stores, copies, atomics and long arithmetic. Each names the whitelist's pairs that it shows."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from native_bench.gpu.emulator import DeviceMemory, load_module
from tests.unit.native_bench_gpu.conformance_atomics import atomic_cases
from tests.unit.native_bench_gpu.exact_numbers import wrapped
from tests.unit.native_bench_gpu.hand_written import HEADER, run_lines
from tests.unit.native_bench_gpu.shown import Shown

TYPES = ("b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64")
_RNG = np.random.default_rng(12)


def _size(name: str) -> int:
    return int(name[1:]) // 8


def _register(name: str) -> str:
    """Return a register wide enough to show how a value is extended: floats are not."""
    return {"f32": "%f0", "f64": "%w9"}.get(name, "%w0")


def _extended(content: np.ndarray, name: str) -> np.ndarray:
    values = content.view(f"{'i' if name[0] == 's' else 'u'}{_size(name)}")
    return values.astype(np.int64).view(np.uint64) if name[0] == "s" else values.astype(np.uint64)


def _random(name: str, count: int = 32) -> np.ndarray:
    return _RNG.integers(0, 256, count * _size(name)).astype(np.uint8)


def _show(name: str) -> list[str]:
    """Return lines that store the loaded register to buffer 1 as 64 bits."""
    out = ["mad.wide.u32 %at, %tid, 8, %a1;"]
    if name == "f32":
        return [*out, "mov.b32 %r9, %f0;", "cvt.u64.u32 %w0, %r9;", "st.global.u64 [%at], %w0;"]
    return [*out, f"st.global.b64 [%at], {_register(name)};"]


_BYTES = "mov.u32 %tid, %tid.x;"


def _load_lines(space: str, name: str) -> tuple[list[str], str]:
    """Return lines that bring buffer 0 into a space and load it from there, and the variables they need."""
    size = _size(name)
    from_global = [_BYTES, f"mad.wide.u32 %at, %tid, {size}, %a0;"]
    if space in ("global", "generic", "ldu"):
        opcode = {"global": "ld.global", "generic": "ld", "ldu": "ldu.global"}[space]
        return [*from_global, f"{opcode}.{name} {_register(name)}, [%at];"], ""
    copied = [f"ld.global.b{8 * size} {_raw(size)}, [%at];"]
    room = f".{space} .align 8 .b8 room[512];"
    place = ["mov.u64 %w2, room;", f"mad.wide.u32 %w3, %tid, {size}, %w2;"]
    stored = [f"st.{space}.b{8 * size} [%w3], {_raw(size)};", f"ld.{space}.{name} {_register(name)}, [%w3];"]
    return [room, *from_global, *copied, *place, *stored], ""


def _raw(size: int) -> str:
    return {1: "%h0", 2: "%h0", 4: "%r3", 8: "%w4"}[size]


def _check_load(space: str, name: str) -> None:
    content = _random(name)
    lines, variables = _load_lines(space, name)
    _, out = run_lines([*lines, *_show(name)], [content, np.zeros(32, "u8")], variables=variables)
    assert np.array_equal(out, _extended(content, name))


def _check_constant(name: str) -> None:
    content = _random(name)
    variables = f".const .align 8 .b8 table[{content.size}] = {{{', '.join(map(str, content))}}};"
    lines = [_BYTES, "mov.u64 %w2, table;", f"mad.wide.u32 %w3, %tid, {_size(name)}, %w2;"]
    lines += [f"ld.const.{name} {_register(name)}, [%w3];", *_show(name)]
    _, out = run_lines(lines, [np.zeros(1, "u1"), np.zeros(32, "u8")], variables=variables)
    assert np.array_equal(out, _extended(content, name))


def _check_parameter(name: str) -> None:
    content = _random(name, 4)
    lines = [".reg .b64 %a<3>, %at, %w<20>; .reg .b32 %tid, %r<20>; .reg .f32 %f<3>; .reg .b16 %h<2>;"]
    lines += ["ld.param.u64 %a1, [out];", _BYTES]
    lines += [f"ld.param.{name} {_register(name)}, [given+{_size(name)}];", *_show(name), "ret;"]
    parameters = f".param .align 8 .b8 given[{content.size}], .param .u64 out"
    ptx = f"{HEADER}.visible .entry k({parameters}) {{\n" + "\n".join(lines) + "\n}\n"
    memory = DeviceMemory()
    out = memory.allocate(256, "out")
    load_module(ptx).launch("k", (1, 1, 1), (32, 1, 1), 0, [content.tobytes(), out], memory)
    wanted = _extended(content, name)[1]
    assert (memory.fetch(out, np.uint64) == wanted).all()


def _check_store(space: str, name: str) -> None:
    """Store the low bits of 64-bit values, load them back and compare the raw bytes."""
    size, values = _size(name), _RNG.integers(0, 2**63, 32).astype(np.uint64)
    source = {"f32": "%f1", "f64": "%w0"}.get(name, "%w0")
    lines = [_BYTES, "mad.wide.u32 %at, %tid, 8, %a0;", "ld.global.u64 %w0, [%at];"]
    lines += ["cvt.u32.u64 %r1, %w0;", "mov.b32 %f1, %r1;"]
    if space in ("shared", "local"):
        lines += [
            f".{space} .align 8 .b8 room[512];",
            "mov.u64 %w2, room;",
            f"mad.wide.u32 %w3, %tid, {size}, %w2;",
        ]
        lines += [f"st.{space}.{name} [%w3], {source};", f"ld.{space}.b{8 * size} {_raw(size)}, [%w3];"]
        lines += [f"mad.wide.u32 %at, %tid, {size}, %a1;", f"st.global.b{8 * size} [%at], {_raw(size)};"]
    else:
        opcode = "st" if space == "generic" else f"st.{space}"
        lines += [f"mad.wide.u32 %at, %tid, {size}, %a1;", f"{opcode}.{name} [%at], {source};"]
    _, out = run_lines(lines, [values, np.zeros(32 * size, "u1")])
    assert np.array_equal(out, values.view(np.uint8).reshape(32, 8)[:, :size].ravel())


def _check_call(name: str) -> None:
    """Pass a value through a function's parameter and result."""
    size, content = _size(name), _random(name)
    raw = f"b{8 * size}"
    variables = f""".func (.param .{raw} back) twice(.param .{raw} given) {{
        .reg .b64 %q; .reg .f32 %g; .reg .b64 %w9;
        ld.param.{name} {"%g" if name == "f32" else "%q"}, [given];
        st.param.{name} [back+0], {"%g" if name == "f32" else "%q"};
        ret; }}"""
    lines = [_BYTES, f"mad.wide.u32 %at, %tid, {size}, %a0;", f"ld.global.{name} {_register(name)}, [%at];"]
    lines += [f"{{ .param .{raw} given0; .param .{raw} back0; st.param.{name} [given0+0], {_register(name)};"]
    lines += [
        "call.uni (back0), twice, (given0);",
        f"ld.param.{name} {_register(name)}, [back0+0]; }}",
        *_show(name),
    ]
    _, out = run_lines(lines, [content, np.zeros(32, "u8")], variables=variables)
    assert np.array_equal(out, _extended(content, name))


def _check_vectors(space: str) -> None:
    x = np.arange(256, dtype=np.uint32)
    room = ".shared .align 16 .b8 room[512];" if space == "shared" else ""
    lines = [room, _BYTES, "mad.wide.u32 %at, %tid, 16, %a0;", "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%at];"]
    if space == "shared":
        lines += [
            "mov.u64 %w2, room;",
            "mad.wide.u32 %w3, %tid, 16, %w2;",
            "st.shared.v4.u32 [%w3], {%r1,%r2,%r3,%r4};",
        ]
        lines += ["ld.shared.v2.u32 {%r4,%r3}, [%w3];", "ld.shared.v2.u32 {%r2,%r1}, [%w3+8];"]
    else:
        lines += [
            "mov.u32 %r5, %r1; mov.u32 %r1, %r4; mov.u32 %r4, %r5;",
            "mov.u32 %r5, %r2; mov.u32 %r2, %r3; mov.u32 %r3, %r5;",
        ]
    lines += ["mad.wide.u32 %at, %tid, 16, %a1;", "st.global.v4.b32 [%at], {%r1,%r2,%r3,%r4};"]
    _, out = run_lines(lines, [x[:128], np.zeros(128, "u4")])
    assert np.array_equal(out.reshape(32, 4), x[:128].reshape(32, 4)[:, ::-1])


def _check_move(name: str) -> None:
    if name == "pred":
        lines = [_BYTES, "setp.lt.u32 %p1, %tid, 7;", "mov.pred %p2, %p1;", "selp.u32 %r1, 1, 0, %p2;"]
    elif _size(name) == 2:
        lines = [_BYTES, "cvt.u16.u32 %h1, %tid;", f"mov.{name} %h2, %h1;", "cvt.u32.u16 %r1, %h2;"]
    elif _size(name) == 4:
        lines = [_BYTES, f"mov.{name} %r1, %tid;"]
    else:
        lines = [_BYTES, "cvt.u64.u32 %w1, %tid;", f"mov.{name} %w2, %w1;", "cvt.u32.u64 %r1, %w2;"]
    (out,) = run_lines(
        [*lines, "mad.wide.u32 %at, %tid, 4, %a0;", "st.global.u32 [%at], %r1;"], [np.zeros(32, "u4")]
    )
    assert np.array_equal(out, np.arange(32) < 7 if name == "pred" else np.arange(32))


def _check_packing() -> None:
    lines = [_BYTES, "mad.wide.u32 %at, %tid, 8, %a0;", "ld.global.u64 %w1, [%at];", "mov.b64 {%r1, %r2}, %w1;"]
    lines += ["mov.b32 {%h1, %h2}, %r1;", "mov.b32 %r1, {%h2, %h1};", "mov.b64 %w2, {%r2, %r1};"]
    x = _RNG.integers(0, 2**63, 32).astype(np.uint64)
    (out,) = run_lines([*lines, "st.global.u64 [%at], %w2;"], [x])
    low, high = x & np.uint64(0xFFFF_FFFF), x >> np.uint64(32)
    swapped = (low >> np.uint64(16)) | (low & np.uint64(0xFFFF)) << np.uint64(16)
    assert np.array_equal(out, high | swapped << np.uint64(32))


def _check_spaces() -> None:
    """Take generic addresses of all spaces, ask what they are, and go back."""
    lines = [_BYTES, ".shared .align 8 .b8 room[256];", ".local .align 8 .b8 own[8];", "mov.u64 %w1, room;"]
    lines += [
        "mad.wide.u32 %w1, %tid, 8, %w1;",
        "cvta.shared.u64 %w2, %w1;",
        "mov.u64 %w3, own;",
        "cvta.local.u64 %w4, %w3;",
    ]
    lines += ["cvta.to.shared.u64 %w5, %w2;", "cvta.to.local.u64 %w6, %w4;", "cvta.global.u64 %w7, %a0;"]
    lines += ["cvta.to.global.u64 %w7, %w7;", "isspacep.shared %p1, %w2;", "isspacep.local %p2, %w4;"]
    lines += [
        "isspacep.global %p3, %w7;",
        "isspacep.shared %p4, %w7;",
        "and.pred %p1, %p1, %p2;",
        "and.pred %p1, %p1, %p3;",
    ]
    lines += ["not.pred %p4, %p4;", "and.pred %p1, %p1, %p4;", "selp.u32 %r1, 5, 0, %p1;"]
    # Lanes of one warp use different spaces in one generic access.
    lines += [
        "setp.lt.u32 %p5, %tid, 16;",
        "selp.b64 %w8, %w2, %w4, %p5;",
        "st.u32 [%w8], %r1;",
        "ld.u32 %r2, [%w8];",
    ]
    lines += ["@%p5 ld.shared.u32 %r3, [%w5];", "@!%p5 ld.local.u32 %r3, [%w6];", "add.u32 %r2, %r2, %r3;"]
    (out,) = run_lines(
        [*lines, "mad.wide.u32 %at, %tid, 4, %w7;", "st.global.u32 [%at], %r2;"], [np.zeros(32, "u4")]
    )
    assert (out == 10).all()


def _check_copy(kind: str, size: int) -> None:
    x = _RNG.integers(0, 256, 32 * size).astype(np.uint8)
    taken = size // 2
    lines = [
        _BYTES,
        ".shared .align 16 .b8 room[1024];",
        f"mad.wide.u32 %w1, %tid, {size}, %a0;",
        "mov.u64 %w2, room;",
    ]
    lines += [
        f"mad.wide.u32 %w2, %tid, {size}, %w2;",
        "setp.lt.u32 %p1, %tid, 16;",
        f"selp.u32 %r1, {size}, {taken}, %p1;",
    ]
    lines += [f"cp.async.{kind}.shared.global [%w2], [%w1], {size}, %r1;"]
    lines += ["cp.async.commit_group;", "cp.async.wait_group 0;"] if kind == "ca" else ["cp.async.wait_all;"]
    lines += [
        "mov.u32 %r2, 0;",
        "again:",
        "cvt.u64.u32 %w3, %r2;",
        "add.u64 %w4, %w2, %w3;",
        "ld.shared.u8 %h1, [%w4];",
    ]
    lines += [f"mad.wide.u32 %at, %tid, {size}, %a1;", "add.u64 %at, %at, %w3;", "st.global.u8 [%at], %h1;"]
    lines += ["add.u32 %r2, %r2, 1;", f"setp.lt.u32 %p2, %r2, {size};", "@%p2 bra again;"]
    _, out = run_lines(lines, [x, np.zeros(32 * size, "u1")])
    wanted = x.reshape(32, size).copy()
    wanted[16:, taken:] = 0
    assert np.array_equal(out.reshape(32, size), wanted)


def _copy_cases() -> Iterator[Shown]:
    waits = {
        "ca": (("cp.async.commit_group", ""), ("cp.async.wait_group", "")),
        "cg": (("cp.async.wait_all", ""),),
    }
    for kind, sizes in (("ca", (4, 8, 16)), ("cg", (16,))):
        for size in sizes:
            pairs = ((f"cp.async.{kind}.shared.global", ""), *waits[kind])
            yield Shown(pairs, partial(_check_copy, kind, size), f"cp.async.{kind} {size}")


def _check_hints() -> None:
    lines = [_BYTES, "prefetch.global.L2 [%a0];", "nanosleep.u32 20;", "mad.wide.u32 %at, %tid, 4, %a0;"]
    (out,) = run_lines([*lines, "st.global.u32 [%at], %tid;"], [np.zeros(32, "u4")])
    assert np.array_equal(out, np.arange(32))


def _check_carry(name: str) -> None:
    """Add, subtract and multiply numbers of three registers, as the compiler's long arithmetic does."""
    bits = int(name[1:])
    size, regs = bits // 8, "%w" if bits == 64 else "%r"
    x, y = (_RNG.integers(0, 256, (32, 3 * size)).astype(np.uint8) for _ in range(2))
    x[::3] = 255
    lines = [_BYTES]
    for buffer, first in ((0, 1), (1, 4)):
        lines += [f"mad.wide.u32 %at, %tid, {3 * size}, %a{buffer};"]
        lines += [f"ld.global.b{bits} {regs}{first + at}, [%at+{size * at}];" for at in range(3)]
    for opcode in ("add", "sub"):
        lines += [
            f"{opcode}.cc.{name} {regs}7, {regs}1, {regs}4;",
            f"{opcode}c.cc.{name} {regs}8, {regs}2, {regs}5;",
        ]
        lines += [f"{opcode}c.{name} {regs}9, {regs}3, {regs}6;"]
        lines += [f"mad.wide.u32 %at, %tid, {3 * size}, %a{2 if opcode == 'add' else 3};"]
        lines += [f"st.global.b{bits} [%at+{size * at}], {regs}{7 + at};" for at in range(3)]
    *_, total, difference = run_lines(lines, [x, y, np.zeros_like(x), np.zeros_like(x)])
    for at in range(32):
        a, b = (int.from_bytes(part[at].tobytes(), "little") for part in (x, y))
        modulus = 1 << (3 * bits)
        assert int.from_bytes(total[at].tobytes(), "little") == (a + b) % modulus
        assert int.from_bytes(difference[at].tobytes(), "little") == (a - b) % modulus


def _check_long_product(name: str) -> None:
    """Chain `mad` over both halves of products; signs matter for the upper ones."""
    bits = int(name[1:])
    regs, modulus = "%w" if bits == 64 else "%r", 1 << bits
    values = _RNG.integers(0, 256, (32, 3 * bits // 8)).astype(np.uint8)
    values[::2] |= 128
    lines = [_BYTES, f"mad.wide.u32 %at, %tid, {3 * bits // 8}, %a0;"]
    lines += [f"ld.global.b{bits} {regs}{1 + at}, [%at+{bits // 8 * at}];" for at in range(3)]
    steps = ("mad.lo.cc", "madc.hi.cc", "madc.lo.cc", "madc.hi", "mad.hi.cc", "madc.lo")
    for at, step in enumerate(steps):
        lines += [f"{step}.{name} {regs}{5 + at}, {regs}1, {regs}2, {regs}3;"]
    lines += [f"mad.wide.u32 %at, %tid, {len(steps) * bits // 8}, %a1;"]
    lines += [f"st.global.b{bits} [%at+{bits // 8 * at}], {regs}{5 + at};" for at in range(len(steps))]
    _, out = run_lines(lines, [values, np.zeros((32, len(steps)), f"u{bits // 8}")])
    numbers = values.view(f"u{bits // 8}")
    for at in range(32):
        a, b = (wrapped(int(number), name) for number in numbers[at, :2])
        addend, carry = int(numbers[at, 2]), 0
        for place, step in enumerate(steps):
            product = (a * b >> bits if ".hi" in step else a * b) % modulus
            total = product + addend + (carry if step.startswith("madc") else 0)
            assert int(out[at, place]) == total % modulus
            carry = total // modulus if step.endswith("cc") else carry


_LONG = ("add.cc", "addc.cc", "addc", "sub.cc", "subc.cc", "subc")
_LONG_PRODUCTS = ("mad.lo.cc", "madc.hi.cc", "madc.lo.cc", "madc.hi", "mad.hi.cc", "madc.lo")


def _carry_cases() -> Iterator[Shown]:
    for name in ("u32", "s32", "u64", "s64"):
        yield Shown(tuple((opcode, name) for opcode in _LONG), partial(_check_carry, name), f"long sums {name}")
        pairs = tuple((opcode, name) for opcode in _LONG_PRODUCTS)
        yield Shown(pairs, partial(_check_long_product, name), f"long products {name}")


def memory_cases() -> list[Shown]:
    """Return the cases of everything that moves data."""
    cases: list[Shown] = []
    for name in TYPES:
        for space in ("global", "shared", "local", "generic"):
            opcode = "ld" if space == "generic" else f"ld.{space}"
            cases.append(Shown(((opcode, name),), partial(_check_load, space, name), f"{opcode}.{name}"))
            opcode = "st" if space == "generic" else f"st.{space}"
            cases.append(Shown(((opcode, name),), partial(_check_store, space, name), f"{opcode}.{name}"))
        cases.append(Shown((("ldu.global", name),), partial(_check_load, "ldu", name), f"ldu.{name}"))
        cases.append(Shown((("ld.const", name),), partial(_check_constant, name), f"ld.const.{name}"))
        cases.append(Shown((("ld.param", name),), partial(_check_parameter, name), f"ld.param.{name}"))
        cases.append(Shown((("st.param", name),), partial(_check_call, name), f"st.param.{name}"))
    for name in ("pred", "b16", "b32", "b64", "u16", "s16", "u32", "s32", "u64", "s64", "f32", "f64"):
        cases.append(Shown((("mov", name),), partial(_check_move, name), f"mov.{name}"))
    cases.append(Shown((("mov", "b32"), ("mov", "b64")), _check_packing, "mov of parts"))
    spaces = [(f"cvta.{way}{space}", "u64") for way in ("", "to.") for space in ("shared", "local")]
    spaces += [
        ("cvta", "u64"),
        ("cvta.to", "u64"),
        *((f"isspacep.{space}", "") for space in ("global", "shared", "local")),
    ]
    cases.append(Shown(tuple(spaces), _check_spaces, "state spaces"))
    cases += [Shown((), partial(_check_vectors, space), f"vectors {space}") for space in ("global", "shared")]
    cases.append(Shown((("prefetch", ""), ("nanosleep", "u32")), _check_hints, "hints"))
    return [*cases, *_carry_cases(), *atomic_cases(), *_copy_cases()]
