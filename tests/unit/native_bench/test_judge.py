"""The timer's judge and poison, compiled with the sanitizers and run alone."""

import subprocess
from pathlib import Path

from native_bench.cpu.flags import TRUSTED_FLAGS
from native_bench.cpu.trusted import SOURCES


def test_its_judge_and_poison_hold_under_the_sanitizers(tmp_path: Path) -> None:
    sources = [Path(__file__).with_name("judge_test.cpp"), SOURCES / "judge.cpp", SOURCES / "poison.cpp"]
    flags = [*TRUSTED_FLAGS, "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{SOURCES}"]
    subprocess.run(["g++", *flags, *map(str, sources), "-o", tmp_path / "judge"], check=True)
    ended = subprocess.run([tmp_path / "judge"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
