"""The page of each retriever: its card, its numbers everywhere, and where it is good and bad."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from saber_assets.evaluation.leaderboard import ALL_DOMAINS
from saber_assets.evaluation.paired_tests import ALPHA
from saber_services.report.board import Card, WholeBoard
from saber_services.report.query_values import QueryValues
from saber_services.report.source import Source
from saber_services.report.standings import CONTROL_FAMILY

MOST_FAILURES = 50


@dataclass(frozen=True)
class BoardRow:
    """A retriever's rows in one setting, by domain; None where there is none."""

    setting: str
    cells: tuple[dict[str, Any] | None, ...]


@dataclass(frozen=True)
class Extremes:
    """The queries with the highest and lowest values of a retriever in a setting."""

    setting: str
    best: tuple[tuple[str, float], ...]
    worst: tuple[tuple[str, float, bool], ...]


@dataclass(frozen=True)
class RetrieverPage:
    """Everything of a retriever.

    Attributes:
        card: what it is.
        is_control: whether it only checks the measure.
        rank: on the first board, or None.
        domains: `all` first.
        rows: one a setting.
        alike: by setting, the retrievers that it can't be told apart from; None without tests.
        extremes: by setting; empty where no query measures are kept.
        failures: (setting, query, reason), the first ones.
        failed: all failures.
        seconds: median a query, or None.
    """

    card: Card
    is_control: bool
    rank: int | None
    domains: tuple[str, ...]
    rows: tuple[BoardRow, ...]
    alike: tuple[tuple[str, tuple[str, ...]], ...] | None
    extremes: tuple[Extremes, ...]
    failures: tuple[tuple[str, str, str], ...]
    failed: int
    seconds: float | None


def retriever_pages(
    source: Source,
    board: WholeBoard,
    cards: Mapping[str, Card],
    values: QueryValues | None,
    seconds: Mapping[str, float],
) -> Iterator[RetrieverPage]:
    """Yield the pages in the order of the first board."""
    domains = board.domains()
    rows = {
        (one.label, domain, row["retriever"]): row
        for one in board.standings.boards
        for domain in domains
        for row in board.of(one, domain)
    }
    settings = list(dict.fromkeys(one.setting for one in board.standings.boards))
    alike = _alike(source)
    failures = _failures(source)
    for name, family in board.retrievers.items():
        first = rows.get((board.standings.boards[0].label, ALL_DOMAINS, name))
        own = failures.get(name, [])
        yield RetrieverPage(
            cards[name],
            family == CONTROL_FAMILY,
            None if first is None else int(first["rank"]),
            tuple(domains),
            tuple(
                BoardRow(
                    one.label, tuple(rows.get((one.label, domain, name)) for domain in domains)
                )
                for one in board.standings.boards
            ),
            None if alike is None else tuple(_of(name, alike, settings)),
            () if values is None else tuple(_extremes(values, name)),
            tuple(own[:MOST_FAILURES]),
            len(own),
            seconds.get(name),
        )


def _of(
    name: str, alike: Mapping[str, Mapping[str, list[str]]], settings: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for setting in settings:
        if name in alike.get(setting, {}):
            yield setting, tuple(alike[setting][name])


def _extremes(values: QueryValues, name: str) -> Iterator[Extremes]:
    row = values.retrievers.index(name)
    for place, setting in enumerate(values.settings):
        best, worst = values.extremes(name, place)
        yield Extremes(
            setting,
            tuple((values.queries[q], float(values.values[row, place, q])) for q in best),
            tuple(
                (
                    values.queries[q],
                    float(values.values[row, place, q]),
                    bool(values.failed[row, place, q]),
                )
                for q in worst
            ),
        )


def _alike(source: Source) -> dict[str, dict[str, list[str]]] | None:
    """Return by setting and retriever those whose difference isn't significant."""
    if not source.has("paired_tests"):
        return None
    found: dict[str, dict[str, list[str]]] = {}
    rows = source.read("paired_tests", "setting", "first", "second", "adjusted_randomisation")
    for setting, first, second, p in rows.sort("setting", "first", "second").iter_rows():
        own = found.setdefault(setting, {})
        for one, other in ((first, second), (second, first)):
            listed = own.setdefault(one, [])
            if p > ALPHA:
                listed.append(other)
    return {setting: {n: sorted(o) for n, o in own.items()} for setting, own in found.items()}


def _failures(source: Source) -> dict[str, list[tuple[str, str, str]]]:
    if not source.has("retriever_failures"):
        return {}
    rows = source.read("retriever_failures", "retriever", "setting", "query_id", "reason").sort(
        "retriever", "setting", "query_id"
    )
    return {
        str(key[0]): part.drop("retriever").with_columns(pl.all().cast(pl.String)).rows()
        for key, part in rows.group_by("retriever", maintain_order=True)
    }
