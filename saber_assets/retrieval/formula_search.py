"""Formula search by Approach Zero: documents are found by the structure of their formulas.

For each pool an index of the documents' formulas is made and the query's formulas are searched in
it. Words are not used. A document in which the engine finds none of them scores 0; so does one
whose matches it holds to be worth less than nothing.

The engine is a C library that some queries crash. It runs in a process of its own, one a pool, and
a crash costs that query only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saber_assets.corpus.formulas import formulas
from saber_assets.errors import TextError
from saber_assets.retrieval import formula_worker

REVISION = 1
SECONDS = 600
DECIMALS = 3
"""The engine writes its scores with three decimals."""


class FormulaSearchError(TextError):
    """The engine failed on a query; the message says how."""


class FormulaSearch:
    """Scores by Approach Zero, over an index of the pool.

    Args:
        command: starts the worker, which takes the pool and a file for the answer; by default
            `formula_worker` by this Python.
        seconds: after which a pool is given up.
    """

    def __init__(self, command: Sequence[str] | None = None, seconds: float = SECONDS) -> None:
        self._command = command or [sys.executable, "-P", str(formula_worker.__file__)]
        self._seconds = seconds

    def score(self, query: str, documents: Sequence[str]) -> NDArray[np.float64]:
        """Return one score a document, 0 or more; all 0 where the query has no formula.

        Raises:
            FormulaSearchError: when the engine crashes, takes too long or gives no answer.
        """
        asked = usable_formulas(query)
        if not asked or not documents:
            return np.zeros(len(documents))
        pool = {"query": asked, "documents": [usable_formulas(text) for text in documents]}
        scores = np.array(self._answer(pool)["scores"], dtype=np.float64)
        return np.maximum(scores, 0.0).round(DECIMALS)

    def _answer(self, pool: dict[str, Any]) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="formula-search-") as folder:
            place = Path(folder) / "answer.json"
            try:
                done = subprocess.run(  # noqa: S603
                    [*self._command, str(place)],
                    input=json.dumps(pool).encode(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    timeout=self._seconds,
                    cwd=folder,
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                raise FormulaSearchError(
                    f"Approach Zero had no answer after {self._seconds:.0f} seconds"
                ) from error
            if done.returncode < 0:
                raise FormulaSearchError(
                    f"Approach Zero crashed on this query (signal {-done.returncode})"
                )
            if done.returncode or not place.is_file():
                last = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
                raise FormulaSearchError(f"Approach Zero gave no answer: {''.join(last)}")
            return dict(json.loads(place.read_text(encoding="utf-8")))


def usable_formulas(text: str) -> list[str]:
    """Return a text's formulas as the engine takes them: without its own marks and odd signs."""
    found = []
    for formula in formulas(text):
        body = formula.body.encode("utf-8", "replace").decode().replace("\0", " ").strip()
        marked = formula_worker.OPENING in body or formula_worker.CLOSING in body
        if body and not marked:
            found.append(body)
    return found
