"""`compare`, `sweep` and `report`: what they measure for real, what they refuse, and what Ctrl-C leaves."""

import csv
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import pytest

from native_bench.cli import main
from native_bench.commands.compare import outcome_of, sentence
from native_bench.commands.series import duration_text
from native_bench.commands.sweep_call import starters_of
from native_bench.host import native_arch
from submissions.evaluation.statistics import Interval
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.names import ProblemId
from tests.unit.native_bench.conftest import HONEST, PROBLEM_ID, PROBLEM_YAML, REFERENCE_PY, kernel, package

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).parents[3]
SAXPY = f"{native_arch()}/Vector/saxpy/fp32"
WIDE, STREAMING = f"{SAXPY}/wide_vectors", f"{SAXPY}/streaming_stores"
SWEEP = ["sweep", "Vector/saxpy/fp32", "--kernel", WIDE]


def write_tree(folder: Path, files: Mapping[str, bytes]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return folder


@pytest.fixture
def options(tmp_path: Path, cache_dir: Path) -> list[str]:
    """The options of a call about the small problem of these tests."""
    files = {"problem.yaml": PROBLEM_YAML, "reference.py": REFERENCE_PY}
    write_tree(tmp_path / "problems" / str(PROBLEM_ID), files)
    return ["--problems", str(tmp_path / "problems"), "--cache-dir", str(cache_dir)]


@pytest.mark.parametrize(
    ("ratio", "outcome", "words"),
    [
        (Interval(1.2, 1.1, 1.3), "faster", "a is faster than b: B's time over A's is 1.200 [1.100, 1.300] ×"),
        (Interval(0.5, 0.4, 0.8), "slower", "a is slower than b: A's time over B's is 2.000 [1.250, 2.500] ×"),
        (Interval(1.2, 1.0, 1.3), "level", "a and b can't be told apart: B's time over A's is 1.200"),
        (Interval(0.9, 0.8, 1.0), "level", "a and b can't be told apart"),
    ],
)
def test_it_says_no_more_than_the_interval_does(ratio: Interval, outcome: str, words: str) -> None:
    assert outcome_of(ratio) == outcome
    assert sentence("a", "b", ratio, 5).startswith(words)
    assert "95 % interval, 5 sets of processes" in sentence("a", "b", ratio, 5)
    assert "1 set of processes" in sentence("a", "b", ratio, 1)


def test_it_compares_two_packages(capsys: pytest.CaptureFixture[str], options: list[str], tmp_path: Path) -> None:
    quick = str(write_tree(tmp_path / "quick", package(HONEST)))
    slow_source = kernel("for (volatile int i = 0; i < 3000; i = i + 1) {} LOOP")
    slow = str(write_tree(tmp_path / "slow", package(slow_source)))
    call = ["--processes", "1", *options]
    assert main(["compare", slow, quick, *call, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["a"], document["b"], document["verdict"]) == (slow, quick, "ok")
    assert document["outcome"] == "slower"
    assert document["sentence"].startswith(f"{slow} is slower than {quick}: ")
    (row,) = document["rows"]
    assert row["t_ns"]["value"] > 2 * row["base_t_ns"]["value"]
    assert main(["compare", quick, slow, *call]) == 0
    printed = capsys.readouterr().out
    assert f"A: {quick}\nB: {slow}\n" in printed
    assert "time of A" in printed
    assert f"{quick} is faster than {slow}: " in printed


@pytest.mark.parametrize("is_json", [True, False])
@pytest.mark.parametrize("wrong_at", [0, 1])
def test_it_compares_nothing_with_a_wrong_kernel(
    capsys: pytest.CaptureFixture[str], options: list[str], tmp_path: Path, is_json: bool, wrong_at: int
) -> None:
    pair = [str(write_tree(tmp_path / name, package(HONEST))) for name in ("a", "b")]
    write_tree(Path(pair[wrong_at]), package(kernel("z[0] = 0;")))
    assert main(["compare", *pair, "--processes", "1", *options, *(["--json"] if is_json else [])]) == 1
    printed = capsys.readouterr().out
    if is_json:
        document = json.loads(printed)
        assert (document["verdict"], document["outcome"]) == ("wrong_result", None)
        assert document["failed"] == pair[wrong_at]
    else:
        assert printed.startswith(f"{pair[wrong_at]}: wrong_result")


def test_it_sweeps_and_reports_what_was_kept(
    capsys: pytest.CaptureFixture[str], cache_dir: Path, tmp_path: Path
) -> None:
    table, plot = tmp_path / "rows.csv", tmp_path / "plot.svg"
    call = [*SWEEP, "--sizes", "n=2k:8k:2", "--processes", "1", "--cache-dir", str(cache_dir)]
    assert main([*call, "--json", "--csv", str(table), "--svg", str(plot)]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    assert [row["dims"] for row in document["rows"]] == [{"n": 2048}, {"n": 8192}]
    assert all(row["verdict"] == "ok" and row["gbs"] > 0 and row["gflops"] > 0 for row in document["rows"])
    assert [need["tensor_bytes"]["x"] for need in document["memory"]] == [8192, 32768]
    assert (document["kernel_id"], document["baseline"]) == (WIDE, f"{SAXPY}/reference_impl")
    assert document["is_complete"]
    assert told.err.index("n=8192: x 32 KiB, y 32 KiB, z 32 KiB") < told.err.index("[1/2] n=2048")
    assert "left" in told.err
    assert [row["n"] for row in csv.DictReader(table.read_text().splitlines())] == ["2048", "8192"]
    assert "Vector length (n)" in [element.text for element in ElementTree.parse(plot).iter()]
    kept, chart = tmp_path / "kept.json", tmp_path / "chart.svg"
    kept.write_text(told.out)
    assert main(["report", str(kept), "--svg", str(chart)]) == 0
    assert f"{WIDE}  n2048" in capsys.readouterr().out
    assert f"{WIDE.partition('/')[2]} n8192" in [element.text for element in ElementTree.parse(chart).iter()]


def test_it_sweeps_in_kernelbenchs_words(
    capsys: pytest.CaptureFixture[str], cache_dir: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "plot.svg"
    kernel_id = f"{native_arch()}/GEMM/nn/fp32/register_tiles"
    sizes = ["--sizes", "inputRows=outputCols=16:32:2", "inputCols=24"]
    call = ["sweep", "matrix-multiplication", "--kernel", kernel_id, *sizes, "--svg", str(plot)]
    assert main([*call, "--processes", "1", "--cache-dir", str(cache_dir), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["problem_id"], document["kernel_id"]) == ("GEMM/nn/fp32", kernel_id)
    assert [row["dims"] for row in document["rows"]] == [{"m": side, "n": side, "k": 24} for side in (16, 32)]
    assert (document["varying"], document["left_out"]) == (["m", "n"], [])
    assert "m = n" in [element.text for element in ElementTree.parse(plot).iter()]


def test_it_sweeps_the_named_cases_that_fit(
    capsys: pytest.CaptureFixture[str], cache_dir: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "plot.svg"
    cases = ["--cases", "kernelbench", "--memory-limit", "32m"]
    call = ["sweep", "matrix-multiplication", "--kernel", GEMM, *cases, "--svg", str(plot)]
    assert main([*call, "--processes", "1", "--cache-dir", str(cache_dir), "--json"]) == 1
    told = capsys.readouterr()
    document = json.loads(told.out)
    timed = [row["case"] for row in document["rows"]]
    assert timed[0] == "square_128"
    assert all(row["verdict"] == "ok" for row in document["rows"])
    assert {"rect_1024x4096x1024", "square_2048"} <= {*document["left_out"]}
    fits = [need["total_bytes"] <= 32 << 20 for need in document["memory"]]
    assert (len(timed), len(document["left_out"])) == (fits.count(True), fits.count(False))
    assert told.err.index("square_2048 is left out: it needs ") < told.err.index("] square_128 …")
    assert "operations of one call" in [element.text for element in ElementTree.parse(plot).iter()]


def test_it_reports_what_run_printed(capsys: pytest.CaptureFixture[str], cache_dir: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    name = f"{native_arch()}/Softmax/rows/fp32/lane_reductions"
    assert main(["run", name, "--processes", "1", "--json", "--cache-dir", str(cache_dir)]) == 0
    kept.write_text(capsys.readouterr().out)
    assert main(["report", str(kept), "--problem", "Softmax/rows/fp32", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["kernel_id"], row["case"]) for row in rows] == [
        (name, case) for case in ("r32c256", "r16c1000", "r64c4096")
    ]
    assert main(["report", str(kept), "--problem", "GEMM/nn/fp32"]) == 2
    assert "no figures of GEMM/nn/fp32" in capsys.readouterr().err


def test_it_reports_on_the_starter_kernels_of_a_problem(
    capsys: pytest.CaptureFixture[str], cache_dir: Path
) -> None:
    call = ["report", "--problem", "Reduction/sum/fp32", "--processes", "1", "--cache-dir", str(cache_dir)]
    assert main([*call, "--json"]) == 0
    told = capsys.readouterr()
    names = {row["kernel_id"].rsplit("/", 1)[1] for row in json.loads(told.out)["rows"]}
    assert names == {"reference_impl", "parallel_accumulators"}
    assert "[2/2]" in told.err


def test_it_goes_on_after_a_size_that_can_not_be_timed(
    capsys: pytest.CaptureFixture[str], cache_dir: Path, tmp_path: Path
) -> None:
    plot = tmp_path / "plot.svg"
    call = [*SWEEP, "--sizes", "n=1:2:2", "--processes", "1", "--cache-dir", str(cache_dir), "--svg", str(plot)]
    assert main([*call, "--backend", "none"]) == 1
    told = capsys.readouterr()
    assert told.out.count("infra_error (prepare:no-sandbox)") == 2
    assert "nothing was timed" in told.err
    assert not plot.exists()


def test_it_keeps_what_is_done_when_interrupted(cache_dir: Path, tmp_path: Path) -> None:
    kept = tmp_path / "rows.csv"
    options = ["--processes", "1", "--cache-dir", str(cache_dir), "--json", "--csv", str(kept)]
    command = [sys.executable, "-m", "native_bench", *SWEEP, "--sizes", "n=1k:64k:40", *options]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[2/40]"):
                break
        process.send_signal(signal.SIGINT)
        printed, complaints = process.communicate(timeout=60)
    assert process.returncode == 130, complaints
    document = json.loads(printed)
    assert not document["is_complete"]
    assert 1 <= len(document["rows"]) < 40
    assert len(kept.read_text().splitlines()) == 1 + len(document["rows"])
    assert "they are kept" in complaints


def test_it_chooses_among_the_starter_kernels() -> None:
    assert [str(kernel_id) for kernel_id in starters_of(ProblemId.parse("Vector/saxpy/fp32"))] == [STREAMING, WIDE]
    with pytest.raises(Rejected, match="give --kernel"):
        starters_of(ProblemId.parse("Vector/nothing/fp32"))


def test_it_sweeps_the_fastest_starter_kernel(capsys: pytest.CaptureFixture[str], cache_dir: Path) -> None:
    call = ["sweep", "Vector/saxpy/fp32", "--sizes", "n=4k", "--processes", "1", "--cache-dir", str(cache_dir)]
    assert main([*call, "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["kernel_id"] in (STREAMING, WIDE)
    assert told.err.count("which is the fastest at n=4096?") == 2


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0 s"), (99.4, "99 s"), (300.0, "5 min")])
def test_it_tells_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


GEMM = f"{native_arch()}/GEMM/nn/fp32/reference_impl"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (["compare", WIDE, GEMM], "only kernels of one problem can be compared"),
        (["compare", WIDE, f"{SAXPY}/nobody"], "is no starter kernel and no folder"),
        (["compare", WIDE], "required: B"),
        (["compare", WIDE, WIDE, "--processes", "0"], "'0' is not a whole number of at least 1"),
        (["run", WIDE, "--processes", "-1"], "--processes"),
        (["sweep", "Vector/saxpy/fp32"], "one of the arguments --sizes --cases is required"),
        (["sweep", "Vector/saxpy", "--sizes", "n=4"], "'Vector/saxpy' is not of the form"),
        (["sweep", "Vector/nothing/fp32", "--sizes", "n=4"], "is no starter problem"),
        ([*SWEEP, "--sizes", "q=4"], "has no parameter 'q'; it has n"),
        ([*SWEEP, "--sizes", "n=0"], "n=0 is outside the range"),
        ([*SWEEP, "--sizes", "n=4k:1k:3"], "is reversed"),
        ([*SWEEP, "--sizes", "n=1k", "--memory-limit", "100k"], "n=1024 needs 2."),
        ([*SWEEP, "--sizes", "n=1k", "--memory-limit", "lots"], "'lots' is no whole number"),
        ([*SWEEP, "--sizes", "n=1k", "--csv", "/nowhere/rows.csv"], "/nowhere/rows.csv can't be written"),
        ([*SWEEP, "--sizes", "n=1k", "--svg", "."], "can't be written: it is a folder"),
        (["sweep", "GEMM/nn/fp32", "--kernel", WIDE, "--sizes", "m=4"], "GEMM/nn/fp32 is to be swept"),
        ([*SWEEP, "--sizes", "n=1k", "--cases", "kernelbench"], "not allowed with argument --sizes"),
        ([*SWEEP, "--cases", "kernelbench"], "KernelBench has no cases of Vector/saxpy/fp32"),
        ([*SWEEP, "--cases", "mine"], "invalid choice: 'mine'"),
        ([*SWEEP, "--sizes", "n=1k", "--op", "add"], "--op add is for KernelBench's vector"),
        (["sweep", "vector", "--sizes", "vectorLength=1k"], "the parameter 'op' of vector is missing"),
        (["sweep", "vector", "--op", "modulo", "--cases", "kernelbench"], "it is one of add, subtract"),
        (["sweep", "vector", "--op", "add", "--sizes", "n=1k"], "has no parameter 'n'; it has vectorLength"),
        (["sweep", "convolution", "--op", "add", "--cases", "kernelbench"], "convolution has no parameter 'op'"),
        (["sweep", "convolution", "--sizes", "padH=16"], "padH=16 is outside the range"),
        (["sweep", "vector", "--op", "add", "--cases", "kernelbench", "--memory-limit", "9k"], "n=1024 needs 2."),
        (["report", "nothing.json"], "nothing.json can't be read"),
        (["report", "--problem", "Vector/nothing/fp32"], "there is no problem Vector/nothing/fp32"),
        (["report", "--problem", "Vector"], "is not of the form"),
        ([], "verb"),
        (["dance"], "invalid choice: 'dance'"),
    ],
)
def test_it_refuses_a_wrong_call_in_one_line(
    capsys: pytest.CaptureFixture[str], call: list[str], words: str
) -> None:
    try:
        status = main(call)
    except SystemExit as end:
        status = int(end.code or 0)
    told = capsys.readouterr()
    assert (status, told.out) == (2, "")
    assert words in told.err
    assert told.err.count("\n") == 1
