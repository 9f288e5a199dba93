"""The page of each query: its candidates, the judgments, and what each retriever ranked where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from saber_services.report.board import WholeBoard, as_json
from saber_services.report.examples import NAMES
from saber_services.report.outside import Judged, Outside, Reply
from saber_services.report.pools import Pools, Ranks
from saber_services.report.query_values import QueryValues
from saber_services.report.source import Source

BATCH = 100
"""Queries whose judgments are in memory at once."""
CUTOFF = 10
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
REASONED_CANDIDATES = 6
"""Answers of the judge are shown for judgments among the so many best rated of a query."""
MOST_REASONS = 12
FOLDED_BEST, FOLDED_WORST = 3, 2
SIGNS = {1: "›", 2: "‹", 0: "="}
NO_VERDICT = "?"


@dataclass(frozen=True)
class Candidate:
    """A candidate in rating order, with how the retrievers placed it in the first setting.

    Attributes:
        place: from 1; of those without a rating too, which come last.
        identity: problem id.
        category: why it is in the pool.
        rating: [0, 5], or None.
        error: standard error on the same scale, or None.
        wins: judgments won, or None.
        losses: judgments lost, or None.
        flag: what is wrong with the rating, or None.
        found_by: competitors that have it among their top ten.
        median: of the competitors' ranks, or None.
    """

    place: int
    identity: str
    category: str
    rating: float | None
    error: float | None
    wins: int | None
    losses: int | None
    flag: str | None
    found_by: int
    median: float | None


@dataclass(frozen=True)
class RetrieverLine:
    """A retriever on the query: its measure by setting, and the places of its top ten.

    `top` holds the candidates' places in rating order, the highest score first, in the first
    setting; it is empty where no scores are kept.
    """

    name: str
    is_control: bool
    values: tuple[float | None, ...]
    failed: tuple[bool, ...]
    top: tuple[int, ...]


@dataclass(frozen=True)
class Round:
    """The judgments of a round, as `3›14`: shown first 3, then 14, and 3 was preferred."""

    number: int
    pairs: tuple[str, ...]


@dataclass(frozen=True)
class Reason:
    """What the judge wrote about a pair: places of both, the verdict in words, and the answer."""

    first: int
    second: int
    verdict: str
    reply: Reply


@dataclass(frozen=True)
class QueryPage:
    """Everything of a query but the texts."""

    number: int
    query_id: str
    domains: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    lines: tuple[RetrieverLine, ...]
    settings: tuple[str, ...]
    measure: str
    competitors: int
    judges: tuple[str, ...]
    rounds: tuple[Round, ...]
    judgments: int
    reasons: tuple[Reason, ...]
    data: Markup | None


def query_pages(
    source: Source,
    pools: Pools,
    ranks: Ranks,
    values: QueryValues | None,
    board: WholeBoard | None,
    outside: Outside,
) -> Iterator[QueryPage]:
    """Yield the pages in the order of the query ids; judgments are read in batches."""
    replies = outside.replies(_judged(source, pools)) if outside.store is not None else {}
    for start in range(0, len(pools.queries), BATCH):
        batch = pools.queries[start : start + BATCH]
        judged = _judgments(source, batch)
        for number, query in enumerate(batch, start=start):
            yield _page(number, query, pools, ranks, values, board, judged.get(query), replies)


def _judgments(source: Source, batch: Sequence[str]) -> dict[str, pl.DataFrame]:
    if not source.has("pairwise_judgments"):
        return {}
    columns = ("query_id", "round", "pair", "first_id", "second_id", "winner", "judge")
    rows = source.read(
        "pairwise_judgments", *columns, where=pl.col("query_id").is_in(list(batch))
    ).sort("query_id", "round", "pair")
    return {str(key[0]): part for key, part in rows.group_by("query_id", maintain_order=True)}


def _judged(source: Source, pools: Pools) -> dict[str, Judged]:
    """Return the judgments whose reasons are shown, those among the best rated, by their items."""
    if not source.has("pairwise_judgments"):
        return {}
    best = pools.rows.group_by("query_id", maintain_order=True).head(REASONED_CANDIDATES)
    keys = best.select("query_id", "candidate_id")
    columns = ("query_id", "first_id", "second_id", "judge", "winner")
    rows = source.read("pairwise_judgments", *columns)
    for column in ("first_id", "second_id"):
        rows = rows.join(keys, left_on=["query_id", column], right_on=["query_id", "candidate_id"],
                         how="semi")  # fmt: skip
    return {"|".join(row[:3]): Judged(*row[3:]) for row in rows.select(columns).iter_rows()}


def _page(
    number: int,
    query: str,
    pools: Pools,
    ranks: Ranks,
    values: QueryValues | None,
    board: WholeBoard | None,
    judged: pl.DataFrame | None,
    replies: Mapping[str, Reply],
) -> QueryPage:
    rows = pools.of(number)
    start, stop = (int(place) for place in pools.offsets[number : number + 2])
    own = ranks.values[:, :, start:stop]
    known = [] if values is None else list(values.retrievers)
    competing = [
        place
        for place, name in enumerate(ranks.retrievers)
        if values is not None and name in known and values.competitors[known.index(name)]
    ]
    places = {candidate: place for place, candidate in enumerate(rows["candidate_id"], start=1)}
    judges = () if judged is None else tuple(judged["judge"].unique().sort())
    lines = tuple(_lines(query, own, ranks, values))
    return QueryPage(
        number=number + 1,
        query_id=query,
        domains=pools.domains[number],
        candidates=tuple(_candidates(rows, own[competing, 0])),
        lines=lines,
        settings=() if values is None else values.settings,
        measure="" if values is None else values.measure,
        competitors=len(competing),
        judges=judges,
        rounds=() if judged is None else tuple(_rounds(judged, places)),
        judgments=0 if judged is None else judged.height,
        reasons=() if judged is None else tuple(_reasons(judged, places, replies)),
        data=_data(own, ranks, [line.name for line in sorted(lines, key=_is_control)]),
    )


def _candidates(rows: pl.DataFrame, ranks: np.ndarray) -> Iterator[Candidate]:
    """Yield the candidates; `ranks` is uint16 (competitors, n)."""
    found = ((ranks > 0) & (ranks <= CUTOFF)).sum(axis=0)
    for place, row in enumerate(rows.iter_rows(named=True), start=1):
        column = ranks[:, place - 1]
        ranked = column[column > 0]
        yield Candidate(
            place,
            row["candidate_id"],
            NAMES.get(row["category"], row["category"]),
            row["rating"],
            row["error"],
            row["wins"],
            row["losses"],
            row["flag"],
            int(found[place - 1]),
            float(np.median(ranked)) if ranked.size else None,
        )


def _lines(
    query: str, own: np.ndarray, ranks: Ranks, values: QueryValues | None
) -> Iterator[RetrieverLine]:
    if values is None or query not in values.queries:
        return
    column = values.queries.index(query)
    scored = {name: place for place, name in enumerate(ranks.retrievers)}
    order = np.argsort(-np.nan_to_num(values.values[:, 0, column], nan=-1.0), kind="stable")
    for row in order.tolist():
        name = values.retrievers[row]
        top: list[int] = []
        if name in scored:
            placed = own[scored[name], 0]
            within = np.flatnonzero((placed > 0) & (placed <= CUTOFF))
            top = (within[np.argsort(placed[within])] + 1).tolist()
        numbers = values.values[row, :, column].tolist()
        yield RetrieverLine(
            name,
            not bool(values.competitors[row]),
            tuple(None if value != value else value for value in numbers),
            tuple(values.failed[row, :, column].tolist()),
            tuple(top),
        )


def _rounds(judged: pl.DataFrame, places: Mapping[str, int]) -> Iterator[Round]:
    rows = judged.select("round", "first_id", "second_id", "winner").iter_rows()
    for number, group in groupby(rows, lambda row: row[0]):
        pairs = [
            f"{places.get(first, NO_VERDICT)}{SIGNS.get(winner, NO_VERDICT)}"
            f"{places.get(second, NO_VERDICT)}"
            for _, first, second, winner in group
        ]
        yield Round(number, tuple(pairs))


def _reasons(
    judged: pl.DataFrame, places: Mapping[str, int], replies: Mapping[str, Reply]
) -> Iterator[Reason]:
    if not replies:
        return
    words = {1: "the first", 2: "the second", 0: "neither, a tie", None: "no verdict"}
    count = 0
    pairs = judged.select("query_id", "first_id", "second_id", "winner")
    for query, first, second, winner in pairs.unique(
        ["first_id", "second_id"], keep="first", maintain_order=True
    ).iter_rows():
        reply = replies.get(f"{query}|{first}|{second}")
        if reply is None or first not in places or second not in places:
            continue
        yield Reason(places[first], places[second], words.get(winner, "no verdict"), reply)
        count += 1
        if count == MOST_REASONS:
            return


def _is_control(line: RetrieverLine) -> bool:
    return line.is_control


def _data(own: np.ndarray, ranks: Ranks, names: Sequence[str]) -> Markup | None:
    """Return all ranks as JSON: a text of two or more characters a candidate, in base 36."""
    if not ranks.retrievers or not own.size:
        return None
    width = max(2, len(base36(int(own.max()))))
    order = {name: place for place, name in enumerate(ranks.retrievers)}
    shown = [name for name in names if name in order] or list(ranks.retrievers)
    coded: dict[str, Any] = {
        "width": width,
        "settings": list(ranks.settings),
        "names": shown,
        "ranks": [
            [
                "".join(
                    base36(rank).rjust(width, "0") for rank in own[order[name], setting].tolist()
                )
                for setting in range(len(ranks.settings))
            ]
            for name in shown
        ],
    }
    return as_json(coded)


def base36(number: int) -> str:
    """Return a number from 0 on in base 36."""
    found = DIGITS[number % 36]
    while number := number // 36:
        found = DIGITS[number % 36] + found
    return found
