"""BM25, TF-IDF and Jaccard against published numbers and the libraries that they equal."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi
from sklearn.feature_extraction.text import TfidfVectorizer

from saber_assets.corpus.tokens import mathematics_tokens
from saber_assets.retrieval.bm25 import Bm25
from saber_assets.retrieval.jaccard import Jaccard
from saber_assets.retrieval.tfidf import Tfidf, word_tokens
from saber_assets.retrieval.token_bags import TokenBags

GOLDEN = json.loads(
    (Path(__file__).parents[1] / "golden" / "06_lexical_rankers.json").read_text(encoding="utf-8")
)
POOLS = [name for name in GOLDEN["input"] if name != "edge_cases"]
EDGES = list(GOLDEN["input"]["edge_cases"])
PLAIN = {
    "bm25": lambda: Bm25("whitespace"),
    "tfidf_cosine": lambda: Tfidf(word_tokens),
    "jaccard": lambda: Jaccard("whitespace"),
}
ALL = [
    Bm25("whitespace"), Bm25(), Tfidf(word_tokens), Tfidf(), Jaccard("whitespace"), Jaccard(),
]  # fmt: skip

# few words, so that they recur; "x" is too short for scikit-learn, "die" and "Die" are the same
texts = st.lists(
    st.sampled_from(["die", "Die", "x", "summe", "aus", "2x+1", "ist", "größer", "$n$"]), max_size=9
).map(" ".join)
pools = st.lists(texts, min_size=1, max_size=8)


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("measure", PLAIN)
def test_published_scores(pool, measure):
    given_, expected = GOLDEN["input"][pool], GOLDEN["expected"][pool][measure]
    scores = PLAIN[measure]().score(given_["query"], given_["documents"])
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("pool", POOLS)
def test_published_scores_of_bm25_without_lowering(pool):
    retriever = Bm25()
    retriever._bags = TokenBags(str.split)
    given_ = GOLDEN["input"][pool]
    scores = retriever.score(given_["query"], given_["documents"])
    expected = GOLDEN["expected"][pool]["bm25_case_sensitive"]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("case", EDGES)
@pytest.mark.parametrize("measure", PLAIN)
def test_published_edge_cases(case, measure):
    given_ = GOLDEN["input"]["edge_cases"][case]
    expected = GOLDEN["expected"]["edge_cases"][case][measure]
    scores = PLAIN[measure]().score(given_["query"], given_["documents"])
    assert scores.shape == (len(given_["documents"]),)
    assert np.isfinite(scores).all()
    if isinstance(expected, list):
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    elif case in ("all_documents_empty", "empty_query"):
        assert not scores.any()


@settings(max_examples=150, deadline=None)
@given(texts, pools)
def test_bm25_equals_rank_bm25(query, documents):
    tokens = [document.lower().split() for document in documents]
    scores = Bm25("whitespace").score(query, documents)
    if any(tokens):
        expected = BM25Okapi(tokens).get_scores(query.lower().split())
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    else:
        assert not scores.any()


@settings(max_examples=100, deadline=None)
@given(texts, pools)
def test_tfidf_equals_scikit_learn(query, documents):
    scores = Tfidf(word_tokens).score(query, documents)
    vectorizer = TfidfVectorizer()
    try:
        matrix = vectorizer.fit_transform(documents)
    except ValueError:  # no word of two characters in the pool
        assert not scores.any()
        return
    expected = (matrix @ vectorizer.transform([query]).T).toarray().ravel()
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(texts, pools)
def test_jaccard_equals_sets(query, documents):
    asked = set(query.lower().split())
    sets = [set(document.lower().split()) for document in documents]
    expected = [len(asked & s) / len(asked | s) if asked | s else 0.0 for s in sets]
    assert Jaccard("whitespace").score(query, documents).tolist() == expected


@settings(max_examples=60, deadline=None)
@given(texts, pools, st.randoms(use_true_random=False))
def test_storage_order_changes_no_bit(query, documents, shuffler):
    order = list(range(len(documents)))
    shuffler.shuffle(order)
    for retriever in ALL:
        scores = retriever.score(query, documents)
        again = retriever.score(query, [documents[place] for place in order])
        assert again.tolist() == scores[order].tolist()


def test_what_was_scored_before_changes_no_bit():
    shuffler = random.Random(5)
    words = [f"w{number}" for number in range(60)]
    made = [" ".join(shuffler.choices(words, k=30)) for _ in range(40)]
    for factory in PLAIN.values():
        used = factory()
        for start in range(0, 30, 3):
            used.score(made[start], made[start : start + 9])
        fresh = factory().score(made[0], made[20:])
        assert used.score(made[0], made[20:]).tolist() == fresh.tolist()
        used.forget()
        assert used.score(made[0], made[20:]).tolist() == fresh.tolist()


def test_the_index_is_fitted_on_the_pool():
    query, document = "prime ideal", "a prime ideal"
    for factory in (PLAIN["bm25"], PLAIN["tfidf_cosine"]):
        retriever = factory()
        common = retriever.score(query, [document, "prime one", "prime two", "else"])[0]
        rare = retriever.score(query, [document, "one", "two", "else"])[0]
        assert common != rare


def test_mathematics_tokens_see_through_notation():
    documents = [r"Show $x^{2} \leq 4$", "a walk in the park", "two birds"]
    for retriever in (Bm25(), Tfidf(), Jaccard()):
        same, other, _ = retriever.score("x^2 ≤ 4", documents)
        assert same > other
    assert Jaccard().score("x^2 ≤ 4", [r"$x^{2} \leq 4$"]).tolist() == [1.0]
    assert Jaccard("whitespace").score("x^2 ≤ 4", [r"$x^{2} \leq 4$"])[0] < 0.3


def test_a_forgetful_bag_gives_the_same_pools():
    documents = [f"token{number} shared" for number in range(12)]
    retriever = Bm25("whitespace")
    expected = retriever.score("shared token3", documents).tolist()
    retriever._bags = TokenBags(lambda text: text.lower().split(), limit=2)
    for _ in range(3):
        assert retriever.score("shared token3", documents).tolist() == expected


def test_tokenising_happens_once_a_text():
    calls = []

    def tokenize(text):
        calls.append(text)
        return mathematics_tokens(text)

    retriever = Tfidf(tokenize)
    retriever.score("one", ["two", "three"])
    retriever.score("two", ["three", "one"])
    assert sorted(calls) == ["one", "three", "two"]
