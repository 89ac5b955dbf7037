"""Cases of matrix instructions, with fragments laid out as the ISA's figures give them."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from tests.unit.native_bench_gpu.exact_numbers import from_bits, to_bits
from tests.unit.native_bench_gpu.hand_written import run_lines
from tests.unit.native_bench_gpu.shown import Shown

_RNG = np.random.default_rng(22)
_TID = "mov.u32 %tid, %tid.x;"

# Where each element of a lane's fragment belongs, as the figures of the ISA's chapter on mma give it: g is the
# lane divided by 4, t the rest, i the element.
Place = Callable[[int, int, int], tuple[int, int]]

_A: dict[tuple[str, int], Place] = {
    ("m16n8k8", 16): lambda g, t, i: (g + 8 * (i >= 2), 2 * t + i % 2),
    ("m16n8k16", 16): lambda g, t, i: (g if i in (0, 1, 4, 5) else g + 8, 2 * t + i % 2 + 8 * (i >= 4)),
    ("m16n8k4", 32): lambda g, t, i: (g + 8 * i, t),
    ("m16n8k8", 32): lambda g, t, i: (g if i in (0, 2) else g + 8, t + 4 * (i >= 2)),
    ("m16n8k16", 8): lambda g, t, i: (g + 8 * (i >= 4), 4 * t + i % 4),
    ("m16n8k32", 8): lambda g, t, i: (g if i < 4 or 8 <= i < 12 else g + 8, 4 * t + i % 4 + 16 * (i >= 8)),
    ("m8n8k4", 64): lambda g, t, i: (g, t),
}
_B: dict[tuple[str, int], Place] = {
    ("m16n8k8", 16): lambda g, t, i: (2 * t + i, g),
    ("m16n8k16", 16): lambda g, t, i: (2 * t + i % 2 + 8 * (i >= 2), g),
    ("m16n8k4", 32): lambda g, t, i: (t, g),
    ("m16n8k8", 32): lambda g, t, i: (t + 4 * i, g),
    ("m16n8k16", 8): lambda g, t, i: (4 * t + i, g),
    ("m16n8k32", 8): lambda g, t, i: (4 * t + i % 4 + 16 * (i >= 4), g),
    ("m8n8k4", 64): lambda g, t, i: (t, g),
}


def _place_c(g: int, t: int, i: int) -> tuple[int, int]:
    return g + 8 * (i >= 2), 2 * t + i % 2


_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s8": 8, "u8": 8, "s32": 32}
MMA = {
    "m16n8k8": ("f32.f16.f16.f32", "f16.f16.f16.f16", "f32.bf16.bf16.f32", "f32.tf32.tf32.f32"),
    "m16n8k16": ("f32.f16.f16.f32", "f16.f16.f16.f16", "f32.bf16.bf16.f32", "s32.s8.s8.s32", "s32.u8.u8.s32"),
    "m16n8k4": ("f32.tf32.tf32.f32",),
    "m16n8k32": ("s32.s8.s8.s32", "s32.u8.u8.s32", "s32.u8.s8.s32", "s32.s8.u8.s32"),
    "m8n8k4": ("f64.f64.f64.f64",),
}


def _numbers(name: str, *shape: int) -> np.ndarray:
    if name[0] in "us":
        limits = np.iinfo(f"{'i' if name[0] == 's' else 'u'}{_BITS[name] // 8}")
        return _RNG.integers(max(limits.min, -99), min(limits.max, 250) + 1, shape)
    return _RNG.integers(-16, 17, shape) / 8.0


def _stored(values: np.ndarray, name: str) -> np.ndarray:
    """Return numbers as the bits of their type."""
    if name[0] in "us":
        return values.astype(f"{'i' if name[0] == 's' else 'u'}{_BITS[name] // 8}").view(f"u{_BITS[name] // 8}")
    return to_bits(values.ravel().tolist(), name).reshape(values.shape)


def _fragments(matrix: np.ndarray, name: str, place: Place) -> np.ndarray:
    """Return a matrix as each lane's registers, (32, registers)."""
    count = matrix.size // 32
    lanes = [[matrix[place(lane // 4, lane % 4, i)] for i in range(count)] for lane in range(32)]
    bits = np.ascontiguousarray(_stored(np.array(lanes), name))
    return bits.view(np.uint64 if name == "f64" else np.uint32)


def _check_mma(shape: str, types: str) -> None:
    m, n, k = (int(part) for part in shape.replace("m", " ").replace("n", " ").replace("k", " ").split())
    d_type, a_type, b_type, c_type = types.split(".")
    a, b, c = _numbers(a_type, m, k), _numbers(b_type, k, n), _numbers(c_type, m, n)
    key = (shape, _BITS[a_type])
    given = [_fragments(a, a_type, _A[key]), _fragments(b, b_type, _B[key]), _fragments(c, c_type, _place_c)]
    size = 8 if d_type == "f64" else 4
    lines, names, at = [_TID], [], 10
    for buffer, part in enumerate(given):
        registers = [f"%q{at + i}" for i in range(part.shape[1])]
        at += len(registers)
        lines += [f"mad.wide.u32 %at, %tid, {size * len(registers)}, %a{buffer};"]
        lines += [f"ld.global.b{8 * size} {name}, [%at+{size * i}];" for i, name in enumerate(registers)]
        names.append("{" + ", ".join(registers) + "}")
    results = [f"%q{i}" for i in range(given[2].shape[1])]
    lines += [f"mma.sync.aligned.{shape}.row.col.{types} {{{', '.join(results)}}}, {', '.join(names)};"]
    lines += [f"mad.wide.u32 %at, %tid, {size * len(results)}, %a3;"]
    lines += [f"st.global.b{8 * size} [%at+{size * i}], {name};" for i, name in enumerate(results)]
    *_, out = run_lines(lines, [*given, np.zeros_like(given[2])], registers=[f".reg .b{8 * size} %q<40>;"])
    wanted = a @ b + c
    assert np.array_equal(out, _fragments(wanted, d_type, _place_c))


def _check_ldmatrix(count: int, is_transposed: bool) -> None:
    x = _RNG.integers(0, 2**16, (32, 8)).astype(np.uint16)
    registers = ", ".join(f"%r{10 + i}" for i in range(count))
    lines = [_TID, ".shared .align 16 .b8 room[512];", "mad.wide.u32 %at, %tid, 16, %a0;", "mov.u64 %w1, room;"]
    lines += ["mad.wide.u32 %w1, %tid, 16, %w1;", "ld.global.v4.b32 {%r1,%r2,%r3,%r4}, [%at];"]
    lines += ["st.shared.v4.b32 [%w1], {%r1,%r2,%r3,%r4};", "bar.warp.sync -1;"]
    trans = ".trans" if is_transposed else ""
    lines += [f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%w1];"]
    lines += [f"mad.wide.u32 %at, %tid, {4 * count}, %a1;"]
    lines += [f"st.global.b32 [%at+{4 * i}], %r{10 + i};" for i in range(count)]
    _, out = run_lines(lines, [x, np.zeros((32, count), "u4")])
    for lane in range(32):
        for i in range(count):
            matrix = x[8 * i : 8 * i + 8]
            matrix = matrix.T if is_transposed else matrix
            low, high = matrix[lane // 4, 2 * (lane % 4)], matrix[lane // 4, 2 * (lane % 4) + 1]
            assert out[lane, i] == int(low) | int(high) << 16


def _check_stmatrix(count: int, is_transposed: bool) -> None:
    x = _RNG.integers(0, 2**32, (32, count)).astype(np.uint32)
    lines = [_TID, ".shared .align 16 .b8 room[512];", f"mad.wide.u32 %at, %tid, {4 * count}, %a0;"]
    lines += [f"ld.global.b32 %r{10 + i}, [%at+{4 * i}];" for i in range(count)]
    lines += ["mov.u64 %w1, room;", "mad.wide.u32 %w1, %tid, 16, %w1;"]
    registers = ", ".join(f"%r{10 + i}" for i in range(count))
    trans = ".trans" if is_transposed else ""
    lines += [
        f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%w1], {{{registers}}};",
        "bar.warp.sync -1;",
    ]
    lines += [
        f"setp.ge.u32 %p1, %tid, {8 * count};",
        "@%p1 bra end;",
        "ld.shared.v4.b32 {%r1,%r2,%r3,%r4}, [%w1];",
    ]
    lines += ["mad.wide.u32 %at, %tid, 16, %a1;", "st.global.v4.b32 [%at], {%r1,%r2,%r3,%r4};", "end:"]
    _, out = run_lines(lines, [x, np.zeros((32, 8), "u2")])
    for i in range(count):
        matrix = out[8 * i : 8 * i + 8]
        matrix = matrix.T if is_transposed else matrix
        for lane in range(32):
            low, high = int(x[lane, i]) & 0xFFFF, int(x[lane, i]) >> 16
            assert (matrix[lane // 4, 2 * (lane % 4)], matrix[lane // 4, 2 * (lane % 4) + 1]) == (low, high)


SHAPES = {"m16n16k16": (16, 16, 16), "m32n8k16": (32, 8, 16), "m8n32k16": (8, 32, 16)}


def _wmma_registers(which: str, name: str, elements: int) -> int:
    if which in "cd":
        return 8 if name == "f32" else 4
    return 8 if name == "f16" else elements // 64


def _check_wmma(
    shape: str, types: tuple[str, str, str], a_layout: str, b_layout: str, c_layout: str, text: str
) -> None:
    """Load, multiply and store one product, in these layouts."""
    m, n, k = SHAPES[shape]
    d_type, in_type, c_type = types
    a, b, c = _numbers("f16", m, k), _numbers("f16", k, n), _numbers("f16", m, n)
    lines, names, at = [_TID], [], 0
    plan = (("a", a, in_type, a_layout), ("b", b, in_type, b_layout), ("c", c, c_type, c_layout))
    given = []
    for buffer, (which, matrix, name, layout) in enumerate(plan):
        count = _wmma_registers(which, name, matrix.size)
        letter = "%g" if name == "f32" else "%q"
        registers = "{" + ", ".join(f"{letter}{at + i}" for i in range(count)) + "}"
        at += count
        names.append(registers)
        stored = matrix if layout == "row" else matrix.T
        given.append(_stored(np.ascontiguousarray(stored), name))
        lines += [
            f"wmma.load.{which}.sync.aligned.{layout}.{shape}.global.{name} "
            f"{registers}, [%a{buffer}], {stored.shape[1]};"
        ]
    count = _wmma_registers("d", d_type, 0)
    results = "{" + ", ".join(f"{'%g' if d_type == 'f32' else '%q'}{at + i}" for i in range(count)) + "}"
    lines += [f"wmma.mma.sync.aligned.{a_layout}.{b_layout}.{shape}.{text} {results}, {', '.join(names)};"]
    shape_d = (m, n) if c_layout == "row" else (n, m)
    lines += [f"wmma.store.d.sync.aligned.{c_layout}.{shape}.global.{d_type} [%a3], {results}, {shape_d[1]};"]
    out = np.zeros(shape_d, "u4" if d_type == "f32" else "u2")
    *_, out = run_lines(lines, [*given, out], registers=[".reg .b32 %q<60>;", ".reg .f32 %g<60>;"])
    found = from_bits(out.ravel(), d_type).reshape(shape_d)
    wanted = a @ b + c
    assert np.array_equal(
        found if c_layout == "row" else found.T, wanted.astype(np.float16 if d_type == "f16" else np.float32)
    )


def matrix_cases() -> Iterator[Shown]:
    """Yield the cases of this file."""
    for shape, kinds in MMA.items():
        for types in kinds:
            yield Shown(((f"mma.sync.{shape}", types),), partial(_check_mma, shape, types), f"mma.{shape}.{types}")
    for count in (1, 2, 4):
        for is_transposed in (False, True):
            for name, check in (("ldmatrix", _check_ldmatrix), ("stmatrix", _check_stmatrix)):
                pair = (f"{name}.sync.m8n8.x{count}", "b16")
                yield Shown((pair,), partial(check, count, is_transposed), f"{name}.x{count} {is_transposed}")
    for shape in SHAPES:
        for d_type, in_type, c_type in (
            ("f32", "f16", "f32"),
            ("f16", "f16", "f16"),
            ("f16", "f16", "f32"),
            ("f32", "f16", "f16"),
            ("f32", "bf16", "f32"),
        ):
            text = f"{d_type}.{c_type}" if in_type == "f16" else f"{d_type}.{in_type}.{in_type}.{c_type}"
            pairs = (
                *((f"wmma.load.{which}.sync.{shape}", in_type) for which in "ab"),
                (f"wmma.load.c.sync.{shape}", c_type),
                (f"wmma.store.d.sync.{shape}", d_type),
                (f"wmma.mma.sync.{shape}", text),
            )
            for layouts in (("row", "col", "row"), ("col", "row", "col")):
                check = partial(_check_wmma, shape, (d_type, in_type, c_type), *layouts, text)
                yield Shown(pairs, check, f"wmma.{shape}.{text} {layouts[0]}")
