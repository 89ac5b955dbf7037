"""What the compiler gets and what it may read, by real builds in the sandbox."""

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from native_bench.cache import ContentCache
from native_bench.cpu.build import Kernel, Library, build
from native_bench.job import Contestant
from native_bench.outcome import RunEnded
from native_bench.sandbox.interface import Sandbox
from native_bench.sandbox.opening import open_sandbox
from submissions.kernel_package.problem import Problem
from tests.unit.native_bench.conftest import HONEST, Judge, kernel, package

needs_sandbox = pytest.mark.sandbox
# A text that every sandbox shows, and that is neither the package's nor a header.
TEXT = next((name for name in ("/usr/share/common-licenses/BSD", "/usr/bin/ldd") if Path(name).is_file()), "")


@pytest.fixture(scope="module")
def sandbox() -> Sandbox:
    return open_sandbox(slot=1)


Build = Callable[..., Library]


@pytest.fixture
def compiled(sandbox: Sandbox, problem: Problem, tmp_path: Path) -> Build:
    """Build a source, with more files beside it, from nothing."""

    def run(source: str, **extra: bytes) -> Library:
        sent = Contestant.of(package(source, extra), None)
        return build(Kernel(sent.description, sent.files, problem), sandbox, ContentCache(tmp_path))

    return run


def refusal(act: Callable[[], object]) -> RunEnded:
    with pytest.raises(RunEnded) as caught:
        act()
    return caught.value


def words_told(end: RunEnded) -> set[str]:
    """Return the longer words of TEXT and of the loader's cache that the end of a run repeats."""
    shown = json.dumps([end.message, end.details]).lower()
    known = set(re.findall(r"[a-z]{8,}", Path(TEXT).read_text().lower())) | {"glibc-ld", "x86-64-linux-gnu/lib"}
    ours = "the assembler's messages are not shown: the assembly has macros, or names files"
    return {word for word in known if word in shown} - set(re.findall("[a-z]{8,}", ours))


def two_sources(first: str, second: bytes) -> Contestant:
    files = package(first, {"lib/kernel.cpp": second})
    sources = b"sources: [src/kernel.cpp, lib/kernel.cpp]"
    description = files[".kernel_package/desc.yaml"].replace(b"sources: [src/kernel.cpp]", sources)
    return Contestant.of(files | {".kernel_package/desc.yaml": description}, None)


def log_of(end: RunEnded) -> str:
    return str(end.details["compile_log"])


def test_it_holds_a_harness_that_it_does_not_run_against_the_package(judge: Judge) -> None:
    files = package(HONEST)
    description = files[".kernel_package/desc.yaml"].replace(b"harness: native", b"harness: script")
    sent = Contestant.of(files | {".kernel_package/desc.yaml": description}, None)
    result = judge(HONEST, candidate=sent)
    assert (result["verdict"], result["code"], result["stage"]) == ("build_failed", "prepare:harness", "prepare")
    assert "not script" in result["message"]


@needs_sandbox
@pytest.mark.parametrize("path", [".zoo", ".zoo/exports.map/y", ".zoo/zoo_entry.cpp", "generated/exports.map"])
def test_no_file_of_a_package_meets_one_of_the_engines(compiled: Build, path: str) -> None:
    assert compiled(HONEST, **{path: b"{ global: *; };"}).report.findings == ()


@needs_sandbox
def test_it_compiles_sources_of_one_name_in_two_folders(
    sandbox: Sandbox, problem: Problem, tmp_path: Path
) -> None:
    sent = two_sources(kernel("LOOP z[0] += other() - 1;", "float other();"), b"float other() { return 1; }")
    library = build(Kernel(sent.description, sent.files, problem), sandbox, ContentCache(tmp_path))
    assert library.report.findings == ()


@needs_sandbox
def test_it_takes_what_the_package_and_the_system_have(compiled: Build) -> None:
    before = '#include "../data/own.h"\n#include <immintrin.h>\nasm(".incbin \\"/src/data/own.h\\"");'
    library = compiled(kernel("LOOP z[0] += OWN;", before), **{"data/own.h": b"#define OWN 0\n"})
    assert (library.report.findings, library.log) == ((), "")


FOREIGN = [
    f'#include "{TEXT}"',
    f'#include "../..{TEXT}"',
    f"#include <../{TEXT.removeprefix('/usr/')}>",
    f'const char* text =\n#include "{TEXT}"\n;',
    f'#line 1 "/src/src/kernel.cpp"\n#include "{TEXT}"',
    f'# 1 "/usr/include/string.h" 1 3\n#include "{TEXT}"',
    '#include "/etc/ld.so.cache"',
    f'asm(".incbin \\"{TEXT}\\"");',
    f'asm(".macro m a\\n .inc\\\\a \\"{TEXT}\\"\\n .endm\\n m bin\\n");',
]


@needs_sandbox
@pytest.mark.parametrize("line", FOREIGN)
def test_it_refuses_a_source_that_reads_other_files(compiled: Build, line: str) -> None:
    end = refusal(lambda: compiled(kernel("LOOP", line)))
    assert (str(end.verdict), end.code) == ("build_failed", "build:foreign-file")
    assert "include only the package's files and the system's headers" in end.message
    assert log_of(end) == end.message
    assert not words_told(end)


# What a macro of the package is given by lines of the file that it reads.
CAUGHT = '.macro copyright a:vararg\\n {} \\"{}\\\\a\\"\\n .endm\\n .include \\"{}\\"\\n'
READING = [
    f'asm(".include \\"{TEXT}\\"");',
    'asm(".include \\"/etc/ld.so.cache\\"");',
    f'asm("{CAUGHT.format(".error", "", TEXT)}");',
    f'asm("{CAUGHT.format(".error", chr(92) * 2 + "nsrc/kernel.cpp:1:1: error: ", TEXT)}");',
    f'asm("{CAUGHT.format(".print", "", TEXT)}");',
    f'asm("# 1 \\"/src/src/kernel.cpp\\"\\n .include \\"{TEXT}\\"");',
    f'asm(".macro m a\\n .inc\\\\a \\"{TEXT}\\"\\n .endm\\n m lude\\n");',
]


@needs_sandbox
@pytest.mark.parametrize("line", READING)
def test_it_tells_nothing_of_a_file_that_the_assembler_reads(compiled: Build, line: str) -> None:
    end = refusal(lambda: compiled(kernel("LOOP", line)))
    assert (str(end.verdict), end.code) == ("build_failed", "build:compile-error")
    assert "the assembler's messages are not shown" in end.message
    assert not words_told(end)


@needs_sandbox
@pytest.mark.parametrize(
    "name", ["/proc/self/mountinfo", "/proc/version", "/proc/sys/kernel/hostname", "/dev/fd/0"]
)
@pytest.mark.parametrize("line", ['#include "{}"', 'asm(".incbin \\"{}\\"");'])
def test_it_has_no_process_files_for_the_compiler(compiled: Build, name: str, line: str) -> None:
    end = refusal(lambda: compiled(kernel("LOOP", line.format(name))))
    assert end.code == "build:compile-error"


@needs_sandbox
def test_it_shows_the_packages_own_lines(compiled: Build) -> None:
    end = refusal(lambda: compiled(kernel("\tz[0] = undeclared;")))
    log = log_of(end)
    assert "src/kernel.cpp:3:" in log
    source, caret = next(pair for pair in pairwise(log.splitlines()) if "undeclared;" in pair[0])
    assert source.startswith("    3 | extern")
    assert source[caret.index("^") :].startswith("undeclared")


@needs_sandbox
def test_it_shows_no_line_of_a_systems_header(compiled: Build) -> None:
    end = refusal(lambda: compiled(kernel("LOOP", "#include <vector>\nstd::vector<int&> bad;")))
    quoted = [line for line in log_of(end).splitlines() if " | " in line]
    assert "forming pointer to reference type 'int&'" in end.message
    assert {line.partition(" | ")[2].strip(" ^") for line in quoted} <= {"", "std::vector<int&> bad;"}
    assert "/usr/" not in log_of(end)


@needs_sandbox
def test_it_shows_no_line_of_a_file_that_is_only_named(compiled: Build) -> None:
    end = refusal(
        lambda: compiled(kernel("LOOP", f'#line 1 "{TEXT}"\nint a = b;\n#line 1 "../..{TEXT}"\nint c = d;'))
    )
    assert "'b' was not declared" in log_of(end)
    assert not words_told(end)


@needs_sandbox
def test_it_shows_the_assemblers_message_about_the_packages_assembly(compiled: Build) -> None:
    end = refusal(lambda: compiled(kernel('LOOP asm volatile("fooo %eax");')))
    assert end.message == "src/kernel.cpp:3: no such instruction: `fooo %eax'"
    assert "    3 | extern" in log_of(end)
    end = refusal(lambda: compiled(kernel("LOOP", 'asm("fooo %eax");')))
    assert end.message == "inline assembly: Error: no such instruction: `fooo %eax'"


@needs_sandbox
def test_it_reports_the_errors_of_every_source(sandbox: Sandbox, problem: Problem, tmp_path: Path) -> None:
    sent = two_sources(kernel("first;"), b"int other = second;\n")
    end = refusal(lambda: build(Kernel(sent.description, sent.files, problem), sandbox, ContentCache(tmp_path)))
    assert [error["file"] for error in end.details["compile_errors"]] == ["src/kernel.cpp", "lib/kernel.cpp"]


@needs_sandbox
def test_it_cuts_the_lines_that_it_shows(compiled: Build) -> None:
    end = refusal(lambda: compiled(kernel("z[0] = undeclared; /*" + "x" * 5000 + "*/")))
    assert max(len(line) for line in log_of(end).splitlines()) < 400
