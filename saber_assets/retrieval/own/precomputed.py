"""Precomputed scores as a retriever: a run takes the place of the model that made it.

A run's documents outside a pool are passed over. Members of a pool that a run lacks were not
retrieved: they rank below all others of their query, by id among themselves. A query of which it
has no member of the pool counts as failed.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from saber_assets.errors import InputError
from saber_assets.retrieval.entry import Entry, version_of
from saber_assets.retrieval.own.run_file import Run, digest_of, read_run, score_of
from saber_assets.retrieval.tables import SETTINGS

REVISION = 1
_KEPT = string.punctuation.replace("%", "")


def runs_entry(name: str, files: Mapping[str, Path]) -> Entry:
    """Describe files of scores as an entry whose version is a hash of their content.

    Args:
        name: of the retriever.
        files: by setting.

    Raises:
        InputError: when a file can't be read.
    """
    ordered = {setting: files[setting] for setting in SETTINGS if setting in files}
    digests = {setting: digest_of(path) for setting, path in ordered.items()}
    shown = ", ".join(str(path) for path in ordered.values())
    return Entry(
        name=name,
        family="own",
        type_code="",
        description=f"Precomputed scores of {shown}.",
        version=version_of({"runs": digests, "revision": REVISION}),
        factory=lambda: PrecomputedScores(
            {setting: read_run(path) for setting, path in ordered.items()}
        ),
        settings=tuple(ordered),
        light=True,
        own=True,
        precomputed=True,
    )


class PrecomputedScores:
    """Scores of one or more runs, looked up by id.

    Args:
        runs: by setting.
    """

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self.runs = dict(runs)
        self._asked: Counter[str] = Counter()
        self._lacking: Counter[str] = Counter()

    def score(self, query: str, documents: Sequence[str]) -> Sequence[float]:
        """Refuse: a run knows ids, not texts.

        Raises:
            InputError: always.
        """
        raise InputError(
            "precomputed scores can't score other texts",
            "ask this of a retriever that runs, or give a run of its own for it",
        )

    def score_pool(
        self, query_id: str, candidates: Sequence[str], setting: str
    ) -> NDArray[np.float64]:
        """Return the scores of a pool's members, those that weren't retrieved below all others.

        Raises:
            LookupError: when the run has none of them.
        """
        run = self.runs[setting]
        scores = run.get(query_id, run.get(_encoded(query_id), {}))
        found = np.array([score_of(scores, document, _encoded) for document in candidates])
        lacking = np.isnan(found)
        if lacking.all():
            known = "no member of the pool" if scores else "no document"
            raise LookupError(f"The run has {known} for this query.")
        self._asked[setting] += len(candidates)
        self._lacking[setting] += int(lacking.sum())
        lowest = float(found[~lacking].min())
        found[lacking] = lowest - max(1.0, abs(lowest))
        return found

    def note(self) -> str:
        """Return how many members of the pools weren't in the run, "" where all were."""
        told = [
            f"{count} of {self._asked[setting]} pool members ({count / self._asked[setting]:.1%}) "
            f"are not in the run for {setting} and rank below all others of their query"
            for setting, count in self._lacking.items()
            if count
        ]
        return "; ".join(told)


def _encoded(identifier: str) -> str:
    """Return an id as exports write it, in fields that end at a blank."""
    return quote(identifier, safe=_KEPT, errors="surrogatepass")
