"""KernelBench's names for some problems and their dims, both ways: its benchmarks, their parameters and cases."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from submissions.kernel_package.errors import Rejected
from submissions.kernel_package.names import ProblemId

_OPERATION = "op"


@dataclass(frozen=True)
class Size:
    """One integer parameter of a benchmark, the problem's dim that it stands for, and the least it may be."""

    name: str
    dim: str
    least: int = 1


@dataclass(frozen=True)
class NamedCase:
    """One of KernelBench's cases, in the problem's dims."""

    id: str
    dims: Mapping[str, int]


@dataclass(frozen=True)
class Workload:
    """A problem at one size."""

    problem_id: ProblemId
    dims: Mapping[str, int]


@dataclass(frozen=True)
class Request:
    """What KernelBench's `startRun` is given: a benchmark's id, and each of its parameters by name."""

    benchmark: str
    params: Mapping[str, int | str]


@dataclass(frozen=True)
class Benchmark:
    """One benchmark. Where it has several operations each is a problem of its own; else its `op` is None."""

    id: str
    problems: Mapping[str | None, ProblemId]
    sizes: tuple[Size, ...]
    cases: tuple[NamedCase, ...]

    @property
    def dims(self) -> dict[str, str]:
        """The problem's dim behind each integer parameter's name."""
        return {size.name: size.dim for size in self.sizes}

    @property
    def parameters(self) -> tuple[str, ...]:
        """The name of every parameter, `op` first where there is one."""
        names = tuple(size.name for size in self.sizes)
        return names if None in self.problems else (_OPERATION, *names)

    def problem_id(self, op: object = None) -> ProblemId:
        """Return the problem of an operation; raises Rejected `sweep:params`."""
        if None in self.problems and op is not None:
            raise _refuse(f"{self.id} has no parameter {_OPERATION!r}; it has {', '.join(self.parameters)}")
        found = self.problems.get(op) if op is None or isinstance(op, str) else None
        if found is None:
            choices = ", ".join(str(choice) for choice in self.problems)
            given = "is missing" if op is None else f"is {op!r}"
            raise _refuse(f"the parameter {_OPERATION!r} of {self.id} {given}; it is one of {choices}")
        return found


@dataclass(frozen=True)
class Alias:
    """What KernelBench calls a problem: a benchmark and, where it has several, the operation."""

    benchmark: Benchmark
    op: str | None

    def __str__(self) -> str:
        """Return the name as the command line takes it, such as `vector --op add`."""
        return self.benchmark.id if self.op is None else f"{self.benchmark.id} --{_OPERATION} {self.op}"


def _product(m: int, k: int, n: int) -> NamedCase:
    """Return the case of an m by k matrix times a k by n one."""
    name = f"square_{m}" if m == k == n else f"rect_{m}x{k}x{n}"
    return NamedCase(name, {"m": m, "k": k, "n": n})


def _convolution(group: str, images: int, channels: int, side: int, out_channels: int) -> NamedCase:
    """Return the case of square NCHW images; its output is as large as they are, or half where it strides."""
    taps = 5 if group == "5x5" else 3
    stride = 2 if group == "stride" else 1
    extents = (images, channels, side, side, out_channels, taps, taps, stride, stride, taps // 2, taps // 2)
    dims = {size.dim: extent for size, extent in zip(_CONVOLUTION_SIZES, extents, strict=True)}
    return NamedCase(f"conv_{group}_{side}", dims)


_CONVOLUTION_SIZES = (
    Size("inputN", "n"),
    Size("inputC", "c"),
    Size("inputH", "h"),
    Size("inputW", "w"),
    Size("filterOutC", "oc"),
    Size("filterH", "kh"),
    Size("filterW", "kw"),
    Size("strideH", "stride_h"),
    Size("strideW", "stride_w"),
    Size("padH", "pad_h", least=0),
    Size("padW", "pad_w", least=0),
)
_VECTOR = Benchmark(
    "vector",
    {op: ProblemId("Vector", op, "fp32") for op in ("add", "subtract", "multiply", "divide")},
    (Size("vectorLength", "n"),),
    tuple(NamedCase(f"vec_{4**power}", {"n": 4**power}) for power in range(5, 13)),
)
_MATMUL = Benchmark(
    "matrix-multiplication",
    {None: ProblemId("GEMM", "nn", "fp32")},
    (Size("inputRows", "m"), Size("inputCols", "k"), Size("outputCols", "n")),
    (
        *(_product(side, side, side) for side in (128, 256, 512, 1024, 2048)),
        *(_product(side, 4 * side, side) for side in (256, 512, 1024)),
    ),
)
_CONVOLUTION = Benchmark(
    "convolution",
    {None: ProblemId("Conv", "conv2d", "fp32")},
    _CONVOLUTION_SIZES,
    (
        _convolution("small", 1, 3, 64, 16),
        _convolution("small", 1, 3, 128, 32),
        _convolution("medium", 4, 16, 128, 32),
        _convolution("medium", 4, 32, 256, 64),
        _convolution("stride", 1, 16, 224, 32),
        _convolution("5x5", 1, 16, 224, 32),
    ),
)
BENCHMARKS: Mapping[str, Benchmark] = {one.id: one for one in (_VECTOR, _MATMUL, _CONVOLUTION)}


def find_benchmark(benchmark_id: str) -> Benchmark:
    """Return the benchmark with this id; raises Rejected `sweep:benchmark`."""
    if benchmark_id not in BENCHMARKS:
        raise Rejected(
            "sweep:benchmark", f"there is no benchmark {benchmark_id!r}; known: {', '.join(BENCHMARKS)}"
        )
    return BENCHMARKS[benchmark_id]


def workload_of(benchmark_id: str, params: Mapping[str, object]) -> Workload:
    """Read a benchmark and its parameters, all of them; raises Rejected `sweep:benchmark` or `sweep:params`.

    What the problem's declared ranges say is not asked here.
    """
    benchmark = find_benchmark(benchmark_id)
    _check_names(benchmark, params)
    problem_id = benchmark.problem_id(params.get(_OPERATION))
    return Workload(problem_id, {size.dim: _extent(size, params[size.name]) for size in benchmark.sizes})


def request_of(workload: Workload) -> Request | None:
    """Return the request that asks for this workload; None where its problem or dims are none of KernelBench's."""
    alias = alias_of(workload.problem_id)
    if alias is None or {*workload.dims} != {*alias.benchmark.dims.values()}:
        return None
    operation = {} if alias.op is None else {_OPERATION: alias.op}
    sizes = {name: workload.dims[dim] for name, dim in alias.benchmark.dims.items()}
    return Request(alias.benchmark.id, {**operation, **sizes})


def alias_of(problem_id: ProblemId) -> Alias | None:
    """Return what KernelBench calls a problem, or None."""
    for benchmark in BENCHMARKS.values():
        for op, known in benchmark.problems.items():
            if known == problem_id:
                return Alias(benchmark, op)
    return None


def cases_of(problem_id: ProblemId) -> tuple[NamedCase, ...]:
    """Return KernelBench's cases of a problem; raises Rejected `sweep:benchmark` where it has none."""
    alias = alias_of(problem_id)
    if alias is None:
        known = (str(one) for benchmark in BENCHMARKS.values() for one in benchmark.problems.values())
        raise Rejected("sweep:benchmark", f"KernelBench has no cases of {problem_id}, only of {', '.join(known)}")
    return alias.benchmark.cases


def _check_names(benchmark: Benchmark, params: Mapping[str, object]) -> None:
    known = benchmark.parameters
    unknown = [name for name in params if name not in known]
    if unknown:
        raise _refuse(f"{benchmark.id} has no parameter {_listed(unknown)}; it has {', '.join(known)}")
    missing = [name for name in known if name not in params]
    if missing:
        raise _refuse(f"{benchmark.id} needs the parameter {_listed(missing)}")


def _extent(size: Size, value: object) -> int:
    # A bool is an int to Python, and JSON has both.
    if not isinstance(value, int) or isinstance(value, bool):
        raise _refuse(f"{size.name} is {value!r}, and no whole number")
    if value < size.least:
        raise _refuse(f"{size.name} is {value}; it must be at least {size.least}")
    return value


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _refuse(message: str) -> Rejected:
    return Rejected("sweep:params", message)
