"""A tree's digest depends on its paths and contents, and on nothing else."""

from hypothesis import given, settings
from hypothesis import strategies as st

from submissions.kernel_package.digest import tree_digest

FILES = st.dictionaries(st.text("abc/", min_size=1, max_size=4), st.binary(max_size=6), max_size=4)


def test_it_is_stable() -> None:
    files = {"src/a.cpp": b"int a;\n", ".kernel_package/desc.yaml": b"x: 1\n"}
    assert tree_digest(files) == "dbdf7c6860427e7b5faf0d276062350331f532a79d6f846901c45461cd90fc43"
    assert tree_digest(dict(reversed(files.items()))) == tree_digest(files)


def test_it_leaves_the_scoreboard_out() -> None:
    files = {"src/a": b"1"}
    assert tree_digest(files | {".kernel_package/bench_result.yaml": b"status: measured"}) == tree_digest(files)


@given(FILES, FILES)
@settings(max_examples=200, deadline=None)
def test_it_differs_exactly_when_the_files_do(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    assert (tree_digest(one) == tree_digest(other)) == (one == other)


def test_it_tells_a_moved_border_between_files() -> None:
    assert tree_digest({"a": b"bc", "d": b""}) != tree_digest({"a": b"b", "cd": b""})
