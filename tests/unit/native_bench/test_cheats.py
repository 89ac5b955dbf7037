"""Cheats of the catalogue played for real, one per entry; their honest twin is in test_verdicts.py."""

import platform

import pytest

from tests.unit.native_bench.conftest import Judge, kernel

pytestmark = pytest.mark.sandbox

is_x86 = platform.machine() == "x86_64"
x86_only = pytest.mark.skipif(not is_x86, reason="needs x86_64 instructions")


def hidden_call(instruction: str, setup: str = "") -> str:
    """A kernel that jumps into the middle of a `mov`, whose bytes are the instruction: no disassembly shows it."""
    return kernel(
        f'asm volatile("{setup} jmp 1f + 1\\n1: .byte 0xb8, {instruction}, 0x90, 0x90\\n"'
        ' ::: "rax", "rdx", "rcx", "r11", "rdi", "memory"); LOOP'
    )


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("zeros", "for (std::int64_t i = 0; i < n; ++i) z[i] = 0;"),
        ("a copy of an input", "for (std::int64_t i = 0; i < n; ++i) z[i] = x[i];"),
        ("nothing", ""),
        ("all but the last", "--n; LOOP"),
        ("the first 99 %", "n -= n / 100; LOOP"),
        ("one NaN", "LOOP z[n / 2] = __builtin_nanf(\"\");"),
        ("one infinity", "LOOP z[n / 2] = __builtin_inff();"),
        ("half precision", "for (std::int64_t i = 0; i < n; ++i) z[i] = float(_Float16(a * x[i] + y[i]));"),
        ("scale wrong by 1 %", "a *= 1.01f; LOOP"),
        ("only shapes that are listed", "if (n == 640) LOOP"),
        ("a memo by pointer", "static const float* seen; static float* put; if (seen == x && put == z) return; "
                              "seen = x; put = z; LOOP z[0] = 0;"),
    ],
)  # fmt: skip
def test_it_refuses_wrong_or_missing_work(judge: Judge, name: str, body: str) -> None:
    assert judge(kernel(body))["verdict"] == "wrong_result", name


@pytest.mark.parametrize(
    ("body", "where"),
    [("LOOP z[-1] = 0;", "before"), ("LOOP z[n] = 0;", "behind"), ("LOOP z[n + 100] = 1;", "behind")],
)
def test_it_refuses_writes_beside_the_output(judge: Judge, body: str, where: str) -> None:
    result = judge(kernel(body))
    assert (result["verdict"], result["code"]) == ("wrong_result", "check:out-of-bounds")
    assert where in result["message"]


def test_it_refuses_writes_to_an_input(judge: Judge) -> None:
    result = judge(kernel("LOOP const_cast<float*>(x)[3] = 0;"))
    assert (result["verdict"], result["details"]["signal"]) == ("crashed", "SIGSEGV")
    assert "x: inputs are read-only" in result["message"]


@pytest.mark.parametrize(
    ("before", "body", "code"),
    [
        ("#include <unistd.h>", "LOOP fork();", "inspect:forbidden-symbol"),
        ("#include <stdlib.h>", "LOOP _Exit(0);", "inspect:forbidden-symbol"),
        ("#include <fcntl.h>", 'LOOP open("/proc/self/mem", O_RDWR);', "inspect:forbidden-symbol"),
        ("#include <time.h>", "LOOP timespec t; clock_gettime(CLOCK_MONOTONIC, &t);", "inspect:forbidden-symbol"),
        ("#include <vector>", "std::vector<float> kept(n); kept[0] = a; LOOP z[0] += kept[0] - a;",
         "inspect:forbidden-symbol"),
        ("static double g; __attribute__((constructor)) void start() { g = 1; }", "LOOP z[0] += float(g - 1);",
         "inspect:constructor"),
        ("#include <sys/socket.h>\n__attribute__((constructor)) void start() { socket(AF_INET, SOCK_STREAM, 0); }",
         "LOOP", "inspect:forbidden-symbol"),
        ("__attribute__((destructor)) void stop() { asm volatile(\"nop\"); }", "LOOP", "inspect:constructor"),
        ("static volatile char kept[70000];", "kept[n] = 1; LOOP", "inspect:static-data"),
        ("thread_local volatile int kept;", "kept = 1; LOOP", "inspect:forbidden-symbol"),
        ("static void real() {} extern \"C\" { static void* pick() { return (void*)real; } }\n"
         "void chosen() __attribute__((ifunc(\"pick\")));", "chosen(); LOOP", "inspect:ifunc"),
    ],
)  # fmt: skip
def test_it_refuses_a_library_that_does_more_than_compute(judge: Judge, before: str, body: str, code: str) -> None:
    result = judge(kernel(body, before))
    assert (result["verdict"], result["stage"]) == ("inspect_refused", "inspect")
    assert code in [finding["code"] for finding in result["details"]["findings"]]


@x86_only
@pytest.mark.parametrize("instruction", ["syscall", "rdtsc", "rdtscp", "rdpmc", "int $0x80", "sysenter"])
def test_it_refuses_forbidden_instructions(judge: Judge, instruction: str) -> None:
    result = judge(
        kernel(f'LOOP if (n < 0) asm volatile("{instruction}" ::: "rax", "rdx", "rcx", "r11", "memory");')
    )
    assert (result["verdict"], result["code"]) == ("inspect_refused", "inspect:forbidden-instruction")
    assert instruction in result["message"]


@x86_only
@pytest.mark.parametrize("number", [2, 41, 57, 10, 62, 157, 317])
def test_it_kills_a_system_call_that_no_disassembly_shows(judge: Judge, number: int) -> None:
    result = judge(hidden_call("0x0f, 0x05", f"mov ${number}, %%eax; xor %%edi, %%edi;"))
    assert (result["verdict"], result["code"]) == ("cheat_suspected", "check:system-call")


@x86_only
def test_it_takes_an_exit_for_a_crash(judge: Judge) -> None:
    result = judge(hidden_call("0x0f, 0x05", "mov $231, %%eax; xor %%edi, %%edi;"))
    assert (result["verdict"], result["code"]) == ("crashed", "check:early-exit")


@x86_only
def test_it_keeps_the_clock_from_an_instruction_that_no_disassembly_shows(judge: Judge) -> None:
    result = judge(hidden_call("0x0f, 0x31"))
    assert (result["verdict"], result["details"]["signal"]) == ("crashed", "SIGSEGV")
    assert "forbidden instruction" in result["message"]


@pytest.mark.parametrize("line", ['#include "/etc/passwd"', 'asm(".incbin \\"/etc/hostname\\"");'])
def test_it_shows_the_compiler_nothing_of_the_host(judge: Judge, line: str) -> None:
    result = judge(kernel("LOOP", line))
    assert result["verdict"] == "build_failed"
    assert "root:" not in result["details"]["compile_log"]


def test_it_shows_the_compiler_nothing_of_our_environment(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZOO_PLANTED", "planted-4711")
    result = judge(kernel("LOOP undeclared", "#include </proc/self/environ>"))
    assert "planted-4711" not in str(result)


def test_it_bounds_a_compile_bomb(judge: Judge) -> None:
    assert judge(kernel("LOOP", "char a[1u << 30] = {1};"))["verdict"] in (
        "build_failed",
        "out_of_memory",
        "timed_out",
    )


def test_it_forgets_what_a_kernel_has_counted(judge: Judge) -> None:
    lazy = kernel("static int calls; if (++calls > 20) return; LOOP")
    result = judge(lazy, mode="ranked")
    assert (result["verdict"], result["code"]) == ("wrong_result", "time:wrong-result")
    patient = kernel("static int calls; if (++calls > 200) return; LOOP")
    assert judge(patient, mode="ranked")["verdict"] == "ok"
