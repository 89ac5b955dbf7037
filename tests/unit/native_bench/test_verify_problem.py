"""A problem is proved only if what must fail is caught and the honest have room; each planted fault is named."""

import json
import re
from pathlib import Path

import pytest

from native_bench.cli import main
from native_bench.proof import Verification
from native_bench.proof_table import proof_text
from native_bench.sandbox.interface import Sandbox
from native_bench.verify import open_prover, verify_problem
from submissions.kernel_package.names import ProblemId
from tests.unit.native_bench.proved import PROBLEM_YAML, REFERENCE_PY, SUMS_PY, SUMS_YAML, write_problem

pytestmark = pytest.mark.sandbox


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_prover()


@pytest.fixture
def prove(sandbox: Sandbox):
    def run(
        problem_yaml: str = PROBLEM_YAML, reference_py: str = REFERENCE_PY, name: str = "Vector/saxpy/fp32"
    ) -> Verification:
        files = {"problem.yaml": problem_yaml.encode(), "reference.py": reference_py.encode()}
        return verify_problem(ProblemId.parse(name), files, sandbox, lambda text: None)

    return run


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new)


def test_it_proves_a_tolerance_that_fits(prove) -> None:
    proof = prove()
    assert proof.faults == ()
    assert proof.holds
    caught = {mutant.name: (len(mutant.caught), mutant.differing, mutant.alike) for mutant in proof.mutants}
    assert caught["zeros"] == (18, 18, 0)
    # Small integers are the same in half precision.
    assert caught["lower_precision"] == (12, 12, 6)
    assert {variant.name for variant in proof.variants} == {"separate", "fused", "split"}
    assert all(0 < variant.greatest_error <= 0.25 for variant in proof.variants)


def test_it_proves_integers_and_each_of_several_outputs(prove) -> None:
    proof = prove(SUMS_YAML, SUMS_PY)
    assert proof.faults == ()
    caught = {mutant.name: len(mutant.caught) for mutant in proof.mutants}
    # Nine draws, for seven sums are few numbers; two outputs, one of which has two axes.
    assert (caught["zeros"], caught["transposed"]) == (18, 9)


@pytest.mark.parametrize("dtype", ["fp64", "fp16", "bf16"])
def test_it_proves_every_floating_type(prove, dtype: str) -> None:
    accumulate = "fp64" if dtype == "fp64" else "fp32"
    problem_yaml = changed(PROBLEM_YAML, "dtype: fp32, shape", f"dtype: {dtype}, shape")
    problem_yaml = changed(problem_yaml, "accumulate: fp32", f"accumulate: {accumulate}")
    problem_yaml = problem_yaml.replace("12*n", "24*n")
    reference_py = REFERENCE_PY.replace("-2.4999", "-2.25")
    reference_py = reference_py.replace("np.float32", f"np.float{64 if dtype == 'fp64' else 32}")
    if dtype == "fp16":
        reference_py = reference_py.replace('x = inputs["x"]', 'x = inputs["x"].astype(np.float32)')
    proof = prove(problem_yaml, reference_py)
    lower = next(mutant for mutant in proof.mutants if mutant.name == "lower_precision")
    assert proof.holds, proof_text(proof)
    # Single precision holds the small integers, four significant bits do not.
    assert (len(lower.caught), lower.alike) == ((12, 6) if dtype == "fp64" else (18, 0))


@pytest.mark.parametrize("name", ["Vector/saxpy/fp32", "Vector/loose/fp32", "Vector/other/fp32"])
def test_it_refuses_a_tolerance_a_thousand_times_too_loose_and_names_what_survives(prove, name: str) -> None:
    loose = changed(PROBLEM_YAML, "terms: 2,", 'terms: "2*1000000",')
    proof = prove(loose, name=name)
    nearest = next(fault for fault in proof.faults if fault.startswith("problem.yaml, tolerance: too loose"))
    assert re.search(r"nearest mutant, \w+, is off by 0\.\d+ of it", nearest)
    assert not any("VARIANTS" in fault for fault in proof.faults)


def test_it_names_a_mutant_that_survives_in_one_distribution(prove) -> None:
    reference_py = changed(REFERENCE_PY, "MUTANTS = {", 'MUTANTS = {"nearly": nearly, ')
    reference_py = changed(
        reference_py,
        "VARIANTS =",
        """
def nearly(inputs, scalars):
    is_cancelling = np.abs(separate(inputs, scalars)["z"]).max() < 1e-3
    return {"z": fused(inputs, scalars)["z"] * (1.05 if is_cancelling else 0.5)}


VARIANTS =""",
    )
    problem_yaml = changed(PROBLEM_YAML, "without_y]", "without_y, nearly]")
    assert prove(problem_yaml, reference_py).faults == ()
    looser = changed(problem_yaml, "c: 8", "c: 25")
    (fault,) = prove(looser, reference_py).faults
    assert re.search(r"must_fail: nearly survives at n=\d+ cancelling \(0\.\d+ of the bound\), n=", fault)


def test_it_refuses_a_tolerance_far_too_tight_and_names_who_fails(prove) -> None:
    proof = prove(changed(PROBLEM_YAML, "c: 8", "c: 0.01"))
    assert any(re.search(r"VARIANTS: separate uses .* of the bound at n=\d+ ", fault) for fault in proof.faults)
    assert "too tight" in proof.faults[0]
    assert not any("must_fail" in fault for fault in proof.faults)


def test_it_refuses_an_honest_computation_that_passes_with_too_little_room(prove) -> None:
    proof = prove(changed(PROBLEM_YAML, "c: 8", "c: 2"))
    assert any("VARIANTS: separate uses 0.3" in fault for fault in proof.faults)


def test_it_wants_equality_of_the_honest_where_answers_are_exact(prove) -> None:
    reference_py = changed(REFERENCE_PY, '"z": scalars["a"] *', '"z": (1 + 2e-7) * scalars["a"] *')
    proof = prove(reference_py=reference_py)
    assert any(re.search(r"VARIANTS: fused differs at n=\d+ integers", fault) for fault in proof.faults)


def test_it_refuses_a_mutant_that_nothing_tells_from_the_honest(prove) -> None:
    reference_py = changed(
        REFERENCE_PY, '{"z": np.float32(scalars["a"]) * inputs["x"]}}', "separate(inputs, scalars)}"
    )
    assert prove(reference_py=reference_py).faults == (
        "problem.yaml, must_fail: without_y is never caught: no draw tells it from an honest result",
    )


def test_it_tells_what_only_the_guard_catches(prove) -> None:
    proof = prove(changed(PROBLEM_YAML, "c: 8", "c: 1000"))
    assert re.search(r"zeros .* 18 of 18 draws .*0\.\d+ \(guard\)", proof_text(proof))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("product + inputs", "np.nan * product + inputs", "z of the reference is not finite (uniform)"),
        ("np.abs(product) + ", "np.inf + ", "terms of z are negative or not finite (uniform)"),
        ("np.abs(product) + np.abs", "-np.abs", "terms of z are negative or not finite"),
        ("def inputs(", "def other(", "KeyError: 'inputs'"),
        ("n = dims", "n = 1 + dims", "x has the shape [1001], problem.yaml says [1000]"),
        ("    x = inputs", "    1 / 0; x = inputs", "VARIANTS split (uniform): ZeroDivisionError"),
        ('inputs["x"]}}', 'inputs["x"][1:]}}', "MUTANTS without_y (uniform): ValueError: z has the shape [999]"),
        ('{"z": np.float32(scalars["a"]) * inputs["x"]}}', "{}}", "MUTANTS without_y (uniform): KeyError: 'z'"),
        ("import numpy", "import nmupy", "No module named 'nmupy'"),
        ("DISTRIBUTIONS = (", "DISTRIBUTIONS = (int(), ", "malformed node"),
        ('EXACT = ("integers",)', "EXACT = (", "can't be read: '(' was never closed (reference.py, line 5)"),
        ("VARIANTS = {", "VARIANTS = {**{}, ", "VARIANTS: it must be one dict display"),
        ("VARIANTS = {", "VARIANTS = dict() or {", "VARIANTS: it must be one dict display"),
        ('"split": split', '"fused": split', "VARIANTS: it must be one dict display"),
        (', "split": split', "", "VARIANTS: 2 honest computations; at least 3 are needed"),
        ('"without_y":', '"zeros":', "MUTANTS: 'zeros' is the name of a generic mutant"),
        ('EXACT = ("integers"', 'EXACT = ("whole"', "EXACT: 'whole' is not in DISTRIBUTIONS"),
    ],
)  # fmt: skip
def test_it_names_what_is_wrong_in_reference_py(prove, old: str, new: str, told: str) -> None:
    faults = prove(reference_py=changed(REFERENCE_PY, old, new)).faults
    assert any("reference.py" in fault and told in fault for fault in faults), faults


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("flops: 2*n", "flops: 2**n", "flops: the expression '2**n' is wrong"),
        ("flops: 2*n", "flops: 2*m", "flops uses 'm', which is no parameter"),
        ("zeros,", "zeroes,", "must_fail: unknown name 'zeroes'; known: zeros, copy_input, "),
        ("zeros, copy_input,", "", "must_fail: 7 names; at least 8 are needed"),
        ("zeros,", "transposed,", "must_fail: 'transposed' can't be made: no output has two axes"),
        (
            "{n: 640}, dist",
            "{n: 100000000000000}, dist",
            "cases, 'n640': n=100000000000000 needs 1200000000000000",
        ),
        ("{n: 1000}", "{n: 100000000000000}", "dry_run: n=100000000000000 needs 1200000000000000 memory_bytes"),
        ("{n: 1000}", "{n: 0}", "dry_run: at n=0 'x' has the shape [0]: it is empty"),
        ("[1, 700]", "[0, 0]", "hidden.ranges: at n=0 'x' has the shape [0]: it is empty"),
        ("distribution: uniform", "distribution: sparse", "cases: 'n640' has the distribution 'sparse'"),
        ("title: ", "tilte: ", "tilte"),
    ],
)
def test_it_names_what_is_wrong_in_problem_yaml(prove, old: str, new: str, told: str) -> None:
    faults = prove(changed(PROBLEM_YAML, old, new)).faults
    assert any("problem.yaml" in fault and told in fault for fault in faults), faults


def test_it_names_a_size_that_is_impossible_only_in_between(prove) -> None:
    never_for_odd_sizes = "memory_bytes: 12*n // (1 - n % 2 + max(0, 2 - n))"
    (fault,) = prove(changed(PROBLEM_YAML, "memory_bytes: 12*n", never_for_odd_sizes)).faults
    assert re.match(r"problem.yaml, hidden.ranges: at n=\d+ the expression .* divides by zero", fault)


def test_it_wants_memory_for_all_that_is_made_of_a_draw(prove, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_bench.verify.machine_bytes", lambda: 100_000)
    (fault,) = prove().faults
    assert fault.startswith("problem.yaml, dry_run: the proof needs ")


def test_it_gives_up_on_a_reference_without_end(prove, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_bench.cpu.draws._SECONDS", 1.0)
    (fault,) = prove(
        reference_py=changed(REFERENCE_PY, "    product =", "    while True: pass\n    product =")
    ).faults
    assert "reference.py gave no answer (timed_out)" in fault


@pytest.mark.parametrize(("dtype", "name"), [("i32", "nan_one"), ("i32", "lower_precision")])
def test_it_refuses_mutants_that_integers_cannot_have(prove, dtype: str, name: str) -> None:
    faults = prove(changed(SUMS_YAML, "scaled]", f"{name}]"), SUMS_PY).faults
    assert any(f"must_fail: '{name}' can't be made" in fault for fault in faults)


def test_it_refuses_to_copy_an_input_where_there_is_none(prove) -> None:
    problem_yaml = changed(SUMS_YAML, "  - {name: x, role: in, dtype: i32, shape: [rows, cols]}\n", "")
    assert any(
        "'copy_input' can't be made: there is no input" in fault for fault in prove(problem_yaml, SUMS_PY).faults
    )


def test_its_command_proves_a_folder_of_problems(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_problem(tmp_path, "Vector/saxpy/fp32")
    assert main(["verify-problem", "--problems", str(tmp_path)]) == 0
    printed, told = capsys.readouterr()
    assert re.search(r"^zeros +18 of 18 draws +0 +[0-9.]+$", printed, re.MULTILINE)
    assert re.search(r"^separate +0\.\d+$", printed, re.MULTILINE)
    assert printed.endswith("1 of 1 problems hold\n")
    assert "Vector/saxpy/fp32: dry_run, n=1000" in told


def test_its_command_fails_when_one_problem_does(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_problem(tmp_path, "Vector/saxpy/fp32")
    write_problem(tmp_path, "Vector/loose/fp32", changed(PROBLEM_YAML, "terms: 2,", 'terms: "2*1000000",'))
    assert main(["verify-problem", "--problems", str(tmp_path), "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    loose, saxpy = answer["problems"]
    assert (answer["holds"], loose["holds"], saxpy["holds"]) == (False, False, True)
    missing = next(mutant for mutant in loose["mutants"] if mutant["name"] == "missing_last")
    assert missing["smallest_margin"] < 1
    assert len(loose["faults"]) > 0
    assert {mutant["name"]: mutant["smallest_margin"] for mutant in saxpy["mutants"]}["nan_one"] == "inf"
    assert main(["verify-problem", "Vector/loose/fp32", "--problems", str(tmp_path)]) == 1
    assert capsys.readouterr().out.endswith("0 of 1 problems hold; refused: Vector/loose/fp32\n")


def test_its_command_names_a_file_that_is_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write_problem(tmp_path, "Vector/saxpy/fp32")
    (tmp_path / "Vector/saxpy/fp32/reference.py").unlink()
    assert main(["verify-problem", "--problems", str(tmp_path)]) == 1
    assert "reference.py is missing" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ([], "name a problem, or give --all or --problems FOLDER"),
        (["Vector/nothing/fp32"], "there is no problem Vector/nothing/fp32; known: "),
        (["saxpy"], "'saxpy' is not of the form"),
        (["--problems", "no such folder"], "no such folder holds no <op_class>"),
        (["--all", "--backend", "none"], "unknown sandbox backend 'none'"),
    ],
)
def test_its_command_refuses_a_wrong_call(capsys: pytest.CaptureFixture[str], call: list[str], told: str) -> None:
    assert main(["verify-problem", *call]) == 2
    assert told in capsys.readouterr().err
