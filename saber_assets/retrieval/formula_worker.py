"""Indexes one pool with Approach Zero and searches it; a program of its own, for it may crash.

It is run by path, by whatever Python has pya0, and imports nothing of this project. The pool is
read from standard input as JSON, {"documents": [[formula, ...], ...], "query": [formula, ...]};
the answer, {"scores": [...]}, is written to the file that is the only argument: the engine itself
prints to standard output. The index lies beside that file; whoever started this removes the folder,
after a crash as well.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

OPENING, CLOSING = "[imath]", "[/imath]"


def main() -> None:
    """Answer one pool."""
    engine = _engine()
    pool = json.load(sys.stdin)
    answer = Path(sys.argv[1])
    scores = _scores(engine, pool["query"], pool["documents"], str(answer.parent / "index"))
    answer.write_text(json.dumps({"scores": scores}), encoding="utf-8")


def _engine() -> Any:
    """Return the engine's own module: the package around it wants NLTK's data."""
    found = importlib.util.find_spec("pya0")
    if found is None or found.origin is None:
        raise SystemExit("pya0 is not installed")
    sys.path.insert(0, str(Path(found.origin).parent))
    import _pya0

    return _pya0


def _scores(engine: Any, query: list[str], documents: list[list[str]], place: str) -> list[float]:
    scores = [0.0] * len(documents)
    asked = [formula for formula in dict.fromkeys(query) if _is_readable(engine, formula)]
    if not asked:
        return scores
    index = engine.index_open(place, option="w")
    writer = engine.index_writer(index)
    for number, formulas in enumerate(documents):
        content = " ".join(f"{OPENING}{formula}{CLOSING}" for formula in formulas)
        engine.writer_add_doc(writer, content=content, url=str(number))
    engine.writer_close(writer)
    engine.index_close(index)
    index = engine.index_open(place, option="r")
    words = [{"str": formula, "type": "tex"} for formula in asked]
    answer = json.loads(engine.search(index, words, verbose=False, topk=len(documents)))
    engine.index_close(index)
    if answer["ret_code"] != 0:
        raise SystemExit(f"the engine refused the query: {answer['ret_str']}")
    for hit in answer["hits"]:
        scores[int(hit["field_url"])] = float(hit["score"])
    return scores


def _is_readable(engine: Any, formula: str) -> bool:
    state, tree = engine.parse(formula)
    return state == "OK" and tree is not None and tree[2] != "NIL"


if __name__ == "__main__":
    main()
