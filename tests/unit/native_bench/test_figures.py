"""Rows of figures: made of a result, kept as JSON and CSV, read back, shown as a table."""

import csv
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from native_bench.figures import Figures, csv_text, figures_of, read_figures
from native_bench.figures_table import figures_text, short_text
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.problem import Problem

KERNEL, BASELINE = "x86_64/Vector/scale/fp32/tried", "x86_64/Vector/scale/fp32/reference_impl"


def result(**changes: Any) -> dict[str, Any]:
    case = {
        "id": "n640",
        "log_ratio": {"baseline": [math.log(2.0)] * 3},
        "t_min_ns": [100.0] * 3,
        "base_t_min_ns": [200.0] * 3,
        "t_sol_ns": 50.0,
    }
    ended = {"verdict": "ok", "code": "run:ok", "message": "", "details": {}, "cases": [case]}
    return {**ended, **changes}


@pytest.fixture
def timed(problem: Problem) -> Figures:
    (row,) = figures_of(KERNEL, BASELINE, problem, result())
    return row


@pytest.fixture
def failed(problem: Problem) -> Figures:
    ended = {"verdict": "unstable", "code": "time:clock", "message": "the clock", "cases": [{"id": "n640"}]}
    (row,) = figures_of(KERNEL, BASELINE, problem, result(**ended))
    return row


def test_it_counts_the_problems_own_bytes_and_operations(timed: Figures) -> None:
    assert timed.t_ns is not None
    assert timed.speedup is not None
    assert timed.t_ns.value == pytest.approx(100.0)
    assert timed.speedup.value == pytest.approx(2.0)
    assert timed.gbs == pytest.approx(12 * 640 / 100)
    assert timed.gflops == pytest.approx(2 * 640 / 100)
    assert timed.sol_fraction == pytest.approx(0.5)


def test_it_leaves_the_share_out_where_the_limit_is_unknown(problem: Problem) -> None:
    cases = [{**result()["cases"][0], "t_sol_ns": None}]
    (row,) = figures_of(KERNEL, BASELINE, problem, result(cases=cases))
    assert row.sol_fraction is None
    assert figures_text([row], with_kernel=False).splitlines()[1].split()[-1] == "-"


def test_it_gives_the_reason_where_nothing_was_timed(failed: Figures) -> None:
    assert (failed.case, failed.t_ns, failed.is_ok) == ("n640", None, False)
    assert short_text(failed) == "unstable (time:clock)"
    assert f"{KERNEL} n640: unstable (time:clock): the clock" in figures_text([failed], with_kernel=True)


def test_it_says_what_speaks_against_a_figure(problem: Problem) -> None:
    doubt = {"code": "time:below-limit", "message": "faster than the limits allow", "cases": ["n640"]}
    (row,) = figures_of(KERNEL, BASELINE, problem, result(details={"integrity": [doubt]}))
    assert row.message == "faster than the limits allow"
    assert figures_text([row], with_kernel=False).endswith("n640: faster than the limits allow")


def test_it_reads_back_what_it_wrote(timed: Figures, failed: Figures, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text(json.dumps({"rows": [timed.as_json(), failed.as_json()]}))
    read = read_figures(path)
    assert [row.as_json() for row in read] == [timed.as_json(), failed.as_json()]
    assert read[1] == failed


@pytest.mark.parametrize(
    "content",
    [
        "no JSON",
        "[]",
        "{}",
        '{"rows": 3}',
        '{"rows": [3]}',
        '{"rows": [{}]}',
        "t_ns: {}",
        "t_ns: 3",
        't_ns: {"value": 0, "lo": 0, "hi": 0}',
        't_ns: {"value": NaN, "lo": 1, "hi": 2}',
        't_ns: {"value": 3, "lo": 1, "hi": 2}',
        "gbs: NaN",
        "gbs: -1",
        'gbs: "much"',
        "dims: []",
        'dims: {"n": "much"}',
    ],
)
def test_it_refuses_a_file_that_holds_no_rows(timed: Figures, tmp_path: Path, content: str) -> None:
    member, is_changed, value = content.partition(": ")
    if is_changed and not content.startswith("{"):
        content = json.dumps({"rows": [{**timed.as_json(), member: json.loads(value)}]})
    path = tmp_path / "kept.json"
    path.write_text(content)
    with pytest.raises(Rejected, match=r"kept\.json can't be read as results") as refused:
        read_figures(path)
    assert refused.value.code == "report:file"


def test_it_refuses_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="No such file"):
        read_figures(tmp_path / "nothing.json")


def test_it_writes_csv(timed: Figures, failed: Figures) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text([timed, failed]))))
    assert (rows[0]["n"], rows[0]["t_ns"], rows[0]["speedup"]) == ("640", "100.0", "2.0")
    assert float(rows[0]["t_ns_lo"]) < 100.0 < float(rows[0]["t_ns_hi"])
    assert (rows[1]["t_ns"], rows[1]["gbs"], rows[1]["code"]) == ("", "", "time:clock")


def test_it_shows_a_table(timed: Figures) -> None:
    heads, row = figures_text([timed], with_kernel=True, times=("time of A", "time of B")).splitlines()
    assert [heads.index(word) for word in ("kernel", "case", "time of A", "time of B", "speed-up", "roofline")]
    assert row.split()[:4] == [KERNEL, "n640", "100", "ns"]
    assert row.split()[-4:] == ["76.8", "12.8", "50", "%"]
    assert len(row) == len(heads)
    assert short_text(timed) == "100 ns, 76.8 GB/s, 12.8 GFLOP/s"
