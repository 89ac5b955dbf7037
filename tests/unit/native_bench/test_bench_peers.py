"""The tools beside ours: what is passed to them, what they answer, and what is said when one is not there."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from native_bench.bench_cpu import peers
from native_bench.bench_cpu.kernels import KERNELS, subject
from native_bench.bench_cpu.peers import (
    CPU_TIME,
    MEDIAN,
    REAL_TIME,
    PeerFailed,
    PeerMissing,
    build_google,
    build_nanobench,
    call_words,
    read_google,
    read_nanobench,
)
from native_bench.cache import ContentCache
from native_bench.cpu.build import build
from native_bench.sandbox.opening import open_sandbox

# What our program uses of nanobench, with the same names; every kernel takes 2 µs, and is called.
NANOBENCH_H = """
#pragma once
#include <string>
#include <vector>
namespace ankerl::nanobench {
struct Config { std::string mBenchmarkName; };
class Result {
public:
    enum class Measure { elapsed };
    explicit Result(Config config) : config_(config) {}
    const Config& config() const { return config_; }
    double median(Measure) const { return 2e-6; }
private:
    Config config_;
};
class Bench {
public:
    Bench& output(std::ostream*) { return *this; }
    template <class Op> Bench& run(const std::string& name, Op&& op) {
        op();
        results_.emplace_back(Config{name});
        return *this;
    }
    const std::vector<Result>& results() const { return results_; }
private:
    std::vector<Result> results_;
};
}
"""


@pytest.fixture(scope="module")
def libraries(cache_dir: Path) -> list[tuple[peers.Subject, Path]]:
    sandbox, cache = open_sandbox(), ContentCache(cache_dir)
    subjects = [subject(name) for name in KERNELS]
    return [(each, build(each.with_chain(0), sandbox, cache).path) for each in subjects]


def test_it_says_what_a_call_takes() -> None:
    words = call_words(subject("saxpy"), Path("/k.so"))
    assert words == ["saxpy", "/k.so", "16384,16384,16384", "fp32=2.5,i64=4096"]
    assert call_words(subject("matmul"), Path("/k.so"))[3] == "i64=64,i64=64,i64=64"


def test_it_reads_what_google_benchmark_answers() -> None:
    answer = {"benchmarks": [
        {"name": "saxpy", "real_time": 0.5, "cpu_time": 0.25, "time_unit": "us"},
        {"name": "matmul", "real_time": 18000.0, "cpu_time": 17000.0, "time_unit": "ns"},
    ]}  # fmt: skip
    assert read_google(json.dumps(answer)) == {
        REAL_TIME: {"saxpy": 500.0, "matmul": 18000.0},
        CPU_TIME: {"saxpy": 250.0, "matmul": 17000.0},
    }


def test_it_reads_what_our_nanobench_program_prints() -> None:
    assert read_nanobench("saxpy 500.25\nmatmul 18000\n") == {MEDIAN: {"saxpy": 500.25, "matmul": 18000.0}}


@pytest.mark.sandbox
def test_google_benchmark_times_our_libraries(libraries: list[tuple[peers.Subject, Path]], tmp_path: Path) -> None:
    try:
        peer = build_google(tmp_path)
    except PeerMissing as why:
        pytest.skip(str(why))
    quick = replace(peer, options=(*peer.options, "--benchmark_min_time=0.001"))
    run = quick.run(libraries)
    assert [set(times) for times in run.times_ns.values()] == [set(KERNELS)] * 2
    assert tuple(run.times_ns) == peer.figures
    assert all(taken > 0 for times in run.times_ns.values() for taken in times.values())
    assert run.seconds > 0


@pytest.mark.sandbox
@pytest.mark.parametrize("named", ["folder", "header"])
def test_nanobench_takes_part_where_its_header_is_named(
    libraries: list[tuple[peers.Subject, Path]], tmp_path: Path, named: str
) -> None:
    header = tmp_path / "include" / "nanobench.h"
    header.parent.mkdir()
    header.write_text(NANOBENCH_H)
    peer = build_nanobench(tmp_path, header if named == "header" else header.parent)
    assert peer.run(libraries).times_ns == {MEDIAN: dict.fromkeys(KERNELS, 2000.0)}


def test_it_says_how_to_install_google_benchmark(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    # A compiler that looks for headers in an empty folder only.
    monkeypatch.setattr(peers, "_FLAGS", ("-nostdinc", "-nostdinc++", f"-I{tmp_path}"))
    with pytest.raises(PeerMissing, match="is not installed: apt-get install libbenchmark-dev"):
        build_google(tmp_path)


def test_it_says_why_nanobench_is_missing(tmp_path: Path) -> None:
    with pytest.raises(PeerMissing, match="NANOBENCH_INCLUDE"):
        build_nanobench(tmp_path, None)
    with pytest.raises(PeerMissing, match=r"has no nanobench\.h"):
        build_nanobench(tmp_path, tmp_path)
    (tmp_path / "nanobench.h").write_text("#error is not it\n")
    with pytest.raises(PeerMissing, match=r"does not build: .*is not it"):
        build_nanobench(tmp_path, tmp_path)


@pytest.mark.sandbox
def test_a_program_that_fails_is_told_with_its_words(
    libraries: list[tuple[peers.Subject, Path]], tmp_path: Path
) -> None:
    (tmp_path / "nanobench.h").write_text(NANOBENCH_H)
    peer = build_nanobench(tmp_path, tmp_path)
    with pytest.raises(PeerFailed, match=r"the program of nanobench failed: .*nowhere\.so"):
        peer.run([(libraries[0][0], tmp_path / "nowhere.so")])
