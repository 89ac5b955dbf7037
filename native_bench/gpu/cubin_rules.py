"""What a cubin may hold: a kernel computes from its arguments, remembers nothing, and asks nobody for anything."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from native_bench.cpu.inspect import Finding
from native_bench.gpu.compiler import CudaBuild
from native_bench.gpu.cubin import BadCubin, Cubin, Variable, read_cubin
from native_bench.outcome import RunEnded
from submissions.evaluation.verdicts import Verdict

CODE_LIMIT_BYTES = 4 << 20
# Headers leave constants in device memory that no code uses: cooperative_groups.h some 6 KB.
UNUSED_LIMIT_BYTES = 64 << 10
_HEAP = frozenset({"malloc", "free", "realloc", "calloc"})
_OUTPUT = frozenset({"vprintf", "__assertfail"})
# Of sin, cos and tan. They could be written to, so whoever runs the kernel has to see that they have not changed.
_MATHS_TABLES = {"__cudart_i2opi_f": 24, "__cudart_i2opi_d": 144, "__cudart_sin_cos_coeffs": 128}
_PTX_NAME = re.compile(r"[A-Za-z_$%][\w$]*")
_DEVICE_RUNTIME = ("cuda", "__cuda", "cnp", "__cnp")


def require_allowed(build: CudaBuild) -> Cubin:
    """Return the build's cubin as read.

    Raises RunEnded inspect_refused on the first finding, with all of them in the details.
    """
    try:
        cubin = read_cubin(build.cubin)
    except BadCubin as error:
        findings = [Finding("inspect:bad-cubin", str(error))]
    else:
        findings = cubin_findings(cubin, build.ptx, build.lowered.values())
        if not findings:
            return cubin
    listed = [{"code": finding.code, "message": finding.message} for finding in findings]
    raise RunEnded(Verdict.INSPECT_REFUSED, findings[0].code, findings[0].message, findings=listed)


def cubin_findings(cubin: Cubin, ptx: str, kernels: Iterable[str]) -> list[Finding]:
    """Return what speaks against launching these symbols of a cubin that was made of `ptx`; pure."""
    return [
        *_missing_kernels(cubin, kernels),
        *map(_symbol_finding, cubin.undefined),
        *_memory_findings(cubin, ptx),
        *_code_findings(cubin),
    ]


def _missing_kernels(cubin: Cubin, kernels: Iterable[str]) -> Iterator[Finding]:
    for name in dict.fromkeys(kernels):
        if cubin.kernel(name) is None:
            yield Finding("inspect:no-kernel", f"`{name}` is launched, and is no `__global__` function")


def _symbol_finding(name: str) -> Finding:
    if name in _OUTPUT:
        message = f"the code calls `{name}`, which printf and assert need: a kernel writes to its outputs only"
        return Finding("inspect:printf", message)
    if name in _HEAP:
        message = f"the code calls `{name}`: memory from the device's heap outlives a launch; declare `scratch`"
        return Finding("inspect:device-heap", message)
    if name.startswith(_DEVICE_RUNTIME):
        message = f"the code calls `{name}` of the device runtime: a kernel launches nothing; declare `launches`"
        return Finding("inspect:device-runtime", message)
    return Finding("inspect:forbidden-symbol", f"the code needs `{name}`, which is not in the package")


def _memory_findings(cubin: Cubin, ptx: str) -> Iterator[Finding]:
    kept = [variable for variable in _used_variables(cubin, ptx) if not _is_maths_table(variable)]
    if kept:
        names = ", ".join(f"`{variable.name}`" for variable in kept[:5])[:200]
        message = (
            f"{sum(variable.size_bytes for variable in kept)} bytes of device memory outlive a launch ({names}): "
            "put tables into `__constant__`, and what one launch leaves for the next into `scratch`"
        )
        yield Finding("inspect:device-memory", message)
    elif cubin.device_bytes > UNUSED_LIMIT_BYTES:
        message = f"{cubin.device_bytes} bytes of device memory without use, allowed are {UNUSED_LIMIT_BYTES}"
        yield Finding("inspect:device-memory", message)


def _used_variables(cubin: Cubin, ptx: str) -> list[Variable]:
    """Return the variables that the program names anywhere but in the declaration.

    The cubin cannot tell: it has the addresses of all. What was renamed on the way counts as used.
    """
    if not cubin.device_variables:
        return []
    times = Counter(_PTX_NAME.findall(ptx))
    return [variable for variable in cubin.device_variables if times[variable.name] != 1]


def _is_maths_table(variable: Variable) -> bool:
    return _MATHS_TABLES.get(variable.name) == variable.size_bytes


def _code_findings(cubin: Cubin) -> Iterator[Finding]:
    size = cubin.code_bytes
    if size > CODE_LIMIT_BYTES:
        message = f"{size} bytes of code, allowed are {CODE_LIMIT_BYTES}: unroll less, or share code between sizes"
        yield Finding("inspect:code-size", message)
