"""The parity gate lets the same ranking pass and blocks another one."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest
from scipy.stats import spearmanr

from saber_assets.retrieval.encoding.parity import (
    DOCUMENTS,
    QUERIES,
    check_parity,
    fixed_sample,
    spearman,
)


class Fixed:
    """Vectors drawn from a hash of the text, changed in a stated way."""

    def __init__(self, change=lambda vectors: vectors):
        self._change = change

    def encode(self, texts):
        drawn = [np.random.default_rng(crc32(text.encode())).normal(size=8) for text in texts]
        return self._change(np.array(drawn)).astype(np.float32)

    def encode_queries(self, texts):
        return Fixed.encode(Fixed(), texts)


QUERY_TEXTS = [f"query {number}" for number in range(5)]
DOCUMENT_TEXTS = [f"document {number}" for number in range(40)]


def gate(change):
    return check_parity("row", Fixed(change), Fixed(), QUERY_TEXTS, DOCUMENT_TEXTS)


def test_the_same_vectors_pass_whatever_their_length():
    for change in (lambda v: v, lambda v: v * 7, lambda v: v.astype(np.float16)):
        found = gate(change)
        assert found.spearman > 0.999
        assert found.fault == ""


@pytest.mark.parametrize(
    "change", [lambda v: -v, lambda v: v[:, ::-1], lambda v: v + 1.0, lambda v: np.zeros_like(v)]
)
def test_other_vectors_are_blocked_in_one_sentence(change):
    found = gate(change)
    assert found.spearman < 0.999
    assert found.worst <= found.spearman
    assert found.fault.startswith("row is blocked: ")
    assert "\n" not in found.fault
    assert found.fault.count(". ") == 0


def test_nan_is_blocked():
    assert "NaN" in gate(lambda v: np.where(v > 2, np.nan, v)).fault


def test_spearman_equals_scipys():
    generator = np.random.default_rng(3)
    for _ in range(20):
        first = generator.integers(0, 6, 15).astype(float)
        second = first + generator.normal(size=15)
        assert spearman(first, second) == pytest.approx(spearmanr(first, second).statistic)
    assert spearman(np.ones(3), np.ones(3)) == 1.0
    assert spearman(np.ones(3), np.arange(3.0)) == 0.0
    with pytest.raises(ValueError):
        spearman(np.ones(1), np.ones(1))


def test_the_sample_is_fixed():
    queries = [f"q{number}" for number in range(100)]
    documents = [f"d{number}" for number in range(100)]
    first = fixed_sample(queries, documents)
    assert first == fixed_sample(queries[::-1], documents + documents)
    assert (len(first[0]), len(first[1])) == (QUERIES, DOCUMENTS)
    assert first != fixed_sample(queries, documents, seed=1)
    with pytest.raises(ValueError):
        check_parity("row", Fixed(), Fixed(), [], documents)
