"""A folder on disk under an archive's rules: nothing is followed, nothing odd is read."""

import os
from pathlib import Path

import pytest

from submissions.kernel_package.folder import read_folder
from submissions.kernel_package.limits import PackageLimits
from tests.unit.kernel_package.conftest import rejection


def test_it_reads_plain_files(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "deep" / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    assert read_folder(tmp_path) == {"b": b"2", "src/deep/a": b"1"}


@pytest.mark.parametrize("target", ["a", "/etc/passwd", "nowhere", "."])
def test_it_refuses_links(tmp_path: Path, target: str) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "link").symlink_to(target)
    assert rejection(lambda: read_folder(tmp_path)).code == "package:link"


def test_it_refuses_a_fifo_without_opening_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert rejection(lambda: read_folder(tmp_path)).code == "package:device"


def test_it_keeps_the_limits(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"f{number}").write_bytes(b"12345")
    assert rejection(lambda: read_folder(tmp_path, PackageLimits(files=2))).code == "package:too-many-files"
    assert rejection(lambda: read_folder(tmp_path, PackageLimits(unpacked_bytes=14))).code == "package:too-large"
    assert len(read_folder(tmp_path, PackageLimits(unpacked_bytes=15))) == 3


def test_it_refuses_names_that_differ_in_case_only(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "A").write_bytes(b"1")
    assert rejection(lambda: read_folder(tmp_path)).code == "package:duplicate-name"
