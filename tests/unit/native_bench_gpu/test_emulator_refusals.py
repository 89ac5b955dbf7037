"""What the emulator does not know is refused by name, type and line when it loads, and never guessed at."""

from contextlib import suppress

import pytest

from native_bench.gpu.emulator import Unsupported, load_module
from tests.unit.native_bench_gpu.hand_written import HEADER, kernel


def _refused(*lines: str, variables: str = "") -> Unsupported:
    with pytest.raises(Unsupported) as caught:
        load_module(kernel([".loc 1 42 7", *lines], 1, variables=variables))
    return caught.value


@pytest.mark.parametrize(
    ("line", "instruction", "type_name"),
    [
        ("wgmma.fence.sync.aligned;", "wgmma.fence.sync.aligned", ""),
        ("add.b16 %h1, %h2, %h3;", "add", "b16"),
        ("mul.f16x2 %r1, %r2, %r3, %r4;", "mul", "f16x2"),
        ("mul.rz.f16x2 %r1, %r2, %r3;", "mul.rz", "f16x2"),
        ("fma.rz.f64 %w1, %w2, %w3, %w4;", "fma.rz", "f64"),
        ("fma.f32 %f1, %f2, %f3, %f4;", "fma", "f32"),
        ("ld.global.b128 %w1, [%a0];", "ld.global.b128", ""),
        ("ld.global.v2.u32 %r1, [%a0];", "ld.global.v2", "u32"),
        ("atom.global.add.v2.f32 {%f1,%f2}, [%a0], {%f3,%f4};", "atom.global.add.v2", "f32"),
        ("mbarrier.init.shared.b64 [%a0], 1;", "mbarrier.init.shared", "b64"),
        ("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 %r1, %r2, %r3, %r4;", "mma.sync", "s32"),
        ("mov.u32 %r1, %clock;", "mov", "u32"),
        ("mov.u64 %w1, %globaltimer;", "mov", "u64"),
        ("mov.u32 %r1, %w1;", "mov", "u32"),
        ("cvt.rn.f16.f32 %r1, %f1, %f2;", "cvt.rn", "f16.f32"),
        ("cvt.f16.f32 %h1, %f1;", "cvt", "f16.f32"),
        ("setp.lt.gt.s32 %p1, %r1, %r2;", "setp.lt.gt", "s32"),
        ("bra nowhere;", "bra", ""),
        ("@%r1 mov.u32 %r1, %r2;", "mov", "u32"),
        ("shfl.up.b32 %r1, %r2, %r3, %r4;", "shfl.up", "b32"),
    ],
)
def test_it_names_instruction_type_and_line(line: str, instruction: str, type_name: str) -> None:
    refusal = _refused(line)
    assert refusal.instruction.startswith(instruction) and refusal.type.startswith(type_name)
    assert refusal.place.line == 42 and refusal.place.file == "k.ptx"
    assert "k.ptx:42" in str(refusal)


def test_it_refuses_recursion() -> None:
    variables = ".func again() { .reg .b32 %q; call.uni again, (); ret; }"
    assert "recursive function again" in str(_refused("call.uni again, ();", variables=variables))


def test_it_refuses_indirect_calls_and_unknown_functions() -> None:
    assert "indirect call" in str(_refused("call.uni %w1, (), which;"))
    assert "the call of malloc" in str(_refused("call.uni malloc, ();"))


def test_it_refuses_a_body_that_grows_without_end() -> None:
    depth, twice = 20, []
    for level in range(depth):
        calls = f"call.uni f{level + 1}, (); call.uni f{level + 1}, ();" if level < depth - 1 else "membar.gl;"
        twice.append(f".func f{level}() {{ .reg .b32 %q; {calls} ret; }}")
    assert "statements" in str(_refused("call.uni f0, ();", variables="\n".join(twice)))


def test_it_refuses_more_registers_than_memory_holds() -> None:
    assert "999999999 registers" in str(_refused(".reg .b32 %many<999999999>;"))


def test_it_refuses_types_and_directives_it_does_not_know() -> None:
    for text in (".reg .b128 %x<2>;", ".reg .f8 %x;", ".shared .texref t;"):
        with pytest.raises(Unsupported):
            load_module(kernel([text], 0))
    with pytest.raises(Unsupported, match="directive"):
        load_module(f"{HEADER}.samplerref s;")


def test_it_reads_the_kernels_that_were_asked_for_only() -> None:
    ptx = f"{HEADER}.visible .entry good() {{ ret; }}\n.visible .entry odd() {{ wgmma.fence.sync.aligned; ret; }}"
    assert load_module(ptx, ["good"]).kernels == ("good",)
    with pytest.raises(Unsupported):
        load_module(ptx)


def test_it_tells_the_entrants_line_of_what_was_inlined_from_a_header() -> None:
    ptx = kernel([".loc 2 300 1, function_name $info, inlined_at 1 17 5", "wgmma.fence.sync.aligned;"], 0)
    with pytest.raises(Unsupported) as caught:
        load_module(ptx + '.file 2 "/toolkit/include/cuda_fp16.hpp"\n')
    assert (caught.value.place.file, caught.value.place.line) == ("k.ptx", 17)


@pytest.mark.parametrize("text", ["", "}", "{{{", "garbage", ".visible .entry k() { @ ; }"])
def test_it_survives_texts_that_are_no_module(text: str) -> None:
    with suppress(Unsupported):
        assert load_module(HEADER + text).kernels == ()
