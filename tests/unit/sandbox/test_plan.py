"""The command lines, read without running them."""

import os
import resource
from pathlib import Path

import pytest

from native_bench.sandbox import Bind
from native_bench.sandbox.cgroup import Group, Hierarchy
from native_bench.sandbox.equipment import Equipment
from native_bench.sandbox.plan import Descriptors, Identity, command, make_plan


def equipment(is_root=True, nests=True, hierarchy=None, version=(0, 8)):
    return Equipment(Path("/usr/bin/bwrap"), version, Path("/usr/bin/prlimit"), b"", is_root, nests, hierarchy)


FULL = equipment(hierarchy=Hierarchy(1, {}))
GROUP = Group("g", 1, {"memory": Path("/cg/memory/g"), "pids": Path("/cg/pids/g")})


@pytest.fixture
def plan(limits):
    def make(tools=FULL, binds=(), env=None, **changes):
        return make_plan(
            tools, Identity(20005, GROUP if tools.hierarchy else None), limits(**changes), binds, env or {}
        )

    return make


def test_it_ties_before_and_after_it_drops_root(plan):
    steps = [step.partition("=")[0] for step in plan().steps]
    assert steps.index("tie") < steps.index("nest") < steps.index("join") < steps.index("stage")
    assert steps[-2:] == ["become", "tie"]
    assert f"tie={os.getpid()}" in plan().steps
    assert "become=20005" in plan().steps


def test_it_neither_drops_nor_stages_as_an_ordinary_user(plan):
    steps = plan(equipment(is_root=False)).steps
    assert "nest=user" in steps
    assert not [step for step in steps if step.startswith(("become", "stage", "show", "join"))]


def test_it_does_without_a_nest_where_there_can_be_none(plan):
    steps = plan(equipment(is_root=False, nests=False)).steps
    assert not [step for step in steps if step.startswith("nest")]
    assert steps[-1].startswith("tie=")


def test_it_stages_sources_in_order_and_names_them_by_number(plan):
    made = plan(
        binds=[Bind(Path("/secret/place"), "/data"), Bind(Path("/dev/nvidia0"), "/dev/nvidia0", device=True)]
    )
    sources = [step for step in made.steps if step.startswith(("show=", "device="))]
    assert sources[0] == "show=/usr"
    assert sources[-2:] == ["show=/secret/place", "device=/dev/nvidia0"]
    number = len(sources) - 2
    at = made.options.index("/data")
    assert made.options[at - 2 : at] == ("--ro-bind", f"/run/{number}")
    assert b"/secret" not in made.packed_options()


def test_it_closes_what_can_be_written_after_everything_else_is_mounted(plan):
    binds = [Bind(Path("/dev/nvidia0"), "/dev/nvidia0", device=True), Bind(Path("/x"), "/out", writable=True)]
    options = list(plan(binds=binds).options)
    last = options.index("--remount-ro")
    assert options[last : last + 4] == ["--remount-ro", "/dev", "--remount-ro", "/"]
    assert options.index("--dev") < options.index("--dev-bind") < last
    assert max(at for at, option in enumerate(options) if option == "--tmpfs") < last


def test_it_bounds_every_folder_in_memory(plan):
    options = list(plan(binds=[Bind(Path("/x"), "/out", writable=True)], out_bytes=123).options)
    for at in [at for at, option in enumerate(options) if option == "--tmpfs"]:
        assert options[at - 4] == "--size"
    assert options[options.index("/out") - 4] == "123"


def test_it_binds_nothing_of_the_host_for_writing(plan):
    assert "--bind" not in plan(binds=[Bind(Path("/x"), "/out", writable=True)]).options


def test_it_starts_from_an_empty_environment(plan):
    options = list(plan(env={"SEED": "1"}).options)
    assert options.index("--clearenv") < options.index("--setenv")
    assert options[options.index("SEED") - 1 : options.index("SEED") + 2] == ["--setenv", "SEED", "1"]


def test_it_leaves_memory_to_the_group_where_there_is_one(plan):
    def bounded(made):
        return {int(step.removeprefix("limit=").split(":")[0]) for step in made.steps if step.startswith("limit")}

    assert resource.RLIMIT_AS not in bounded(plan())
    assert {resource.RLIMIT_AS, resource.RLIMIT_DATA} <= bounded(plan(equipment()))
    assert {resource.RLIMIT_CORE, resource.RLIMIT_FSIZE, resource.RLIMIT_CPU} <= bounded(plan())


def test_it_forbids_nested_user_namespaces_where_bubblewrap_can(plan):
    assert "--disable-userns" in plan().options
    assert "--disable-userns" not in plan(equipment(version=(0, 6, 1))).options


def test_it_keeps_options_off_the_command_line(plan, limits):
    made = plan(binds=[Bind(Path("/secret/place"), "/data")])
    line = command(FULL, made, limits(), Descriptors(3, 4, 5, 6), ["/bin/prog", "--args"])
    inner = line[line.index("--") + 1 :]
    assert inner == [
        "/usr/bin/bwrap", "--args", "3", "--seccomp", "4", "--json-status-fd", "5", "--block-fd", "6", "--",
        "/bin/prog", "--args",
    ]  # fmt: skip


def test_it_counts_processes_inside_where_no_group_does(plan, limits):
    line = command(equipment(), plan(equipment()), limits(processes=9), Descriptors(3, 4, 5, None), ["/bin/prog"])
    assert line[-4:] == ["/usr/bin/prlimit", "--nproc=11:11", "--", "/bin/prog"]
    assert "--block-fd" not in line
