"""Kernels that turn on the worker they run in: its flags, its stack, its memory. They know its layout by heart."""

import platform
import subprocess
from pathlib import Path
from secrets import token_bytes

import pytest

from native_bench.cpu.trusted import SOURCES
from submissions.kernel_package.problem import parse_problem
from tests.unit.native_bench.conftest import PROBLEM_ID, PROBLEM_YAML, Judge, kernel

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="written for the x86_64 calling convention"),
]

# The mappings of door, plan, inputs and outputs stand in the worker's data, which follow the code that calls us.
WORKER = """
#include <cstddef>
struct Door { alignas(128) volatile std::uint64_t sealed; alignas(128) volatile std::uint64_t prepare;
              alignas(128) volatile std::uint64_t ready; alignas(128) volatile std::uint64_t go;
              alignas(128) volatile std::uint64_t done; };
struct Tensor { std::uint64_t region, offset, bytes; };
struct Slot { Tensor tensors[16]; std::uint64_t scalars[16]; };
struct Plan { std::uint64_t tensors, scalars, is_cold, count, order[72]; Slot slots[72]; };
struct Regions { Door* door; std::uint64_t door_bytes; const Plan* plan; std::uint64_t plan_bytes;
                 char* inputs; std::uint64_t inputs_bytes; char* outputs; std::uint64_t outputs_bytes; };
[[gnu::always_inline]] inline const Regions* find_regions(void* caller) {
    auto at = reinterpret_cast<std::uintptr_t>(caller) & ~std::uintptr_t{4095};
    for (std::size_t page = 0; page < 24; ++page, at += 4096) {
        for (std::size_t offset = 0; offset < 4096; offset += 8) {
            const auto* found = reinterpret_cast<const Regions*>(at + offset);
            const auto door = *reinterpret_cast<const std::uint64_t*>(at + offset);
            if (door % 4096 == 0 && door > 0x7000'0000'0000 && door < 0x7fff'ffff'0000 &&
                found->door_bytes == 4096 && found->plan_bytes == sizeof(Plan)) return found;
        }
    }
    return nullptr;
}
"""
WIPE = """
#include <sys/resource.h>
#include "library.hpp"
int main() {
    const rlimit limit{zoo::kStackBytes, zoo::kStackBytes};
    setrlimit(RLIMIT_STACK, &limit);
    zoo::wipe_stack_from(zoo::stack_end() - zoo::kStackBytes);
    const auto* word = reinterpret_cast<const volatile std::uint64_t*>(zoo::stack_end() - zoo::kStackBytes);
    const auto* own = reinterpret_cast<const volatile std::uint64_t*>(__builtin_frame_address(0)) - 64;
    for (; word < own; ++word) {
        if (*word != 0xa5a5a5a5a5a5a5a5U) return 1;
    }
    return 0;
}
"""
FIND = "const Regions* worker = find_regions(__builtin_return_address(0)); if (worker == nullptr) return;"


def ranked(judge: Judge, body: str, before: str = WORKER) -> tuple[str, str]:
    result = judge(kernel(body, before), mode="ranked")
    return result["verdict"], result["code"]


def test_its_layout_is_known(judge: Judge) -> None:
    """Without this, every test below could pass because its kernel finds nothing."""
    assert ranked(judge, f"{FIND} LOOP") == ("ok", "run:ok")


def test_it_finds_a_done_that_was_said_before_the_work(judge: Judge) -> None:
    body = f"""{FIND}
    if (worker->plan->count > 1) {{
        worker->door->done = worker->door->go;
        for (volatile int wait = 0; wait < 200000; ++wait) {{}}
    }}
    LOOP"""
    assert ranked(judge, body) == ("cheat_suspected", "time:wrong-at-done")


def test_it_finds_what_was_left_for_after_done_wherever_it_lies(judge: Judge) -> None:
    """One call does the work of the batch but for a fifth of one large output, says done, and goes on."""
    large = parse_problem(PROBLEM_YAML.replace(b"dims: {n: 640}", b"dims: {n: 16384}"), PROBLEM_ID)
    body = f"""{FIND}
    const std::uint64_t count = worker->plan->count;
    if (count == 1) {{ LOOP return; }}
    auto work = [&](const Slot& slot, std::int64_t begin, std::int64_t end) {{
        const auto* in0 = reinterpret_cast<const float*>(worker->inputs + slot.tensors[0].offset);
        const auto* in1 = reinterpret_cast<const float*>(worker->inputs + slot.tensors[1].offset);
        auto* out = reinterpret_cast<float*>(worker->outputs + slot.tensors[2].offset);
        for (std::int64_t i = begin; i < end; ++i) out[i] = a * in0[i] + in1[i];
    }};
    for (std::uint64_t k = 1; k < count; ++k) work(worker->plan->slots[worker->plan->order[k]], 0, n);
    const Slot& first = worker->plan->slots[worker->plan->order[0]];
    work(first, 0, n - n / 5);
    asm volatile("" ::: "memory");
    worker->door->done = worker->door->go;
    for (volatile int wait = 0; wait < 30000; ++wait) {{}}
    work(first, n - n / 5, n);
    asm volatile("" ::: "memory");
    for (;;) {{}}"""
    result = judge(kernel(body, WORKER), mode="ranked", problem=large)
    assert (result["verdict"], result["code"]) == ("cheat_suspected", "time:wrong-at-done")


def test_it_takes_no_done_over_from_an_earlier_batch(judge: Judge) -> None:
    body = f"{FIND} if (worker->plan->count == 1) worker->door->done = 77; LOOP"
    assert ranked(judge, body)[0] in ("ok", "timed_out")


def test_it_lets_no_call_work_ahead_for_the_next_batch(judge: Judge) -> None:
    """A single call does the work of every slot in the plan; those of the next batch would find it done."""
    body = f"""{FIND}
    if (worker->plan->count == 1) {{
        for (const Slot& slot : worker->plan->slots) {{
            if (slot.tensors[0].bytes == 0) break;
            const auto* in0 = reinterpret_cast<const float*>(worker->inputs + slot.tensors[0].offset);
            const auto* in1 = reinterpret_cast<const float*>(worker->inputs + slot.tensors[1].offset);
            auto* out = reinterpret_cast<float*>(worker->outputs + slot.tensors[2].offset);
            for (std::int64_t i = 0; i < n; ++i) out[i] = a * in0[i] + in1[i];
        }}
    }} else if (z[0] != z[0]) {{ return; }}
    LOOP"""
    assert ranked(judge, body) == ("wrong_result", "time:wrong-result")


def test_it_calls_no_cheat_what_is_only_wrong(judge: Judge) -> None:
    """One line of one slot is never written: wherever that is seen first, it is a wrong result."""
    large = parse_problem(PROBLEM_YAML.replace(b"dims: {n: 640}", b"dims: {n: 16384}"), PROBLEM_ID)
    body = f"""{FIND}
    const Slot& first = worker->plan->slots[worker->plan->order[0]];
    const bool is_first = worker->outputs + first.tensors[2].offset == reinterpret_cast<char*>(z);
    if (worker->plan->count > 1 && is_first) n -= 16;
    LOOP"""
    for _ in range(3):
        result = judge(kernel(body, WORKER), mode="ranked", problem=large, secret=token_bytes(32))
        assert (result["verdict"], result["code"]) == ("wrong_result", "time:wrong-result")


# Each leaves a mark somewhere and spoils its output where it finds one: what the worker forgets is harmless.
HIDING_PLACES = {
    "its own data": "static volatile std::uint64_t own; volatile std::uint64_t* at = &own;",
    "the deep stack": "volatile std::uint64_t* at = reinterpret_cast<volatile std::uint64_t*>("
                      "reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - 1000 * 1024);",
    "the shallow stack": "volatile std::uint64_t* at = reinterpret_cast<volatile std::uint64_t*>("
                         "reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - 300);",
    "the end of the door": "volatile std::uint64_t* at = reinterpret_cast<std::uint64_t*>(worker->door) + 500;",
    "the end of the outputs": "volatile std::uint64_t* at = reinterpret_cast<std::uint64_t*>("
                              "worker->outputs + worker->outputs_bytes - 8);",
    "between the outputs": "volatile std::uint64_t* at = reinterpret_cast<std::uint64_t*>("
                           "worker->outputs + (worker->plan->slots[0].tensors[2].offset & -4096) - 1024);",
    "the worker's data": "volatile std::uint64_t* at = const_cast<std::uint64_t*>(&worker->outputs_bytes) + 1;",
}  # fmt: skip


@pytest.mark.parametrize("place", HIDING_PLACES)
def test_it_forgets_between_batches(judge: Judge, place: str) -> None:
    # Within a batch the mark is its own: only in the first call, whose output alone is fresh, has it survived.
    body = f"""{FIND} {HIDING_PLACES[place]}
    const Slot& first = worker->plan->slots[worker->plan->order[0]];
    const bool is_first = worker->outputs + first.tensors[2].offset == reinterpret_cast<char*>(z);
    const bool is_found = is_first && *at == 0x5eed5eed5eed5eed;
    LOOP if (is_found) z[0] += 1;
    *at = 0x5eed5eed5eed5eed;"""
    assert ranked(judge, body) == ("ok", "run:ok")


def test_it_forgets_vector_registers(judge: Judge) -> None:
    body = f"""{FIND}
    std::uint64_t kept = 0;
    asm volatile("vmovq %%xmm9, %0" : "=r"(kept));
    const Slot& first = worker->plan->slots[worker->plan->order[0]];
    const bool is_first = worker->outputs + first.tensors[2].offset == reinterpret_cast<char*>(z);
    LOOP if (is_first && kept == 0x5eed5eed5eed5eed) z[0] += 1;
    asm volatile("vmovq %0, %%xmm9" : : "r"(0x5eed5eed5eed5eedULL) : "xmm9");"""
    assert ranked(judge, body) == ("ok", "run:ok")


@pytest.mark.parametrize("when", ["count == 1", "count > 1"])
def test_it_takes_the_worker_back_from_a_kernel_that_never_returns(judge: Judge, when: str) -> None:
    """Says done for itself, then waits in the worker's stead for the next batch, to do nothing in it."""
    body = f"""{FIND}
    if (worker->plan->{when} && worker->door->go != 0) {{
        const std::uint64_t count = worker->plan->count;
        for (std::uint64_t k = 0; k < count; ++k) {{
            const Slot& slot = worker->plan->slots[worker->plan->order[k]];
            const auto* in0 = reinterpret_cast<const float*>(worker->inputs + slot.tensors[0].offset);
            const auto* in1 = reinterpret_cast<const float*>(worker->inputs + slot.tensors[1].offset);
            auto* out = reinterpret_cast<float*>(worker->outputs + slot.tensors[2].offset);
            for (std::int64_t i = 0; i < n; ++i) out[i] = a * in0[i] + in1[i];
        }}
        Door* door = worker->door;
        std::uint64_t seen = door->prepare;
        asm volatile("" ::: "memory");
        door->done = door->go;
        for (;;) {{
            while (door->prepare == seen || door->prepare == 0) {{}}
            seen = door->prepare;
            door->ready = seen;
            while (door->go == 0) {{}}
            door->done = door->go;
        }}
    }}
    LOOP"""
    assert ranked(judge, body) == ("ok", "run:ok")


def test_it_takes_the_return_address_back(judge: Judge) -> None:
    """A single call leaves by another door: into code that would answer the next batch by itself."""
    before = (
        WORKER
        + """
    static const Regions* kept;
    static void stead() {
        Door* door = kept->door;
        door->done = door->go;
        for (;;) { if (door->go != 0) door->done = door->go; }
    }
    """
    )
    body = f"""{FIND} LOOP
    if (worker->plan->count == 1) {{
        kept = worker;
        auto** top = static_cast<void**>(__builtin_frame_address(0));
        for (int i = -8; i < 64; ++i) {{
            if (top[i] == __builtin_return_address(0)) top[i] = reinterpret_cast<void*>(stead);
        }}
    }}"""
    assert ranked(judge, body, before) == ("ok", "run:ok")


def test_it_forgets_the_processors_flags(judge: Judge) -> None:
    """The ID flag is the one that no tracer can put back."""
    body = f"""{FIND}
    const std::uint64_t flags = __builtin_ia32_readeflags_u64();
    const Slot& first = worker->plan->slots[worker->plan->order[0]];
    const bool is_first = worker->outputs + first.tensors[2].offset == reinterpret_cast<char*>(z);
    LOOP if (is_first && (flags >> 21 & 1) != 0) z[0] += 1;
    __builtin_ia32_writeeflags_u64(flags | (1u << 21));"""
    assert ranked(judge, body) == ("ok", "run:ok")


def test_it_wipes_the_stack_to_its_last_byte(tmp_path: Path) -> None:
    (tmp_path / "wipe.cpp").write_text(WIPE)
    sources = [tmp_path / "wipe.cpp", SOURCES / "library.cpp"]
    command = ["g++", "-std=c++20", "-O2", f"-I{SOURCES}", *sources, "-o", tmp_path / "wipe"]
    subprocess.run(command, check=True)
    assert subprocess.run([tmp_path / "wipe"], check=False).returncode == 0


def test_it_reads_no_death_off_the_flags(judge: Judge) -> None:
    """What a kernel writes about its end is nothing; the kernel of the system tells how it died."""
    body = f"""{FIND}
    for (std::size_t i = 60; i < 512; ++i) reinterpret_cast<std::uint64_t*>(worker->door)[i] = 33;
    __builtin_trap();"""
    result = judge(kernel(body, WORKER))
    assert (result["verdict"], result["code"], result["details"]["signal"]) == (
        "crashed",
        "check:crashed",
        "SIGILL",
    )


@pytest.mark.parametrize("status", [90, 93, 94, 139])
def test_it_believes_no_exit_status(judge: Judge, status: int) -> None:
    call = f"mov ${status}, %%edi; mov $231, %%eax; jmp 1f + 1\\n1: .byte 0xb8, 0x0f, 0x05, 0x90, 0x90\\n"
    result = judge(kernel(f'asm volatile("{call}" ::: "rax", "rdi", "rcx", "r11", "memory"); LOOP'))
    assert (result["verdict"], result["code"]) == ("crashed", "check:early-exit")
