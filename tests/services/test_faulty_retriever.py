"""Retrievers that can't be made, or that break down: a build tells of them and goes on."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from threading import Thread

from saber_assets.errors import InputError
from saber_assets.retrieval.builtin import BUILTIN
from saber_resources.settings import save_settings
from saber_resources.warehouse import table_files
from saber_services.builder import _own_fault
from saber_services.cli.main import main


class Locked:
    """Finds its vectors locked."""

    def prepare(self, documents):
        raise sqlite3.OperationalError("database is locked")

    def score(self, query, documents):
        return [0.5] * len(documents)


def without_token():
    raise ValueError("the tokenizer has no token '<|eot|>'")


def test_those_that_can_not_be_made_or_go_on_are_told_and_the_others_are_scored(
    workdir, capsys, monkeypatch
) -> None:
    for name, factory in {"jaccard": without_token, "tfidf": Locked}.items():
        monkeypatch.setitem(BUILTIN, name, replace(BUILTIN[name], factory=factory))
    names = ["bm25", "jaccard", "tfidf", "bm25-whitespace", "ratings"]
    few = {"retrieval": {"retrievers": names}, "evaluation": {"resamples": 50}}
    save_settings(workdir, "sample", few)
    main(["build", "--workdir", str(workdir), "--json"])  # another exit status would be raised
    outcome = json.loads(capsys.readouterr().out)
    assert outcome["skipped_retrievers"] == {
        "jaccard": "retriever jaccard can't be made, ValueError: the tokenizer has no token "
        "'<|eot|>': mend its card, its weights or its packages, and run again",
        "tfidf": "tfidf can't go on, prepare failed, OperationalError: database is locked: mend "
        "that on this machine, such as a full or locked disk, and run again",
    }
    assert {row["retriever"] for row in outcome["leaderboard"]} == {
        "bm25",
        "bm25-whitespace",
        "ratings",
    }
    scored = {file.stem for file in table_files(workdir / "tables", "retriever_scores")}
    assert not scored & {"jaccard", "tfidf"}  # so that the next build tries again


def test_a_chain_of_errors_that_is_a_circle_has_an_end() -> None:
    inner, outer = ValueError("inner"), RuntimeError("outer")
    outer.__cause__, inner.__context__ = inner, outer
    found = []
    thread = Thread(target=lambda: found.append(_own_fault(outer)), daemon=True)
    thread.start()
    thread.join(5)
    assert found == [None]
    inner.__context__ = InputError("what", "mend")
    assert _own_fault(outer) == "what: mend"
