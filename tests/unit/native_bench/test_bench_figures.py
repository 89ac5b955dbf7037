"""From what was measured to rows, goals and the table. Pure: nothing is timed here."""

import json
import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from native_bench.bench_cpu.campaign import Measured, PeerSeries, Series
from native_bench.bench_cpu.figures import rows_of
from native_bench.bench_cpu.goals import FULL_GOALS, QUICK_GOALS, Judged, LeftOut, judge
from native_bench.bench_cpu.peers import CPU_TIME, GOOGLE, REAL_TIME
from native_bench.bench_cpu.plan import (
    AS_FOUND,
    FULL,
    IDLE,
    QUICK,
    STRESSED,
    Condition,
    Plan,
    as_told,
    peer_is_due,
)
from native_bench.bench_cpu.progress import left_text
from native_bench.bench_cpu.report import dated_path, report_of, store
from native_bench.bench_cpu.table import percent
from native_bench.bench_cpu.trials import Trial

KERNEL_NS = {"saxpy": 700.0, "matmul": 18_000.0, "softmax": 68_000.0}


@pytest.fixture(autouse=True)
def fewer_regroupings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("native_bench.bench_cpu.analysis.REGROUPINGS", 400)


def series(kernel: str, bias: float = 0.0, sd: float = 0.0002, count: int = 60, injected: float = 0.01) -> Series:
    coin = random.Random(kernel)
    time_ns = KERNEL_NS[kernel]
    trials: list[Trial] = []
    for _ in range(count):
        plain_ns = time_ns * (1 + coin.gauss(0, sd))
        equal, slowed = coin.gauss(bias, sd), coin.gauss(injected, sd)
        trials.append(Trial(equal, slowed, plain_ns, plain_ns * (1 + injected), 0.4))
    return Series(trials)


def google(sd: float = 0.05) -> PeerSeries:
    coin = random.Random(7)
    times = {
        figure: {
            kernel: [time_ns * (1 + coin.gauss(0, sd)) for _ in range(4)] for kernel, time_ns in KERNEL_NS.items()
        }
        for figure in (REAL_TIME, CPU_TIME)
    }
    return PeerSeries(times, [6.0] * 4)


def measured(
    condition: Condition = IDLE, bias: float = 0.0, sd: float = 0.0002, injected: float = 0.01
) -> Measured:
    ours = {kernel: series(kernel, bias, sd, injected=injected) for kernel in KERNEL_NS}
    return Measured(condition, 0.02, ours, {GOOGLE: google()}, 60.0)


def verdicts(under: Sequence[Measured], is_quick: bool = True) -> dict[str, Judged | LeftOut]:
    goals = QUICK_GOALS if is_quick else FULL_GOALS
    return {one.figure: one for one in judge(rows_of(under, (5,)), goals, is_quick)}


def holds(found: dict[str, Judged | LeftOut], begin: str) -> list[bool]:
    named = [one for figure, one in found.items() if figure.startswith(begin)]
    assert named
    assert all(isinstance(one, Judged) for one in named), named
    return [one.holds for one in named if isinstance(one, Judged)]


def test_it_has_a_row_for_each_kernel_and_way() -> None:
    rows = rows_of([measured(), measured(STRESSED[0])], (5, 9))
    assert len(rows) == 2 * 3 * (2 + 2)
    ours = [row for row in rows if row.is_ours]
    assert {(row.processes, row.runs) for row in ours} == {(5, 12), (9, 6)}
    assert all(row.wall_seconds == pytest.approx(0.4 * (row.processes or 0)) for row in ours)
    theirs = [row for row in rows if not row.is_ours]
    assert all((row.runs, row.wall_seconds, row.power) == (4, 2.0, None) for row in theirs)
    assert all(row.error_p99 is not None and row.error_p50 is not None for row in rows)


def test_an_honest_clock_reaches_every_goal() -> None:
    found = verdicts([measured()])
    assert all(isinstance(one, Judged) and one.holds for one in found.values()), found


def test_it_catches_a_bias() -> None:
    found = verdicts([measured(bias=0.05)])
    assert holds(found, "A/A error, p99") == [False]
    assert holds(found, "intervals that hold the truth") == [False]


def test_it_catches_intervals_that_are_too_wide() -> None:
    """A clock that never says anything is not honest, it is useless: the full form has an upper bound, too."""
    found = verdicts([measured(sd=1e-6)], is_quick=False)
    assert holds(found, "intervals that hold the truth") == [False]


def test_it_catches_a_clock_without_power() -> None:
    assert holds(verdicts([measured(sd=0.02)]), "+1 % called slower") == [False]


def test_it_catches_the_wrong_direction() -> None:
    found = verdicts([measured(injected=-0.01)])
    assert holds(found, "+1 % called faster") == [False]


def test_it_catches_a_spread_like_that_of_others() -> None:
    found = verdicts([measured(sd=0.05)])
    assert holds(found, "spread of what is reported") == [False, False]


def test_it_judges_no_idle_figure_of_a_busy_machine() -> None:
    assert as_told(IDLE, 0.05) == IDLE
    assert as_told(IDLE, 0.5) == AS_FOUND
    assert as_told(STRESSED[1], 0.5) == STRESSED[1]
    found = verdicts([measured(AS_FOUND)])["A/A error, p99, worst kernel, idle"]
    assert isinstance(found, LeftOut)
    assert "not idle" in found.reason


def test_it_allows_more_under_stress() -> None:
    # About 0.3 %: too much for an idle machine, fine under load.
    idle, stressed = (
        verdicts([measured(condition, sd=0.0028)], is_quick=False) for condition in (IDLE, STRESSED[1])
    )
    assert holds(idle, "A/A error, p99") == [False]
    assert holds(stressed, "A/A error, p99") == [True]


def test_it_leaves_out_what_it_has_no_values_for() -> None:
    broken = PeerSeries(failures=Counter({"the program of google-benchmark failed: Killed": 4}))
    empty = Measured(IDLE, 0.0, {"saxpy": Series(failures=Counter({"time:too-short": 6}))}, {GOOGLE: broken})
    found = verdicts([empty])
    assert found
    assert all(isinstance(one, LeftOut) for one in found.values())
    document, table = report_of(QUICK, [empty], [], "full")
    assert "saxpy idle time:too-short ×6" in table
    assert "| idle: the program of google-benchmark failed: Killed (×4) |" in table
    assert document["rows"] == []


def test_its_report_is_json_and_says_everything() -> None:
    missing = ["google-benchmark is not installed: apt-get install libbenchmark-dev"]
    document, table = report_of(QUICK, [measured()], missing, "full")
    again = json.loads(json.dumps(document, allow_nan=False))
    assert {"machine", "commit", "rows", "left_out", "figures", "measured"} <= again.keys()
    assert all(set(row) == {"figure", "value", "unit", "goal", "holds"} for row in again["rows"])
    assert len(again["measured"][0]["ours"]["matmul"]["trials"]) == 60
    assert f"| – | – | {missing[0]} | – |" in table
    for kernel in KERNEL_NS:
        assert f"| idle | {kernel} | ours, 5 processes | 12 |" in table
    assert "softmax idle +1.00 %" in table
    assert "| yes |" in table


def test_it_keeps_the_table_and_its_document_side_by_side(tmp_path: Path) -> None:
    document, table = report_of(QUICK, [measured()], [], "full")
    path = dated_path(tmp_path / "bench", document)
    store(document, table, path)
    assert path.name.startswith("cpu-20")
    assert path.read_text() == table
    assert json.loads(path.with_suffix(".json").read_text())["part"] == "cpu"


@pytest.mark.parametrize("plan", [QUICK, FULL, Plan(2, 2, (IDLE,), (5,)), Plan(7, 3, (IDLE,), (5,))])
def test_it_spreads_the_other_tools_over_the_sets(plan: Plan) -> None:
    due = [number for number in range(plan.processes) if peer_is_due(number, plan)]
    assert len(due) == plan.peer_runs
    gaps = {later - earlier for earlier, later in pairwise(due)}
    assert max(gaps) - min(gaps) <= 1


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "–"), (0.0, "0 %"), (1.0, "100 %"), (0.9876, "98.8 %"), (0.00039, "0.039 %"), (0.0123, "1.2 %")],
)
def test_its_percents_can_be_read(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_it_tells_what_is_left() -> None:
    assert left_text(0, 10, 5) == "0 % done"
    assert left_text(5, 10, 30) == "50 % done, about 30 s left"
    assert left_text(1, 10, 60) == "10 % done, about 9 min left"
    assert left_text(12, 10, 60) == "100 % done, about 0 s left"
