"""Passes in blocks: the same tables on any workers, whoever is killed in the middle."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from saber_assets.candidates import histograms, near_pairs, thresholds
from saber_assets.candidates.blocks import fingerprint, run_pass
from saber_assets.candidates.categories import CountPass, count_categories
from saber_assets.candidates.features import build_features
from saber_assets.candidates.pairs import blocked_pairs
from saber_assets.candidates.sampling import sample_pools
from saber_assets.candidates.thresholds import search_thresholds
from saber_assets.errors import InputError
from saber_resources import block_processes
from saber_resources.block_ray import run_on_ray
from saber_resources.blocks import WORKERS, BlockFiles, block_files, run_on_threads
from saber_resources.errors import SetupError
from saber_resources.profiles import load_profile
from saber_resources.settings import Settings, Workdir

PROBLEMS = 900
NAMES = ("Algebra", "Geometry")
DOMAINS = [[NAMES[row % 2]] if row % 3 else [*NAMES] for row in range(PROBLEMS)]
SEARCH = {"k": 3, "min_queries": 60}


def corpus(problems=PROBLEMS, seed=3):
    rng = np.random.default_rng(seed)
    nodes = 60
    parent = [-1, 0, 0, 0, *(int(rng.integers(1, node)) for node in range(4, nodes))]
    depth = [0] * nodes
    for node in range(1, nodes):
        depth[node] = depth[parent[node]] + 1
    tree = pl.DataFrame({"node_id": range(nodes), "parent_id": parent, "depth": depth})
    topics = [(rng.zipf(1.5, rng.integers(0, 5)) % nodes).tolist() for _ in range(problems)]
    ideas = [
        " ".join(["all", *(f"w{w}" for w in rng.zipf(1.3, rng.integers(0, 12)) % 5000)])
        for _ in range(problems)
    ]
    return build_features([f"p{row}" for row in range(problems)], topics, ideas, tree)


@pytest.fixture(scope="module")
def features():
    return corpus()


def everything(features, runner, progress=None):
    """Thresholds, the search, counts and pools, as frames."""
    found = search_thresholds(features, DOMAINS, **SEARCH, runner=runner, progress=progress)
    eligible = np.flatnonzero((found.counts >= 3).all(axis=1))[::7]
    queries = [features.problem_ids[row] for row in eligible]
    last = found.thresholds.filter(pl.col("domain") == "final").row(0, named=True)
    taus = last["tau_topic"], last["tau_summary"]
    pools = sample_pools(features, queries, 3, taus, 1, runner=runner, progress=progress)
    return found.thresholds, found.search, pl.DataFrame(found.counts), pools


@pytest.fixture(scope="module")
def expected(features):
    return everything(features, None)


def same(found, expected):
    assert expected[3].height > 0
    for one, two in zip(found, expected, strict=True):
        assert one.equals(two)


@pytest.mark.parametrize("blocks", [None, 1, 7])
def test_threads_give_the_same_in_any_number_of_blocks(features, expected, blocks, tmp_path):
    told = []
    same(everything(features, BlockFiles(tmp_path, run_on_threads, blocks), told.append), expected)
    assert len(list(tmp_path.rglob("*.block"))) == 4 * (blocks or 1)
    queries = expected[3]["query_id"].n_unique()
    assert sum(told) == 3 * PROBLEMS + queries


def test_grids_in_parts_and_lowered_floors_are_other_passes(
    features, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(thresholds, "PAIRS_AT_FIRST", 1000)
    guesses = iter([2**18, 2**18 - 5])
    monkeypatch.setattr(thresholds, "_guessed_floor", lambda *_: next(guesses, 0))
    runner = BlockFiles(tmp_path, run_on_threads, 3)
    found = search_thresholds(features, DOMAINS, **SEARCH, runner=runner)
    assert found.thresholds.equals(expected[0])


def test_no_rows_and_more_blocks_than_rows(features, tmp_path):
    work = CountPass(features, blocked_pairs(features), 0.5, 0.5)
    runner = BlockFiles(tmp_path, run_on_threads, 5)
    empty = list(run_pass(work, np.array([], dtype=np.int64), runner))
    assert [frame.height for frame in empty] == [0]
    assert len(list(run_pass(work, np.array([4, 5]), runner))) == 2
    few = corpus(60)
    single = BlockFiles(tmp_path / "single", run_on_threads, 10**6)
    found = count_categories(few, 0.6, 0.2, runner=single)
    assert (found == count_categories(few, 0.6, 0.2)).all()
    assert len(list((tmp_path / "single").rglob("*.block"))) == 60


def test_the_fingerprint_knows_contents_not_objects(features):
    rows = np.arange(9)
    work = CountPass(features, blocked_pairs(features), 0.5, 0.5)
    again = CountPass(corpus(), blocked_pairs(features), 0.5, 0.5)
    assert fingerprint(work, rows) == fingerprint(again, rows)
    others = [
        fingerprint(work, rows[1:]),
        fingerprint(CountPass(features, blocked_pairs(features), 0.5, 0.25), rows),
        fingerprint(CountPass(features, blocked_pairs(features, [("p0", "p1")]), 0.5, 0.5), rows),
        fingerprint(CountPass(corpus(seed=4), blocked_pairs(features), 0.5, 0.5), rows),
    ]
    assert len({*others, fingerprint(work, rows)}) == 5


def test_an_interrupted_build_goes_on_from_its_blocks(features, expected, tmp_path):
    made = []

    def counted(fingerprint, prepare, blocks, progress):
        for number, frame in run_on_threads(fingerprint, prepare, blocks, progress):
            made.append((fingerprint, number))
            yield number, frame
            if len(made) == 5:
                raise KeyboardInterrupt

    runner = BlockFiles(tmp_path, counted, 4)
    with pytest.raises(KeyboardInterrupt):
        everything(features, runner)
    assert len(list(tmp_path.rglob("*.block"))) == 5  # 4 of the histograms, 1 of the capacities
    half = next(iter(tmp_path.rglob("2.block")))
    half.write_bytes(half.read_bytes()[:100])  # as a full disk or a power cut might leave it
    same(everything(features, runner), expected)
    repeated = [block for block in set(made) if made.count(block) > 1]
    assert len(made) == 17
    assert len(repeated) == 1


@pytest.mark.parametrize("part", [0.0, 0.3, 0.5, 0.7, 0.99])
def test_a_damaged_or_wrong_block_is_made_again(features, tmp_path, part):
    runner = BlockFiles(tmp_path, run_on_threads, 4)
    expected = count_categories(features, 0.5, 0.2, runner=runner)
    zero, one = (next(tmp_path.rglob(f"{number}.block")) for number in (0, 1))
    sound = one.read_bytes()
    damaged = bytearray(sound)
    damaged[int(part * len(sound))] ^= 1
    for content in (bytes(damaged), zero.read_bytes(), b"", sound[:-1], sound + b"x"):
        one.write_bytes(content)
        assert (count_categories(features, 0.5, 0.2, runner=runner) == expected).all()
        assert one.read_bytes() == sound


def test_a_block_that_vanishes_during_the_build_is_named(features, tmp_path):
    frames = BlockFiles(tmp_path, run_on_threads, 3).run(
        "f", CountPass(features, blocked_pairs(features), 0.5, 0.5).prepare, np.arange(9), None
    )
    next(frames)
    (tmp_path / "f-3" / "2.block").unlink()
    with pytest.raises(SetupError, match=r"2\.block was changed or removed"):
        list(frames)


def test_an_error_on_every_thread_ends_the_pass(features, monkeypatch):
    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(near_pairs, "MOST_ROWS", 16)
    monkeypatch.setattr(histograms, "_count_block", fail)
    with pytest.raises(MemoryError):
        histograms.similarity_histograms(features, DOMAINS, workers=2)


@pytest.mark.slow
def test_a_killed_process_costs_its_block(features, expected, tmp_path):
    killed = []

    def kill(rows):
        children = multiprocessing.active_children()
        if children and not killed:
            killed.append(children[0].pid)
            os.kill(children[0].pid, signal.SIGKILL)

    runner = BlockFiles(tmp_path, WORKERS["processes"], 6)
    same(everything(features, runner, kill), expected)
    assert killed
    assert not multiprocessing.active_children()


class Refusing:
    """Pickles into something that fails when a worker unpickles or calls it."""

    def __init__(self, what):
        self.what = what

    def __reduce__(self):
        return eval, (f"(lambda threads: (lambda rows, progress: {self.what}))",)


def test_workers_that_always_die_are_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(block_processes, "TRIES", 2)
    runner = BlockFiles(tmp_path, WORKERS["processes"], 2)
    dying = Refusing("__import__('os').kill(__import__('os').getpid(), 9)")
    with pytest.raises(SetupError, match="ended 2 times"):
        list(runner.run("f", dying, np.arange(4), None))


def test_a_persons_mistake_crosses_processes_whole(features, tmp_path):
    error = pickle.loads(pickle.dumps(InputError("what", "mend")))
    assert (error.what, error.mend) == ("what", "mend")
    runner = BlockFiles(tmp_path, WORKERS["processes"], 2)
    with pytest.raises(InputError, match="too few candidates"):
        sample_pools(features, ["p1", "p2"], 800, (0.9, 0.9), 1, runner=runner)
    assert not multiprocessing.active_children()


SCRIPT = """
import sys, time
from pathlib import Path
sys.path[:0] = [{here!r}, {root!r}]
import test_blocks
from saber_resources.blocks import WORKERS, BlockFiles

if __name__ == "__main__":
    slow = lambda rows: time.sleep(0.5)
    test_blocks.everything(
        test_blocks.corpus(), BlockFiles(Path({folder!r}), WORKERS["processes"], 8), slow
    )
"""


def descendants(pid):
    """Return the processes below one, from /proc."""
    below, parents = {pid}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    while True:
        more = {child for child, parent in parents.items() if parent in below} - below
        if not more:
            return below - {pid}
        below |= more


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_after_a_killed_build_the_next_one_goes_on_and_no_worker_is_left(
    features, expected, tmp_path
):
    script = tmp_path / "build.py"
    root = str(Path(__file__).parents[2])
    folder = tmp_path / "blocks"
    script.write_text(
        SCRIPT.format(here=str(Path(__file__).parent), root=root, folder=str(folder)),
        encoding="utf-8",
    )
    build = subprocess.Popen([sys.executable, str(script)])
    deadline = time.monotonic() + 120
    while len(list(folder.rglob("*.block"))) < 3 and time.monotonic() < deadline:
        assert build.poll() is None
        time.sleep(0.05)
    workers = descendants(build.pid)
    build.kill()
    build.wait()
    kept = {file: file.stat().st_mtime_ns for file in folder.rglob("*.block")}
    assert 3 <= len(kept) < 32
    assert workers
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not [pid for pid in workers if Path(f"/proc/{pid}").exists()]
    same(everything(features, BlockFiles(folder, run_on_threads, 8)), expected)
    assert kept == {file: file.stat().st_mtime_ns for file in kept}


def test_the_profile_chooses_and_nothing_is_left_after_success(tmp_path):
    profile = load_profile("default", {"candidates": {"runner": "processes", "blocks": 5}})
    settings = Settings(Workdir(tmp_path), profile)
    with pytest.raises(OSError), block_files(settings, "some_asset") as runner:  # noqa: PT011
        assert (runner.workers, runner.blocks) == (WORKERS["processes"], 5)
        (runner.folder / "x").mkdir(parents=True)
        raise OSError
    assert runner.folder.is_dir()
    with block_files(settings, "some_asset"):
        pass
    assert not settings.workdir.blocks.exists()


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="ray is installed")
def test_without_ray_it_is_told_how_to_get_it(tmp_path):
    with pytest.raises(SetupError, match="pip install"):
        list(BlockFiles(tmp_path, run_on_ray, 2).run("f", Refusing("0"), np.arange(4), None))


@pytest.mark.ray
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra `ray`")
def test_on_ray_a_killed_worker_costs_its_block(features, expected, tmp_path):
    killed = []

    def kill(rows):
        for pid in () if killed else descendants(os.getpid()):
            command = Path(f"/proc/{pid}/cmdline")
            if command.exists() and command.read_bytes().startswith(b"ray::_make"):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return

    same(everything(features, BlockFiles(tmp_path, run_on_ray, 6), kill), expected)
    assert killed


@pytest.mark.ray
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra `ray`")
def test_a_persons_mistake_crosses_ray_whole(features, tmp_path):
    runner = BlockFiles(tmp_path, run_on_ray, 2)
    with pytest.raises(InputError, match="too few candidates"):
        sample_pools(features, ["p1", "p2"], 800, (0.9, 0.9), 1, runner=runner)
