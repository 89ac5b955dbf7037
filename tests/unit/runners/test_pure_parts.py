"""The runner app's pure parts: capabilities, keys, and the two caps on logs."""

import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from runners import tokens
from runners.capabilities import Capabilities, runner_kind
from runners.daemon.run_log import CHUNK_CHARACTERS, RunLog
from runners.log_cap import add_chunk


def test_it_accepts_runs_for_its_archs_only():
    cpu = Capabilities(frozenset({"x86_64"}), frozenset({"sm_90"}))
    assert cpu.accepts("measure", "x86_64")
    assert not cpu.accepts("measure", "aarch64")
    assert not cpu.accepts("measure", "sm_90")
    assert cpu.accepts("dry_run", "sm_90")


def test_it_sorts_runs_into_queues():
    assert runner_kind("measure", "x86_64") == "cpu"
    assert runner_kind("measure", "sm_90") == "gpu"
    assert runner_kind("check", "gfx928") == "gpu"
    assert runner_kind("dry_run", "sm_90") == "cpu"


def test_it_keeps_keys_as_hashes_with_their_archs():
    key, other = tokens.new_key(), tokens.new_key()
    known = {tokens.key_sha256(key): ["x86_64", "sm_90"], tokens.key_sha256(other): ["aarch64"]}
    assert key not in str(known)
    assert tokens.allowed_archs(key, known) == {"x86_64", "sm_90"}
    assert tokens.allowed_archs("kzr_wrong", known) is None


def test_it_refuses_archs_beyond_the_key():
    assert tokens.may_register(["x86_64"], frozenset({"x86_64", "sm_90"}))
    assert not tokens.may_register(["x86_64", "aarch64"], frozenset({"x86_64"}))
    assert not tokens.may_register([], frozenset({"x86_64"}))
    assert not tokens.may_register(["x86_64"], None)


@given(st.lists(st.text("ab\n", max_size=40), max_size=30))
def test_it_keeps_head_and_tail_of_a_log(chunks):
    whole, log = "".join(chunks), ""
    for chunk in chunks:
        log = add_chunk(log, chunk, head=20, tail=30)
    if len(whole) <= 50:
        assert log == whole
    else:
        assert log == f"{whole[:20]}\n[{len(whole) - 50} characters left out]\n{whole[-30:]}"


@given(st.lists(st.text("ab\n", max_size=40), max_size=30))
def test_it_forwards_head_and_tail_of_a_log(chunks):
    whole, log = "".join(chunks), RunLog(head=20, tail=30)
    sent = []
    for chunk in chunks:
        log.add(chunk)
        sent += drained(log)
    log.close()
    sent += drained(log)
    assert [number for number, _ in sent] == list(range(1, len(sent) + 1))
    text = "".join(text for _, text in sent)
    if len(whole) <= 50:
        assert text == whole
    else:
        assert text == f"{whole[:20]}\n[{len(whole) - 50} characters left out]\n{whole[-30:]}"


def test_it_repeats_a_chunk_unchanged_until_it_is_taken():
    log = RunLog()
    log.add("a")
    assert log.next_chunk() == (1, "a")
    log.add("b")
    assert log.next_chunk() == (1, "a")
    log.taken()
    assert log.next_chunk() == (2, "b")
    log.add("c" * CHUNK_CHARACTERS * 2)
    log.taken()
    assert log.next_chunk() == (3, "c" * CHUNK_CHARACTERS)


def drained(log):
    chunks = []
    while (chunk := log.next_chunk()) is not None:
        chunks.append(chunk)
        log.taken()
    return chunks


def test_it_keeps_django_out_of_the_daemon():
    program = "import sys, runners.daemon; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
