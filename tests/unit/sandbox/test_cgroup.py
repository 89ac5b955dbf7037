"""Both kinds of control groups, on trees of plain files that act like them."""

import os
from pathlib import Path

import pytest

from native_bench.sandbox.cgroup import (
    PREFIX,
    Group,
    Hierarchy,
    create_group,
    find_hierarchy,
    owner_tag,
    sweep,
)

MIB = 1 << 20


@pytest.fixture
def membership(tmp_path):
    path = tmp_path / "membership"
    path.write_text("4:memory:/mine\n8:pids:/\n3:cpuset:/absent\n2:cpu,cpuacct:/\n0::/\n")
    return path


@pytest.fixture
def version_1(tmp_path):
    root = tmp_path / "v1"
    for folder in ("memory/mine", "pids", "cpuset", "unified"):
        (root / folder).mkdir(parents=True)
    (root / "cpuset/cpuset.cpus").write_text("0-3\n")
    (root / "cpuset/cpuset.mems").write_text("0\n")
    (root / "unified/cgroup.procs").write_text("")
    return root


@pytest.fixture
def version_2(tmp_path):
    root = tmp_path / "v2"
    root.mkdir()
    (root / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
    (root / "cgroup.subtree_control").write_text("memory pids cpuset\n")
    return root


def test_it_makes_groups_under_its_own_where_there_is_one(version_1, membership):
    found = find_hierarchy(version_1, membership)
    assert found.version == 1
    assert found.bounds_trees
    assert found.folders == {
        "unified": version_1 / "unified",
        "memory": version_1 / "memory/mine",
        "pids": version_1 / "pids",
        "cpuset": version_1 / "cpuset",
    }
    assert found.reasons == ()


def test_it_tells_which_controller_is_missing(version_1, membership):
    (version_1 / "pids").rmdir()
    found = find_hierarchy(version_1, membership)
    assert not found.bounds_trees
    assert found.reasons == (f"cgroup: no writable pids controller under {version_1}",)


def test_it_finds_nothing_where_nothing_is(tmp_path):
    found = find_hierarchy(tmp_path / "no", tmp_path / "no")
    assert not found.bounds_trees
    assert len(found.reasons) == 3


def test_it_sets_the_limits_of_version_1(version_1, membership, limits):
    hierarchy = find_hierarchy(version_1, membership)
    group = create_group(hierarchy, limits(memory_bytes=64 * MIB, processes=5, cpus=(1, 3)))
    assert (group.folders["memory"] / "memory.limit_in_bytes").read_text() == str(64 * MIB)
    assert (group.folders["memory"] / "memory.memsw.limit_in_bytes").read_text() == str(64 * MIB)
    assert (group.folders["pids"] / "pids.max").read_text() == "7"
    assert (group.folders["cpuset"] / "cpuset.cpus").read_text() == "1,3"
    assert (group.folders["cpuset"] / "cpuset.mems").read_text() == "0"
    assert len(group.joins) == 4


def test_it_admits_all_processors_when_none_is_named(version_1, membership, limits):
    group = create_group(find_hierarchy(version_1, membership), limits())
    assert (group.folders["cpuset"] / "cpuset.cpus").read_text() == "0-3"


def test_it_sets_the_limits_of_version_2(version_2, membership, limits):
    hierarchy = find_hierarchy(version_2, membership)
    assert (hierarchy.version, hierarchy.bounds_trees) == (2, True)
    group = create_group(hierarchy, limits(memory_bytes=64 * MIB, processes=5, cpus=(2,)))
    (folder,) = {*group.folders.values()}
    told = {path.name: path.read_text() for path in folder.iterdir()}
    assert told == {
        "memory.max": str(64 * MIB), "memory.oom.group": "1", "memory.swap.max": "0", "pids.max": "7",
        "cpuset.cpus": "2",
    }  # fmt: skip
    assert group.joins == [folder / "cgroup.procs"]
    assert group.watch_memory() is None


def test_it_asks_version_2_for_the_controllers_it_needs(version_2, membership):
    (version_2 / "cgroup.subtree_control").write_text("memory\n")
    found = find_hierarchy(version_2, membership)
    # A plain file keeps the last word only; a kernel would add each.
    assert (version_2 / "cgroup.subtree_control").read_text() == "+cpuset"
    assert found.reasons == ()


def test_it_tells_which_controller_version_2_does_not_lend(version_2, membership):
    (version_2 / "cgroup.subtree_control").unlink()
    (version_2 / "cgroup.subtree_control").mkdir()
    found = find_hierarchy(version_2, membership)
    assert not found.bounds_trees
    assert [reason for reason in found.reasons if "does not lend memory" in reason]


@pytest.mark.parametrize(("version", "name"), [(1, "memory.oom_control"), (2, "memory.events")])
def test_it_counts_kills_for_memory(tmp_path, version, name):
    (tmp_path / name).write_text("oom 3\noom_kill 2\n")
    assert Group("x", version, {"memory": tmp_path}).out_of_memory_kills() == 2
    (tmp_path / name).write_text("under_oom 0\n")
    assert Group("x", version, {"memory": tmp_path}).out_of_memory_kills() == 0


def test_it_kills_by_the_group_where_that_is_possible(tmp_path):
    (tmp_path / "cgroup.kill").write_text("")
    Group("x", 2, {"memory": tmp_path}).kill()
    assert (tmp_path / "cgroup.kill").read_text() == "1"


def test_it_kills_one_by_one_elsewhere_but_never_itself(tmp_path, monkeypatch):
    killed = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    # Zero is what the kernel shows of a process outside our pid namespace.
    (tmp_path / "cgroup.procs").write_text("0\n123\n456\n")
    Group("x", 1, {"memory": tmp_path}).kill()
    assert killed == [123, 456]


def test_it_removes_what_it_made_when_a_limit_is_refused(version_1, membership, limits):
    hierarchy = find_hierarchy(version_1, membership)
    (version_1 / "cpuset/cpuset.mems").unlink()
    (version_1 / "cpuset/cpuset.mems").mkdir()
    with pytest.raises(OSError, match="directory"):
        create_group(Hierarchy(1, {**hierarchy.folders, "memory": Path("/proc/no")}), limits())
    assert list(version_1.glob(f"unified/{PREFIX}*")) == []


def test_it_sweeps_only_groups_of_the_dead(tmp_path):
    alive = tmp_path / f"{PREFIX}{owner_tag(os.getpid())}-aaaa"
    dead = tmp_path / f"{PREFIX}{os.getpid()}-1-bbbb"
    strange = tmp_path / f"{PREFIX}strange"
    other = tmp_path / "someone-else"
    for folder in (alive, dead, strange, other):
        folder.mkdir()
    assert sweep(Hierarchy(2, {"memory": tmp_path, "pids": tmp_path})) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([alive.name, other.name])
