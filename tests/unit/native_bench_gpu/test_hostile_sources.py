"""What a CUDA source may read, and what the log tells of it, by real compilations in the sandbox."""

import json
import re

import pytest

import native_bench.gpu.compiler
from native_bench.outcome import RunEnded
from tests.unit.native_bench_gpu.conftest import SCALE, Compile, foreign_text, refusal

pytestmark = pytest.mark.sandbox


def words_told(end: RunEnded, text: str) -> set[str]:
    """Return the longer words of a text that the end of a run repeats."""
    shown = json.dumps([end.message, end.details]).lower()
    return {word for word in re.findall(r"[a-z]{7,}", text.lower()) if word in shown}


# Each names a file that every machine has, in all ways to say so.
INCLUDES = [
    '#include "{}"',
    "#include <{}>",
    '#include "../../..{}"',
    '#define H "{}"\n#include H',
    "#define H(x) <x>\n#include H({})",
    '#inc\\\nlude "{}"',
    'const char* text =\n#include "{}"\n;',
]


@pytest.mark.parametrize("line", INCLUDES)
@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "/proc/version", "/usr/include/stdlib.h"])
def test_it_cannot_open_the_machines_files(compiled: Compile, line: str, path: str) -> None:
    end = refusal(lambda: compiled(f"{line.format(path)}\n{SCALE}"))
    assert (str(end.verdict), end.code) == ("build_failed", "build:compile-error")
    assert "cannot open source file" in end.message


def test_it_cannot_open_the_engines_files(compiled: Compile) -> None:
    path = native_bench.gpu.compiler.__file__
    end = refusal(lambda: compiled(f'#include "{path}"\n{SCALE}'))
    assert "cannot open source file" in end.message


def test_it_cannot_open_what_the_package_says_of_itself(compiled: Compile) -> None:
    secret = {".kernel_package/desc.yaml": b"title: planted"}
    end = refusal(lambda: compiled(f'#include "../.kernel_package/desc.yaml"\n{SCALE}', files=secret))
    assert "cannot open source file" in end.message


def test_it_sees_nothing_of_the_environment(compiled: Compile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_VARIABLE", "planted")
    for path in ("/proc/self/environ", "/proc/1/environ", "/proc/thread-self/environ", "/dev/fd/0", "/dev/stdin"):
        end = refusal(lambda path=path: compiled(f'#include "{path}"\n{SCALE}'))  # type: ignore[misc]
        assert "cannot open source file" in end.message
        assert "planted" not in json.dumps(end.details)


@pytest.mark.parametrize("line", INCLUDES)
def test_it_refuses_a_file_that_is_not_cudas_and_tells_nothing_of_it(compiled: Compile, line: str) -> None:
    text = foreign_text()
    end = refusal(lambda: compiled(f"{line.format(text)}\n{SCALE}"))
    assert str(end.verdict) == "build_failed"
    assert not words_told(end, text.read_text("utf-8", "replace")) - set(re.findall("[a-z]{7,}", str(end.message)))
    assert end.code == "build:foreign-file"
    assert str(text) in end.message


def test_it_tells_nothing_of_a_file_that_a_line_directive_names(compiled: Compile) -> None:
    end = refusal(lambda: compiled(f'#line 1 "{foreign_text()}"\nint a = undeclared;\n{SCALE}'))
    assert end.code == "build:foreign-file"
    assert not end.details["compile_errors"]


def test_it_shows_the_packages_own_line(compiled: Compile) -> None:
    end = refusal(lambda: compiled(SCALE.replace("a * x[i]", "undeclared")))
    assert end.message == 'src/kernel.cu:4: identifier "undeclared" is undefined'
    assert "    4 |     if (i < n) y[i] = undeclared;" in end.details["compile_log"].splitlines()
    [error] = end.details["compile_errors"]
    assert error == {
        "file": "src/kernel.cu", "line": 4, "column": 0, "message": 'identifier "undeclared" is undefined',
    }  # fmt: skip


def test_it_names_a_file_as_the_package_does(compiled: Compile) -> None:
    files = {"lib/own.h": b"int bad = undeclared;\n"}
    for build, line in (("{}", '#include "../lib/own.h"'), ("{include_dirs: [., lib]}", "#include <own.h>")):
        end = refusal(lambda build=build, line=line: compiled(f"{line}\n{SCALE}", build=build, files=files))  # type: ignore[misc]
        assert end.message == 'lib/own.h:1: identifier "undeclared" is undefined'
        assert "    1 | int bad = undeclared;" in end.details["compile_log"].splitlines()


def test_it_shows_no_line_and_no_path_of_cudas_headers(compiled: Compile) -> None:
    source = f"#include <cuda_fp16.h>\n#include <cooperative_groups.h>\n{SCALE}"
    end = refusal(lambda: compiled(source.replace("a * x[i]", "__hadd(x, y)")))
    log = end.details["compile_log"]
    assert "/cuda/" not in log
    assert "/src/" not in log
    quoted = [line.partition(" | ")[2].strip() for line in log.splitlines() if " | " in line]
    assert set(quoted) <= {line.strip() for line in source.replace("a * x[i]", "__hadd(x, y)").splitlines()}


def test_it_cuts_the_log(compiled: Compile) -> None:
    lines = "\n".join(f'#warning "{"w" * 900} {number}"' for number in range(100))
    build = compiled(f"{lines}\n{SCALE}")
    assert len(build.log) < 17 * 1024
    assert build.log.endswith("… (cut)")


def test_what_a_warning_says_is_no_error(compiled: Compile) -> None:
    build = compiled(f'#warning "error: no"\n{SCALE}')
    assert "src/kernel.cu:1: warning" in build.log


def test_a_define_is_no_option(compiled: Compile) -> None:
    assert ".target sm_90" in compiled(SCALE, build="{defines: {N: '1 -arch sm_80 --fmad false'}}").ptx
