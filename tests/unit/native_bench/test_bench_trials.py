"""The bench for real, in small: it tells an honest clock from one with a bias, and leaves its report behind."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median

import pytest

from native_bench.bench_cpu.__main__ import main
from native_bench.bench_cpu.campaign import Measured, Series
from native_bench.bench_cpu.figures import rows_of
from native_bench.bench_cpu.goals import QUICK_GOALS, Judged, judge
from native_bench.bench_cpu.kernels import subject
from native_bench.bench_cpu.plan import IDLE
from native_bench.bench_cpu.trials import Trial, Trials, open_tools
from native_bench.cache import ContentCache
from native_bench.cpu.build import build
from native_bench.cpu.case_times import CaseTimes
from native_bench.cpu.process_set import ProcessSet
from native_bench.sandbox.opening import open_sandbox

pytestmark = pytest.mark.sandbox

PLANTED = 1.05
SITTING = 5


class PlantedBias(ProcessSet):
    """Reads five percent too much off the clock, and only for the candidate."""

    def _keep(self, times: CaseTimes, rounds: Mapping[tuple[int, int], list[int]], handshake_ns: float) -> None:
        candidate = self._index("candidate")
        bent = {
            (number, contestant): [round(ns * PLANTED) for ns in taken] if contestant == candidate else taken
            for (number, contestant), taken in rounds.items()
        }
        super()._keep(times, bent, handshake_ns)


@pytest.fixture(scope="module")
def trials(cache_dir: Path) -> Iterator[Trials]:
    with Trials(subject("softmax"), open_tools(cache_dir)) as course:
        course.prepare(lambda _: None)
        yield course


def judged_error(values: list[Trial]) -> Judged:
    rows = rows_of([Measured(IDLE, 0.0, {"softmax": Series(values)}, {})], (SITTING,))
    error = judge(rows, QUICK_GOALS, is_quick=True)[0]
    assert isinstance(error, Judged)
    return error


def test_it_catches_a_bias_that_is_planted_in_the_timer(trials: Trials, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = [trials.one() for _ in range(SITTING)]
    monkeypatch.setattr("native_bench.bench_cpu.trials.ProcessSet", PlantedBias)
    planted = [trials.one() for _ in range(SITTING)]
    assert abs(median(trial.equal for trial in honest)) < 0.025
    assert median(trial.equal for trial in planted) < -0.025
    error = judged_error(planted)
    assert error.figure.startswith("A/A error")
    assert error.value > 2.5
    assert not error.holds


def test_its_trials_have_all_that_the_table_needs(trials: Trials) -> None:
    trial = trials.one()
    assert trial.time_ns > 0
    assert trial.slowed_time_ns > 0
    assert trial.seconds > 0
    assert trials.library.is_file()


def test_its_libraries_differ_in_the_length_of_the_chain_alone(cache_dir: Path) -> None:
    """Code of another length would lie at other addresses, and be faster or slower for that alone."""
    sandbox, cache = open_sandbox(), ContentCache(cache_dir)
    plain, twin, slowed = (
        build(subject("saxpy").with_chain(steps, copy), sandbox, cache).path
        for steps, copy in ((0, 0), (0, 1), (500, 0))
    )
    assert len({plain, twin, slowed}) == 3
    assert plain.read_bytes() == twin.read_bytes()
    different = [a != b for a, b in zip(plain.read_bytes(), slowed.read_bytes(), strict=True)]
    assert 1 <= sum(different) <= 8


def test_it_measures_prints_and_keeps_its_table(
    cache_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "native_bench").symlink_to(cache_dir)
    arguments = ["--quick", "--kernel", "matmul", "--processes", "2", "--home", str(tmp_path)]
    assert main(arguments) == 0
    printed = capsys.readouterr()
    tables = list((tmp_path / "bench").glob("cpu-*.md"))
    assert len(tables) == 1
    assert tables[0].read_text() in printed.out
    assert str(tables[0]) in printed.err
    latest = json.loads((tmp_path / "bench" / "cpu.json").read_text())
    assert latest == json.loads(tables[0].with_suffix(".json").read_text())
    assert len(latest["measured"][0]["ours"]["matmul"]["trials"]) == 2


def test_it_says_what_keeps_it_from_measuring(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--home", str(tmp_path), "--backend", "none"]) == 1
    assert "the bench could not measure: unknown sandbox backend 'none'" in capsys.readouterr().err


@pytest.mark.parametrize("count", ["0", "-1", "few"])
def test_it_refuses_a_count_that_is_none(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--processes", count])
    assert ended.value.code == 2
    assert "is not a number of at least 1" in capsys.readouterr().err
