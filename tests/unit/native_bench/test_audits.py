"""Kernels that are right where they believe to be checked, and something else where they believe to be timed."""

import pytest

from native_bench.cpu.process_set import ProcessSet
from native_bench.outcome import RunEnded
from submissions.kernel_package.problem import Problem, parse_problem
from tests.unit.native_bench.conftest import PROBLEM_ID, PROBLEM_YAML, Judge, kernel

pytestmark = pytest.mark.sandbox

# Of the two distributions only `integers` has a whole number everywhere.
IS_INTEGERS = (
    "x[0] == static_cast<float>(static_cast<int>(x[0])) && y[0] == static_cast<float>(static_cast<int>(y[0]))"
)


@pytest.fixture(scope="module")
def two_cases() -> Problem:
    """The problem with a second, larger case, which the check runs with its own distribution only."""
    second = b"cases: [{id: n1280, dims: {n: 1280}, distribution: uniform, weight: 1}, "
    return parse_problem(PROBLEM_YAML.replace(b"cases: [", second), PROBLEM_ID)


def test_it_judges_every_kind_of_input_in_every_timed_case(judge: Judge, two_cases: Problem) -> None:
    body = f"LOOP if (n == 1280 && {IS_INTEGERS}) z[7] += 1;"
    result = judge(kernel(body), mode="ranked", problem=two_cases)
    assert (result["verdict"], result["code"]) == ("wrong_result", "time:wrong-result")
    first = result["details"]["first_wrong"]
    assert (first["case"], first["distribution"], first["index"]) == ("n1280", "integers", [7])


def test_it_tells_nobody_by_the_red_zones_whether_the_clock_runs(judge: Judge) -> None:
    """A check once filled them with one byte: who saw another pattern knew that it was timed."""
    red = "const auto red = *reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(z) - 64);"
    body = f"{red} LOOP if (red != (red & 255) * 0x0101010101010101) z[0] += 1;"
    assert judge(kernel(body))["code"] == "check:wrong-result"


def test_it_lets_no_slow_kernel_choose_the_batch_for_all(judge: Judge) -> None:
    slow = judge(kernel("LOOP for (volatile int wait = 0; wait < 300000; ++wait) {}"), mode="ranked")
    assert slow["verdict"] == "ok", slow["message"]
    assert slow["cases"][0]["batch_n"] == judge(kernel("LOOP"), mode="ranked")["cases"][0]["batch_n"]


def test_it_makes_no_figure_where_an_empty_batch_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    contended = ProcessSet.__new__(ProcessSet)
    monkeypatch.setattr(ProcessSet, "_index", lambda self, role: 0)
    monkeypatch.setattr(ProcessSet, "_ask", lambda self, timer, command, times: "50000")
    with pytest.raises(RunEnded) as ended:
        contended._null_ns(None, None)  # type: ignore[arg-type]
    assert (str(ended.value.verdict), ended.value.code) == ("unstable", "time:contended")
