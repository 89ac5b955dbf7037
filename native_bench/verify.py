"""Proves a problem's tolerance: what must fail is caught by it, and honest computations pass it with room.

Judged as in a run: the same sandboxed child draws inputs and truth, the same Judge decides.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from native_bench.bench import seed_of
from native_bench.contract import Contract, contract_faults, dims_text, machine_bytes, read_contract
from native_bench.cpu.bounds import Judge, read_values
from native_bench.cpu.draws import LOWER_PRECISION, Draw, DrawnSet, Draws, Try, draws_bytes
from native_bench.cpu.reference_child import store
from native_bench.mutants import GENERIC, GENERIC_NAMES, Sample, fits
from native_bench.outcome import RunEnded
from native_bench.proof import Judged, Verification, conclude
from native_bench.sandbox.equipment import SLOTS
from native_bench.sandbox.interface import Sandbox
from native_bench.sandbox.opening import open_sandbox
from submissions.kernel_package.dtypes import DTYPE_BYTES
from submissions.kernel_package.errors import Rejected, ZooError
from submissions.kernel_package.names import ProblemId
from submissions.kernel_package.problem import Problem

# Known to all: a proof is to come out the same each time.
_SECRET = b"verify-problem"
# Draws of each distribution at each dims. What is said of a few numbers is more of a matter of luck.
_DRAWS, _DRAWS_OF_FEW, _FEW_ELEMENTS = 3, 9, 64

Bytes = NDArray[np.uint8]


def open_prover(backend: str = "bwrap") -> Sandbox:
    """Open a sandbox that shares nothing with those of runs on this machine; raises SandboxMissing."""
    return open_sandbox(backend, SLOTS - 1)


def verify_problem(
    problem_id: ProblemId, files: Mapping[str, bytes], sandbox: Sandbox, tell: Callable[[str], None]
) -> Verification:
    """Prove the tolerance of a problem given by its problem.yaml and reference.py; faults are in the answer.

    `tell` hears what is being judged. Raises only what is the machine's fault.
    """
    try:
        contract = read_contract(problem_id, files)
        faults = contract_faults(contract)
        if faults:
            return Verification(problem_id, faults=tuple(faults))
        judged: list[Judged] = []
        for field, dims in contract.shapes.items():
            tell(f"{problem_id}: {field}, {dims_text(dims)}")
            judged += _judge_shape(contract, field, dims, sandbox)
    except ZooError as error:
        return Verification(problem_id, faults=(error.message,))
    except RunEnded as end:
        return Verification(problem_id, faults=(end.message,))
    return conclude(contract, judged)


def _judge_shape(contract: Contract, field: str, dims: Mapping[str, int], sandbox: Sandbox) -> list[Judged]:
    """Draw every distribution several times at these dims, and judge everything made of each draw."""
    planned = _planned(contract, dims)
    needed, room = draws_bytes(contract.problem, planned), machine_bytes()
    if needed > room:
        message = f"problem.yaml, {field}: the proof needs {needed} bytes, more than the {room} of this machine"
        raise Rejected("verify:memory", message)
    draws = Draws(contract.problem, contract.reference_py, planned)
    try:
        draws.start(sandbox)
        draws.ready()
        turns = _turns(contract, dims)
        tables = [
            _Table(contract, draws, at, at // turns * turns + (at + 1) % turns) for at in range(len(planned))
        ]
        return [judged for table in tables for judged in table.judge_all()]
    finally:
        draws.close()


def _planned(contract: Contract, dims: Mapping[str, int]) -> list[Draw]:
    problem = contract.problem
    tries = [Try("VARIANTS", name) for name in contract.variants]
    tries += [Try("MUTANTS", name) for name in problem.must_fail if name in contract.mutants]
    tries += [LOWER_PRECISION] if LOWER_PRECISION.group in problem.must_fail else []
    return [
        Draw(dims, name, _seed(problem, dims, name, turn), name in contract.exact, tries=tuple(tries))
        for name in contract.distributions
        for turn in range(_turns(contract, dims))
    ]


def _turns(contract: Contract, dims: Mapping[str, int]) -> int:
    """Return how often each distribution is drawn."""
    shapes = contract.problem.shapes(dims)
    elements = min(math.prod(shapes[tensor.name]) for tensor in contract.problem.outputs)
    return _DRAWS if elements >= _FEW_ELEMENTS else _DRAWS_OF_FEW


def _seed(problem: Problem, dims: Mapping[str, int], distribution: str, turn: int) -> int:
    return seed_of(_SECRET, f"{problem.id} {dims_text(dims)} {distribution} {turn}")


@dataclass(frozen=True)
class _Table:
    """One draw, of which everything made is judged, and the next one of the same distribution, by position."""

    contract: Contract
    draws: Draws
    at: int
    next_at: int

    @property
    def drawn(self) -> DrawnSet:
        return self.draws.sets[self.at]

    def judge_all(self) -> Iterator[Judged]:
        for name in self.contract.variants:
            yield self._judge_try(Try("VARIANTS", name))
        for name in self.contract.problem.must_fail:
            if name in GENERIC_NAMES:
                yield from self._judge_generic(name)
            else:
                yield self._judge_try(Try("MUTANTS", name))

    def _judge_try(self, which: Try) -> Judged:
        """Judge a computation of the problem's own by all its outputs together."""
        outputs = self.draws.tried(self.drawn, which)
        return self._judged(which.name, "", zip(self._judges(self.drawn), outputs, strict=True), which.group)

    def _judge_generic(self, name: str) -> Iterator[Judged]:
        """Judge a generic mutant of each output by itself."""
        for at, judge in enumerate(self._judges(self.drawn)):
            span = self.drawn.outputs[at]
            shape = self._shape(span.tensor.name)
            if fits(name, span.tensor.dtype, shape):
                output = self._lower(at) if name == LOWER_PRECISION.group else self._mutant(name, at, shape)
                yield self._judged(name, span.tensor.name, [(judge, output)], "MUTANTS")

    def _lower(self, at: int) -> Bytes:
        return self.draws.tried(self.drawn, LOWER_PRECISION)[at]

    def _mutant(self, name: str, at: int, shape: tuple[int, ...]) -> Bytes:
        other = self.draws.sets[self.next_at]
        honest, stale = (_honest(self._judges(drawn)[at]).reshape(shape) for drawn in (self.drawn, other))
        inputs = tuple(read_values(self.draws.input_bytes(span), span.tensor.dtype) for span in self.drawn.inputs)
        return _stored(GENERIC[name](Sample(honest, stale, inputs)), self.drawn.outputs[at].tensor.dtype)

    def _judges(self, drawn: DrawnSet) -> list[Judge]:
        return [self.draws.truth(drawn, span) for span in drawn.outputs]

    def _shape(self, tensor: str) -> tuple[int, ...]:
        return self.contract.problem.shapes(self.drawn.draw.dims)[tensor]

    def _judged(self, name: str, output: str, judged: Iterable[tuple[Judge, Bytes]], group: str) -> Judged:
        pairs = list(judged)
        is_caught = any(
            judge.first_wrong(stored) is not None or judge.breaks_guard(stored) for judge, stored in pairs
        )
        margin = max(_margin(judge, stored) for judge, stored in pairs)
        draw = self.drawn.draw
        where = " ".join(filter(None, (dims_text(draw.dims), draw.distribution, output)))
        scaled_error = max(judge.scaled_error(stored) for judge, stored in pairs)
        return Judged(group == "VARIANTS", name, where, margin, scaled_error, is_caught)


def _honest(judge: Judge) -> NDArray[np.generic]:
    """Return the truth as it can be stored: the best that any kernel could leave."""
    return read_values(_stored(judge.reference, judge.dtype), judge.dtype)


def _stored(values: NDArray[np.generic], dtype: str) -> Bytes:
    with np.errstate(over="ignore"):
        stored, _ = store(np, values, dtype)
    return np.ascontiguousarray(stored).ravel().view(np.uint8)


def _margin(judge: Judge, stored: Bytes) -> float:
    """Return the greatest error over its bound; infinite where no error is allowed, or for a NaN.

    Where the output is narrower than what is accumulated in, storing the truth takes half of the bound already,
    whoever computes it: there only what comes on top of that counts.
    """
    values = read_values(stored, judge.dtype)
    if judge.reference.dtype.kind in "iu":
        return math.inf if (values != judge.reference).any() else 0.0
    error = np.nan_to_num(np.abs(values - judge.reference), nan=math.inf, posinf=math.inf)
    tolerance = judge.problem.tolerance
    if tolerance.kind == "bound" and DTYPE_BYTES[judge.dtype] < DTYPE_BYTES[tolerance.accumulate]:
        error = np.maximum(error - np.abs(_honest(judge) - judge.reference), 0.0)
    without_room = np.where(error > 0, math.inf, 0.0)
    return float(np.divide(error, judge.allowed, out=without_room, where=judge.allowed > 0).max())
