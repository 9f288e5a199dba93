"""The board in every setting and domain, as the page's switches need it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from saber_assets.evaluation.leaderboard import ALL_DOMAINS
from saber_assets.evaluation.paired_tests import cannot_be_told_apart, letters
from saber_assets.evaluation.tables import LEADERBOARD, PAIRED_TESTS
from saber_assets.ontology.tables import DOMAINS
from saber_services.report.discreet import discreet
from saber_services.report.source import Source
from saber_services.report.standings import Board, Standings, boards_of

SIZES = ((1e9, "up to 1 billion"), (5e9, "1 to 5 billion"), (float("inf"), "over 5 billion"))
UNKNOWN = "not stated"


@dataclass(frozen=True)
class Card:
    """What is known of a retriever apart from its scores.

    Attributes:
        name: in the registry.
        family: kind of retriever.
        type_code: letters, as in docs/systems.md; may be empty.
        size: as its makers say, or empty.
        parameters: about how many, or None.
        size_class: one of `SIZES`, or "not stated".
        facts: (label, value) for its page.
        caveats: sentences.
    """

    name: str
    family: str
    type_code: str
    size: str
    parameters: float | None
    size_class: str
    facts: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...]


def card_of(name: str, family: str, version: str, stated: Mapping[str, Any]) -> Card:
    """Return the card of a retriever.

    Args:
        name: in the registry.
        family: as on the board.
        version: of the kept scores; empty where none are kept.
        stated: what the registry says; empty where it isn't known.
    """
    size = str(stated.get("size") or "")
    parameters = stated.get("parameters")
    labels = (
        ("What it is", "description"),
        ("Model", "model"),
        ("Revision", "revision"),
        ("Size", "size"),
        ("Licence", "licence"),
        ("Released", "released"),
        ("Window, tokens", "window"),
        ("Pooling", "pooling"),
        ("Backends", "backends"),
        ("Published in", "tables"),
        ("Parity gate", "parity"),
    )
    facts = [("Family", family), ("Type code", str(stated.get("type_code") or "none"))]
    facts += [(label, discreet(shown(stated[key]))) for label, key in labels if stated.get(key)]
    facts.append(("Version of the scores", version or "not recorded"))
    unconfirmed = [str(one) for one in stated.get("unconfirmed") or ()]
    caveats = [discreet(str(one)) for one in stated.get("caveats") or ()]
    if unconfirmed:
        caveats.append(f"Not confirmed on this card: {', '.join(unconfirmed)}.")
    return Card(
        name,
        family,
        str(stated.get("type_code") or ""),
        size,
        parameters,
        next(word for most, word in SIZES if parameters <= most) if parameters else UNKNOWN,
        tuple(facts),
        tuple(caveats),
    )


def shown(value: object) -> str:
    """Return a value of a card in words."""
    if isinstance(value, (list, tuple)):
        return ", ".join(str(one) for one in value)
    return str(value)


@dataclass(frozen=True)
class WholeBoard:
    """All rows of the leaderboard.

    Attributes:
        standings: boards and domain tables, for what is shown without a script.
        letters: by setting: for each retriever the letters that it shares with those it can't be
            told apart from; empty where there are no paired tests.
        rows: the table LEADERBOARD.
    """

    standings: Standings
    letters: Mapping[str, Mapping[str, str]]
    rows: pl.DataFrame

    @property
    def retrievers(self) -> dict[str, str]:
        """The family of each retriever on any board, by its place on the first ones."""
        return {row.retriever: row.family for board in self.standings.boards for row in board.rows}

    def domains(self) -> list[str]:
        """Return the domains, `all` first."""
        there = set(self.rows["domain"])
        known = [domain for domain in (ALL_DOMAINS, *DOMAINS) if domain in there]
        return [*known, *sorted(there - set(known))]

    def data(self) -> Markup:
        """Return everything that the switches need, as JSON that is safe inside an element."""
        names = list(self.retrievers)
        boards = self.standings.boards
        return as_json(
            {
                "names": names,
                "settings": [board.label for board in boards],
                "texts": [board.shown_texts for board in boards],
                "measures": [board.measure for board in boards],
                "domains": self.domains(),
                "cells": [
                    [self._cells(board, domain, names) for domain in self.domains()]
                    for board in boards
                ],
            }
        )

    def _cells(self, board: Board, domain: str, names: Sequence[str]) -> list[list[Any] | None]:
        rows = {row["retriever"]: row for row in self.of(board, domain)}
        marks = self.letters.get(board.setting, {}) if domain == ALL_DOMAINS else {}
        return [
            None
            if name not in rows
            else [
                rows[name]["rank"],
                *(round(rows[name][key], 8) for key in ("mean", "low", "high")),
                rows[name]["queries"],
                rows[name]["failed"],
                marks.get(name, ""),
            ]
            for name in names
        ]

    def of(self, board: Board, domain: str) -> list[dict[str, Any]]:
        """Return the rows of a board in a domain, by rank."""
        chosen = self.rows.filter(
            (pl.col("setting") == board.setting)
            & (pl.col("measure") == board.measure)
            & (pl.col("domain") == domain)
        )
        return chosen.sort("rank", "retriever").to_dicts()


def read_board(source: Source) -> WholeBoard | None:
    """Return the board, or None where there is no leaderboard or it has no rows."""
    if not source.has(LEADERBOARD.name):
        return None
    rows = source.read(LEADERBOARD.name, *LEADERBOARD.columns)
    standings = boards_of(rows)
    return None if standings is None else WholeBoard(standings, _letters(source, standings), rows)


def _letters(source: Source, standings: Standings) -> dict[str, dict[str, str]]:
    if not source.has(PAIRED_TESTS.name):
        return {}
    tests = source.read(
        PAIRED_TESTS.name, "setting", "first", "second", "adjusted_randomisation"
    ).sort("setting", "first", "second")
    found: dict[str, dict[str, str]] = {}
    for board in standings.boards:
        own = tests.filter(pl.col("setting") == board.setting)
        tested = {*own["first"], *own["second"]}
        means = {row.retriever: row.mean for row in board.rows if row.retriever in tested}
        both = own.filter(pl.col("first").is_in(list(means)) & pl.col("second").is_in(list(means)))
        found.setdefault(board.setting, letters(cannot_be_told_apart(means, both)) if means else {})
    return found


def as_json(value: object) -> Markup:
    """Return JSON that ends no element and no comment: safe inside a script of data."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    for character, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, code)
    return Markup(text)  # noqa: S704 - nothing of HTML is left in it
