"""Scores of a retriever over all pools, and the queries on which it failed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.errors import InputError, TextError, UnavailableError
from saber_assets.retrieval.own.precomputed import PrecomputedScores
from saber_assets.retrieval.partial_scores import PartialScores
from saber_assets.retrieval.protocol import Retriever
from saber_assets.retrieval.reasons import mend_of, reason_of
from saber_assets.retrieval.sanity import RatingsRetriever
from saber_assets.retrieval.tables import RETRIEVER_FAILURES, RETRIEVER_SCORES, SETTINGS
from saber_assets.retrieval.texts import document_text, query_text

T = TypeVar("T")


class _UnusableScoresError(Exception):
    """A retriever's answer can't be used; the message says why."""


@dataclass(frozen=True)
class _Pools:
    """Pools in the order of query and candidate id.

    Attributes:
        members: frame of `query_id` and `candidate_id`.
        queries: the query ids, sorted.
        starts: query q has the members from `starts[q]` to `starts[q + 1]`.
    """

    members: pl.DataFrame
    queries: list[str]
    starts: list[int]


def score_pools(
    entry_name: str,
    version: str,
    retriever: Retriever,
    pools: pl.DataFrame,
    corpus: pl.DataFrame,
    settings: Sequence[str] = SETTINGS,
    ratings: pl.DataFrame | None = None,
    progress: Callable[[int], None] | None = None,
    *,
    own: bool = True,
    kept: PartialScores | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Score every pool in every setting.

    A retriever sees texts only, documents in the order of their ids, in a list of its own; but
    precomputed scores are looked up by id. Where it has a method
    `prepare`, that gets all distinct documents of a setting first; a method `prepare_queries`
    then gets all distinct queries. Where it has an attribute `queries_in_flight`, so many queries
    are scored at the same time, in threads. An exception, a wrong number of scores, or a score that
    isn't a finite number costs that query in that setting: it becomes a row of the failures, and
    the others go on. An `InputError` ends it: a key that is refused, or a server that is gone,
    would fail every query in the same way. Of a retriever that isn't a person's own, any exception
    ends it that isn't a `TextError`: memory, a disk or a card would fail others as well; and so
    does a failure on every query in every setting.

    Args:
        entry_name: the retriever's name in the registry.
        version: hash of what decides its scores.
        retriever: what scores.
        pools: columns `query_id` and `candidate_id` of CANDIDATE_POOLS.
        corpus: DEDUPED_CORPUS, holding all queries and candidates.
        settings: of `SETTINGS`.
        ratings: RELEVANCE_RATINGS; read for the row `ratings` only.
        progress: called with the number of newly finished queries.
        own: whether the retriever is a person's, whose exceptions may be about anything.
        kept: scores of queries that an earlier try has finished; new ones are added.

    Returns:
        Frames that obey RETRIEVER_SCORES and RETRIEVER_FAILURES, ordered by setting (in the
        order given), query and candidate.

    Raises:
        ValueError: for an unknown or repeated setting, a repeated candidate, an id that the
            corpus lacks, or the row `ratings` without ratings.
        InputError: by a retriever that can't go on until a person mends something; then nothing
            is to be kept.
    """
    if len(set(settings)) < len(settings):
        raise ValueError(f"repeated settings: {list(settings)}")
    ordered = _ordered(pools)
    texts = _texts_of(ordered, corpus)
    excuse = _tolerant if own else partial(_strict, entry_name)
    scored, failures = [RETRIEVER_SCORES.empty()], [RETRIEVER_FAILURES.empty()]
    for setting in settings:
        scorer = _scorer(retriever, ordered, ratings, setting)
        scorer = scorer if kept is None else _resumed(scorer, ordered, setting, kept)
        with redirect_stdout(sys.stderr):  # what a person's code prints is no result
            scores, reasons = _score_setting(
                scorer, retriever, ordered, texts, setting, progress, excuse
            )
        scored.append(_score_frame(ordered, scores, entry_name, version, setting))
        failures.append(_failure_frame(reasons, entry_name, setting))
    made, failed = pl.concat(scored), pl.concat(failures)
    if not own and failed.height and made.is_empty():
        raise UnavailableError(
            f"{entry_name} failed on every query in every setting, on the first one since "
            f"{failed['reason'][0].rstrip('.')}",
            "mend what all of them have in common, and run again",
        )
    return RETRIEVER_SCORES.conform(made), RETRIEVER_FAILURES.conform(failed)


Excuse = Callable[[str, BaseException], str]
"""From what was done and an exception to the reason that queries are charged with; or raises."""


def _tolerant(doing: str, error: BaseException) -> str:
    return f"{doing} failed, {reason_of(error)}"


def _strict(name: str, doing: str, error: BaseException) -> str:
    """Excuse what is about a text.

    Raises:
        UnavailableError: for anything else.
    """
    if isinstance(error, TextError):
        return _tolerant(doing, error)
    raise UnavailableError(
        f"{name} can't go on, {_tolerant(doing, error)}", mend_of(error)
    ) from error


Score = Callable[[int, str, list[str]], object]
"""From the number of a query, its text and its documents to whatever the retriever returns."""


def _scorer(
    retriever: Retriever, pools: _Pools, ratings: pl.DataFrame | None, setting: str
) -> Score:
    if isinstance(retriever, PrecomputedScores):
        return _looked_up(retriever, pools, setting)
    if not isinstance(retriever, RatingsRetriever):
        return lambda number, query, documents: retriever.score(query, documents)
    if ratings is None:
        raise ValueError("the row `ratings` needs the ratings")
    values = _rating_values(pools, ratings)

    def score(number: int, query: str, documents: list[str]) -> object:
        own = values[pools.starts[number] : pools.starts[number + 1]]
        if np.isnan(own).all():
            raise _UnusableScoresError("The query has no ratings.")
        return retriever.score_ratings(own)

    return score


def _resumed(score: Score, pools: _Pools, setting: str, kept: PartialScores) -> Score:
    """Return what asks only for scores that aren't kept yet, and keeps those that can be used."""

    def one(number: int, query: str, documents: list[str]) -> object:
        query_id = pools.queries[number]
        found = kept.get(setting, query_id)
        if found is None or found.size != len(documents):
            found = _checked(score(number, query, documents), len(documents))
            kept.put(setting, query_id, found)
        return found

    return one


def _looked_up(run: PrecomputedScores, pools: _Pools, setting: str) -> Score:
    candidates = pools.members["candidate_id"].to_list()

    def score(number: int, query: str, documents: list[str]) -> object:
        members = candidates[pools.starts[number] : pools.starts[number + 1]]
        try:
            return run.score_pool(pools.queries[number], members, setting)
        except LookupError as error:
            raise _UnusableScoresError(str(error)) from error

    return score


def _rating_values(pools: _Pools, ratings: pl.DataFrame) -> NDArray[np.float64]:
    """Return the rating of each pool member, NaN where it has none."""
    wanted = ratings.select("query_id", "candidate_id", pl.col("rating").cast(pl.Float64))
    joined = pools.members.join(
        wanted, on=["query_id", "candidate_id"], how="left", maintain_order="left"
    )
    return joined["rating"].fill_null(float("nan")).to_numpy()


def _ordered(pools: pl.DataFrame) -> _Pools:
    members = pools.select("query_id", "candidate_id").sort("query_id", "candidate_id")
    repeated = members.filter(members.is_duplicated())
    if repeated.height:
        raise ValueError(f"pools repeat (query, candidate) {repeated.row(0)}")
    lengths = members.group_by("query_id", maintain_order=True).len()
    starts = [0, *lengths["len"].cum_sum().to_list()]
    return _Pools(members, lengths["query_id"].to_list(), starts)


def setting_texts(
    pools: pl.DataFrame, corpus: pl.DataFrame, setting: str
) -> tuple[list[str], list[str]]:
    """Return the texts of all queries and of all distinct documents in a setting.

    Args:
        pools: columns `query_id` and `candidate_id` of CANDIDATE_POOLS.
        corpus: DEDUPED_CORPUS, holding all queries and candidates.
        setting: of `SETTINGS`.

    Raises:
        ValueError: for an unknown setting, or an id that the corpus lacks.
    """
    ordered = _ordered(pools)
    texts = _texts_of(ordered, corpus)
    candidates = ordered.members["candidate_id"].unique().sort()
    return (
        [query_text(*texts[key], setting) for key in ordered.queries],
        list(dict.fromkeys(document_text(*texts[key], setting) for key in candidates)),
    )


def _texts_of(pools: _Pools, corpus: pl.DataFrame) -> dict[str, tuple[str, str]]:
    """Return statement and solution of every query and candidate, by id."""
    wanted = pl.concat([pools.members["query_id"], pools.members["candidate_id"]]).unique()
    rows = corpus.filter(pl.col("problem_id").is_in(wanted.implode()))
    texts = {
        key: (problem, solution)
        for key, problem, solution in rows.select("problem_id", "problem", "solution").iter_rows()
    }
    absent = sorted(set(wanted.to_list()) - texts.keys())
    if absent:
        raise ValueError(f"the corpus lacks {len(absent)} problems of the pools: {absent[:5]}")
    return texts


def _score_setting(
    score: Score,
    retriever: Retriever,
    pools: _Pools,
    texts: dict[str, tuple[str, str]],
    setting: str,
    progress: Callable[[int], None] | None,
    excuse: Excuse,
) -> tuple[NDArray[np.float64], dict[str, str]]:
    """Return a score for each pool member, NaN where the query failed, and the reasons."""
    candidates = pools.members["candidate_id"].to_list()
    shown = {key: document_text(*texts[key], setting) for key in dict.fromkeys(candidates)}
    asked = [query_text(*texts[query_id], setting) for query_id in pools.queries]
    scores = np.full(len(candidates), np.nan)
    fault = _hand_over(retriever, "prepare", shown.values(), excuse)
    fault = fault or _hand_over(retriever, "prepare_queries", asked, excuse)
    reasons: dict[str, str] = {}

    def one(number: int) -> NDArray[np.float64] | str:
        """Return the scores of a query, or why there are none."""
        first, last = pools.starts[number], pools.starts[number + 1]
        documents = [shown[key] for key in candidates[first:last]]
        try:
            return fault or _checked(score(number, asked[number], documents), last - first)
        except _UnusableScoresError as error:
            return str(error)
        except InputError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  (a person's code may raise anything)
            return excuse("score", error)

    width = int(getattr(retriever, "queries_in_flight", 1))
    for number, found in enumerate(_in_turn(one, len(pools.queries), width)):
        if isinstance(found, str):
            reasons[pools.queries[number]] = found
        else:
            scores[pools.starts[number] : pools.starts[number + 1]] = found
        if progress is not None:
            progress(1)
    return scores, reasons


def _in_turn(one: Callable[[int], T], count: int, width: int) -> Iterator[T]:
    """Yield what comes of each number in order; up to `width` are worked on at the same time."""
    if width <= 1:
        yield from map(one, range(count))
        return
    executor = ThreadPoolExecutor(width)
    try:
        yield from executor.map(one, range(count))
    finally:
        executor.shutdown(cancel_futures=True)


def _hand_over(retriever: Retriever, method: str, texts: Iterable[str], excuse: Excuse) -> str:
    """Call an optional method with distinct texts; return what went wrong, or an empty text."""
    prepare = getattr(retriever, method, None)
    if not callable(prepare):
        return ""
    try:
        prepare(list(dict.fromkeys(texts)))
    except InputError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001  (a person's code may raise anything)
        return excuse(method, error)
    return ""


def _checked(answer: object, documents: int) -> NDArray[np.float64]:
    """Return an answer as float64 numbers.

    Raises:
        _UnusableScoresError: when it isn't one finite number a document.
    """
    if answer is None:
        raise _UnusableScoresError("score returned None instead of numbers.")
    try:
        values = np.asarray(answer)
    except (TypeError, ValueError, RuntimeError) as error:
        raise _UnusableScoresError(f"score returned no numbers, {reason_of(error)}") from error
    if values.dtype.kind not in "fiub" and values.size:
        kind = type(answer).__name__
        raise _UnusableScoresError(f"score returned a {kind} that holds no plain numbers.")
    if values.shape != (documents,):
        shown = f"{len(values)} scores" if values.ndim == 1 else f"an array of shape {values.shape}"
        raise _UnusableScoresError(f"score returned {shown} for {documents} documents.")
    numbers = values.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise _UnusableScoresError(
            f"score returned {bad.size} values that aren't finite, first {numbers[bad[0]]} "
            f"for document number {bad[0] + 1}."
        )
    return numbers


def _score_frame(
    pools: _Pools, scores: NDArray[np.float64], name: str, version: str, setting: str
) -> pl.DataFrame:
    return (
        pools.members.with_columns(
            pl.Series("score", scores),
            retriever=pl.lit(name),
            version=pl.lit(version),
            setting=pl.lit(setting),
        )
        .filter(pl.col("score").is_not_nan())
        .select(list(RETRIEVER_SCORES.columns))
    )


def _failure_frame(reasons: dict[str, str], name: str, setting: str) -> pl.DataFrame:
    count = len(reasons)
    return pl.DataFrame(
        {
            "retriever": [name] * count,
            "setting": [setting] * count,
            "query_id": list(reasons),
            "reason": list(reasons.values()),
        },
        schema=RETRIEVER_FAILURES.schema,
    )
