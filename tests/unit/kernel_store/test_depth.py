"""The cost of a write follows the depth of the tree, not the number of packages."""

from pathlib import Path

import pytest

from submissions.kernel_package.names import KernelId
from submissions.kernel_store.create import create_store
from submissions.kernel_store.publication import Prepared
from submissions.kernel_store.upkeep import PACKS_AT_MOST
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import SAXPY, assert_consistent, make_publication, outside_git


def seeded(path: Path, packages: int) -> StoreWriter:
    create_store(path, "Test zoo")
    writer = StoreWriter(path, "Zoo", "zoo@example.org")
    folders = [f"x86_64/Op{number % 7}/nn/fp32/k{number}" for number in range(packages)]
    names = (".kernel_package/desc.yaml", "src/a.cpp")
    writer.commit_files({f"{folder}/{name}": folder.encode() for folder in folders for name in names}, "Seed")
    return writer


def objects_written(path: Path, prepared: Prepared, kind: str) -> int:
    span = [prepared.main_new, prepared.ledger_new]
    before = [f"^{old}" for old in (prepared.main_old, prepared.ledger_old) if old]
    listed = outside_git("rev-list", "--objects", "--no-object-names", *span, *before, cwd=path).split()
    kinds = [outside_git("cat-file", "-t", object_id, cwd=path) for object_id in listed]
    return kinds.count(kind)


@pytest.mark.parametrize("kind", ["tree", "blob", "commit"])
def test_it_writes_as_many_objects_among_300_packages_as_among_10(tmp_path: Path, kind: str) -> None:
    counts = []
    for packages in (10, 300):
        path = tmp_path / f"{packages}.git"
        with seeded(path, packages) as writer:
            writer.publish(make_publication())
            counts.append(objects_written(path, writer.publish(make_publication(source=b"int y;")), kind))
    assert counts[0] == counts[1] > 0


def test_it_never_makes_an_index_of_the_whole_tree(store: Path, writer: StoreWriter) -> None:
    writer.publish(make_publication())
    assert not (store / "index").exists()


def test_it_keeps_the_packs_few_and_every_object(
    store: Path, writer: StoreWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("submissions.kernel_store.upkeep.PACKS_AT_MOST", 5)
    assert PACKS_AT_MOST > 5
    first = writer.publish(make_publication())
    waiting = writer.prepare(make_publication(KernelId.parse("x86_64/Vector/saxpy/fp32/waits")))
    for turn in range(8):
        writer.publish(make_publication(source=b"int y%d;" % turn))
    assert len(list((store / "objects/pack").glob("*.pack"))) <= 7
    assert [found.uuid for found in writer.pending()] == [waiting.uuid]
    assert writer.reader.files(first.main_new, SAXPY)["src/a.cpp"] == b"int x;\n"
    assert_consistent(store)
