"""What a problem declares in problem.yaml and reference.py, and what of it is refused before anything runs."""

import ast
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from native_bench.cpu.draws import distributions_of
from native_bench.mutants import GENERIC_NAMES, why_unfit
from native_bench.starter import PROBLEM_FILES, problem_folders
from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem import Problem, parse_problem

MIN_MUST_FAIL = 8
MIN_VARIANTS = 3


@dataclass(frozen=True)
class Contract:
    """A problem.yaml with what the reference.py beside it declares."""

    problem: Problem
    reference_py: bytes
    distributions: tuple[str, ...]
    exact: frozenset[str]
    variants: tuple[str, ...]
    mutants: tuple[str, ...]

    @property
    def shapes(self) -> dict[str, dict[str, int]]:
        """The dims a tolerance is proved at, by the field of problem.yaml that they come from."""
        shapes = {"dry_run": dict(self.problem.dry_run)}
        if self.problem.hidden.ranges:
            shapes["hidden.ranges"] = _odd_dims(self.problem)
        return shapes


def find_problems(
    wanted: Sequence[str], folder: Path | None, is_all: bool = False
) -> list[tuple[ProblemId, dict[str, bytes]]]:
    """Return the problems named, or all of the folder (or starter zoo); raises Rejected for one that is not there.

    A file that is missing is left out: it is a fault of its problem, not of the call.
    """
    known = dict(problem_folders(folder))
    if not wanted and not is_all and folder is None:
        raise Rejected("verify:nothing", "name a problem, or give --all or --problems FOLDER")
    if not known:
        raise Rejected("package:unknown-problem", f"{folder} holds no <op_class>/<sub_class>/<quant>/problem.yaml")
    chosen = [ProblemId.parse(name) for name in wanted] or list(known)
    for problem_id in chosen:
        if problem_id not in known:
            names = ", ".join(map(str, known))
            raise Rejected("package:unknown-problem", f"there is no problem {problem_id}; known: {names}")
    return [(problem_id, _files_in(known[problem_id])) for problem_id in chosen]


def _files_in(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in PROBLEM_FILES if (folder / name).is_file()}


def read_contract(problem_id: ProblemId, files: Mapping[str, bytes]) -> Contract:
    """Read a problem's two files; raises Rejected with the field that is wrong. Nothing of reference.py runs."""
    for name in PROBLEM_FILES:
        if name not in files:
            raise Rejected("verify:missing", f"{name} is missing")
    problem = parse_problem(files["problem.yaml"], problem_id)
    reference_py = files["reference.py"]
    try:
        tree = ast.parse(reference_py, "reference.py")
        distributions, exact = distributions_of(reference_py)
    except (SyntaxError, ValueError) as error:
        raise Rejected("verify:reference", f"reference.py can't be read: {error}") from None
    names = {group: _names_in(tree, group) for group in ("VARIANTS", "MUTANTS")}
    return Contract(problem, reference_py, distributions, exact, names["VARIANTS"], names["MUTANTS"])


def contract_faults(contract: Contract) -> list[str]:
    """Return what is wrong with a contract, each with the file and the field."""
    return [*_must_fail_faults(contract), *_reference_faults(contract), *_size_faults(contract)]


def _must_fail_faults(contract: Contract) -> Iterator[str]:
    names = contract.problem.must_fail
    known = (*GENERIC_NAMES, *contract.mutants)
    if len(names) < MIN_MUST_FAIL:
        yield f"problem.yaml, must_fail: {len(names)} names; at least {MIN_MUST_FAIL} are needed"
    for name in names:
        if name not in known:
            yield f"problem.yaml, must_fail: unknown name {name!r}; known: {', '.join(known)}"
        elif name in GENERIC_NAMES and (why := why_unfit(name, contract.problem)):
            yield f"problem.yaml, must_fail: {name!r} can't be made: {why}"


def _reference_faults(contract: Contract) -> Iterator[str]:
    needed = 1 if contract.problem.tolerance.kind == "exact" else MIN_VARIANTS
    if len(contract.variants) < needed:
        yield f"reference.py, VARIANTS: {len(contract.variants)} honest computations; at least {needed} are needed"
    for name in sorted({*contract.mutants} & {*GENERIC_NAMES}):
        yield f"reference.py, MUTANTS: {name!r} is the name of a generic mutant; choose another"
    for name in sorted(contract.exact - {*contract.distributions}):
        yield f"reference.py, EXACT: {name!r} is not in DISTRIBUTIONS"
    for case in contract.problem.cases:
        if case.distribution not in contract.distributions:
            yield (
                f"problem.yaml, cases: {case.id!r} has the distribution {case.distribution!r}, "
                "which is not in DISTRIBUTIONS of reference.py"
            )


def _size_faults(contract: Contract) -> Iterator[str]:
    cases = {f"cases, {case.id!r}": case.dims for case in contract.problem.cases}
    for field, dims in {**cases, **contract.shapes}.items():
        try:
            yield from _dims_faults(contract.problem, field, dims)
        except Rejected as fault:
            yield f"problem.yaml, {field}: at {dims_text(dims)} {fault.message}"


def _dims_faults(problem: Problem, field: str, dims: Mapping[str, int]) -> Iterator[str]:
    needed, room = problem.memory_bytes_of(dims), machine_bytes()
    if needed > room:
        yield (
            f"problem.yaml, {field}: {dims_text(dims)} needs {needed} memory_bytes, "
            f"more than the {room} of this machine; choose smaller dims"
        )
    for name, shape in problem.shapes(dims).items():
        if any(extent < 1 for extent in shape):
            yield f"problem.yaml, {field}: at {dims_text(dims)} {name!r} has the shape {list(shape)}: it is empty"


def dims_text(dims: Mapping[str, int]) -> str:
    """Return dims as `m=3 n=5`."""
    return " ".join(f"{name}={extent}" for name, extent in dims.items())


def _names_in(tree: ast.Module, group: str) -> tuple[str, ...]:
    """Return the keys of the dict that the module assigns to `group`."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign) and any(_is_name(target, group) for target in targets):
            return _keys(node.value, group)
    return ()


def _is_name(target: ast.AST | None, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _keys(value: ast.expr | None, group: str) -> tuple[str, ...]:
    keys = value.keys if isinstance(value, ast.Dict) else [None]
    names = [key.value if isinstance(key, ast.Constant) else None for key in keys]
    if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        raise Rejected(
            "verify:reference", f"reference.py, {group}: it must be one dict display, each key a string of its own"
        )
    return tuple(str(name) for name in names)


def _odd_dims(problem: Problem) -> dict[str, int]:
    """Return dims like hidden ones: odd extents in the upper half of each range, the same each time."""
    coin = random.Random(f"{problem.id} {problem.version}")
    dims = dict(problem.cases[0].dims)
    for name, (low, high) in sorted(problem.hidden.ranges.items()):
        odd = range((low + high) // 2 | 1, high + 1, 2)
        dims[name] = coin.choice(odd or [high])
    return dims


def machine_bytes() -> int:
    """Return this machine's memory in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
