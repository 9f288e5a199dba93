"""Formula search: what reaches the engine, what a crash costs, and the engine itself."""

from __future__ import annotations

import importlib.util
import json
import sys
import tempfile
from pathlib import Path

import pytest

from saber_assets.retrieval.formula_search import (
    FormulaSearch,
    FormulaSearchError,
    usable_formulas,
)
from saber_assets.retrieval.registry import registry

needs_engine = pytest.mark.skipif(
    importlib.util.find_spec("pya0") is None, reason="pya0 is not installed"
)
QUERY = "Let $x^2+y^2=z^2$ be true."
DOCUMENTS = [
    "Prove that $a^2+b^2=c^2$.",
    "No formula at all.",
    "Find $\\frac{a+b}{c}$.",
    "Broken: $\\frac{$ and $u^2+v^2=w^2$.",
]


def worker(folder: Path, body: str) -> list[str]:
    """Return the command of a stand-in for the engine's process."""
    script = folder / "worker.py"
    script.write_text(f"import json, os, sys, time\npool = json.load(sys.stdin)\n{body}\n")
    return [sys.executable, str(script)]


def test_formulas_reach_the_engine_and_scores_come_back(tmp_path: Path) -> None:
    body = (
        "found = [len(set(pool['query']) & set(formulas)) for formulas in pool['documents']]\n"
        "print('noise')\n"
        "open(sys.argv[1], 'w').write(json.dumps({'scores': [n - 0.5 for n in found]}))"
    )
    search = FormulaSearch(worker(tmp_path, body))
    found = search.score("$x+1$ and \\(y\\), $5 and $7", ["$x+1$", "$y$ or $x+1$", "none", "$z$"])
    assert found.tolist() == [0.5, 1.5, 0.0, 0.0]


def test_a_query_without_formulas_matches_nothing_and_starts_nothing() -> None:
    search = FormulaSearch(["/no/such/program"])
    assert search.score("words only", ["$x$", "$y$"]).tolist() == [0.0, 0.0]
    assert search.score("$x$", []).shape == (0,)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("os.kill(os.getpid(), 11)", r"crashed on this query \(signal 11\)"),
        ("time.sleep(60)", "no answer after 1 seconds"),
        ("sys.exit('the index is full')", "gave no answer: the index is full"),
        ("pass", "gave no answer"),
    ],
)
def test_what_goes_wrong_is_said_and_leaves_nothing(
    body: str, reason: str, tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with pytest.raises(FormulaSearchError, match=reason):
        FormulaSearch(worker(tmp_path, body), seconds=1).score("$x$", ["$x$"])
    assert list((tmp_path / "temporary").iterdir()) == []


def test_what_the_engine_cannot_take_is_left_out() -> None:
    assert usable_formulas("$a [imath] b$ then $ x $ and $y\0z$") == ["x", "y z"]
    assert json.dumps(usable_formulas("$\ud800x$")) == '["?x"]'


def test_the_card_of_approach_zero_is_driven(tmp_path: Path) -> None:
    entry = registry(["approach-zero"], tmp_path / "retrievers.json")["approach-zero"]
    assert entry.family == "lexical"
    lacks = entry.missing()
    assert lacks is None or lacks.endswith("lacks pya0: pip install pya0.")


@needs_engine
def test_the_engine_ranks_by_structure(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    search = FormulaSearch()
    scores = search.score(QUERY, DOCUMENTS)
    assert scores[0] > scores[2] > scores[1] == 0
    assert scores[3] > scores[2]
    assert search.score(QUERY, DOCUMENTS[::-1]).tolist() == scores[::-1].tolist()
    assert search.score("$\\frac{$ and $$", DOCUMENTS).tolist() == [0.0] * 4
    assert list(tmp_path.iterdir()) == []


@needs_engine
def test_a_crash_of_the_engine_is_an_error_of_that_query_and_leaves_nothing(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    many = [f"$x_{{{number}}}+y^2$" for number in range(150)]
    search = FormulaSearch()
    with pytest.raises(FormulaSearchError, match=r"crashed on this query \(signal"):
        search.score(" ".join(many), [" ".join(many[:5]), *DOCUMENTS, *many[:20]])
    assert list(tmp_path.iterdir()) == []
    assert search.score(QUERY, DOCUMENTS)[0] > 0
