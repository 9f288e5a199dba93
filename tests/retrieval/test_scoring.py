"""Scores of whole pools: what a retriever sees, what becomes a row, what becomes a failure."""

import sqlite3

import numpy as np
import polars as pl
import pytest

from saber_assets.errors import InputError, TextError, UnavailableError
from saber_assets.retrieval.bm25 import Bm25
from saber_assets.retrieval.reasons import reason_of
from saber_assets.retrieval.registry import BUILTIN
from saber_assets.retrieval.sanity import RandomRetriever, RatingsRetriever
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES, SETTINGS
from saber_assets.retrieval.texts import document_text, full_text, query_text

IDS = [f"p{number}" for number in range(8)]
CORPUS = pl.DataFrame({
    "problem_id": IDS,
    "source": ["s"] * 8,
    "source_id": IDS,
    "problem": [f"statement of {name}" for name in IDS],
    "solution": [f"solution of {name}" for name in IDS],
})  # fmt: skip
POOLS = pl.DataFrame({
    "query_id": ["p1", "p0", "p0", "p1", "p0"],
    "candidate_id": ["p3", "p7", "p2", "p0", "p5"],
})  # fmt: skip


class Recorder:
    """Notes what it sees; scores by place."""

    def __init__(self):
        self.seen = []
        self.prepared = []

    def prepare(self, documents):
        self.prepared.append(list(documents))

    def score(self, query, documents):
        self.seen.append((query, list(documents)))
        return list(range(len(documents)))


def run(retriever, settings=("statement-full",), **more):
    return score_pools("mine", "v1", retriever, POOLS, CORPUS, settings, **more)


class Answers:
    """Gives a fixed answer for the query p0, and numbers for the others."""

    def __init__(self, answer):
        self.answer = answer

    def score(self, query, documents):
        if "p0" not in query:
            return [0.5] * len(documents)
        return self.answer(documents) if callable(self.answer) else self.answer


def test_texts_of_the_settings():
    shown = {name: (query_text("P", "S", name), document_text("P", "S", name)) for name in SETTINGS}
    assert shown == {
        "statement-full": ("P", "Problem: P\n\nSolution: S"),
        "full-full": (full_text("P", "S"), full_text("P", "S")),
        "statement-statement": ("P", "P"),
    }
    with pytest.raises(ValueError, match="unknown setting 'full'"):
        query_text("P", "S", "full")


def test_what_a_retriever_sees_and_what_is_written():
    recorder = Recorder()
    steps = []
    scores, failures = run(recorder, SETTINGS, progress=steps.append)
    assert recorder.seen[0] == (
        "statement of p0",
        [full_text(f"statement of {name}", f"solution of {name}") for name in ("p2", "p5", "p7")],
    )
    assert recorder.seen[2][0] == full_text("statement of p0", "solution of p0")
    assert recorder.seen[5] == ("statement of p1", ["statement of p0", "statement of p3"])
    assert [len(documents) for documents in recorder.prepared] == [5, 5, 5]
    assert sum(steps) == 6
    assert failures.is_empty()
    assert RETRIEVER_SCORES.faults(scores) == []
    assert scores.height == 15
    assert scores.row(4) == ("mine", "v1", "statement-full", "p1", "p3", 1.0)
    assert scores["setting"].unique(maintain_order=True).to_list() == list(SETTINGS)


BAD_ANSWERS = {
    "exception": (lambda documents: 1 / 0, "score failed, ZeroDivisionError: division by zero"),
    "exit": (lambda documents: exit(2), "score failed, SystemExit: 2"),
    "none": (None, "returned None"),
    "short": ([1.0, 2.0], "returned 2 scores for 3 documents"),
    "long": ([1.0] * 4, "returned 4 scores for 3 documents"),
    "empty": ([], "returned 0 scores for 3 documents"),
    "nan": ([1.0, float("nan"), 2.0], "1 values that aren't finite, first nan for document number"),
    "infinite": (np.array([1.0, 2.0, np.inf]), "first inf for document number 3"),
    "words": (["a", "b", "c"], "holds no plain numbers"),
    "digits": (["1", "2", "3"], "holds no plain numbers"),
    "nested none": ([1.0, None, 2.0], "holds no plain numbers"),
    "complex": ([1j, 2.0, 3.0], "holds no plain numbers"),
    "matrix": (np.zeros((3, 1)), "an array of shape (3, 1) for 3 documents"),
    "ragged": ([[1.0], [1.0, 2.0], []], "returned no numbers"),
    "one number": (3.0, "an array of shape () for 3 documents"),
    "mapping": ({"p2": 1.0}, "holds no plain numbers"),
    "generator": (lambda documents: (1.0 for _ in documents), "holds no plain numbers"),
}


@pytest.mark.parametrize(("answer", "reason"), BAD_ANSWERS.values(), ids=BAD_ANSWERS.keys())
def test_a_bad_answer_costs_its_query_only(answer, reason):
    scores, failures = run(Answers(answer))
    assert scores.select("query_id", "score").rows() == [("p1", 0.5), ("p1", 0.5)]
    assert failures.select("retriever", "setting", "query_id").rows() == [
        ("mine", "statement-full", "p0")
    ]
    assert reason in failures["reason"][0]
    assert "\n" not in failures["reason"][0]
    assert RETRIEVER_FAILURES.faults(failures) == []


@pytest.mark.parametrize(
    "answer",
    [
        (3, 2, 1),
        np.array([3, 2, 1], dtype=np.float32),
        np.array([3, 2, 1], dtype=np.uint8),
        [np.float16(3), 2, 1.0],
    ],
)
def test_all_plain_numbers_are_scores(answer):
    scores, failures = run(Answers(answer))
    assert failures.is_empty()
    assert scores.filter(pl.col("query_id") == "p0")["score"].to_list() == [3.0, 2.0, 1.0]


def test_long_messages_are_cut():
    def fail(documents):
        raise RuntimeError("a\nb " * 500)

    _, failures = run(Answers(fail))
    assert len(failures["reason"][0]) < 400
    assert "RuntimeError: a b a b" in failures["reason"][0]


def test_messages_can_not_steer_a_terminal():
    reason = reason_of(ValueError("a\x1b[31mb\x1b]0;title\x07c\r\nd\u202ee ü"))
    assert reason == "ValueError: a [31mb ]0;title c d e ü"


def test_interrupts_pass():
    def interrupt(documents):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Answers(interrupt))


def test_a_failing_prepare_costs_its_setting():
    class Mine(Recorder):
        def prepare(self, documents):
            if any("Solution" in document for document in documents):
                raise MemoryError("too long")

    scores, failures = run(Mine(), ("statement-full", "statement-statement"))
    assert set(scores["setting"]) == {"statement-statement"}
    assert set(failures["setting"]) == {"statement-full"}
    assert failures["reason"][0] == "prepare failed, MemoryError: too long"


def test_a_retriever_that_changes_its_input_harms_nobody():
    class Mine(Recorder):
        def score(self, query, documents):
            answer = super().score(query, documents)
            documents.clear()
            return answer

    scores, failures = run(Mine(), ("statement-full", "statement-full")[:1])
    assert (scores.height, failures.height) == (5, 0)


def test_misuse_is_refused():
    with pytest.raises(ValueError, match=r"corpus lacks 1 problems of the pools: \['p7'\]"):
        score_pools("m", "v", Recorder(), POOLS, CORPUS.head(7))
    with pytest.raises(ValueError, match="repeat"):
        score_pools("m", "v", Recorder(), pl.concat([POOLS, POOLS]), CORPUS)
    with pytest.raises(ValueError, match="repeated settings"):
        run(Recorder(), ("full-full", "full-full"))
    with pytest.raises(ValueError, match="unknown setting"):
        run(Recorder(), ("full",))
    with pytest.raises(ValueError, match="needs the ratings"):
        run(RatingsRetriever())


def test_no_pools_give_empty_frames():
    scores, failures = score_pools("m", "v", Bm25(), POOLS.head(0), CORPUS)
    assert (scores.height, failures.height) == (0, 0)


RATINGS = pl.DataFrame({
    "query_id": ["p0", "p0", "p0", "p1"],
    "candidate_id": ["p5", "p2", "p7", "p9"],
    "rating": [5.0, 0.0, None, 1.0],
})  # fmt: skip


def test_the_row_ratings_is_the_ratings():
    scores, failures = run(RatingsRetriever(), ratings=RATINGS)
    assert scores.select("candidate_id", "score").rows() == [("p2", 0.0), ("p5", 5.0), ("p7", -1.0)]
    assert failures.select("query_id", "reason").rows() == [("p1", "The query has no ratings.")]
    with pytest.raises(ValueError, match="score_pools"):
        RatingsRetriever().score("q", ["d"])


def test_no_other_retriever_can_reach_the_ratings():
    class Thief(Recorder):
        def score_ratings(self, ratings):
            raise AssertionError("ratings were handed out")

    scores, _ = run(Thief(), ratings=RATINGS)
    assert scores.height == 5


def test_random_depends_on_texts_only():
    documents = [f"document {number}" for number in range(2000)]
    scores = RandomRetriever().score("q", documents)
    assert RandomRetriever().score("q", documents[::-1]).tolist() == scores.tolist()[::-1]
    assert scores.tolist() != RandomRetriever().score("r", documents).tolist()
    assert scores.tolist() != RandomRetriever(seed=1).score("q", documents).tolist()
    assert 0 <= scores.min() < 0.01 < 0.99 < scores.max() < 1
    assert abs(scores.mean() - 0.5) < 0.03
    assert RandomRetriever().score("q", ["\ud800", "d", "d"])[1:].tolist() == [
        *RandomRetriever().score("q", ["d"]),
        *RandomRetriever().score("q", ["d"]),
    ]
    # where the border lies between query and document matters
    assert RandomRetriever().score("ab", ["c"])[0] != RandomRetriever().score("a", ["bc"])[0]


@pytest.mark.parametrize("name", ["bm25", "tfidf", "jaccard", "random"])
def test_the_order_of_the_tables_changes_nothing(name):
    forward = score_pools(name, "v", BUILTIN[name].make(), POOLS, CORPUS)
    backward = score_pools(name, "v", BUILTIN[name].make(), POOLS.reverse(), CORPUS.reverse())
    assert forward[0].equals(backward[0])


def test_queries_are_handed_over_after_the_documents():
    class Mine(Recorder):
        def prepare_queries(self, queries):
            assert self.prepared and not self.seen
            self.prepared.append(list(queries))

    mine = Mine()
    run(mine)
    assert sorted(mine.prepared[1]) == sorted({query for query, _ in mine.seen})


def test_a_failing_prepare_queries_costs_its_setting():
    class Mine(Recorder):
        def prepare_queries(self, queries):
            raise MemoryError("too many")

    scores, failures = run(Mine())
    assert scores.height == 0
    assert set(failures["reason"]) == {"prepare_queries failed, MemoryError: too many"}


@pytest.mark.parametrize("method", ["prepare", "prepare_queries", "score"])
def test_what_a_person_must_mend_ends_it_at_once(method):
    calls = []

    class Mine(Recorder):
        pass

    def refuse(self, *texts):
        calls.append(texts)
        raise InputError("the key is refused", "set another")

    setattr(Mine, method, refuse)
    with pytest.raises(InputError, match="the key is refused: set another"):
        run(Mine(), ("statement-full", "statement-statement"))
    assert len(calls) == 1


class Breaking:
    """Raises an error in its method `prepare`, or when it scores the query p0."""

    def __init__(self, error, prepares=False, always=False):
        self.error, self.always = error, always
        if prepares:
            self.prepare = lambda documents: self.score("p0", documents)

    def score(self, query, documents):
        if self.always or "p0" in query:
            raise self.error
        return [0.5] * len(documents)


@pytest.mark.parametrize("prepares", [False, True])
@pytest.mark.parametrize(
    ("error", "mend"),
    [
        (sqlite3.OperationalError("database is locked"), "a full or locked disk"),
        (OSError(28, "No space left on device"), "a full or locked disk"),
        (ValueError("vectors of length 3"), "its card, its weights or its packages"),
        (MemoryError("CUDA out of memory"), "free the memory"),
    ],
)
def test_what_is_not_about_a_text_ends_a_run_of_the_projects_own(error, mend, prepares):
    with pytest.raises(UnavailableError, match=r"mine can't go on, (score|prepare) fail") as caught:
        run(Breaking(error, prepares), own=False)
    assert mend in str(caught.value)
    _, failures = run(Breaking(error, prepares))  # of a person's, it costs queries
    assert failures.height == (2 if prepares else 1)


def test_what_is_about_a_text_costs_its_query():
    scores, failures = run(Breaking(TextError("too long")), own=False)
    assert failures["reason"].to_list() == ["score failed, TextError: too long"]
    assert scores["query_id"].unique().to_list() == ["p1"]


def test_the_projects_own_has_no_row_where_every_query_failed():
    always = Breaking(TextError("status 400"), always=True)
    with pytest.raises(UnavailableError, match="mine failed on every query.*status 400"):
        run(always, SETTINGS, own=False)
    assert run(always, SETTINGS)[1].height == 6
