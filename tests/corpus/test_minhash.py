"""MinHash: datasketch's signatures to the bit, recall against all pairs, order and seeds."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from datasketch import MinHash
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.decisive import decisive_tokens, differ_in_wording_only
from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.figure_mentions import refers_to_figure
from saber_assets.corpus.minhash import (
    band_keys,
    banding,
    buckets,
    exact_jaccard,
    signature_batches,
    signatures,
)
from saber_assets.corpus.readers import normalise_content, read_corpus
from saber_assets.corpus.tokens import shingle_tokens, shingles

ROOT = Path(__file__).parents[2]
REAL = ROOT.parent / "shared" / "data" / "problems" / "real_1684.jsonl"
SAMPLE = ROOT / "saber_assets" / "corpus" / "sample"
MASK = (1 << 64) - 1


def shingle_hashes(tokens, shingle):
    """The 32-bit hashes of a text's shingles, in Python's integers."""
    found = []
    for start in range(len(tokens) - shingle + 1):
        mixed = 0
        for token in tokens[start : start + shingle]:
            digest = hashlib.blake2b(token.encode(), digest_size=8).digest()
            mixed = (mixed * 0x9E3779B97F4A7C15 + int.from_bytes(digest, "little")) & MASK
            mixed ^= mixed >> 32
        found.append(((mixed * 0xD6E8FEB86659FD93) & MASK) >> 32)
    return found


def pairs_in_a_bucket(starts, numbers):
    members = defaultdict(list)
    for text in range(len(starts) - 1):
        for bucket in numbers[starts[text] : starts[text + 1]].tolist():
            members[bucket].append(text)
    assert all(len(texts) > 1 for texts in members.values())
    return {pair for texts in members.values() for pair in combinations(texts, 2)}


def proposed(texts, threshold, shingle=5, seed=0, num_perm=128):
    matrix = signatures(texts, shingle, num_perm, seed)
    return pairs_in_a_bucket(*buckets(band_keys(matrix, threshold)))


def near_duplicates(random, count, length, changed):
    """Texts, and next to each a copy with some words changed."""
    texts = []
    for _ in range(count):
        text = [f"w{word}" for word in random.integers(0, 5000, length)]
        copy = list(text)
        for place in random.integers(0, length, int(random.integers(0, changed + 1))):
            copy[place] = f"v{random.integers(0, 5000)}"
        texts += [text, copy]
    return texts


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.lists(st.sampled_from(["a", "é", "x", "1", r"\frac", "+"]), min_size=3, max_size=30),
        min_size=1,
        max_size=5,
    ),
    st.integers(1, 3),
    st.sampled_from([1, 5, 16, 130]),
    st.integers(0, 2**32 - 1),
)
def test_signatures_are_those_of_datasketch(texts, shingle, num_perm, seed):
    matrix = signatures(texts, shingle, num_perm, seed)
    assert matrix.dtype == np.uint32
    for row, tokens in zip(matrix, texts, strict=True):
        reference = MinHash(num_perm=num_perm, seed=seed, scheme="affine32", hashfunc=int)
        reference.update_batch(shingle_hashes(tokens, shingle))
        assert np.array_equal(row, reference.hashvalues)


def test_signatures_estimate_jaccard():
    random = np.random.default_rng(0)
    texts = near_duplicates(random, 60, 120, 12)
    matrix = signatures(texts, 5, 256, 1)
    errors = []
    for left in range(0, len(texts), 2):
        exact = exact_jaccard(shingles(texts[left], 5), shingles(texts[left + 1], 5))
        errors.append((matrix[left] == matrix[left + 1]).mean() - exact)
        assert (matrix[left] == matrix[left - 1]).mean() < 0.05
    # the standard error of one estimate is at most 0.5 / sqrt(256) = 0.031
    assert abs(np.mean(errors)) < 0.01
    assert np.sqrt(np.mean(np.square(errors))) < 0.032


def test_order_batches_and_seeds_of_signatures():
    texts = near_duplicates(np.random.default_rng(1), 1300, 12, 2)
    matrix = signatures(texts, 5, 16, 1)
    assert np.array_equal(signatures(texts[::-1], 5, 16, 1)[::-1], matrix)
    assert np.array_equal(signatures([texts[2000]], 5, 16, 1)[0], matrix[2000])
    assert [len(batch) for batch in signature_batches(iter(texts), 5, 16, 1)] == [1024, 1024, 552]
    assert not np.array_equal(signatures(texts, 5, 16, 2), matrix)
    done = []
    signatures(texts, 5, 16, 1, done.append)
    assert sum(done) == len(texts)
    assert signatures([], 5, 16, 1).shape == (0, 16)
    with pytest.raises(ValueError, match="has no shingle"):
        signatures([["a"]], 5, 16, 1)
    with pytest.raises(ValueError, match="shingle must be"):
        signatures([["a"]], 0, 16, 1)


@settings(max_examples=15, deadline=None, derandomize=True)
@given(st.integers(0, 2**31), st.sampled_from([0.5, 0.7, 0.85, 1.0]), st.integers(0, 9))
def test_recall_against_all_pairs(data_seed, threshold, seed):
    texts = near_duplicates(np.random.default_rng(data_seed), 40, 100, 6)
    sets = [shingles(text, 5) for text in texts]
    near = {
        (left, right)
        for left, right in combinations(range(len(texts)), 2)
        if exact_jaccard(sets[left], sets[right]) >= threshold
    }
    assert near
    found = proposed(texts, threshold, seed=seed)
    assert near <= found
    assert len(found) <= len(texts)


def test_recall_at_the_threshold_is_what_banding_promises():
    """3,000 pairs just at the threshold, the hardest: 0.1% may be missed."""
    threshold, length = 0.85, 74
    texts = []
    for number in range(3000):
        text = [f"{number}w{place}" for place in range(length)]
        texts += [text, text[3:] + [f"{number}v{place}" for place in range(3)]]
    exact = exact_jaccard(shingles(texts[0], 5), shingles(texts[1], 5))
    assert threshold <= exact < threshold + 0.1
    missed = 3000 - len(proposed(texts, exact))
    bands, rows = banding(exact, 128)
    assert missed <= 3 * max(1.0, 3000 * (1 - exact**rows) ** bands)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(0, 50), st.integers(1, 4), st.booleans())
def test_buckets_equal_all_pairs_in_any_order(seed, count, bands, blocked):
    random = np.random.default_rng(seed)
    matrix = random.integers(0, 3, (count, bands * 2)).astype(np.uint32)
    blocks = random.integers(0, 2, count).astype(np.uint64) if blocked else None
    bands, rows = banding(0.8, matrix.shape[1])
    expected = {
        (i, j)
        for i, j in combinations(range(count), 2)
        if any((matrix[i] == matrix[j])[b * rows : (b + 1) * rows].all() for b in range(bands))
        and (blocks is None or blocks[i] == blocks[j])
    }
    keys = band_keys(matrix, 0.8, blocks)
    assert keys.shape == (count, bands)
    assert pairs_in_a_bucket(*buckets(keys)) == expected
    order = random.permutation(count)
    turned = pairs_in_a_bucket(*buckets(keys[order]))
    assert {tuple(sorted((order[i], order[j]))) for i, j in turned} == expected


def test_buckets_list_no_pairs():
    keys = np.zeros((20_000, 3), dtype=np.uint64)
    starts, numbers = buckets(keys)
    assert len(numbers) == 60_000
    assert np.array_equal(np.unique(numbers), [0, 1, 2])
    assert np.array_equal(np.diff(starts), np.full(20_000, 3))


def test_banding_misses_almost_nothing():
    for threshold in (0.5, 0.7, 0.85, 0.95, 1.0):
        bands, rows = banding(threshold, 128)
        assert bands * rows <= 128
        assert (1 - threshold**rows) ** bands <= 1e-3
    assert banding(0.85, 128) == (18, 7)
    for wrong in (0.0, -1.0, 1.1, float("nan")):
        with pytest.raises(ValueError, match="threshold"):
            banding(wrong, 128)
    with pytest.raises(ValueError, match="num_perm"):
        banding(0.5, 0)


def test_exact_jaccard():
    assert exact_jaccard({1, 2}, {2, 3}) == pytest.approx(1 / 3)
    assert exact_jaccard(set(), set()) == 0.0


# --- The whole of deduplication, with MinHash and without -------------------------------------


def all_pairs(raw, threshold, shingle):
    """The rules of SPEC over all pairs of records, in priority order: id, then occurrence."""
    kept, dropped = [], {}
    by_decisive = defaultdict(list)
    for record in raw.filter(pl.col("fault").is_null()).sort(
        "source", "problem_id", "occurrence"
    ).rows(named=True):  # fmt: skip
        tokens = shingle_tokens(record["problem"])
        record["tokens"] = tokens or [normalise_content(record["problem"])]
        record["set"] = shingles(tokens, shingle)
        best = None
        for other in by_decisive[decisive_tokens(tokens)]:
            figure = refers_to_figure(record["problem"]) or refers_to_figure(other["problem"])
            answers = [shingle_tokens(r["solution"]) for r in (record, other)]
            if figure and (answers[0] != answers[1] or not answers[0]):
                continue
            equal = record["tokens"] == other["tokens"]
            if not equal and not may_have_one_answer(*answers):
                continue
            value = 1.0 if equal else exact_jaccard(record["set"], other["set"])
            near = value >= threshold and differ_in_wording_only(tokens, other["tokens"])
            if (equal or near) and (best is None or (value, equal) > best[:2]):
                best = value, equal, other["problem_id"]
        if best is None:
            kept.append(record["problem_id"])
            by_decisive[decisive_tokens(tokens)].append(record)
        else:
            dropped[record["problem_id"], record["occurrence"]] = best[2], best[0]
    return sorted(kept), dropped


def may_have_one_answer(left, right):
    if not (0 < len(left) <= 8 and 0 < len(right) <= 8):
        return True
    return (decisive_tokens(left) or left) == (decisive_tokens(right) or right)


def same_as_all_pairs(raw, threshold=0.85, shingle=5, **options):
    corpus, out = deduplicate(raw, threshold=threshold, shingle=shingle, **options)
    out = out.filter(pl.col("kept_problem_id").is_not_null())
    found = {
        (row["problem_id"], row["occurrence"]): (row["kept_problem_id"], row["similarity"])
        for row in out.rows(named=True)
    }
    assert (corpus["problem_id"].to_list(), found) == all_pairs(raw, threshold, shingle)
    return len(found)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.integers(0, 2**31), st.sampled_from([0.5, 0.8]), st.integers(0, 3))
def test_the_same_as_all_pairs_on_random_texts(data_seed, threshold, seed):
    random = np.random.default_rng(data_seed)
    plain = ["find", "areas", "circle", "with", "radius", "inside", "garden", "river", "figure"]
    rows = []
    for number in range(12):
        text = list(random.choice([*plain, "x", "3", "+"], random.integers(3, 60)))
        rows.append((f"p{number}", " ".join(text)))
        for copy in range(4):
            changed = list(text)
            for _ in range(int(random.integers(0, 4))):
                changed[random.integers(0, len(changed))] = str(random.choice(plain))
            rows.append((f"p{number}c{copy}", " ".join(changed)))
    raw = pl.DataFrame(
        {
            "problem_id": [name for name, _ in rows],
            "occurrence": pl.Series([1] * len(rows), dtype=pl.Int32),
            "source": random.choice(["a", "b"], len(rows)),
            "source_id": [name for name, _ in rows],
            "location": "here",
            "problem": [text for _, text in rows],
            "solution": random.choice(["1", "2"], len(rows)),
            "fault": pl.Series([None] * len(rows), dtype=pl.String),
        }
    )
    assert same_as_all_pairs(raw, threshold, 3, seed=seed) > 0


def test_the_same_as_all_pairs_on_the_sample():
    sample = read_corpus(sorted(SAMPLE.glob("*.jsonl")))
    assert sample.height > 200
    same_as_all_pairs(sample)
    assert (
        same_as_all_pairs(
            pl.concat([sample, sample.with_columns(occurrence=pl.col("occurrence") + 1)])
        )
        == 244
    )


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_as_all_pairs_on_real_problems(seed):
    if not REAL.exists():
        pytest.skip("the real problems are not beside the checkout")
    raw = read_corpus([REAL])
    assert same_as_all_pairs(raw, seed=seed) == 25
    assert same_as_all_pairs(raw, 0.5, 3, seed=seed) == 25
