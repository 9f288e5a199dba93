"""The verdict journal: torn lines, damage, locks, kill -9."""

import os
import signal
import subprocess
import sys
import time

import pytest

from saber_assets.annotation.annotator import Failure
from saber_assets.errors import InputError
from saber_assets.tournament.journal import Journal, verdict_key


def keys(n):
    return [verdict_key("judge", "prompt", "query", f"a{i}", f"b{i}") for i in range(n)]


def test_round_trip_and_last_line_counts(tmp_path):
    a, b, c = keys(3)
    path = tmp_path / "deep" / "j"
    with Journal(path) as journal:
        assert journal.get(a) is None
        journal.append([(a, 1), (b, Failure('said "neither"\n\\boxed{3}'))])
        journal.append([(b, 2), (c, Failure("gone"))])
        assert [journal.get(k) for k in (a, b, c)] == [1, 2, Failure("gone")]
    with Journal(path) as journal:
        assert [journal.get(k) for k in (a, b, c)] == [1, 2, Failure("gone")]
        assert len(journal) == 3
        with pytest.raises(ValueError, match="neither a verdict"):
            journal.append([(a, 3)])
    with pytest.raises(ValueError, match="closed"):
        journal.append([(a, 1)])


def test_failures_are_forgotten_for_good_and_verdicts_are_not(tmp_path):
    a, b, c = keys(3)
    path = tmp_path / "j"
    with Journal(path) as journal:
        journal.append([(a, 1), (b, Failure("the endpoint was down")), (c, Failure("so it was"))])
        journal.forget_failures()
        journal.append([(c, 2)])
        assert [journal.get(key) for key in (a, b, c)] == [1, None, 2]
    with Journal(path) as journal:
        assert [journal.get(key) for key in (a, b, c)] == [1, None, 2]
        before = path.read_bytes()
        journal.forget_failures()
        assert path.read_bytes() == before


def test_key_separates_its_parts():
    assert verdict_key("j", "p", "q", "ab", "c") != verdict_key("j", "p", "q", "a", "bc")
    assert verdict_key("j", "p", "q", "a", "b") != verdict_key("j", "p", "q", "b", "a")
    assert verdict_key("j", "p", "q", "a", "b") != verdict_key("j", "pq", "", "a", "b")


def test_torn_last_line_is_cut_at_every_length(tmp_path):
    path = tmp_path / "j"
    three = keys(3)
    with Journal(path) as journal:
        journal.append([(key, 1) for key in three])
    whole = path.read_bytes()
    line = len(whole) // 3
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        with Journal(path) as journal:
            assert len(journal) == length // line
            journal.append([(three[2], 2)])
        with Journal(path) as journal:
            assert journal.get(three[2]) == 2
            assert len(journal) == min(3, length // line + 1)


def test_damaged_middle_line_is_named(tmp_path):
    path = tmp_path / "j"
    with Journal(path) as journal:
        journal.append([(key, 1) for key in keys(3)])
    lines = path.read_bytes().splitlines(keepends=True)
    for bad in (
        b"\0\0\0\n",
        b'{"key":"00","winner":1}\n',
        lines[1].replace(b":1}", b":7}"),
        b"3\n",
    ):
        path.write_bytes(lines[0] + bad + lines[2])
        with pytest.raises(InputError, match="line 2 of the verdict journal"):
            Journal(path)


def test_a_second_run_is_told_to_wait(tmp_path):
    with Journal(tmp_path / "j"), pytest.raises(InputError, match="in use by another run"):
        Journal(tmp_path / "j")
    Journal(tmp_path / "j").close()


WRITER = """
import sys
from pathlib import Path
from saber_assets.tournament.journal import Journal, verdict_key
journal = Journal(Path(sys.argv[1]))
for i in range(10**9):
    journal.append([(verdict_key("j", "p", "q", f"a{i}-{k}", "b"), 1) for k in range(50)])
    print(i, flush=True)
"""


def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path):
    path = tmp_path / "j"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    try:
        acknowledged = [int(writer.stdout.readline()) for _ in range(20)][-1]
        time.sleep(0.01)
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.communicate()[0].split()
    acknowledged = max([acknowledged, *map(int, rest)])
    with Journal(path) as journal:
        for i in range(acknowledged + 1):
            assert journal.get(verdict_key("j", "p", "q", f"a{i}-49", "b")) == 1
