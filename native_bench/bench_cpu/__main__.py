"""`python -m native_bench.bench_cpu`: measure the clock and the tools beside it, print the table and keep it."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from native_bench.bench_cpu.campaign import run_campaign, units_of
from native_bench.bench_cpu.kernels import KERNELS
from native_bench.bench_cpu.peers import Peer, PeerMissing, build_google, build_nanobench
from native_bench.bench_cpu.plan import FULL, QUICK, Plan
from native_bench.bench_cpu.progress import Progress
from native_bench.bench_cpu.report import PART, dated_path, report_of, store, write_document
from native_bench.bench_cpu.trials import open_tools
from native_bench.outcome import RunEnded
from native_bench.sandbox.interface import SandboxMissing

EXIT_MEASURED, EXIT_BROKEN, EXIT_STOPPED = 0, 1, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 whatever the figures are, 1 when none could be made, 130 after Ctrl-C."""
    arguments = _parser().parse_args(argv)
    try:
        return _bench(arguments)
    except (RunEnded, SandboxMissing) as error:
        print(f"the bench could not measure: {error}", file=sys.stderr)
        return EXIT_BROKEN
    except KeyboardInterrupt:
        print("stopped: nothing is kept", file=sys.stderr)
        return EXIT_STOPPED


def _bench(arguments: argparse.Namespace) -> int:
    plan = _plan(arguments)
    tools = open_tools((arguments.home / "native_bench").absolute(), arguments.backend)
    with tempfile.TemporaryDirectory(prefix="zoo-bench-") as name:
        peers, missing = _peers(Path(name), arguments.nanobench_include)
        progress = Progress(units_of(plan, peers), sys.stderr)
        measured = run_campaign(plan, tools, peers, progress)
    document, table = report_of(plan, measured, missing, tools.sandbox.isolation)
    folder = arguments.home / "bench"
    table_path = arguments.out or dated_path(folder, document)
    store(document, table, table_path)
    if arguments.out is None:
        write_document(document, folder / f"{PART}.json")
    print(table)
    progress.say(f"kept in {table_path} and {table_path.with_suffix('.json')}")
    return EXIT_MEASURED


def _peers(folder: Path, nanobench_include: Path | None) -> tuple[list[Peer], list[str]]:
    """Build the other tools' programs; return those that can take part, and why the others can't."""
    builders: tuple[Callable[[], Peer], ...] = (
        lambda: build_google(folder),
        lambda: build_nanobench(folder, nanobench_include),
    )
    peers: list[Peer] = []
    missing: list[str] = []
    for build in builders:
        try:
            peers.append(build())
        except PeerMissing as why:
            missing.append(str(why))
    return peers, missing


def _plan(arguments: argparse.Namespace) -> Plan:
    plan = QUICK if arguments.quick else FULL
    if arguments.kernel:
        plan = replace(plan, kernels=tuple(arguments.kernel))
    if arguments.processes is not None:
        plan = replace(plan, processes=arguments.processes, peer_runs=min(plan.peer_runs, arguments.processes))
    return plan


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m native_bench.bench_cpu", description="Measure how good the CPU clock is."
    )
    parser.add_argument("--quick", action="store_true", help="about a minute, without busy loops")
    parser.add_argument(
        "--out", type=Path, help="the table's file, its JSON beside it (default: dated, in HOME/bench)"
    )
    parser.add_argument("--home", type=Path, default=Path("var"), help="where builds and reports are kept")
    parser.add_argument("--nanobench-include", type=Path, help="the folder of nanobench.h, to run it beside")
    parser.add_argument("--kernel", action="append", choices=KERNELS, help="this kernel only; may be repeated")
    parser.add_argument("--processes", type=_count, help="sets of processes per kernel and load")
    parser.add_argument("--backend", default="bwrap", help="how the kernels are isolated")
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 1")
    return int(text)


def _leave(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + signal.SIGTERM)


if __name__ == "__main__":
    # Unwinding ends the busy loops and every process of a trial.
    signal.signal(signal.SIGTERM, _leave)
    sys.exit(main())
