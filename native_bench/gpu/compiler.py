"""Build a CUDA kernel: compiled by NVRTC in the sandbox, without GPU or driver, found again by content."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from native_bench.cache import ContentCache, digest_of
from native_bench.cpu.compile_log import SOURCE_ROOT, CompileError
from native_bench.gpu.compile_log import NAME_MAP, NvrtcLog, read_log
from native_bench.gpu.nvrtc import CUBIN_BYTES, MEMORY_BYTES, SECONDS, Order, Reply, run_nvrtc
from native_bench.gpu.toolchain import Compiler, Toolchain, ask_compiler, installed_toolchain
from native_bench.outcome import RunEnded, infra
from native_bench.sandbox.interface import Exit, Sandbox
from submissions.evaluation.verdicts import Verdict
from submissions.kernel_package.description import Description
from submissions.kernel_package.files import PACKAGE_FOLDER, Files

# One set for every entrant. Unmarked functions are device functions, as CUB's and many headers' are meant.
FLAGS = (
    "--std=c++17",
    "--device-as-default-execution-space",
    "--generate-line-info",
    "--brief-diagnostics=true",
    "--ptxas-options=-v",
)
CUBIN_NAME, PTX_NAME = "kernel.cubin", "kernel.ptx"
_META_NAME = "build.json"
_NVRTC_OUT_OF_MEMORY, _NVRTC_INVALID_OPTION = 1, 5


@dataclass(frozen=True)
class CudaBuild:
    """A built package: the cubin as bytes and as a file, the PTX, and each launched kernel's symbol in both.

    `lowered` goes from the launch's name (`scale<float, 4>`) to the symbol; `log` is fit for the entrant; `ptxas`
    is what the assembler tells of each kernel.
    """

    arch: str
    cubin_path: Path
    cubin: bytes
    ptx: str
    lowered: Mapping[str, str]
    log: str
    ptxas: str
    compiler: str
    was_cached: bool


def compile_cuda(
    description: Description, files: Files, arch: str, sandbox: Sandbox, cache: ContentCache
) -> CudaBuild:
    """Return the build for one arch, `sm_90` or the like.

    Raises RunEnded build_failed (`build:arch`, `build:compile-error`, `build:foreign-file`, …), timed_out,
    out_of_memory, or infra_error (`prepare:no-nvrtc`, `build:sandbox`).
    """
    toolchain = installed_toolchain()
    compiler = ask_compiler(toolchain)
    _check_arch(arch, compiler)
    own = {path: data for path, data in files.items() if not path.startswith(f"{PACKAGE_FOLDER}/")}
    order = _order(description, own, arch)
    key = _key(order, toolchain, compiler)
    folder = cache.get(key)
    if folder is not None:
        return _build(folder, was_cached=True)
    reply = run_nvrtc(order, toolchain, sandbox)
    meta = _checked(reply, order) | {"arch": arch, "compiler": compiler.name}
    contents = {CUBIN_NAME: reply.cubin, PTX_NAME: reply.ptx, _META_NAME: json.dumps(meta).encode()}
    return _build(cache.put(key, contents), was_cached=False)


def _check_arch(arch: str, compiler: Compiler) -> None:
    if arch not in compiler.archs:
        message = f"{compiler.name} does not build for {arch!r}; it builds for {', '.join(compiler.archs)}"
        raise RunEnded(Verdict.BUILD_FAILED, "build:arch", message, archs=list(compiler.archs))


def _order(description: Description, files: Files, arch: str) -> Order:
    defines = [f"-D{name}={value}" for name, value in sorted(description.defines.items())]
    includes = [f"-I{SOURCE_ROOT}{folder}" for folder in description.include_dirs]
    kernels = dict.fromkeys(launch.kernel for launch in description.launches)
    options = (f"--gpu-architecture={arch}", *FLAGS, *defines, *includes)
    return Order(files, description.entry_source, options, tuple(kernels))


def _key(order: Order, toolchain: Toolchain, compiler: Compiler) -> str:
    told = (compiler.name, toolchain.fingerprint, order.source, *order.options, *order.kernels)
    flat = [part for path in sorted(order.files) for part in (path.encode(), order.files[path])]
    # The number goes up when what lies beside the cubin changes.
    return digest_of(b"cuda 1", *(word.encode() for word in told), *flat)


def _checked(reply: Reply, order: Order) -> dict[str, Any]:
    """Return what is kept beside cubin and PTX; raises RunEnded unless the compiler has ended well."""
    log = read_log(reply.log, order.files)
    _refuse_foreign(log)
    _check_end(reply.ended, log)
    if reply.result == _NVRTC_OUT_OF_MEMORY:
        raise _out_of_memory(log)
    if reply.result == _NVRTC_INVALID_OPTION:
        raise RunEnded(Verdict.BUILD_FAILED, "build:option", _first_error(log), **_details(log))
    if log.errors and log.errors[0].file == NAME_MAP:
        message = f"a launch of desc.yaml names a kernel that there is not: {log.errors[0].message}"
        raise RunEnded(Verdict.BUILD_FAILED, "build:no-kernel", message, **_details(log))
    if reply.result != 0 or not reply.cubin or not reply.ptx:
        raise RunEnded(Verdict.BUILD_FAILED, "build:compile-error", _first_error(log), **_details(log))
    missing = [kernel for kernel in order.kernels if not reply.lowered.get(kernel)]
    if missing:
        raise RunEnded(
            Verdict.BUILD_FAILED, "build:no-kernel", f"there is no kernel {missing[0]!r}", **_details(log)
        )
    return {"log": log.text, "ptxas": log.ptxas, "lowered": dict(reply.lowered)}


def _refuse_foreign(log: NvrtcLog) -> None:
    """Raise where a message is about a file that is not the package's: it may tell of what is in there."""
    foreign = ", ".join(log.foreign[:3])[:200]
    if foreign:
        message = f"the source reads or names {foreign}: include only the package's files and CUDA's headers"
        raise RunEnded(Verdict.BUILD_FAILED, "build:foreign-file", message, compile_log=message, compile_errors=[])


def _check_end(ended: Exit, log: NvrtcLog) -> None:
    if ended.status == "timed_out" or ended.signal in ("SIGXCPU", "SIGKILL"):
        raise RunEnded(
            Verdict.TIMED_OUT, "build:timed-out", f"the compiler took more than {SECONDS:.0f} s",
            limit=f"{SECONDS:.0f} s", **_details(log),
        )  # fmt: skip
    if ended.status == "out_of_memory":
        raise _out_of_memory(log)
    if ended.status == "output_flood":
        message = f"the cubin and its PTX are larger than {CUBIN_BYTES >> 20} MiB"
        raise RunEnded(Verdict.BUILD_FAILED, "build:too-large", message, **_details(log))
    if ended.status == "signalled":
        message = f"the source crashes the compiler ({ended.signal}): it nests too deep, or grows too large"
        raise RunEnded(Verdict.BUILD_FAILED, "build:compiler-crashed", message, **_details(log))
    if not ended.is_ok:
        words = ended.stderr.decode("utf-8", "replace")[-500:]
        raise infra("build:sandbox", f"the compiler could not be started: {words}")


def _out_of_memory(log: NvrtcLog) -> RunEnded:
    limit = f"{MEMORY_BYTES >> 30} GiB"
    message = f"the compiler took more than {limit}"
    return RunEnded(Verdict.OUT_OF_MEMORY, "build:out-of-memory", message, limit=limit, **_details(log))


def _details(log: NvrtcLog) -> dict[str, Any]:
    return {"compile_log": log.text, "compile_errors": [error.as_json() for error in log.errors]}


def _first_error(log: NvrtcLog) -> str:
    if not log.errors:
        return "the compiler gave up: see the log"
    first: CompileError = log.errors[0]
    return f"{first.file}:{first.line}: {first.message}" if first.file else first.message


def _build(folder: Path, was_cached: bool) -> CudaBuild:
    meta = json.loads((folder / _META_NAME).read_bytes())
    cubin_path = folder / CUBIN_NAME
    ptx = (folder / PTX_NAME).read_text("utf-8", "replace")
    return CudaBuild(cubin_path=cubin_path, cubin=cubin_path.read_bytes(), ptx=ptx, was_cached=was_cached, **meta)
