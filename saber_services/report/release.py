"""What a report says of an imported release: what that gives, and what it can't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from saber_assets.evaluation import tables as evaluation
from saber_assets.evaluation.tables import RATING_NOISE, SIGNAL_EFFECT
from saber_assets.publishing.import_tables import ACCORDING
from saber_assets.publishing.tables import IMPORTED
from saber_assets.retrieval import tables as retrieval
from saber_assets.table import Table
from saber_services.report.source import Source

GIVEN = frozenset(table.name for table in IMPORTED)
"""Tables that come out of a release."""
MADE = GIVEN | {
    table.name
    for stage in (retrieval, evaluation)
    for table in vars(stage).values()
    if isinstance(table, Table)
}
"""Tables that a workdir with an import can have; no other is ever made there."""
LEFT_EMPTY = GIVEN | {RATING_NOISE.name, SIGNAL_EFFECT.name}
"""Tables without rows where a release lacks what is in them, or what they are made from."""


@dataclass(frozen=True)
class Release:
    """The release that stands in for what a build would have made.

    Attributes:
        made_by: annotators and judges by part, as it states them.
    """

    made_by: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def names(self, part: str) -> tuple[str, ...]:
        """Return who made a part, with the word that only the release says so."""
        return tuple(f"{name}, {ACCORDING}" for name in self.made_by.get(part, ()))


@dataclass(frozen=True)
class Absence:
    """Why a section has nothing to show.

    Attributes:
        kind: the tables are not made yet, a release doesn't have them, or they have no rows.
        tables: those that are not made yet.
    """

    kind: Literal["unmade", "unreleased", "empty"]
    tables: tuple[str, ...] = ()


def absence(source: Source, release: Release | None, *tables: str) -> Absence:
    """Return why a section that needs these tables has nothing to show."""
    lacking = source.lacking(*tables)
    if release is not None and not MADE.issuperset(lacking):
        return Absence("unreleased")
    if lacking:
        return Absence("unmade", lacking)
    if release is not None and not LEFT_EMPTY.isdisjoint(tables):
        return Absence("unreleased")
    return Absence("empty")
