"""What an entrant is shown of what the compiler's programs said."""

import pytest

from native_bench.cpu.compile_log import (
    UNSEEN,
    CompileError,
    Said,
    compile_errors,
    foreign_files,
    parted,
    readable_log,
)

FILES = {"src/a.cpp": b"int a;\n\tx = 1;\r\n" + b"y" * 5000 + b"\n"}


def log(step: str, text: str) -> str:
    return readable_log([Said(step, text)], FILES)


def test_it_parts_what_was_said_at_the_marks() -> None:
    stderr = b"bwrap: no\nMARK compile\nerror\nMARK assemble-unseen\nno newlineMARK link\n"
    assert parted(stderr, "MARK") == [
        Said("", "bwrap: no\n"),
        Said("compile", "error\n"),
        Said("assemble-unseen", "no newline"),
        Said("link", ""),
    ]


def test_it_cuts_paths_and_quoted_lines_and_shows_the_packages_own() -> None:
    said = """. /usr/include/stdc-predef.h
In file included from /src/src/a.cpp:1:
/usr/include/c++/12/secret.h:3:5: error: bad secret
    3 | token=4711
      | ^~~~~
/src/src/a.cpp:2:9: error: 'x' was not declared
/src/src/a.cpp:9: fatal error: stop
/generated/zoo_entry.cpp:3:1: note: here
Multiple include guards may be useful for:
/usr/include/stdc-predef.h
"""
    assert log("compile", said).splitlines() == [
        "In file included from src/a.cpp:1:",
        "secret.h:3:5: error: bad secret",
        "src/a.cpp:2:9: error: 'x' was not declared",
        "    2 |         x = 1;",
        "      |         ^",
        "src/a.cpp:9: fatal error: stop",
        "zoo_entry.cpp:3:1: note: here",
    ]
    assert compile_errors(log("compile", said)) == [
        CompileError("secret.h", 3, 5, "bad secret"),
        CompileError("src/a.cpp", 2, 9, "'x' was not declared"),
        CompileError("src/a.cpp", 9, 0, "stop"),
    ]


@pytest.mark.parametrize("place", ["src/../src/a.cpp:2:1", "src/b.cpp:2:1", "src/a.cpp:0:1", "src/a.cpp:77:1"])
def test_it_shows_no_line_that_the_package_does_not_have(place: str) -> None:
    assert log("compile", f"/src/{place}: error: no\n") == f"{place}: error: no"


def test_it_cuts_a_long_line() -> None:
    shown = log("compile", "/src/src/a.cpp:3:4000: error: no\n").splitlines()
    assert shown[1:] == ["    3 | " + "y" * 160]


def test_it_cuts_a_long_log() -> None:
    many = log("link", "warning\n" * 100_000)
    assert 15_000 < len(many) < 17_000
    assert many.endswith("… (cut)")
    assert len(log("link", "x" * 100_000)) < 17_000


def test_it_reads_the_linkers_complaints_when_the_compiler_has_none() -> None:
    said = "/usr/bin/ld: /tmp/cc1.o: in function `zoo_entry':\nx.cpp:(.text+0x1): undefined reference to `k'\n"
    assert log("link", said).startswith("ld: cc1.o: in function")
    assert [error.message for error in compile_errors(log("link", said))] == ["undefined reference to `k'"]


def test_it_shows_an_assembler_only_where_that_read_no_file() -> None:
    said = "101.s: Assembler messages:\n101.s:4: Error: no such instruction: `x'\n/src/src/a.cpp:2: Error: bad\n"
    shown = [
        "inline assembly: Error: no such instruction: `x'",
        "src/a.cpp:2: Error: bad",
        "    2 |         x = 1;",
    ]
    assert log("assemble", said).splitlines() == shown
    assert log("assemble-unseen", said) == UNSEEN
    assert compile_errors(UNSEEN) == [CompileError("", 0, 0, UNSEEN)]
    assert log("assemble-unseen", "") == ""


@pytest.mark.parametrize(
    "path",
    [
        "/src/src/a.h", "/src/src/../data/a.h", "/generated/zoo_entry.cpp", "101.s", "/usr/include/math.h",
        "/usr/include/c++/12/vector", "/usr/lib/gcc/x86_64-linux-gnu/12/include/immintrin.h",
        "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/cmath",
    ],
)  # fmt: skip
def test_it_knows_the_packages_files_and_the_systems_headers(path: str) -> None:
    assert foreign_files([Said("compile", f". {path}\n"), Said("read", f"101.s.o: 101.s {path}\n")]) == []


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("/etc/ld.so.cache", "/etc/ld.so.cache"),
        ("/src/src/../../etc/passwd", "/etc/passwd"),
        ("/usr/include/../share/doc", "/usr/share/doc"),
        ("/usr/share/include.txt", "/usr/share/include.txt"),
        ("../etc/passwd", "/etc/passwd"),
        ("/srcx/a.h", "/srcx/a.h"),
    ],
)
def test_it_names_every_other_file(path: str, file: str) -> None:
    assert foreign_files([Said("compile", f"... {path}\n")]) == [file]
    assert foreign_files([Said("read", f"101.s.o: 101.s \\\n {path}\n")]) == [file]


def test_it_reads_a_name_with_a_space() -> None:
    assert foreign_files([Said("read", "101.s.o: 101.s /src/my\\ data /etc/my\\ data\n")]) == ["/etc/my data"]
