"""The starter zoo's CUDA kernels are valid packages, compile for every arch and spill nothing."""

from collections.abc import Mapping

import pytest

from native_bench.cache import ContentCache
from native_bench.gpu.compiler import compile_cuda
from native_bench.gpu.cubin_rules import require_allowed
from native_bench.gpu.emulator import load_module
from native_bench.gpu.launch_plan import check_signature, plan_launches
from native_bench.gpu.static_report import REPORT_ARCHS, Spills, spills_of
from native_bench.sandbox.interface import Sandbox
from native_bench.starter import kernels, problems
from submissions.kernel_package.files import DESCRIPTION_PATH
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.package import Package, check_board, check_package
from submissions.kernel_package.problem import Problem, parse_problem

ARCH = "sm_90"
PROBLEMS: Mapping[ProblemId, Problem] = {
    problem_id: parse_problem(files["problem.yaml"], problem_id) for problem_id, files in problems()
}
FILES = dict(kernels(ARCH))
NAMES = [str(kernel_id) for kernel_id in FILES]


def package_of(name: str) -> Package:
    kernel_id = KernelId.parse(name)
    package = check_package(FILES[kernel_id], kernel_id)
    return check_board(package, PROBLEMS[kernel_id.problem], FILES[kernel_id.board.baseline])


def test_every_problem_has_a_baseline_and_a_kernel_to_beat() -> None:
    for problem_id in PROBLEMS:
        names = [kernel_id.name for kernel_id in FILES if kernel_id.problem == problem_id]
        assert names[0] == "reference_impl"
        assert len(names) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_its_package_is_valid_on_its_board(name: str) -> None:
    package = package_of(name)
    assert package.description.harness == "rawkernel"
    assert [path for path in package.files if path.startswith("src/")] == ["src/kernel.cu"]


def test_the_arch_stands_in_the_ids_only() -> None:
    for (old, before), (new, after) in zip(kernels(ARCH), kernels("sm_80"), strict=True):
        assert str(new) == str(old).replace(ARCH, "sm_80")
        assert check_package(after, new).kernel_id == new
        changed = [path for path in before if before[path] != after[path]]
        assert changed == [DESCRIPTION_PATH]
        assert after[DESCRIPTION_PATH].replace(b"sm_80", b"sm_90") == before[DESCRIPTION_PATH]


def test_native_archs_have_native_kernels_only() -> None:
    for kernel_id, files in kernels("aarch64"):
        assert check_package(files, kernel_id).description.harness == "native"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("end", ["min", "max"])
def test_its_launches_are_possible_at_both_ends_of_every_range(name: str, end: str) -> None:
    package = package_of(name)
    problem = PROBLEMS[package.kernel_id.problem]
    dims = {parameter.name: getattr(parameter, end) for parameter in problem.parameters}
    assert plan_launches(package.description, problem, dims).launches


@pytest.mark.sandbox
@pytest.mark.parametrize("arch", REPORT_ARCHS)
@pytest.mark.parametrize("name", NAMES)
def test_it_compiles_spills_nothing_and_takes_its_arguments(
    name: str, arch: str, sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory
) -> None:
    package = package_of(name)
    cache = ContentCache(tmp_path_factory.mktemp("cuda-cache"))
    build = compile_cuda(package.description, package.files, arch, sandbox, cache)
    assert build.log == ""
    require_allowed(build)
    assert {symbol: Spills(0, 0) for symbol in build.lowered.values()} == spills_of(build.ptxas)
    problem, module = PROBLEMS[package.kernel_id.problem], load_module(build.ptx)
    sizes = {name: module.parameter_sizes(symbol) for name, symbol in build.lowered.items()}
    check_signature(plan_launches(package.description, problem, problem.dry_run), sizes)
