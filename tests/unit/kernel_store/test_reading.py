"""Reading the store at a commit."""

from pathlib import Path

import pytest

from submissions.kernel_package.errors import Broken
from submissions.kernel_package.names import KernelId, ProblemId
from submissions.kernel_store.message import commit_message
from submissions.kernel_store.reading import StoreReader
from submissions.kernel_store.writing import StoreWriter
from tests.unit.kernel_store.conftest import SAXPY, make_publication, outside_git, push_file

PROBLEM = ProblemId.parse("Vector/saxpy/fp32")
PROBLEM_YAML = b"""schema_version: 1
version: 1
title: Scaled vector addition
description: z = a*x + y
parameters: [{name: n, label: Vector length, min: 1, max: 268435456, default: 1048576}]
tensors:
- {name: x, role: in, dtype: fp32, shape: [n]}
- {name: y, role: in, dtype: fp32, shape: [n]}
- {name: z, role: out, dtype: fp32, shape: [n]}
scalars: [{name: a, dtype: fp32, value: 2.5}, {name: n, dtype: i64, value: n}]
cases: [{id: n1m, dims: {n: 1048576}, distribution: uniform, weight: 1}]
dry_run: {dims: {n: 1000}}
hidden: {count: 6, ranges: {n: [1, 100000]}}
tolerance: {kind: bound, terms: 2, accumulate: fp32, c: 4}
flops: 2*n
bytes_min: 12*n
unit: fp32_fma
mode: hot
threads: 1
timeout_s: 10
memory_bytes: 12*n
must_fail: [zeros, copy_input]
"""
DESC_YAML = f"""schema_version: 1
kernel_id: {SAXPY}
title: Unrolled saxpy
summary: ""
language: cpp
harness: native
entry: {{source: src/saxpy.cpp, symbol: saxpy}}
build: {{sources: [src/saxpy.cpp], include_dirs: [src], defines: {{}}}}
authors: [entrant-a]
license: MIT
tags: []
created: "2026-01-31"
""".encode()


def with_problem(writer: StoreWriter) -> str:
    folder = f"problems/{PROBLEM}"
    return writer.commit_files(
        {f"{folder}/problem.yaml": PROBLEM_YAML, f"{folder}/reference.py": b"def inputs(): ...\n"}, "Add saxpy"
    )


def test_it_reads_problems(writer: StoreWriter, reader: StoreReader) -> None:
    head = with_problem(writer)
    assert reader.problem_ids(head) == [PROBLEM]
    found = reader.problem_files(head, PROBLEM)
    assert found is not None
    assert found.problem_yaml == PROBLEM_YAML and found.reference_py.startswith(b"def inputs")
    assert found.problem.title == "Scaled vector addition"
    assert reader.problem_files(head, ProblemId.parse("Vector/none/fp32")) is None


def test_it_reads_descriptions(writer: StoreWriter, reader: StoreReader) -> None:
    head = writer.commit_files({f"{SAXPY}/.kernel_package/desc.yaml": DESC_YAML}, "Add a kernel")
    found = reader.description(head, SAXPY)
    assert found is not None and (found.title, found.kernel_id) == ("Unrolled saxpy", SAXPY)
    assert reader.bench_result(head, SAXPY) is None
    assert reader.description(head, KernelId.parse("sm_90/Vector/saxpy/fp32/none")) is None


@pytest.mark.parametrize("content", [b"a: [", b"a: 1\na: 2\n", b"just words\n"])
def test_it_says_that_a_malformed_file_on_main_is_ours(
    writer: StoreWriter, reader: StoreReader, content: bytes
) -> None:
    names = ("desc.yaml", "bench_result.yaml")
    head = writer.commit_files({f"{SAXPY}/.kernel_package/{name}": content for name in names}, "Spoil a kernel")
    with pytest.raises(Broken, match="store:unreadable"):
        reader.bench_result(head, SAXPY)
    with pytest.raises(Broken, match="store:unreadable"):
        reader.description(head, SAXPY)


def test_it_reads_all_packages_in_one_pass(writer: StoreWriter, reader: StoreReader) -> None:
    names = ["k1", "k10", "k2", "k1.b"]
    kernels = [KernelId.parse(f"x86_64/Vector/saxpy/fp32/{name}") for name in names]
    for kernel in kernels:
        writer.publish(make_publication(kernel))
    found = dict(reader.packages(reader.main_head()))
    assert found.keys() == set(kernels)
    for kernel, files in found.items():
        assert files[".kernel_package/desc.yaml"] == f"kernel_id: {kernel}\n".encode()
        assert sorted(files) == [".kernel_package/bench_result.yaml", ".kernel_package/desc.yaml"]


def test_it_passes_over_what_is_no_kernel(writer: StoreWriter, reader: StoreReader) -> None:
    strays = ["x86_64/too/short", "problems/a/b/c/d", "x86_64/a/b/c/-bad", "x86_64/a/b/c/d/e"]
    head = writer.commit_files({f"{stray}/.kernel_package/desc.yaml": b"x" for stray in strays}, "Strays")
    assert reader.kernel_ids(head) == []
    assert list(reader.packages(head)) == []


def test_it_leaves_out_links_that_somebody_pushed(clone: Path, reader: StoreReader) -> None:
    folder = clone / str(SAXPY) / "src"
    folder.mkdir(parents=True)
    (folder / "passwd.h").symlink_to("/etc/passwd")
    push_file(clone, f"{SAXPY}/src/a.cpp", "int x;\n")
    outside_git("add", ".", cwd=clone)
    outside_git("commit", "-q", "-m", "a link", cwd=clone)
    outside_git("push", "-q", "origin", "HEAD:main", cwd=clone)
    head = reader.main_head()
    assert reader.files(head, SAXPY) == {"src/a.cpp": b"int x;\n"}
    assert [entry.path for entry in reader.trees.walk(head, str(SAXPY))] == [f"{SAXPY}/src/a.cpp"]


def test_it_lists_commits_oldest_first(writer: StoreWriter, reader: StoreReader, clone: Path) -> None:
    first = writer.publish(make_publication())
    push_file(clone, "README.md", "by hand\n")
    subjects = [commit.subject for commit in reader.commits(first.main_old, reader.main_head())]
    assert subjects == [f"source: {SAXPY}", f"bench: {SAXPY} 1.31x", "Change README.md"]
    by_hand = reader.commits(first.main_new, reader.main_head())[0]
    assert (by_hand.author, by_hand.trailers, by_hand.parents) == ("maintainer-a", {}, (first.main_new,))
    assert reader.commits(by_hand.id, by_hand.id) == [] and reader.commits("", "") == []
    assert reader.commits("", reader.main_head())[0].parents == ()


def test_it_tells_a_kernels_history_and_source(writer: StoreWriter, reader: StoreReader) -> None:
    first = writer.publish(make_publication())
    writer.publish(make_publication(KernelId.parse("x86_64/Vector/saxpy/fp32/other")))
    again = writer.publish(make_publication(package_files=None))
    history = [commit.id for commit in reader.kernel_history(SAXPY)]
    assert history == [again.main_new, first.main_new, first.source_commit]
    assert [commit.id for commit in reader.kernel_history(SAXPY, limit=1)] == [again.main_new]
    assert reader.source_commit_of(SAXPY) == first.source_commit
    assert reader.source_commit_of(KernelId.parse("x86_64/Vector/saxpy/fp32/none")) == ""


def test_it_resolves_only_published_commits(writer: StoreWriter, reader: StoreReader) -> None:
    published = writer.publish(make_publication())
    waiting = writer.prepare(make_publication(source=b"int secret;\n"))
    assert reader.resolve(published.main_new) == reader.resolve(published.main_new[:10]) == published.main_new
    for text in (waiting.main_new, reader.ledger_head(), "main", "HEAD~1", "--output=x", "0" * 40, "abc", ""):
        assert reader.resolve(text) == ""


@pytest.mark.parametrize("text", ["main", "HEAD", "--output=x", "", "abc", "A" * 40])
def test_it_takes_only_full_ids_where_a_commit_is_due(reader: StoreReader, text: str) -> None:
    with pytest.raises(Broken, match="store:bad-id"):
        reader.trees.read(text, "zoo.yaml")
    with pytest.raises(Broken, match="store:bad-id"):
        reader.is_ancestor(text, reader.main_head())


def test_it_says_that_a_commit_is_unknown(reader: StoreReader) -> None:
    with pytest.raises(Broken, match="store:unknown-commit"):
        reader.commits("0" * 39 + "1", reader.main_head())
    with pytest.raises(Broken, match="store:unknown-commit"):
        reader.is_ancestor("0" * 39 + "1", reader.main_head())
    with pytest.raises(Broken, match="store:git-failed"):
        reader.changed_paths("0" * 39 + "1", reader.main_head())
    assert reader.history.commit("0" * 39 + "1") is None


def test_it_is_empty_before_there_is_anything(tmp_path: Path) -> None:
    outside_git("init", "-q", "--bare", "e.git", cwd=tmp_path)
    with StoreReader(tmp_path / "e.git") as reader:
        assert (reader.main_head(), reader.ledger_head()) == ("", "")
        assert reader.kernel_ids("") == reader.problem_ids("") == reader.changed_paths("", "") == []
        assert reader.files("", SAXPY) == {} and reader.read("", "zoo.yaml") is None
        assert reader.kernel_history(SAXPY) == [] and reader.source_commit_of(SAXPY) == ""
        assert list(reader.packages("")) == []


def test_it_sees_every_change_of_a_folder_that_became_a_file(writer: StoreWriter, reader: StoreReader) -> None:
    old = writer.commit_files({"docs/a": b"1", "docs/b/c": b"2"}, "one")
    new = writer.commit_files({"docs/b": b"3"}, "two")
    assert reader.changed_paths(old, new) == ["docs/b", "docs/b/c"]
    assert reader.trees.files(new, "docs") == {"a": b"1", "b": b"3"}


def test_it_stops_a_listing_that_nobody_reads_on(writer: StoreWriter, reader: StoreReader) -> None:
    head = writer.commit_files({f"docs/{number}": b"x" for number in range(5000)}, "many")
    listing = reader.trees.walk(head)
    assert next(listing).path == "docs/0"
    del listing


def test_it_makes_no_commit_of_what_is_there(writer: StoreWriter, reader: StoreReader) -> None:
    head = with_problem(writer)
    assert with_problem(writer) == head == reader.main_head()


def test_it_names_trailers_strictly() -> None:
    with pytest.raises(ValueError, match="trailer name"):
        commit_message("subject", trailers={"Zoo Run\nX": "1"})
