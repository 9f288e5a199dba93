"""What is merged on the labelled near-duplicates of the benchmark, from real problems."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.dedup_quality import ours
from benchmarks.near_duplicates import OTHER_KINDS, SAME_KINDS, labelled_pairs, read_records

REAL = Path(__file__).parents[2].parent / "shared" / "data" / "problems" / "real_1684.jsonl"


@pytest.fixture(scope="module")
def pairs():
    if not REAL.exists():
        pytest.skip("the real problems are not beside the checkout")
    return labelled_pairs(read_records([REAL]), 40, 3)


def test_the_labelled_set_is_seeded_and_has_every_kind(pairs):
    assert pairs == labelled_pairs(read_records([REAL]), 40, 3)
    assert pairs != labelled_pairs(read_records([REAL]), 40, 4)
    kinds = [pair.kind for pair in pairs]
    assert all(kinds.count(kind) >= 20 for kind in (*SAME_KINDS, *OTHER_KINDS))
    assert all((p.kind == "figure") == (p.original.problem == p.variant.problem) for p in pairs)


def test_looks_merge_and_other_problems_do_not(pairs):
    merged = {kind: [] for kind in (*SAME_KINDS, *OTHER_KINDS)}
    for pair, verdict in zip(pairs, ours(pairs, 0.85), strict=True):
        merged[pair.kind].append(verdict)
    share = {kind: sum(verdicts) / len(verdicts) for kind, verdicts in merged.items()}
    assert share["number"] == share["figure"] == 0.0
    assert min(share["spelling"], share["typesetting"]) >= 0.95
    assert share["part"] <= 0.1
