"""The tools beside ours: small programs of google-benchmark and nanobench that time the very same libraries."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from native_bench.bench_cpu.kernels import Subject

GOOGLE, NANOBENCH = "google-benchmark", "nanobench"
REAL_TIME, CPU_TIME, MEDIAN = "google-benchmark, real time", "google-benchmark, CPU time", "nanobench, median"

_SOURCES = Path(__file__).parent / "cpp"
_FLAGS = ("-std=c++20", "-O2", "-Wall", "-Wextra")
_COMPILE_SECONDS = 300
_RUN_SECONDS = 600
_UNITS_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}

# By figure (a tool may report several), then by kernel: nanoseconds.
Times = Mapping[str, Mapping[str, float]]


class PeerFailed(Exception):
    """A run of a tool's program failed; the message has its words."""


class PeerMissing(Exception):
    """A tool can't take part; the message says why and what to do."""


@dataclass(frozen=True)
class PeerRun:
    """What one run of a tool's program reported of all kernels, and how long it took."""

    tool: str
    times_ns: Times
    seconds: float


@dataclass(frozen=True)
class Peer:
    """A tool's program, the figures it reports, and about how long a kernel takes it on a quiet machine."""

    tool: str
    figures: tuple[str, ...]
    program: Path
    options: tuple[str, ...]
    read: Callable[[str], Times]
    seconds_per_kernel: float

    def run(self, libraries: Sequence[tuple[Subject, Path]]) -> PeerRun:
        """Time all kernels in one run of the program; raises PeerFailed."""
        words = [word for subject, library in libraries for word in call_words(subject, library)]
        begin = time.monotonic()
        try:
            ended = subprocess.run(
                [str(self.program), *self.options, *words],
                capture_output=True, text=True, timeout=_RUN_SECONDS, check=True, env={},
            )  # fmt: skip
        except subprocess.CalledProcessError as failed:
            raise PeerFailed(f"the program of {self.tool} failed: {last_line(failed.stderr)}") from None
        except subprocess.TimeoutExpired:
            raise PeerFailed(f"the program of {self.tool} took more than {_RUN_SECONDS} s") from None
        return PeerRun(self.tool, self.read(ended.stdout), time.monotonic() - begin)


def build_google(folder: Path) -> Peer:
    """Build google-benchmark's program into `folder`; raises PeerMissing."""
    program = folder / "google_benchmark"
    errors = _compile("google_benchmark.cpp", program, ("-lbenchmark", "-lpthread"))
    if "benchmark/benchmark.h: No such file" in errors:
        raise PeerMissing(f"{GOOGLE} is not installed: apt-get install libbenchmark-dev")
    _require_built(GOOGLE, program, errors)
    return Peer(GOOGLE, (REAL_TIME, CPU_TIME), program, ("--benchmark_format=json",), read_google, 1.0)


def build_nanobench(folder: Path, include: Path | None) -> Peer:
    """Build nanobench's program with the header named by `include`, a folder or the file; raises PeerMissing."""
    if include is None:
        raise PeerMissing(f"{NANOBENCH} is not given: name the folder of nanobench.h in NANOBENCH_INCLUDE")
    header_folder = include.parent if include.is_file() else include
    if not (header_folder / "nanobench.h").is_file():
        raise PeerMissing(f"{NANOBENCH} is not there: NANOBENCH_INCLUDE names {include}, which has no nanobench.h")
    program = folder / "nanobench"
    errors = _compile("nanobench.cpp", program, ("-isystem", str(header_folder)))
    _require_built(NANOBENCH, program, errors)
    return Peer(NANOBENCH, (MEDIAN,), program, (), read_nanobench, 0.1)


def call_words(subject: Subject, library: Path) -> list[str]:
    """Return the words that tell a program what to load and call: name, library, bytes of tensors, scalars."""
    problem, dims = subject.problem, subject.case.dims
    values = problem.scalar_values(dims)
    scalars = [f"{scalar.dtype}={values[scalar.name]}" for scalar in problem.scalars]
    sizes = [str(size) for size in subject.tensor_bytes]
    return [subject.name, str(library), ",".join(sizes), ",".join(scalars) or "-"]


def read_google(answer: str) -> Times:
    """Return the times in google-benchmark's JSON."""
    found: dict[str, dict[str, float]] = {REAL_TIME: {}, CPU_TIME: {}}
    for entry in json.loads(answer)["benchmarks"]:
        unit_ns = _UNITS_NS[entry["time_unit"]]
        found[REAL_TIME][entry["name"]] = entry["real_time"] * unit_ns
        found[CPU_TIME][entry["name"]] = entry["cpu_time"] * unit_ns
    return found


def read_nanobench(answer: str) -> Times:
    """Return the times in the lines of our nanobench program."""
    pairs = [line.split() for line in answer.splitlines()]
    return {MEDIAN: {name: float(taken) for name, taken in pairs}}


def last_line(words: str) -> str:
    """Return the last line that says something, cut to what fits into a table."""
    lines = [line for line in words.splitlines() if line.strip()]
    return lines[-1][:200].replace("|", "/") if lines else "it said nothing"


def _compile(source: str, program: Path, options: Sequence[str]) -> str:
    """Compile a program and return what the compiler said against it; empty when it is built."""
    # In plain English: what is missing is read off the words.
    command = ["env", "LC_ALL=C", "g++", *_FLAGS, str(_SOURCES / source), *options, "-ldl", "-o", str(program)]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"the compiler took more than {_COMPILE_SECONDS} s"
    return "" if ended.returncode == 0 else ended.stderr or "the compiler gave up"


def _require_built(tool: str, program: Path, errors: str) -> None:
    if errors:
        first = next((line for line in errors.splitlines() if "error" in line), errors.splitlines()[0])
        raise PeerMissing(f"{tool}: its program {program.name} does not build: {first[:200]}")
