"""The content-addressed shelf of packages."""

import pytest

from runners import packages
from submissions.kernel_package.archive import read_archive
from submissions.kernel_package.digest import tree_digest
from submissions.kernel_package.errors import Broken

FILES = {".kernel_package/desc.yaml": b"a: 1\n", "src/a.cpp": b"int a;\n"}
DIGEST = tree_digest(FILES)


@pytest.fixture(autouse=True)
def shelf(settings, tmp_path):
    settings.PACKAGES_DIR = tmp_path / "packages"
    return settings.PACKAGES_DIR


def test_it_answers_what_it_was_given(shelf):
    packages.keep(DIGEST, FILES)
    assert read_archive(packages.read(DIGEST)) == FILES
    assert [path.name for path in shelf.iterdir()] == [f"{DIGEST}.tar.gz"]


def test_it_writes_a_package_once(shelf):
    packages.keep(DIGEST, FILES)
    before = (shelf / f"{DIGEST}.tar.gz").stat().st_ino
    packages.keep(DIGEST, FILES)
    assert (shelf / f"{DIGEST}.tar.gz").stat().st_ino == before


def test_it_refuses_files_of_another_digest():
    with pytest.raises(Broken, match="runner:package-digest"):
        packages.keep("0" * 64, FILES)


@pytest.mark.parametrize("damage", [b"", b"no archive", None])
def test_it_notices_damage_and_heals(shelf, damage):
    packages.keep(DIGEST, FILES)
    path = shelf / f"{DIGEST}.tar.gz"
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage)
    with pytest.raises(Broken, match="runner:package-missing"):
        packages.read(DIGEST)
    packages.keep(DIGEST, FILES)
    assert packages.is_kept(DIGEST)


@pytest.mark.parametrize("name", ["", "../" * 3 + "etc/passwd", "A" * 64, "0" * 63])
def test_it_opens_no_other_path(name):
    with pytest.raises(Broken, match="runner:package-missing"):
        packages.read(name)
