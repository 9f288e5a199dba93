"""What every judge does, and how a pair is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from saber_assets.annotation.annotator import Comparison
from saber_assets.tournament.tournament import Outcome


class PairJudge(Protocol):
    """Compares candidates of queries.

    Outcomes come in the order of the comparisons: 1 or 2 for the preferred one as shown, 0 for a
    tie, a Verdict where the judge also says how sure it is, or a Failure. They must not depend on
    how comparisons are batched.
    """

    name: str
    """Goes into the tables and the pages."""

    def compare(self, comparisons: Sequence[Comparison]) -> Sequence[Outcome]:
        """Return one outcome for each comparison."""
        ...


def pair_values(pair: Comparison) -> Mapping[str, Any]:
    """Return what the prompt `pairwise_judge` shows."""
    return {"query": pair.query, "first": pair.first, "second": pair.second}
