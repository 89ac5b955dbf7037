"""A package as a whole: complete with the board's scripts, or refused with one code and what to do."""

from collections.abc import Callable
from typing import Any

import pytest

from submissions.kernel_package.archive import write_archive
from submissions.kernel_package.description import Agent, Launch, Parent, parse_description
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.files import BENCH_RESULT_PATH, DESCRIPTION_PATH, GRADER_PATHS
from submissions.kernel_package.grader import check_grader, generated_scripts
from submissions.kernel_package.names import KernelId
from submissions.kernel_package.package import (
    Package,
    check_board,
    check_package,
    described_kernel_id,
    read_package,
    unknown_board,
)
from submissions.kernel_package.problem import Problem, parse_problem
from submissions.kernel_package.strict_yaml import dump_yaml
from tests.unit.kernel_package.conftest import (
    CUDA_ID,
    NATIVE_ID,
    NATIVE_SOURCE,
    PROBLEM_ID,
    cuda_files,
    native_files,
    rejection,
)

Document = dict[str, Any]


@pytest.fixture
def problem(problem_document: Document) -> Problem:
    return parse_problem(dump_yaml(problem_document), PROBLEM_ID)


def native(document: Document, **files: bytes) -> Package:
    return check_package(native_files(document) | files, NATIVE_ID)


def test_it_completes_a_native_package(native_document: Document, problem: Problem) -> None:
    sent = native_files(native_document)
    package = read_package(write_archive(sent), NATIVE_ID)
    assert set(package.files) == set(sent) | set(GRADER_PATHS)
    assert package.digest == tree_digest(package.files)
    assert check_board(package, problem) == package
    assert package.description.document == native_document
    assert "files=" not in repr(package)


def test_it_gives_one_digest_with_or_without_the_scripts(native_document: Document) -> None:
    sent = native_files(native_document)
    with_scripts = sent | generated_scripts(NATIVE_ID) | {BENCH_RESULT_PATH: b"status: measured"}
    package = check_package(with_scripts, NATIVE_ID)
    assert BENCH_RESULT_PATH not in package.files
    assert package.digest == check_package(sent, NATIVE_ID).digest


def test_it_reads_the_description(native_document: Document, cuda_document: Document) -> None:
    description = parse_description(dump_yaml(native_document))
    assert description.kernel_id == NATIVE_ID
    assert (description.entry_source, description.entry_symbol) == ("src/saxpy.cpp", "saxpy")
    assert description.defines == {"UNROLL": "4"}
    assert description.parent == Parent("x86_64/Vector/saxpy/fp32/reference_impl", "a" * 40)
    assert description.agent == Agent("tuner", "m1")
    assert not description.is_cuda
    cuda = parse_description(dump_yaml(cuda_document))
    assert cuda.is_cuda
    assert cuda.sources == ("src/saxpy.cu",)
    assert cuda.launches[0] == Launch(
        "saxpy<256>",
        ("ceil_div(n, 256)", 1, 1),
        (256, 1, 1),
        0,
        ("x", "y", "z", "a", "n", {"i32": "n // 4"}, {"fp32": 0.5}, "tmp"),
    )


def test_it_writes_scripts_that_are_python(native_document: Document) -> None:
    for path, script in generated_scripts(NATIVE_ID).items():
        compile(script, path, "exec")
        assert b"native_bench" in script
    assert generated_scripts(NATIVE_ID) == generated_scripts(CUDA_ID)


@pytest.mark.parametrize("path", GRADER_PATHS)
def test_it_refuses_a_modified_grader(native_document: Document, path: str) -> None:
    changed = generated_scripts(NATIVE_ID)[path] + b"\n"
    fault = rejection(lambda: native(native_document, **{path: changed}))
    assert fault.code == "package:grader-modified"
    assert path in fault.message


def test_it_refuses_a_script_the_board_does_not_have() -> None:
    fault = rejection(lambda: check_grader({GRADER_PATHS[0]: b"print()"}, {}))
    assert fault.code == "package:grader-modified"


Change = Callable[[Document], object]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda d: d.update(kernel_id="x86_64/Vector/saxpy/fp32/other"), "package:kernel-id-mismatch"),
        (lambda d: d.update(kernel_id="x86_64/Vector/saxpy/fp32"), "package:schema"),
        (lambda d: d.update(kernel_id="x86_64/Vector/saxpy/fp32/a..b"), "package:kernel-id"),
        (lambda d: d.update(harness="docker"), "package:harness"),
        (lambda d: d.update(harness=None), "package:schema"),
        (lambda d: d.pop("harness"), "package:schema"),
        (lambda d: d.update(language="rust"), "package:schema"),
        (lambda d: d.pop("build"), "package:schema"),
        (lambda d: d.update(flags="-O3"), "package:schema"),
        (lambda d: d["build"].update(flags=["-O3"]), "package:schema"),
        (lambda d: d["build"].update(sources=["../x.cpp"]), "package:schema"),
        (lambda d: d["build"].update(sources=["-o.cpp"]), "package:schema"),
        (lambda d: d["build"].update(sources=["src/saxpy.cpp", "src/saxpy.s"]), "package:schema"),
        (lambda d: d["build"].update(include_dirs=["/usr/include"]), "package:schema"),
        (lambda d: d["build"].update(defines={"A B": 1}), "package:schema"),
        (lambda d: d["build"].update(defines={"__FAST_MATH__": 1}), "package:schema"),
        (lambda d: d["build"].update(defines={"zoo_entry": 1}), "package:schema"),
        (lambda d: d["build"].update(defines={"A": "1 -o x;"}), "package:schema"),
        (lambda d: d["entry"].update(symbol="a b"), "package:schema"),
        (lambda d: d.update(created="2026-02-31"), "package:schema"),
        (lambda d: d.update(authors=[]), "package:schema"),
        (lambda d: d.update(title="two\nlines"), "package:schema"),
        (lambda d: d.update(launches=[]), "package:schema"),
        (lambda d: d.update(tags=["a", "b", "a"]), "package:schema"),
        (lambda d: d["entry"].update(source="src/none.cpp"), "package:entry-missing"),
        (lambda d: d["entry"].update(symbol="daxpy"), "package:entry-missing"),
        (lambda d: d["build"].update(sources=["src/saxpy.cpp", "src/none.cpp"]), "package:source-missing"),
        (lambda d: d["build"].update(include_dirs=["include"]), "package:source-missing"),
    ],
)
def test_it_refuses_a_wrong_description(native_document: Document, change: Change, code: str) -> None:
    change(native_document)
    fault = rejection(lambda: native(native_document))
    assert fault.code == code
    assert len(fault.message) < 500


def test_it_calls_a_missing_entry_by_that_name(native_document: Document) -> None:
    native_document["entry"]["source"] = "src/none.cpp"
    native_document["build"]["sources"] = ["src/none.cpp"]
    fault = rejection(lambda: native(native_document))
    assert fault.code == "package:entry-missing"
    assert fault.message == "the entry source src/none.cpp is not in the package"


def test_it_asks_that_the_entry_is_built(native_document: Document) -> None:
    native_document["build"]["sources"] = ["src/other.cpp"]
    fault = rejection(lambda: native(native_document, **{"src/other.cpp": NATIVE_SOURCE}))
    assert fault.code == "package:entry-missing"


def test_it_refuses_a_description_that_is_no_mapping() -> None:
    fault = rejection(lambda: check_package({".kernel_package/desc.yaml": b"- a\n"}, NATIVE_ID))
    assert fault.code == "package:schema"


def test_it_refuses_a_missing_description() -> None:
    assert rejection(lambda: check_package({"src/a": b""}, NATIVE_ID)).code == "package:missing-description"
    assert rejection(lambda: described_kernel_id({})).code == "package:missing-description"


def test_it_refuses_strangers_in_the_package_folder(native_document: Document) -> None:
    fault = rejection(lambda: native(native_document, **{".kernel_package/problem.yaml": b"version: 2"}))
    assert fault.code == "package:unknown-file"


@pytest.mark.parametrize(
    ("kernel_id", "harness"),
    [("sm_90/Vector/saxpy/fp32/unrolled", "native"), ("x86_64/Vector/saxpy/fp32/blocks", "rawkernel")],
)
def test_it_refuses_a_harness_on_another_arch(
    native_document: Document, cuda_document: Document, kernel_id: str, harness: str
) -> None:
    document = native_document if harness == "native" else cuda_document
    files = native_files if harness == "native" else cuda_files
    fault = rejection(lambda: check_package(files(document | {"kernel_id": kernel_id}), KernelId.parse(kernel_id)))
    assert fault.code == "package:harness"


def test_it_takes_a_cuda_package(cuda_document: Document, problem: Problem) -> None:
    cuda_document["launches"].append(cuda_document["launches"][0] | {"block": [32, 32, 1]})
    package = check_package(cuda_files(cuda_document), CUDA_ID)
    assert check_board(package, problem) == package


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"args": ["x", "q"]}, "the argument 'q' is no tensor"),
        ({"args": [{"i32": 0.5}]}, "0.5 is no i32"),
        ({"args": [{"i32": "k"}]}, "'k' is not a dim"),
        ({"grid": ["n // 10000000", 1, 1]}, "the grid [0, 1, 1]"),
        ({"grid": [1, 70000, 1]}, "the grid [1, 70000, 1]"),
        ({"grid": ["q", 1, 1]}, "'q' is not a dim"),
        ({"block": [2048, 1, 1]}, "the block [2048, 1, 1]"),
        ({"block": [1, 1, 65]}, "the block [1, 1, 65]"),
        ({"block": [64, 64, 1]}, "more than 1024 threads"),
        ({"shared_bytes": "-n"}, "shared_bytes is -"),
    ],
)
def test_it_refuses_launches_that_cannot_be(
    cuda_document: Document, problem: Problem, change: Document, why: str
) -> None:
    cuda_document["launches"][0].update(change)
    package = check_package(cuda_files(cuda_document), CUDA_ID)
    fault = rejection(lambda: check_board(package, problem))
    assert fault.code in ("package:launch", "package:expression")
    assert why in fault.message


@pytest.mark.parametrize(
    ("scratch", "why"), [({"name": "x"}, "has the name of another"), ({"shape": ["n - 5000"]}, "negative size")]
)
def test_it_refuses_bad_scratch(cuda_document: Document, problem: Problem, scratch: Document, why: str) -> None:
    cuda_document["scratch"][0].update(scratch)
    package = check_package(cuda_files(cuda_document), CUDA_ID)
    fault = rejection(lambda: check_board(package, problem))
    assert fault.code == "package:launch"
    assert why in fault.message


def test_it_refuses_a_kernel_that_no_source_names(cuda_document: Document) -> None:
    cuda_document["launches"][0]["kernel"] = "daxpy<256>"
    assert rejection(lambda: check_package(cuda_files(cuda_document), CUDA_ID)).code == "package:entry-missing"


def test_it_names_unknown_problems_and_boards(native_document: Document) -> None:
    fault = rejection(lambda: check_board(native(native_document), None))
    assert (fault.code, fault.details["problem"]) == ("package:unknown-problem", "Vector/saxpy/fp32")
    assert unknown_board(NATIVE_ID.board).code == "package:unknown-board"


SCRIPT_ID = KernelId.parse("gfx928/Vector/saxpy/fp32/triton")
BOARD_SCRIPTS = {GRADER_PATHS[0]: b"build()\n", GRADER_PATHS[1]: b"bench()\n"}


@pytest.fixture
def script_files(native_document: Document) -> dict[str, bytes]:
    document = native_document | {
        "kernel_id": str(SCRIPT_ID),
        "harness": "script",
        "language": "triton",
        "entry": {"source": "src/kernel.py"},
    }
    del document["build"]
    return {".kernel_package/desc.yaml": dump_yaml(document), "src/kernel.py": b"x = 1\n"}


def test_it_gives_a_script_package_the_boards_scripts(script_files: dict[str, bytes], problem: Problem) -> None:
    read = check_package(script_files, SCRIPT_ID)
    assert not set(GRADER_PATHS) & set(read.files)
    complete = check_board(read, problem, BOARD_SCRIPTS)
    assert dict(complete.files) == script_files | BOARD_SCRIPTS
    again = check_board(check_package(script_files | BOARD_SCRIPTS, SCRIPT_ID), problem, BOARD_SCRIPTS)
    assert again.digest == complete.digest != read.digest


def test_it_refuses_a_script_package_with_its_own_grader(script_files: dict[str, bytes], problem: Problem) -> None:
    read = check_package(script_files | {GRADER_PATHS[1]: b"print('fast')\n"}, SCRIPT_ID)
    assert rejection(lambda: check_board(read, problem, BOARD_SCRIPTS)).code == "package:grader-modified"


@pytest.mark.parametrize("scripts", [None, {}, {GRADER_PATHS[0]: b""}])
def test_it_refuses_a_script_package_on_a_board_without_scripts(
    script_files: dict[str, bytes], problem: Problem, scripts: dict[str, bytes] | None
) -> None:
    read = check_package(script_files, SCRIPT_ID)
    assert rejection(lambda: check_board(read, problem, scripts)).code == "package:harness"


def test_it_refuses_a_script_package_on_a_native_board(
    native_document: Document, script_files: dict[str, bytes], problem: Problem
) -> None:
    baseline_id = NATIVE_ID.board.baseline
    baseline = check_package(native_files(native_document | {"kernel_id": str(baseline_id)}), baseline_id)
    description = script_files[DESCRIPTION_PATH].replace(str(SCRIPT_ID).encode(), str(NATIVE_ID).encode())
    script = check_package(script_files | {DESCRIPTION_PATH: description}, NATIVE_ID)
    fault = rejection(lambda: check_board(script, problem, baseline.files))
    assert fault.code == "package:harness"
    assert fault.message == "the board x86_64/Vector/saxpy/fp32 takes harness native, not script"
    assert fault.details == {"harness": "script", "takes": "native"}


def test_it_refuses_a_native_package_on_a_script_board(
    native_document: Document, script_files: dict[str, bytes], problem: Problem
) -> None:
    fault = rejection(lambda: check_board(native(native_document), problem, script_files | BOARD_SCRIPTS))
    assert fault.code == "package:harness"
    assert "takes harness script, not native" in fault.message


def test_it_leaves_a_baseline_that_cannot_be_read_to_the_run(native_document: Document, problem: Problem) -> None:
    package = native(native_document)
    assert check_board(package, problem, {DESCRIPTION_PATH: b"- no description"}) == package


@pytest.mark.parametrize("path", [".zoo", ".zoo/exports.map/y", ".ZOO/zoo_entry.cpp", ".zoo. /x"])
def test_it_keeps_the_engines_name_to_the_engine(native_document: Document, path: str) -> None:
    fault = rejection(lambda: native(native_document, **{path: b"x"}))
    assert fault.code == "package:reserved-name"
    assert repr(path) in fault.message


def test_it_reserves_that_name_at_the_top_only(native_document: Document) -> None:
    assert "src/.zoo/x" in native(native_document, **{"src/.zoo/x": b"x"}).files
