"""Retrievers that can't be made, or that break down: a build tells of them and goes on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.builtin import BUILTIN
from saber_resources.settings import save_settings
from saber_resources.warehouse import table_files
from saber_services.builder import _own_fault
from saber_services.cli.main import main


@pytest.fixture
def put_in_place(monkeypatch):
    def put(factory, name: str = "jaccard") -> None:
        monkeypatch.setitem(BUILTIN, name, replace(BUILTIN[name], factory=factory))

    return put


def built(workdir: Path, capsys, names=("bm25", "jaccard", "tfidf", "random", "ratings")):
    save_settings(workdir, "sample", {"retrieval": {"retrievers": list(names)}})
    main(["build", "--workdir", str(workdir), "--json"])
    return json.loads(capsys.readouterr().out)


def test_one_that_can_not_be_made_is_told_and_the_others_are_scored(
    workdir, capsys, put_in_place
) -> None:
    def broken():
        raise ValueError("the tokenizer has no token '<|eot|>'")

    put_in_place(broken)
    outcome = built(workdir, capsys)
    assert outcome["skipped_retrievers"] == {
        "jaccard": "retriever jaccard can't be made, ValueError: the tokenizer has no token "
        "'<|eot|>': mend its card, its weights or its packages, and run again"
    }
    assert {row["retriever"] for row in outcome["leaderboard"]} == {
        "bm25",
        "tfidf",
        "random",
        "ratings",
    }
    assert "jaccard" not in {
        file.stem for file in table_files(workdir / "tables", "retriever_scores")
    }


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
