"""Our own C++ (worker, timer), compiled once per content and toolchain."""

import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from native_bench.cache import ContentCache, digest_of
from native_bench.cpu.flags import TRUSTED_FLAGS
from native_bench.host import compiler_version
from native_bench.outcome import infra

SOURCES = Path(__file__).parent.parent / "cpp"
PROGRAMS = {
    "worker": ("worker.cpp", "seal.cpp", "mapping.cpp", "library.cpp"),
    "timer": ("timer.cpp", "sitting.cpp", "contestant.cpp", "judge.cpp", "poison.cpp", "mapping.cpp"),
}
_SECONDS = 120


@dataclass(frozen=True)
class TrustedPrograms:
    """Where the two programs lie."""

    worker: Path
    timer: Path


def trusted_programs(cache: ContentCache) -> TrustedPrograms:
    """Return the programs, built if the cache has none of this content; raises RunEnded infra_error."""
    contents = [part for path in sorted(SOURCES.glob("*.?pp")) for part in (path.name.encode(), path.read_bytes())]
    key = digest_of(b"trusted 1", compiler_version().encode(), " ".join(TRUSTED_FLAGS).encode(), *contents)
    folder = cache.get(key)
    if folder is None:
        with ThreadPoolExecutor(len(PROGRAMS)) as pool:
            folder = cache.put(key, dict(zip(PROGRAMS, pool.map(compile_program, PROGRAMS), strict=True)))
    return TrustedPrograms(folder / "worker", folder / "timer")


def compile_program(name: str, extra_flags: tuple[str, ...] = ()) -> bytes:
    """Compile one of our programs and return it; raises RunEnded infra_error with the compiler's words."""
    with tempfile.TemporaryDirectory(prefix="zoo-trusted-") as folder:
        target = Path(folder) / name
        sources = [str(SOURCES / source) for source in PROGRAMS[name]]
        command = ["g++", *TRUSTED_FLAGS, *extra_flags, *sources, "-o", str(target)]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except FileNotFoundError:
            raise infra("prepare:no-compiler", "g++ is missing: apt-get install g++") from None
        except subprocess.TimeoutExpired:
            raise infra("prepare:compiler", f"our {name} took more than {_SECONDS} s to compile") from None
        if ended.returncode != 0:
            raise infra("prepare:compiler", f"our {name} does not compile: {ended.stderr[:2000]}")
        return target.read_bytes()
