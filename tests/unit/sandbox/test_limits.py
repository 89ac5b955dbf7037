"""Every bound of `Limits` held against code that tries to break it."""

import hashlib
import os
import sys
from pathlib import Path

import pytest

from native_bench.sandbox import Bind

pytestmark = pytest.mark.sandbox

MIB = 1 << 20

FORK = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    pass
print(made)
"""

FILL = """
import os, sys
for folder in sys.argv[1:]:
    written, names = 0, 0
    try:
        for names in range(40):
            with open(f"{folder}/fill{names}", "wb", buffering=0) as file:
                for _ in range(4):
                    written += file.write(bytes(1 << 20))
    except OSError:
        pass
    print(folder, written >> 20)
"""

SPREAD = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        held = bytearray(80 << 20)
        time.sleep(30)
        os._exit(0)
for _ in range(6):
    os.wait()
print("all held")
"""


def test_it_stops_a_fork_bomb_and_leaves_none_of_it(inside, limits):
    end = inside(FORK, limits=limits(processes=12))
    assert end.is_ok, end
    assert 8 <= int(end.stdout) <= 12


def test_it_runs_a_program_that_may_not_fork(inside, limits):
    end = inside(FORK, limits=limits(processes=1))
    assert (end.is_ok, int(end.stdout) <= 1) == (True, True), end


def test_it_ends_a_fork_bomb_that_never_stops(inside, limits):
    code = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    assert inside(code, limits=limits(wall_seconds=1.5)).status == "timed_out"


def test_it_bounds_the_memory_of_one_process(inside):
    end = inside("held = []\nwhile True: held.append(bytearray(16 << 20))")
    assert not end.is_ok
    assert end.status == "out_of_memory" or b"MemoryError" in end.stderr


def test_it_bounds_the_memory_of_a_whole_tree(real, limits):
    if real.isolation != "full":
        pytest.skip("memory is bounded for each process only")
    end = real.run(["/usr/bin/python3", "-c", SPREAD], limits())
    assert end.status == "out_of_memory"
    assert b"all held" not in end.stdout


def test_it_counts_files_in_memory_as_memory(real, limits):
    if real.isolation != "full":
        pytest.skip("memory is bounded for each process only")
    end = real.run(["/usr/bin/python3", "-c", FILL, "/tmp"], limits(memory_bytes=32 * MIB, tmp_bytes=512 * MIB))
    assert end.status == "out_of_memory"


def test_it_bounds_every_place_that_can_be_written(inside, folder):
    places = ["/tmp", "/dev/shm", "/out", "/", "/dev", "/usr", "/proc", "/etc"]
    end = inside(FILL, *places, binds=[Bind(folder, "/out", writable=True)])
    told = {place: int(size) for place, size in (line.split() for line in end.stdout.decode().splitlines())}
    assert told["/tmp"] <= 16
    assert told["/dev/shm"] <= 4
    assert told["/out"] <= 16
    assert [told[place] for place in places[3:]] == [0] * 5


def test_it_bounds_one_file(inside, limits):
    code = "import os\nos.truncate(os.open('/tmp/x', os.O_CREAT | os.O_WRONLY), 9 << 20)"
    end = inside(code, limits=limits(file_bytes=8 * MIB))
    assert end.signal == "SIGXFSZ" or b"File too large" in end.stderr


def test_it_keeps_the_head_of_a_flood(inside, limits):
    end = inside("import sys\nwhile True: sys.stdout.write('ab' * 4096)", limits=limits(output_bytes=10_000))
    assert end.status == "output_flood"
    assert end.stdout == b"ab" * 5000


def test_it_counts_both_streams_of_a_flood(inside, limits):
    code = "import os\nwhile True: os.write(1, b'x' * 512); os.write(2, b'y' * 512)"
    end = inside(code, limits=limits(output_bytes=10_000))
    assert end.status == "output_flood"
    assert len(end.stdout) + len(end.stderr) == 10_000


def test_it_ends_at_the_wall_time(inside, limits):
    end = inside("import time; print('early', flush=True); time.sleep(60)", limits=limits(wall_seconds=1.0))
    assert (end.status, end.code, end.stdout) == ("timed_out", None, b"early\n")


def test_it_ends_at_the_processor_time(inside, limits):
    end = inside("while True: pass", limits=limits(cpu_seconds=1))
    assert (end.status, end.is_ok) == ("timed_out", False)


def test_it_ends_code_that_ignores_the_signal_of_processor_time(inside, limits):
    code = "import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert inside(code, limits=limits(cpu_seconds=1)).status in ("timed_out", "signalled")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("raise SystemExit(3)", ("exited", 3, None)),
        ("import os; os.abort()", ("signalled", None, "SIGABRT")),
        ("import ctypes; ctypes.string_at(0)", ("signalled", None, "SIGSEGV")),
        ("import os; os.kill(os.getpid(), 9)", ("signalled", None, "SIGKILL")),
    ],
)
def test_it_tells_how_a_program_ended(inside, code, expected):
    end = inside(code)
    assert (end.status, end.code, end.signal) == expected


def test_it_pins_to_the_processors_it_was_given(real, limits):
    allowed = sorted(os.sched_getaffinity(0))
    code = f"""
import os
print(sorted(os.sched_getaffinity(0)))
try:
    os.sched_setaffinity(0, {set(allowed)})
except OSError:
    pass
print(sorted(os.sched_getaffinity(0)))
"""
    end = real.run(["/usr/bin/python3", "-c", code], limits(cpus=(allowed[-1],)))
    first, second = end.stdout.decode().splitlines()
    assert first == f"[{allowed[-1]}]"
    if real.isolation == "full":
        assert second == first


def test_it_applies_the_nice_value(inside, limits):
    assert inside("import os; print(os.nice(0))", limits=limits(nice=7)).stdout == b"7\n"


def test_it_feeds_stdin_and_closes_it(inside):
    text = os.urandom(300_000).hex().encode()
    code = "import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    end = inside(code, stdin=text)
    assert end.stdout.decode().strip() == hashlib.sha256(text).hexdigest()


def test_it_survives_a_program_that_does_not_read_its_stdin(inside):
    assert inside("print(1)", stdin=b"x" * 1_000_000).stdout == b"1\n"


def test_it_takes_arguments_as_they_are(inside):
    arguments = ["--", "--args", "9", "--bind", "/", "/", "a b", "", "$HOME", "'"]
    end = inside("import sys; print(sys.argv[1:])", *arguments)
    assert end.stdout.decode().strip() == repr(arguments)


def test_it_runs_a_program_whose_name_looks_like_an_option(real, limits):
    end = real.run(["--ro-bind", "/", "/host"], limits())
    assert not end.is_ok
    assert end.status in ("setup_failed", "exited")


def test_it_reports_a_program_that_is_not_there(real, limits):
    end = real.run(["/usr/bin/no-such-program"], limits())
    assert not end.is_ok
    assert b"no-such-program" in end.stderr


def test_it_reports_a_source_that_is_not_there(real, limits, folder):
    end = real.run(["/usr/bin/true"], limits(), [Bind(folder / "absent", "/data")])
    assert end.status == "setup_failed"
    assert b"absent" in end.stderr


def test_it_compiles_and_loads_a_library(sandbox, limits, folder):
    (folder / "kernel.cpp").write_text('extern "C" int answer() { return 42; }\n')
    build = sandbox.run(
        ["/usr/bin/g++", "-shared", "-fPIC", "-O1", "/src/kernel.cpp", "-o", "/out/kernel.so"],
        limits(memory_bytes=1024 * MIB, tmp_bytes=64 * MIB),
        [Bind(folder, "/src"), Bind(folder, "/out", writable=True)],
    )
    assert build.is_ok, build.stderr
    code = "import ctypes; print(ctypes.CDLL('/kernel/kernel.so').answer())"
    end = sandbox.run(["/usr/bin/python3", "-c", code], limits(), [Bind(folder, "/kernel")])
    assert end.stdout == b"42\n", end.stderr


def test_it_binds_from_folders_only_we_may_enter(real, limits, bare):
    (bare / "data").write_text("shown")
    if os.geteuid() == 0:
        assert bare.stat().st_mode & 0o077 == 0
    (bare / "data").chmod(0o644)
    end = real.run(["/bin/cat", "/data"], limits(), [Bind(bare / "data", "/data")])
    assert end.stdout == b"shown", end.stderr


def test_it_shows_a_bound_device(real, limits):
    end = real.run(
        ["/bin/sh", "-c", "echo x > /dev/void && echo ok"],
        limits(),
        [Bind(Path("/dev/null"), "/dev/void", device=True)],
    )
    assert end.stdout == b"ok\n", end.stderr


def test_it_passes_shared_memory(sandbox, limits):
    descriptor = os.memfd_create("shared")
    os.truncate(descriptor, 4096)
    code = f"import mmap; mmap.mmap({descriptor}, 4096)[:5] = b'hello'"
    try:
        end = sandbox.run(["/usr/bin/python3", "-c", code], limits(), pass_fds=[descriptor])
        assert end.is_ok, end.stderr
        assert os.pread(descriptor, 5, 0) == b"hello"
    finally:
        os.close(descriptor)


def test_it_can_run_our_own_interpreter(real, limits):
    prefix = Path(sys.base_prefix).resolve()
    binds = [] if prefix == Path("/usr") else [Bind(prefix, "/python")]
    program = f"{'/python' if binds else '/usr'}/bin/python3"
    end = real.run([program, "-I", "-c", "print(6 * 7)"], limits(), binds)
    assert end.stdout == b"42\n", end.stderr
