"""Analyses that ask retrievers anew: whom they leave out, and that they have the machine alone."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import pytest

from saber_assets.errors import InputError, UnavailableError
from saber_assets.evaluation.text_scores import text_scores
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.own.own_list import Own, add_own
from saber_resources.errors import SetupError
from saber_resources.lock import hold_models
from saber_resources.settings import save_settings
from saber_resources.warehouse import read_table
from saber_services.analyses import by_asking
from saber_services.analyses.kept import Kept

NAMES = ["bm25", "tfidf", "jaccard", "run"]
ANALYSES = {
    "latency": partial(by_asking.of_latency, count=2),
    "word-math-split": by_asking.of_word_math_split,
    "duplicate-finding": partial(
        by_asking.of_duplicate_finding, direction="source", full_pool=False
    ),
    "instruction-effect": by_asking.of_instruction_effect,
}


class Gone:
    """Its endpoint is gone as soon as it is asked."""

    def score(self, query, documents):
        raise UnavailableError("nobody answers at http://gone", "start it")


def without_key():
    raise InputError("the variable KEY isn't set", "put the key into it")


@pytest.fixture
def kept(workdir, monkeypatch):
    for name, factory in {"tfidf": without_key, "jaccard": Gone}.items():
        monkeypatch.setitem(BUILTIN, name, replace(BUILTIN[name], factory=factory))
    settings = save_settings(workdir, None, {"retrieval": {"retrievers": NAMES[:3]}})
    query, document = read_table(workdir / "tables", "candidate_pools").row(0)[:2]
    run = workdir.parent / "run.trec"
    run.write_text(f"{query} Q0 {document} 1 0.5 x\n", encoding="utf-8")
    add_own(settings.workdir.own_retrievers, Own("run", str(run)))
    return Kept(settings, "statement-full")


def no_bar(label, total):
    return nullcontext(lambda count: None)


def rewordings(kept):
    file = kept.settings.workdir.root.parent / "reworded.csv"
    queries = sorted(set(kept.pools["query_id"]))
    file.write_text("query_id,problem\n" + "".join(f"{one},words {one}\n" for one in queries))
    return file


def asked(kept, name):
    more = {"rewordings": rewordings(kept)} if name == "duplicate-finding" else {}
    return ANALYSES[name](kept, NAMES, track=no_bar, **more)


@pytest.mark.parametrize("name", ANALYSES)
def test_those_that_can_not_be_asked_are_left_out_and_the_others_are_asked(kept, name) -> None:
    found = asked(kept, name)
    left_out = [note for note in found.notes if "is left out" in note]
    assert left_out == [
        "run is left out: its scores were computed elsewhere, so that it can't be asked anew.",
        "tfidf is left out: the variable KEY isn't set: put the key into it.",
        "jaccard is left out: nobody answers at http://gone: start it.",
    ]
    table = next(iter(found.tables.values()))
    assert set(table["retriever"]) == {"bm25"}


def test_a_retriever_that_can_not_go_on_fails_no_text() -> None:
    with pytest.raises(UnavailableError):
        text_scores(Gone(), "q", ["d"])


@pytest.fixture
def scoring(workdir):
    """Run another process that holds the machine for models."""
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom saber_resources.lock import hold_models\n"
        "with hold_models(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(120)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(workdir)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_nothing_is_timed_beside_a_scoring(kept, scoring) -> None:
    with pytest.raises(SetupError, match=rf"already \(process {scoring.pid}\)"):
        asked(kept, "latency")


def test_models_are_not_run_beside_a_scoring_and_others_are(kept, scoring, monkeypatch) -> None:
    assert asked(kept, "word-math-split").tables
    heavy = replace(BUILTIN["bm25"], family="reranker")
    monkeypatch.setitem(BUILTIN, "bm25", heavy)
    del kept.__dict__["entries"]
    with pytest.raises(SetupError, match="two at a time would disturb"):
        asked(kept, "word-math-split")


def test_who_holds_the_machine_is_forgotten_with_it(workdir) -> None:
    with hold_models(workdir):
        assert (workdir / ".models.lock").read_text() == str(os.getpid())
    assert (workdir / ".models.lock").read_text() == ""
    with hold_models(workdir, wait=False):
        pass
