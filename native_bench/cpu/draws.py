"""Fresh inputs and their float64 truth, from a sandboxed child that runs reference.py and no candidate."""

import ast
import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from native_bench.cpu.bounds import Judge
from native_bench.memory import SharedMemory, sealed_content
from native_bench.outcome import RunEnded, infra
from native_bench.sandbox.interface import Bind, Cell, Limits, Sandbox
from native_bench.sandbox.python import interpreter
from submissions.kernel_package.dtypes import DTYPE_BYTES
from submissions.kernel_package.problem import Problem, Tensor

logger = logging.getLogger(__name__)

_ALIGN = 64
_CHILD = Path(__file__).with_name("reference_child.py")
_SITE_FOLDER = "/zoo/site"
_SECONDS = 120.0


@dataclass(frozen=True)
class Try:
    """One more computation on a draw: one of the reference.py's VARIANTS or MUTANTS, or of LOWER_PRECISION."""

    group: str
    name: str = ""


LOWER_PRECISION = Try("lower_precision")


@dataclass(frozen=True)
class Draw:
    """One set of inputs to be made: dims (secret if hidden), how they are distributed, and the seed (secret)."""

    dims: Mapping[str, int]
    distribution: str
    seed: int
    is_exact: bool
    is_hidden: bool = False
    tries: tuple[Try, ...] = ()


@dataclass(frozen=True)
class Span:
    """Where one tensor of a set lies in the memory of draws; for an output, its truth (and then bounds) too."""

    tensor: Tensor
    index: int
    elements: int
    offset: int
    terms_offset: int

    @property
    def nbytes(self) -> int:
        """The size of the tensor as a kernel has it."""
        return self.elements * DTYPE_BYTES[self.tensor.dtype]


@dataclass(frozen=True)
class DrawnSet:
    """One set as it lies in memory."""

    draw: Draw
    inputs: tuple[Span, ...]
    outputs: tuple[Span, ...]
    begin: int
    end: int
    tried: Mapping[Try, tuple[int, ...]]


def distributions_of(reference_py: bytes) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the distributions a reference.py knows and those with exact answers, read as data, never run."""
    found: dict[str, tuple[str, ...]] = {"DISTRIBUTIONS": ("uniform",), "EXACT": ()}
    for node in ast.parse(reference_py).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id in found:
            found[node.targets[0].id] = tuple(ast.literal_eval(node.value))
    return found["DISTRIBUTIONS"], frozenset(found["EXACT"])


class Draws:
    """The sets of one run: the child fills them while the compiler works; `ready` waits for it."""

    def __init__(self, problem: Problem, reference_py: bytes, draws: Sequence[Draw]) -> None:
        self._problem = problem
        self._reference_py = reference_py
        self.sets = tuple(_lay_out(problem, draws))
        self.memory = SharedMemory("draws", self.sets[-1].end if self.sets else 0)
        self._cell: Cell | None = None

    def start(self, sandbox: Sandbox) -> None:
        """Start the child; it must be waited for from the same thread."""
        python, binds = interpreter()
        binds = [*binds, Bind(Path(np.__file__).resolve().parents[1], _SITE_FOLDER)]
        program = [python, "-I", "-S", "-B", "-c", _CHILD.read_text()]
        limits = Limits(
            wall_seconds=_SECONDS,
            cpu_seconds=_SECONDS,
            memory_bytes=(3 << 30) + 2 * self.memory.size,
            processes=64,
            file_bytes=max(self.memory.size, 1 << 20),
        )
        # One thread: the compiler runs beside it.
        env = {"OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
        # In memory only: a file with seeds and hidden sizes could be read by others, and stay behind.
        with sealed_content("request", self._request()) as request:
            argv = [*program, str(self.memory.fd), str(request), _SITE_FOLDER]
            self._cell = sandbox.start(argv, limits, binds, (self.memory.fd, request), env)

    def ready(self) -> None:
        """Wait for the child; raises RunEnded infra_error when the reference fails: never the entrant's fault."""
        if self._cell is None:
            return
        ended = self._cell.wait()
        self._cell = None
        lines = ended.stdout.decode("utf-8", "replace").splitlines()
        try:
            answer: dict[str, Any] = json.loads(lines[-1])
        except (IndexError, ValueError):
            words = ended.stderr.decode("utf-8", "replace")[-500:]
            raise infra("check:reference", f"reference.py gave no answer ({ended.status}): {words}") from None
        if "error" in answer:
            raise self._failure(answer)

    def _failure(self, answer: Mapping[str, Any]) -> RunEnded:
        at = answer["draw"]
        if at is None or not self.sets[at].draw.is_hidden:
            return infra("check:reference", f"reference.py failed: {answer['error']}", trace=answer["trace"])
        # Its words may name the size; they are for the operator alone.
        logger.error("reference.py failed on a hidden case: %s", answer["trace"])
        return infra("check:reference", f"reference.py failed on a hidden case: {answer['kind']}")

    def input_bytes(self, span: Span) -> NDArray[np.uint8]:
        return np.frombuffer(self.memory.map, np.uint8, span.nbytes, span.offset)

    def truth(self, drawn: DrawnSet, span: Span) -> Judge:
        """Return the judge of one output of a set."""
        wide = {"i64": "i8", "u64": "u8"}.get(span.tensor.dtype, "f8")
        reference = np.frombuffer(self.memory.map, wide, span.elements, span.offset)
        terms = np.frombuffer(self.memory.map, "f8", span.elements, span.terms_offset)
        return Judge(self._problem, span.tensor.dtype, drawn.draw.dims, drawn.draw.is_exact, reference, terms)

    def tried(self, drawn: DrawnSet, which: Try) -> list[NDArray[np.uint8]]:
        """Return each output of a try of the set as bytes, in the order of `drawn.outputs`."""
        sizes = [span.nbytes for span in drawn.outputs]
        places = zip(sizes, drawn.tried[which], strict=True)
        return [np.frombuffer(self.memory.map, np.uint8, size, offset) for size, offset in places]

    def write_bounds(self, sets: Iterable[DrawnSet]) -> None:
        """Replace the truth of these sets by what the timer compares with: the lowest, then the highest value."""
        for drawn in sets:
            for span in drawn.outputs:
                low, high = self.truth(drawn, span).bounds()
                np.frombuffer(self.memory.map, low.dtype, span.elements, span.offset)[:] = low
                np.frombuffer(self.memory.map, high.dtype, span.elements, span.terms_offset)[:] = high

    def close(self) -> None:
        if self._cell is not None:
            self._cell.kill()
            self._cell = None
        self.memory.close()

    def _request(self) -> bytes:
        draws = [self._as_request(drawn) for drawn in self.sets]
        return json.dumps(draws).encode() + b"\n" + self._reference_py

    def _as_request(self, drawn: DrawnSet) -> dict[str, Any]:
        shapes = self._problem.shapes(drawn.draw.dims)
        return {
            "dims": dict(drawn.draw.dims),
            "distribution": drawn.draw.distribution,
            "seed": drawn.draw.seed,
            "scalars": self._problem.scalar_values(drawn.draw.dims),
            "inputs": [[s.tensor.name, s.tensor.dtype, shapes[s.tensor.name], s.offset] for s in drawn.inputs],
            "outputs": [
                [s.tensor.name, s.tensor.dtype, shapes[s.tensor.name], s.offset, s.terms_offset]
                for s in drawn.outputs
            ],
            "tries": [[tried.group, tried.name, offsets] for tried, offsets in drawn.tried.items()],
        }


def draws_bytes(problem: Problem, draws: Sequence[Draw]) -> int:
    """Return the memory that these draws take, in bytes."""
    return max((drawn.end for drawn in _lay_out(problem, draws)), default=0)


def _lay_out(problem: Problem, draws: Sequence[Draw]) -> list[DrawnSet]:
    sets: list[DrawnSet] = []
    cursor = 0
    for draw in draws:
        shapes = problem.shapes(draw.dims)
        begin = cursor
        inputs: list[Span] = []
        outputs: list[Span] = []
        for index, tensor in enumerate(problem.tensors):
            elements = math.prod(shapes[tensor.name])
            if tensor.role == "in":
                inputs.append(Span(tensor, index, elements, cursor, 0))
                cursor = _aligned(cursor + elements * DTYPE_BYTES[tensor.dtype])
            else:
                terms_at = _aligned(cursor + 8 * elements)
                outputs.append(Span(tensor, index, elements, cursor, terms_at))
                cursor = _aligned(terms_at + 8 * elements)
        tried: dict[Try, tuple[int, ...]] = {}
        for which in draw.tries:
            tried[which], cursor = _lay_out_try(outputs, cursor)
        sets.append(DrawnSet(draw, tuple(inputs), tuple(outputs), begin, cursor, tried))
    return sets


def _lay_out_try(outputs: Sequence[Span], cursor: int) -> tuple[tuple[int, ...], int]:
    offsets: list[int] = []
    for span in outputs:
        offsets.append(cursor)
        cursor = _aligned(cursor + span.nbytes)
    return tuple(offsets), cursor


def _aligned(offset: int) -> int:
    return (offset + _ALIGN - 1) // _ALIGN * _ALIGN
