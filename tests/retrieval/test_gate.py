"""The gate in front of a row, with encoders of a few lines: no model is needed."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest

from saber_assets.retrieval.bm25 import Bm25
from saber_assets.retrieval.dense import DenseRetriever, Part
from saber_assets.retrieval.encoding.gate import BlockedError, pass_gate, passed, told
from saber_assets.retrieval.encoding.instruction import Prefixed, instructed
from saber_assets.retrieval.late_interaction import LateInteractionRetriever
from saber_assets.retrieval.learned_sparse import SparseRetriever
from saber_assets.retrieval.query_rewriter import RewritingRetriever

QUERIES = [f"query {number}" for number in range(30)]
DOCUMENTS = [f"document {number} of some length" for number in range(90)]


class Hashed:
    """Vectors drawn from a hash of the text inside its template; remembers what it was asked."""

    dimension = 12

    def __init__(self, template: str = "{}", window: int | None = None) -> None:
        self.template = template
        self.window = window
        self.seen: list[str] = []

    def encode(self, texts):
        self.seen += texts
        return self._drawn(texts)

    def encode_queries(self, texts):
        self.seen += texts
        return self._drawn([self.template.format(text) for text in texts])

    def with_query_template(self, template):
        return Hashed(template)

    @staticmethod
    def _drawn(texts):
        seeds = [crc32(text.encode()) for text in texts]
        return np.array([np.random.default_rng(s).normal(size=12) for s in seeds], np.float32)


class Cut(Hashed):
    """Reads the beginning of a text only, as the library's own `encode` does."""

    def fits(self, text, side):
        return len(text) <= (self.window or len(text))

    def _drawn(self, texts):
        return Hashed._drawn([text[: self.window] for text in texts])


def gate(encoder, reference, **more):
    retriever = DenseRetriever(encoder, reference=lambda: reference)
    return pass_gate("row", retriever, QUERIES, DOCUMENTS, **more)


def test_a_backend_that_agrees_passes():
    found = gate(Hashed(), Hashed())
    assert found == {"spearman": 1.0, "worst": 1.0, "queries": 16, "documents": 64}
    assert passed(found)
    assert told(found).startswith("Spearman 1.0000 with the reference")


def test_a_backend_with_another_template_is_blocked():
    with pytest.raises(BlockedError, match=r"^row is blocked: .*Spearman .*0\.999 is asked"):
        gate(Hashed("query: {}"), Hashed())


def test_without_a_reference_the_reason_is_kept_or_blocks():
    found = gate(Hashed(), "its weights aren't on this machine")
    assert found == {"not_checked": "its weights aren't on this machine"}
    assert not passed(found)
    assert told(found) == "not checked: its weights aren't on this machine"
    with pytest.raises(BlockedError, match="can't be compared with a reference .its weights"):
        gate(Hashed(), "its weights aren't on this machine", required=True)


def test_a_reference_that_can_not_be_made_is_a_reason():
    def broken():
        raise RuntimeError("CUDA out of memory")

    retriever = DenseRetriever(Hashed(), reference=broken)
    found = pass_gate("row", retriever, QUERIES, DOCUMENTS)
    assert found == {"not_checked": "the reference can't be made, RuntimeError: CUDA out of memory"}


class Failing(Hashed):
    """Fails as soon as it is used."""

    def encode(self, texts):
        raise RuntimeError("CUDA out of memory")


def test_a_backend_that_fails_blocks_the_row_in_one_sentence():
    with pytest.raises(BlockedError) as caught:
        gate(Failing(), Hashed())
    told_so = (
        "row is blocked, since its backend fails on a sample, RuntimeError: CUDA out of memory"
    )
    assert str(caught.value).startswith(told_so)


def test_a_text_that_the_backend_refuses_blocks_the_row():
    class Refusing(Hashed):
        def parts(self, texts, side):
            yield Part(list(range(len(texts))), None, "too long for it")

    with pytest.raises(BlockedError, match="row is blocked.*RefusedTextError: too long for it"):
        gate(Refusing(), Hashed())


def test_a_reference_that_fails_is_a_reason_not_a_fault_of_the_row():
    found = gate(Hashed(), Failing())
    assert found == {"not_checked": "the reference fails, RuntimeError: CUDA out of memory"}
    with pytest.raises(BlockedError, match="can't be compared with a reference"):
        gate(Hashed(), Failing(), required=True)


def test_rows_that_have_nothing_to_be_compared_with_are_never_blocked():
    for retriever in (Bm25("mathematics"), DenseRetriever(Hashed())):
        assert pass_gate("row", retriever, QUERIES, DOCUMENTS, required=True) is None
    assert told(None) == "nothing to compare with"


def test_long_texts_are_cut_until_both_read_them_whole():
    documents = [f"{number} " + "long " * 50 for number in range(40)]
    whole, cut = Hashed(), Cut(window=40)
    retriever = DenseRetriever(whole, reference=lambda: cut)
    found = pass_gate("row", retriever, QUERIES, documents)
    assert found is not None
    assert found["spearman"] == 1.0
    assert all(len(text) <= 40 for text in cut.seen)
    assert all(text in cut.seen for text in whole.seen)


def test_no_sample_is_a_reason():
    retriever = DenseRetriever(Hashed(), reference=Hashed)
    found = pass_gate("row", retriever, ["one"], ["same", "same"])
    assert found == {"not_checked": "1 queries and 1 documents are no sample"}


def test_the_gate_neither_reads_nor_fills_what_is_remembered():
    encoder = Hashed()
    retriever = DenseRetriever(encoder, reference=Hashed)
    retriever.score(QUERIES[0], DOCUMENTS)
    encoder.seen.clear()
    pass_gate("row", retriever, QUERIES, DOCUMENTS)
    assert len(encoder.seen) == 80
    encoder.seen.clear()
    retriever.score(QUERIES[0], DOCUMENTS)
    assert encoder.seen == []


def test_an_instruction_goes_into_the_template_and_documents_are_shared():
    encoder = Hashed()
    retriever = DenseRetriever(
        encoder, instructed=lambda text: encoder.with_query_template(text + " | {}")
    )
    plain = retriever.score("q", DOCUMENTS)
    one, other = (instructed(retriever, text) for text in ("find", "look for"))
    scores = one.score("q", DOCUMENTS)
    assert one._encoder.seen == ["q"]  # documents were there already
    assert np.abs(scores - plain).max() > 0.1
    assert np.abs(scores - other.score("q", DOCUMENTS)).max() > 0.1
    assert scores.tolist() == retriever.score("find | q", DOCUMENTS).tolist()
    assert plain.tolist() == retriever.score("q", DOCUMENTS).tolist()


class Recorder:
    """Scores by length, remembers what it was asked, and may have a field for instructions."""

    def __init__(self, field=None):
        self.asked = []
        self.prepared = []
        if field is not None:
            self.with_instruction = lambda text: field

    def prepare(self, documents):
        self.prepared += documents

    def prepare_queries(self, queries):
        self.asked += queries

    def score(self, query, documents):
        self.asked.append(query)
        return [float(len(text)) for text in documents]


def test_without_a_field_the_instruction_stands_in_front_of_the_query():
    retriever = Recorder()
    made = instructed(retriever, "Find it.")
    made.prepare(["d"])
    made.prepare_queries(["a", "b"])
    assert made.score("a", ["d"]) == [1.0]
    assert retriever.asked == ["Find it.\na", "Find it.\nb", "Find it.\na"]
    assert retriever.prepared == ["d"]
    assert not hasattr(Prefixed(Bm25("mathematics"), "x"), "prepare_queries")


def test_a_field_is_used_where_there_is_one():
    field = Recorder()
    assert instructed(Recorder(field), "Find it.") is field
    none = DenseRetriever(Hashed())
    assert isinstance(instructed(none, "Find it."), Prefixed)


class Widths:
    """An encoder of all kinds that remembers how many documents it gets at a time."""

    dimension = 2

    def __init__(self):
        self.widths = []

    def encode(self, texts):
        self.widths.append(len(texts))
        return np.ones((len(texts), 2), dtype=np.float32)

    def encode_queries(self, texts):
        return np.ones((len(texts), 2), dtype=np.float32)

    def document_tokens(self, texts):
        return [np.ones((1, 2), np.float32) for _ in self.encode(texts)]

    def query_tokens(self, text):
        return np.ones((1, 2), dtype=np.float32)


@pytest.mark.parametrize("kind", [DenseRetriever, LateInteractionRetriever, SparseRetriever])
def test_documents_in_flight_are_limited_and_forgotten_ones_are_encoded_again(kind):
    encoder = Widths()
    retriever = kind(encoder)
    retriever.in_flight = 16
    for _ in range(2):
        retriever.score("q", DOCUMENTS)
        retriever.forget()
    assert encoder.widths == [16, 16, 16, 16, 16, 10] * 2


def test_a_rewriters_retriever_is_compared_behind_it():
    for behind, expected in (
        (DenseRetriever(Hashed(), reference=Hashed), 1.0),
        (Bm25("mathematics"), None),
    ):
        made = RewritingRetriever(None, "{query}", behind)
        found = pass_gate("row", made, QUERIES, DOCUMENTS)
        assert (found and found["spearman"]) == expected
