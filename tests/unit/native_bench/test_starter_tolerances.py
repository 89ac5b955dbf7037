"""Every problem of the starter zoo is proved: this is the gate through which one comes into a release."""

import pytest

from native_bench.contract import find_problems
from native_bench.proof_table import proof_text
from native_bench.starter import problem_folders
from native_bench.verify import open_prover, verify_problem

pytestmark = pytest.mark.sandbox


@pytest.mark.parametrize("name", [str(problem_id) for problem_id, _ in problem_folders()])
def test_its_tolerance_is_proved(name: str) -> None:
    ((problem_id, files),) = find_problems([name], None)
    proof = verify_problem(problem_id, files, open_prover(), print)
    assert proof.holds, proof_text(proof)
