"""The static report of packages that were really compiled, for each of its archs."""

import json

import pytest

from native_bench.gpu.instruction_mix import count_instructions, instruction_mixes
from native_bench.gpu.static_report import (
    REPORT_ARCHS,
    BlockShape,
    Spills,
    StaticReport,
    block_shapes,
    report_text,
    spills_of,
    static_report,
)
from native_bench.sandbox.interface import Sandbox
from submissions.kernel_package.errors import Rejected
from tests.unit.native_bench_gpu.conftest import SCALE, Compile, description

SPILLING = """
extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* x, int n) {
    float a[64];
    #pragma unroll
    for (int i = 0; i < 64; ++i) a[i] = x[i * n + threadIdx.x];
    for (int j = 0; j < n; ++j) {
        #pragma unroll
        for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i + 7) & 63] + a[(i * 5) & 63];
    }
    #pragma unroll
    for (int i = 0; i < 64; ++i) x[i * n + threadIdx.x] = a[i];
}
"""
TILED = """
template <int N> __global__ void tiled(float* x) {
    __shared__ float tile[N];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = tile[N - 1 - threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def report(compiled: Compile, sandbox: Sandbox) -> StaticReport:
    names = ["scale", "tiled<1024>", "spilling"]
    builds = [compiled(SCALE + TILED + SPILLING, names, arch) for arch in REPORT_ARCHS]
    shapes = [BlockShape("scale", 256), BlockShape("tiled<1024>", 1024, 8192), BlockShape("spilling", 1024)]
    return static_report(builds, shapes, sandbox)


@pytest.mark.sandbox
def test_it_has_each_kernel_on_each_arch(report: StaticReport) -> None:
    pairs = [(facts.arch, facts.kernel) for facts in report.kernels]
    assert pairs == [(arch, name) for arch in REPORT_ARCHS for name in ("scale", "tiled<1024>", "spilling")]
    assert [arch.arch for arch in report.archs] == list(REPORT_ARCHS)


@pytest.mark.sandbox
def test_it_has_the_facts_of_each_kernel(report: StaticReport) -> None:
    for facts in report.kernels:
        assert facts.occupancy is not None
        if facts.kernel == "scale":
            assert facts.spills == Spills(0, 0)
            assert (facts.static_shared_bytes, facts.barriers, facts.occupancy.fraction) == (0, 0, 1.0)
        elif facts.kernel == "spilling":
            assert facts.spills is not None
            assert min(facts.spills.store_bytes, facts.spills.load_bytes) > 0
            assert facts.stack_bytes > 0
            assert (facts.registers, facts.max_threads) == (32, 1024)
        else:
            assert facts.symbol == "_Z5tiledILi1024EEvPf"
            assert (facts.static_shared_bytes, facts.dynamic_shared_bytes, facts.barriers) == (4096, 8192, 1)
            assert "warps" in facts.occupancy.limited_by


@pytest.mark.sandbox
def test_it_is_json_of_static_evidence_without_a_time(report: StaticReport) -> None:
    document = report.as_json()
    assert json.loads(json.dumps(document)) == json.loads(json.dumps(document))
    assert document["evidence"] == "static"
    words = {key for row in (*document["archs"], *document["kernels"]) for key in row}
    assert not {word for word in words if "time" in word or "second" in word or word.endswith("_ns")}
    assert document["kernels"][0]["occupancy"]["limited_by"]


@pytest.mark.sandbox
def test_its_table_has_a_line_for_each_kernel_and_arch(report: StaticReport) -> None:
    header, *lines = report_text(report.as_json()).splitlines()
    assert header.split()[:3] == ["kernel", "arch", "block"]
    assert len(lines) == len(report.kernels)
    assert "100%" in lines[0]


@pytest.mark.sandbox
def test_it_says_nothing_of_the_occupancy_on_an_arch_without_known_resources(
    compiled: Compile, sandbox: Sandbox
) -> None:
    report = static_report([compiled(SCALE, arch="sm_75")], [BlockShape("scale", 256)], sandbox)
    assert report.kernels[0].occupancy is None
    assert report_text(report.as_json()).splitlines()[1].rstrip().endswith("–")


@pytest.mark.sandbox
def test_it_has_the_instructions_where_there_is_a_disassembler(
    compiled: Compile, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("native_bench.gpu.instruction_mix.shutil.which", lambda _: None)
    assert instruction_mixes(compiled(SCALE).cubin, sandbox) is None
    assert static_report([compiled(SCALE)], [BlockShape("scale", 256)], sandbox).kernels[0].instructions is None


LISTING = """
	.headerflags	@"EF_CUDA_TEXMODE_UNIFIED EF_CUDA_64BIT_ADDRESS EF_CUDA_SM90"
//--------------------- .text.scale              --------------------------
	.section	.text.scale,"ax",@progbits
	.align	128
        .global         scale
.text.scale:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   S2R R0, SR_CTAID.X ;
        /*0020*/                   IMAD R0, R0, UR4, R3 ;
        /*0030*/              @P0  EXIT ;
        /*0040*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
        /*0050*/                   FMUL R5, R4, UR6 ;
        /*0060*/             @!PT  STG.E desc[UR4][R6.64], R5 ;
.L_x_0:
        /*0070*/                   BRA `(.L_x_0);
        /*0080*/                   NOP;
	.section	.text.other,"ax",@progbits
        /*0000*/                   HMMA.16816.F32 R4, R8, R12, R4 ;
        /*0010*/              @UP0 UIADD3 UR4, UR4, 0x1, URZ ;
"""


def test_it_counts_the_instructions_of_a_listing() -> None:
    assert count_instructions(LISTING) == {
        "scale": {
            "total": 8, "constant_load": 1, "integer_and_other": 2, "branch": 2, "global_load": 1, "fp32": 1,
            "global_store": 1,
        },
        "other": {"total": 2, "tensor": 1, "integer_and_other": 1},
    }  # fmt: skip


def test_it_reads_spills_of_many_kernels() -> None:
    text = """ptxas info    : Compiling entry function 'first' for 'sm_90'
ptxas info    : Function properties for first
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 10 registers
ptxas info    : Compiling entry function 'second' for 'sm_90'
ptxas info    : Function properties for second
ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""
    assert spills_of(text) == {"first": Spills(4, 12), "second": Spills(0, 0)}


def test_it_takes_the_sizes_of_blocks_from_the_launches() -> None:
    launched = description(["scale", "scale", "fill<float>"], shared_bytes=64)
    assert block_shapes(launched, {}) == (BlockShape("scale", 256, 64), BlockShape("fill<float>", 256, 64))
    with pytest.raises(Rejected):
        block_shapes(description(["scale"], shared_bytes="4*n"), {})  # type: ignore[arg-type]
