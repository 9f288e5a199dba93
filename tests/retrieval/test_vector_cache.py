"""Vectors on disk: found again by content and contract, never mixed, never lost in part."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from saber_assets.retrieval.dense import DenseRetriever, Part, RefusedTextError
from saber_assets.retrieval.encoding.vector_cache import ASKED_AT_ONCE, VectorCache


class Letters:
    """Counts letters; queries are read backwards, so that both sides differ."""

    dimension = 2

    def __init__(self) -> None:
        self.documents: list[str] = []
        self.queries: list[str] = []

    def encode(self, texts):
        self.documents.extend(texts)
        return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float32)

    def encode_queries(self, texts):
        self.queries.extend(texts)
        return np.array([[text.count("b"), text.count("a")] for text in texts], dtype=np.float32)


def test_what_is_kept_comes_back_bit_for_bit(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "deep" / "vectors.sqlite", "one", 3)
    texts = [f"text {number}" for number in range(ASKED_AT_ONCE + 7)] + ["\ud800 alone"]
    vectors = np.random.default_rng(0).normal(size=(len(texts), 3)).astype(np.float32)
    cache.put(texts, vectors)
    found = VectorCache(tmp_path / "deep" / "vectors.sqlite", "one", 3).get(["new", *texts])
    assert sorted(found) == list(range(1, len(texts) + 1))
    np.testing.assert_array_equal(np.stack([found[n + 1] for n in range(len(texts))]), vectors)


def test_contracts_are_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite"
    VectorCache(file, "one", 2).put(["a"], np.ones((1, 2), np.float32))
    assert VectorCache(file, "two", 2).get(["a"]) == {}
    with pytest.raises(ValueError, match="length 2"):
        VectorCache(file, "one", 3).get(["a"])


@pytest.mark.parametrize(
    "vectors", [np.ones((2, 2)), np.ones((1, 3)), np.full((1, 2), np.nan), np.full((1, 2), np.inf)]
)
def test_what_is_wrong_is_not_kept(vectors: np.ndarray, tmp_path: Path) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite", "one", 2)
    with pytest.raises(ValueError):
        cache.put(["a"], vectors.astype(np.float32))
    assert cache.get(["a"]) == {}


def test_many_write_at_once(tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite"
    VectorCache(file, "one", 2)

    def write(number: int) -> None:
        cache = VectorCache(file, "one", 2)
        for step in range(5):
            cache.put([f"{number} {step}"], np.full((1, 2), number, np.float32))

    with ThreadPoolExecutor(6) as workers:
        list(workers.map(write, range(6)))
    texts = [f"{number} {step}" for number in range(6) for step in range(5)]
    assert len(VectorCache(file, "one", 2).get(texts)) == 30


def test_a_second_retriever_embeds_no_text_again(tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite"
    first, second = Letters(), Letters()
    documents = ["aab", "b", "", "ab"]
    scores = DenseRetriever(first, disk=VectorCache(file, "one", 2)).score("abb", documents)
    again = DenseRetriever(second, disk=VectorCache(file, "one", 2)).score("abb", documents)
    assert again.tolist() == scores.tolist()
    assert sorted(first.documents) == sorted(documents)
    assert second.documents == []
    assert (first.queries, second.queries) == (["abb"], [])
    plain = DenseRetriever(Letters()).score("abb", documents)
    assert plain.tolist() == scores.tolist()
    assert scores.tolist() == [1.0, round(1 / 5**0.5, 6), 0.0, round(3 / 10**0.5, 6)]


def test_queries_and_documents_are_kept_apart(tmp_path: Path) -> None:
    file = tmp_path / "vectors.sqlite"
    for _ in range(2):
        encoder = Letters()
        scores = DenseRetriever(encoder, disk=VectorCache(file, "one", 2)).score("aab", ["aab"])
        assert scores.tolist() == [0.8]
    assert encoder.documents == encoder.queries == []


def test_a_killed_process_loses_one_batch_only(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("saber_assets.retrieval.dense.KEPT_AT_ONCE", 3)

    class Dying(Letters):
        def encode(self, texts):
            if len(self.documents) >= 6:
                raise KeyboardInterrupt
            return super().encode(texts)

    file = tmp_path / "vectors.sqlite"
    documents = ["a" * number for number in range(1, 11)]
    first, second = Dying(), Letters()
    with pytest.raises(KeyboardInterrupt):
        DenseRetriever(first, disk=VectorCache(file, "one", 2)).prepare(documents)
    DenseRetriever(second, disk=VectorCache(file, "one", 2)).prepare(documents)
    assert first.documents + second.documents == documents
    assert len(first.documents) == 6


def test_with_a_disk_all_is_prepared_whatever_the_memory_holds(tmp_path: Path) -> None:
    encoder, again = Letters(), Letters()
    documents = ["a" * number for number in range(1, 11)]
    disk = VectorCache(tmp_path / "vectors.sqlite", "one", 2)
    retriever = DenseRetriever(encoder, cache_bytes=700, disk=disk)
    retriever.prepare(documents)
    retriever.prepare_queries(["b", "ab"])
    assert encoder.documents == documents
    scores = retriever.score("ab", documents)
    assert len(encoder.documents) == len(documents)
    assert len(encoder.queries) == 2
    assert DenseRetriever(again).score("ab", documents).tolist() == scores.tolist()


def test_what_is_not_a_number_fails_its_own_queries_and_is_not_kept(tmp_path: Path) -> None:
    class Broken(Letters):
        def encode(self, texts):
            return np.where([["!" in text] for text in texts], np.nan, super().encode(texts))

    disk = VectorCache(tmp_path / "vectors.sqlite", "one", 2)
    retriever = DenseRetriever(Broken(), disk=disk)
    retriever.prepare(["a", "a!", "ab"])
    assert np.isnan(retriever.score("a", ["a", "a!"])).tolist() == [False, True]
    assert list(disk.get(["a", "a!", "ab"])) == [0, 2]


def test_a_refused_text_fails_its_own_queries_and_is_asked_once(tmp_path: Path) -> None:
    class Choosy(Letters):
        calls = 0

        def parts(self, texts, side):
            for number, text in enumerate(texts):
                self.calls += 1
                if "!" in text:
                    yield Part([number], None, "no shouting")
                else:
                    yield Part([number], super().encode([text]))

    encoder = Choosy()
    retriever = DenseRetriever(encoder, disk=VectorCache(tmp_path / "v.sqlite", "one", 2))
    retriever.prepare(["a", "a!", "ab"])
    retriever.prepare_queries(["b"])
    for _ in range(2):
        with pytest.raises(RefusedTextError, match=r"the document 'a!' can't .*: no shouting"):
            retriever.score("b", ["a", "a!"])
    assert retriever.score("b", ["a", "ab"]).tolist() == [0.0, round(2**-0.5, 6)]
    assert encoder.calls == 4


def test_whoever_times_it_times_the_model_not_the_disk(tmp_path: Path) -> None:
    encoder = Letters()
    retriever = DenseRetriever(encoder, disk=VectorCache(tmp_path / "v.sqlite", "one", 2))
    retriever.score("b", ["a"])
    retriever.in_flight = 16
    for _ in range(2):
        retriever.forget()
        retriever.score("b", ["a"])
    assert (encoder.documents, encoder.queries) == (["a"] * 3, ["b"] * 3)
