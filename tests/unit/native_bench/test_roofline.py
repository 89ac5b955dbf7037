"""The machine's limits: the real program on this machine, what is kept of it, and how it fails."""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from native_bench.cache import ContentCache
from native_bench.calibrate import calibrate, roofline_text
from native_bench.cli import main
from native_bench.cpu.trusted import TrustedPrograms, compile_program, trusted_programs
from native_bench.host import cpu_model, native_arch, usable_cores
from native_bench.outcome import RunEnded
from native_bench.roofline import Roofline, levels_to_measure, measure, measure_again, nearness
from native_bench.starter import problems
from submissions.evaluation.records import timestamp
from submissions.evaluation.roofline import UNITS, Level, Limits
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.problem import Problem, parse_problem
from tests.unit.native_bench.conftest import Heard

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
KINDS = {"read", "write", "copy", "triad"}
# More than any core of today does in a second: what comes out above it is work that the compiler took away.
MOST_BYTES, MOST_OPERATIONS = 5e12, 5e12
CORE = usable_cores()[-1]


@pytest.fixture(scope="module")
def programs(cache_dir: Path) -> TrustedPrograms:
    return trusted_programs(ContentCache(cache_dir))


@pytest.fixture
def cache(tmp_path: Path) -> ContentCache:
    return ContentCache(tmp_path / "cache")


def script(folder: Path, body: str) -> TrustedPrograms:
    """Return programs whose roofline is a shell script."""
    path = folder / "roofline"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return TrustedPrograms(path, path, path)


def counting(folder: Path) -> TrustedPrograms:
    """Return programs whose roofline tells other rates each time: first 1e9 and 9e9, then 2e9 and 8e9, …"""
    return script(
        folder,
        f"echo x >> {folder}/runs; n=$(/usr/bin/wc -l < {folder}/runs)\n"
        'echo "progress 1"; echo "DRAM.read $((10 - n))e9"; echo "fp32_fma ${n}e9"',
    )


def peak(roofline: Roofline) -> float:
    return roofline.limits.operations_per_second["fp32_fma"]


def test_it_measures_this_machine(programs: TrustedPrograms, cache: ContentCache) -> None:
    heard: list[float] = []
    roofline = measure(programs, CORE, cache, progress=heard.append)
    assert (roofline.cpu, roofline.core, roofline.is_fresh()) == (cpu_model(), CORE, True)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
    levels = roofline.limits.levels
    assert levels[-1].name == "DRAM"
    assert all(set(level.bytes_per_second) == KINDS for level in levels)
    assert all(1e6 < rate < MOST_BYTES for level in levels for rate in level.bytes_per_second.values())
    peaks = roofline.limits.operations_per_second
    assert {"fp32_fma", "fp64_fma", "i32_add"} <= set(peaks) <= set(UNITS)
    assert all(1e6 < rate < MOST_OPERATIONS for rate in peaks.values())


def test_it_can_say_how_near_the_limit_every_starter_problem_is(
    programs: TrustedPrograms, cache_dir: Path
) -> None:
    limits = measure(programs, CORE, ContentCache(cache_dir)).limits
    for problem_id, files in problems():
        problem = parse_problem(files["problem.yaml"], problem_id)
        for case in problem.cases:
            said = nearness(problem, case, 1, 1e12, limits)
            assert said["t_sol_ns"] > 0, f"{problem_id} {case.id}: nothing measures the unit {problem.unit}"
            assert said["sol_floor"] is None


def test_it_says_in_a_record_how_near_a_case_is(problem: Problem) -> None:
    # 640 elements: 7680 bytes in all, 1280 operations.
    case = problem.cases[0]
    assert nearness(problem, case, 1, 40.0, LIMITS) == {
        "t_sol_ns": pytest.approx(38.4),
        "bound": "memory",
        "sol_level": "L1",
        "sol_floor": None,
    }
    assert nearness(problem, case, 4, 38.0, LIMITS)["sol_level"] == "L1"
    assert nearness(problem, case, 5, 38.0, LIMITS)["sol_level"] == "DRAM"
    assert nearness(problem, case, 1, 38.0, LIMITS)["sol_floor"] == "flagged"
    assert nearness(problem, case, 1, 34.0, LIMITS)["sol_floor"] == "violated"
    assert set(nearness(problem, case, 1, 34.0, None).values()) == {None}


def test_it_reads_a_kept_roofline_until_it_is_asked_for_a_new_one(cache: ContentCache, tmp_path: Path) -> None:
    programs = counting(tmp_path)
    first = measure(programs, CORE, cache)
    assert measure(programs, CORE, cache) == first
    assert peak(first) == 1e9
    renewed = measure(programs, CORE, cache, renew=True)
    assert peak(renewed) == 2e9
    assert measure(programs, CORE, cache) == renewed


@pytest.mark.parametrize(("age_hours", "runs"), [(23.9, 1), (24, 2), (-1, 2)])
def test_it_measures_anew_what_is_a_day_old_or_of_the_future(tmp_path: Path, age_hours: float, runs: int) -> None:
    programs, cache = counting(tmp_path), ContentCache(tmp_path / "cache")
    measure(programs, CORE, cache)
    rewrite(tmp_path / "cache", age_hours)
    assert peak(measure(programs, CORE, cache)) == runs * 1e9


@pytest.mark.parametrize("content", [b"", b"{}", b'{"cpu": "x", "core": 0, "measured_at": "today", "levels": []}'])
def test_it_measures_anew_what_it_cannot_read(tmp_path: Path, content: bytes) -> None:
    programs, cache = counting(tmp_path), ContentCache(tmp_path / "cache")
    measure(programs, CORE, cache)
    rewrite(tmp_path / "cache", content=content)
    assert peak(measure(programs, CORE, cache)) == 2e9


def rewrite(folder: Path, age_hours: float = 0.0, content: bytes | None = None) -> None:
    """Put the one roofline of a cache back as if it had been kept hours ago, or as something else."""
    entry = next(folder.glob("??/*/roofline.json"))
    moment = datetime.now(UTC) - timedelta(hours=age_hours)
    aged = json.loads(entry.read_bytes()) | {"measured_at": timestamp(moment)}
    key = entry.parent.name
    shutil.rmtree(entry.parent)
    ContentCache(folder).put(key, {entry.name: json.dumps(aged).encode() if content is None else content})


def test_it_keeps_one_for_each_core_and_program(tmp_path: Path) -> None:
    programs, cache = counting(tmp_path), ContentCache(tmp_path / "cache")
    assert peak(measure(programs, 0, cache)) == 1e9
    assert peak(measure(programs, 1, cache)) == 2e9
    assert peak(measure(programs, 0, cache)) == 1e9
    programs.roofline.write_text(programs.roofline.read_text() + "# changed\n")
    assert peak(measure(programs, 0, cache)) == 3e9


def test_a_second_look_keeps_the_greater_of_each_rate_for_the_same_day(
    cache: ContentCache, tmp_path: Path
) -> None:
    programs = counting(tmp_path)
    first = measure(programs, CORE, cache)
    again = measure_again(programs, CORE, cache)
    assert peak(again) == 2e9
    assert again.limits.levels[-1].bytes_per_second == {"read": 9e9}
    assert again.measured_at == first.measured_at
    assert measure(programs, CORE, cache) == again


def test_a_second_look_at_nothing_is_a_first(cache: ContentCache, tmp_path: Path) -> None:
    programs = counting(tmp_path)
    assert peak(measure_again(programs, CORE, cache)) == 1e9
    rewrite(tmp_path / "cache", age_hours=25)
    again = measure_again(programs, CORE, cache)
    assert again.limits.levels[-1].bytes_per_second == {"read": 8e9}
    assert again.is_fresh()


@pytest.mark.parametrize(
    "body", ["exit 3", "echo fp32_fma 1e9; kill -9 $$", "echo fp32_fma", "echo words of wisdom"]
)
def test_it_is_our_fault_when_the_program_fails(cache: ContentCache, tmp_path: Path, body: str) -> None:
    with pytest.raises(RunEnded) as ended:
        measure(script(tmp_path, body), CORE, cache)
    assert (ended.value.verdict, ended.value.code) == (Verdict.INFRA_ERROR, "time:roofline")
    assert not list((tmp_path / "cache").glob("??/*"))


def test_it_is_our_fault_when_the_program_cannot_be_started(cache: ContentCache, tmp_path: Path) -> None:
    programs = script(tmp_path, "exit 0")
    programs.roofline.chmod(0o644)
    with pytest.raises(RunEnded, match="core"):
        measure(programs, CORE, cache)


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ([], 90),
        ([str(CORE)], 90),
        ([str(CORE), "L1"], 90),
        ([str(CORE), "L1=none"], 90),
        (["100000", "DRAM=1048576"], 92),
        ([str(CORE), f"DRAM={1 << 62}"], 91),
    ],
)
def test_the_program_refuses_what_it_cannot_do(
    programs: TrustedPrograms, arguments: list[str], status: int
) -> None:
    ended = subprocess.run([programs.roofline, *arguments], capture_output=True, check=False)
    assert (ended.returncode, ended.stdout) == (status, b"")


def test_the_program_holds_under_the_sanitizers(tmp_path: Path) -> None:
    program = tmp_path / "roofline"
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-O1")
    program.write_bytes(compile_program("roofline", flags))
    program.chmod(0o755)
    sets = ["L1=1", "L2=20000", "DRAM=1000000"]
    ended = subprocess.run([program, str(CORE), *sets], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert {f"{level}.{kind}" for level in ("L1", "L2", "DRAM") for kind in KINDS} <= set(ended.stdout.split())


@pytest.mark.skipif(native_arch() != "x86_64", reason="it reads x86_64 instructions")
def test_the_compiler_leaves_the_chains_and_the_streams(programs: TrustedPrograms) -> None:
    listed = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", programs.roofline], capture_output=True, text=True, check=True
    )
    # Per type ten chains or more, multiplied and added in one instruction or two; a turn of eight stores per kind.
    assert min(len(re.findall(rf"(?:fmadd|mul|add)\S*p{kind}\s", listed.stdout)) for kind in "sd") >= 10
    assert len(re.findall(r"movntps\s", listed.stdout)) >= 24


USUAL = {"L1": 32 * KIB, "L2": 512 * KIB, "L3": 32 * MIB}


@pytest.mark.parametrize(
    ("sizes", "measured"),
    [
        (USUAL, {"L1": 16 * KIB, "L2": 256 * KIB, "L3": 8 * MIB, "DRAM": 96 * MIB}),
        ({}, {"L1": 16 * KIB, "L2": 256 * KIB, "DRAM": 64 * MIB}),
        ({"L1": 48 * KIB, "L2": 2 * MIB}, {"L1": 24 * KIB, "L2": MIB, "DRAM": 64 * MIB}),
        # A virtual machine that tells of all of a large cache, or of one no larger than the level before.
        ({"L1": 32 * KIB, "L3": 260 * MIB}, {"L1": 16 * KIB, "L3": 16 * MIB, "DRAM": 256 * MIB}),
        ({"L1": 32 * KIB, "L2": MIB, "L3": MIB}, {"L1": 16 * KIB, "L2": 512 * KIB, "DRAM": 64 * MIB}),
        ({"L1": 0, "L2": 512 * KIB}, {"L2": 256 * KIB, "DRAM": 64 * MIB}),
    ],
)
def test_it_chooses_sets_that_fit_their_level(sizes: Mapping[str, int], measured: Mapping[str, int]) -> None:
    assert {level.name: level.measured_bytes for level in levels_to_measure(sizes, 64 * GIB)} == measured


def test_it_leaves_most_of_the_memory_alone() -> None:
    assert levels_to_measure(USUAL, 256 * MIB)[-1] == Level("DRAM", None, 32 * MIB, {})


LIMITS = Limits(
    (
        Level("L1", 32 * KIB, 16 * KIB, {"read": 200e9, "write": 100e9, "copy": 150e9, "triad": 180e9}),
        Level("DRAM", None, 96 * MIB, {"read": 8.04e9}),
    ),
    {"fp32_fma": 103.56e9},
)
ROOFLINE = Roofline("A CPU", 3, datetime(2026, 1, 31, 12, tzinfo=UTC), LIMITS)


def test_it_prints_its_limits_in_columns() -> None:
    lines = [line.split() for line in roofline_text(ROOFLINE).splitlines()]
    assert ["L1", "32", "KiB", "16", "KiB", "200.0", "100.0", "150.0", "180.0"] in lines
    assert ["DRAM", "96", "MiB", "8.0", "0.0", "0.0", "0.0"] in lines
    assert ["fp32_fma", "103.6"] in lines


def test_it_reads_what_it_wrote() -> None:
    document = json.loads(json.dumps(ROOFLINE.as_json()))
    assert document["measured_at"] == "2026-01-31T12:00:00Z"
    assert Roofline.from_json(document) == ROOFLINE
    assert not ROOFLINE.is_fresh()


@pytest.mark.parametrize("field", ["cpu", "core", "measured_at", "levels"])
def test_it_refuses_what_is_no_roofline(field: str) -> None:
    document = {name: value for name, value in ROOFLINE.as_json().items() if name != field}
    with pytest.raises(ValueError, match=field):
        Roofline.from_json(document)


def test_its_verb_measures_anew_and_prints_json(
    programs: TrustedPrograms, cache_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = measure(programs, CORE, ContentCache(cache_dir))
    assert main(["calibrate", "--json", "--cache-dir", str(cache_dir)]) == 0
    printed = Roofline.from_json(json.loads(capsys.readouterr().out))
    assert printed.measured_at > before.measured_at
    assert measure(programs, printed.core, ContentCache(cache_dir)) == printed


def test_its_verb_prints_a_table_and_says_where_it_is(
    programs: TrustedPrograms, cache_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heard = Heard()
    assert calibrate(cache_dir, False, heard) == 0
    assert heard.stages == ["prepare", "calibrate"]
    assert heard.fractions[-1] == 1.0
    assert "DRAM" in capsys.readouterr().out


def test_its_verb_says_why_it_cannot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["calibrate", "--cache-dir", str(tmp_path)]) == 1
    assert "g++ is missing" in capsys.readouterr().err
