from pathlib import Path

import pytest

from native_bench.sandbox import Bind, open_sandbox


@pytest.fixture
def stub():
    return open_sandbox("stub")


def test_it_says_that_it_isolates_nothing(stub):
    assert stub.isolation == "stub"
    assert stub.reasons == ("nothing is isolated",)


def test_it_names_targets_by_their_sources(stub, limits, tmp_path):
    end = stub.run(
        ["/bin/sh", "-c", "cat > /out/x; echo $WHERE"],
        limits(),
        [Bind(tmp_path, "/out", writable=True)],
        stdin=b"text",
        env={"WHERE": "/out"},
    )
    assert (end.is_ok, end.stdout.decode().strip()) == (True, str(tmp_path))
    assert (tmp_path / "x").read_bytes() == b"text"


def test_it_tells_how_a_program_ended(stub, limits):
    assert stub.run(["/bin/sh", "-c", "exit 3"], limits()).code == 3
    assert stub.run(["/bin/sh", "-c", "kill -SEGV $$"], limits()).signal == "SIGSEGV"
    assert stub.run(["/bin/sleep", "9"], limits(wall_seconds=0.1)).status == "timed_out"


def test_it_runs_cells(stub, limits):
    with stub.start(["/bin/sleep", "30"], limits()) as cell:
        assert cell.poll() is None
        assert cell.payload_pids() == (cell.pid,)
        with pytest.raises(TimeoutError):
            cell.wait(0.01)
        assert Path(f"/proc/{cell.pid}").exists()
    assert cell.poll().signal == "SIGKILL"
    assert cell.payload_pids() == ()
    assert stub.start(["/bin/true"], limits()).wait().is_ok
