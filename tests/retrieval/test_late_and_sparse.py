"""MaxSim and learned sparse scores are exact; memories change nothing; wrong input is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.retrieval.late_interaction import LateInteractionRetriever, maxsim
from saber_assets.retrieval.learned_sparse import (
    SparseRetriever,
    Terms,
    inner_product,
    top_terms,
)


class LetterTokens:
    """One axis a letter: MaxSim counts the query's letters that the document has."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def query_tokens(self, text):
        return np.array([np.eye(26)[ord(letter) - 97] for letter in text], np.float32)

    def document_tokens(self, texts):
        self.asked.extend(texts)
        return [self.query_tokens(text).reshape(-1, 26) for text in texts]


class LetterWeights:
    def encode(self, texts):
        return np.array(
            [[text.count(chr(97 + n)) for n in range(26)] for text in texts], np.float32
        )

    encode_queries = encode


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_maxsim_equals_its_formula(seed: int) -> None:
    generator = np.random.default_rng(seed)
    query = generator.normal(size=(generator.integers(1, 6), 4))
    documents = [generator.normal(size=(generator.integers(1, 8), 4)) for _ in range(5)]
    expected = [sum(max(float(q @ d) for d in document) for q in query) for document in documents]
    np.testing.assert_allclose(maxsim(query, documents), expected, atol=1e-12)
    order = generator.permutation(5)
    shuffled = maxsim(query, [documents[n][::-1] for n in order])
    assert shuffled.tolist() == maxsim(query, documents)[order].tolist()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_no_score_depends_on_the_others_or_on_the_order_of_tokens(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 11))
    query = generator.normal(size=(generator.integers(1, 8), size)).astype(np.float32)
    documents = [
        generator.normal(size=(generator.integers(1, 200), size)).astype(np.float32)
        for _ in range(4)
    ]
    scores = maxsim(query, documents)
    wide = maxsim(query.astype(np.float64), documents)
    np.testing.assert_allclose(scores, wide, rtol=1e-5, atol=1e-4)
    for document, score in zip(documents, scores, strict=True):
        assert maxsim(query, [document]).tolist() == [score]
        turned = document[generator.permutation(len(document))]
        assert maxsim(query, [turned, np.ones((3, size))])[0] == score


def test_maxsim_of_nothing_is_zero_and_other_lengths_are_refused() -> None:
    assert maxsim(np.ones((2, 3)), [np.zeros((0, 3))]).tolist() == [0.0]
    assert maxsim(np.ones((2, 3)), []).shape == (0,)
    assert np.isnan(maxsim(np.ones((1, 3)), [np.full((2, 3), np.nan)])[0])
    with pytest.raises(ValueError, match="against"):
        maxsim(np.ones((2, 3)), [np.ones((2, 4))])


def test_a_bounded_memory_changes_no_score() -> None:
    documents = ["abc", "xyz", "aab", "", "abc"]
    encoder = LetterTokens()
    large, small = LateInteractionRetriever(encoder), LateInteractionRetriever(LetterTokens(), 1)
    for query in ("ab", "zz", "ab"):
        scores = large.score(query, documents)
        assert scores.tolist() == small.score(query, documents).tolist()
    assert scores.tolist() == [2.0, 0.0, 2.0, 0.0, 2.0]
    assert sorted(encoder.asked) == ["", "aab", "abc", "xyz"]
    assert not small._tokens
    large.forget()
    assert large.score("ab", ["abc"]).tolist() == [2.0]


def test_the_highest_terms_stay() -> None:
    weights = np.array([0.0, 2.0, 5.0, 2.0, 1.0])
    assert top_terms(weights).ids.tolist() == [1, 2, 3, 4]
    assert top_terms(weights, 2).ids.tolist() == [1, 2]
    assert top_terms(weights, 2).weights.tolist() == [2.0, 5.0]
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="negative or no number"):
            top_terms(np.array([1.0, bad]))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_sparse_products_equal_dense_ones(seed: int) -> None:
    generator = np.random.default_rng(seed)
    first, second = (np.maximum(generator.normal(size=12), 0) for _ in range(2))
    assert inner_product(top_terms(first), top_terms(second)) == pytest.approx(first @ second)
    empty = Terms(np.zeros(0, np.int64), np.zeros(0))
    assert inner_product(empty, top_terms(first)) == 0.0


def test_the_sparse_retriever_cuts_each_side_by_its_own_budget() -> None:
    documents = ["aab", "bcc", "zz"]
    assert SparseRetriever(LetterWeights()).score("abb", documents).tolist() == [4.0, 2.0, 0.0]
    cut = SparseRetriever(LetterWeights(), query_terms=1, document_terms=1)
    assert cut.score("abb", documents).tolist() == [0.0, 0.0, 0.0]
    one_sided = SparseRetriever(LetterWeights(), query_terms=1)
    assert one_sided.score("abb", documents).tolist() == [2.0, 2.0, 0.0]
