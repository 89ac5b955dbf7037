"""What a call of `sweep` asks for: the problem, its points, their memory and the kernels to choose from."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from native_bench.commands.options import options_of
from native_bench.cpu.draws import distributions_of
from native_bench.host import native_arch
from native_bench.job import Job
from native_bench.local_job import Options, find_problem, local_job
from native_bench.room import Need, bytes_text, need_of, require_room, room_bytes
from native_bench.sizes import Plan, parse_number, parse_span, plan_cases, plan_of, plan_points
from native_bench.starter import kernels
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.kernelbench import BENCHMARKS, cases_of
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_package.problem import Problem


@dataclass(frozen=True)
class Sweep:
    """What a call asks for: the points that fit, what all of them need, and the kernels that may be swept."""

    problem: Problem
    plan: Plan
    needs: Mapping[str, Need]
    room_bytes: int
    jobs: Sequence[Job]

    @property
    def left_out(self) -> dict[str, Need]:
        """The named cases that don't fit, by their ids."""
        kept = {case.id for case in self.plan.cases}
        return {case_id: need for case_id, need in self.needs.items() if case_id not in kept}

    @property
    def left_out_lines(self) -> list[str]:
        return [
            f"{case_id} is left out: it needs {bytes_text(need.total_bytes)} of memory, "
            f"and {bytes_text(self.room_bytes)} may be taken"
            for case_id, need in self.left_out.items()
        ]


def read_sweep(arguments: argparse.Namespace) -> Sweep:
    """Read the command line's call; raises Rejected `sweep:…`, also for sizes that do not fit in memory."""
    problem_id, names = _problem_of(arguments.problem, arguments.op)
    problem, reference_py = find_problem(problem_id, arguments.problems)
    if arguments.cases is None:
        plan = plan_points(problem, [parse_span(text) for text in arguments.sizes], names)
    else:
        plan = plan_cases(problem, cases_of(problem_id))
    jobs = _jobs(arguments.kernel, problem_id, options_of(arguments))
    room = room_bytes(None if arguments.memory_limit is None else parse_number(arguments.memory_limit))
    distributions = len(distributions_of(reference_py)[0])
    needs = {case.id: need_of(problem, case, distributions) for case in plan.cases}
    if arguments.cases is not None:
        # Nobody chose these sizes, so the largest must not stand in the way of the others.
        fitting = [case for case in plan.cases if needs[case.id].total_bytes <= room]
        plan = plan_of(fitting or plan.cases)
    require_room([needs[case.id] for case in plan.cases], room)
    return Sweep(problem, plan, needs, room, jobs)


def _problem_of(name: str, op: str | None) -> tuple[ProblemId, Mapping[str, str] | None]:
    """Return the problem that is named, and the dims behind KernelBench's names if the name is one of them."""
    if name in BENCHMARKS:
        return BENCHMARKS[name].problem_id(op), BENCHMARKS[name].dims
    if op is not None:
        raise Rejected("sweep:params", f"--op {op} is for KernelBench's vector, and {name} is to be swept")
    return ProblemId.parse(name), None


def _jobs(kernel: str | None, problem_id: ProblemId, options: Options) -> list[Job]:
    """Return the job of the kernel asked for, else those of the board's starter kernels besides the baseline."""
    if kernel is not None:
        job = local_job(kernel, options)
        if job.problem.id != problem_id:
            message = f"{kernel} is of {job.problem.id}, and {problem_id} is to be swept"
            raise Rejected("sweep:other-problem", message)
        return [job]
    return [local_job(str(kernel_id), options) for kernel_id in starters_of(problem_id)]


def starters_of(problem_id: ProblemId) -> list[KernelId]:
    """Return the starter kernels to choose from: not the baseline, unless it is alone; raises Rejected."""
    found = [kernel_id for kernel_id, _ in kernels(native_arch()) if kernel_id.problem == problem_id]
    if not found:
        raise Rejected("sweep:no-kernel", f"{problem_id} has no starter kernel; give --kernel")
    return [kernel_id for kernel_id in found if not kernel_id.is_baseline] or found
