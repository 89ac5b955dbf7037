"""Our own C++ (worker, timer, roofline), compiled once per content, toolchain and processor."""

import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from native_bench.cache import ContentCache, digest_of
from native_bench.cpu.flags import TRUSTED_FLAGS
from native_bench.host import compiler_version, cpu_model
from native_bench.outcome import infra

SOURCES = Path(__file__).parent.parent / "cpp"


@dataclass(frozen=True)
class Program:
    """What a program is made of, and how."""

    sources: tuple[str, ...]
    flags: tuple[str, ...] = TRUSTED_FLAGS


# The limits are those of the widest instructions here; a loop that moves memory must stay the loop we wrote.
_ROOFLINE_FLAGS = (
    *TRUSTED_FLAGS,
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-tree-loop-distribute-patterns",
)

PROGRAMS = {
    "worker": Program(("worker.cpp", "seal.cpp", "mapping.cpp", "library.cpp")),
    "timer": Program(
        (
            "timer.cpp",
            "sitting.cpp",
            "contestant.cpp",
            "tracee.cpp",
            "judge.cpp",
            "poison.cpp",
            "mapping.cpp",
        )
    ),
    "roofline": Program(("roofline.cpp", "bandwidth.cpp", "peaks.cpp", "mapping.cpp"), _ROOFLINE_FLAGS),
}
_SECONDS = 120


@dataclass(frozen=True)
class TrustedPrograms:
    """Where the programs lie."""

    worker: Path
    timer: Path
    roofline: Path


def trusted_programs(cache: ContentCache) -> TrustedPrograms:
    """Return the programs, built if the cache has none of this content; raises RunEnded infra_error."""
    key = _key()
    folder = cache.get(key)
    if folder is None:
        with ThreadPoolExecutor(len(PROGRAMS)) as pool:
            folder = cache.put(key, dict(zip(PROGRAMS, pool.map(compile_program, PROGRAMS), strict=True)))
    return TrustedPrograms(**{name: folder / name for name in PROGRAMS})


def _key() -> str:
    # -march=native makes the processor a part of the toolchain.
    toolchain = (compiler_version(), cpu_model(), *(" ".join(program.flags) for program in PROGRAMS.values()))
    contents = [part for path in sorted(SOURCES.glob("*.?pp")) for part in (path.name.encode(), path.read_bytes())]
    return digest_of(b"trusted 2", "\n".join(toolchain).encode(), *contents)


def compile_program(name: str, extra_flags: tuple[str, ...] = ()) -> bytes:
    """Compile one of our programs and return it; raises RunEnded infra_error with the compiler's words."""
    with tempfile.TemporaryDirectory(prefix="zoo-trusted-") as folder:
        target = Path(folder) / name
        sources = [str(SOURCES / source) for source in PROGRAMS[name].sources]
        command = ["g++", *PROGRAMS[name].flags, *extra_flags, *sources, "-o", str(target)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except FileNotFoundError:
            raise infra("prepare:no-compiler", "g++ is missing: apt-get install g++") from None
        except subprocess.TimeoutExpired:
            raise infra("prepare:compiler", f"our {name} took more than {_SECONDS} s to compile") from None
        if ended.returncode != 0:
            raise infra("prepare:compiler", f"our {name} does not compile: {ended.stderr[:2000]}")
        return target.read_bytes()
