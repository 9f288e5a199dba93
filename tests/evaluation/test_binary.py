"""Measures on graded judgments against pytrec_eval, ir_measures and ranx."""

import json
from pathlib import Path

import numpy as np
import pytest

from saber_assets.evaluation.binary import AveragePrecision, Precision, Recall, ReciprocalRank
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.rankings import of_run

GOLDEN = Path(__file__).parents[1] / "golden"
GRADED = json.loads((GOLDEN / "05_graded_linear_exp.json").read_text())
QRELS, RUN = GRADED["input"]["qrels"], GRADED["input"]["run"]
TREC = GRADED["expected"]["pytrec_eval_per_query"]
IR = GRADED["expected"]["ir_measures_per_query"]

OURS = {
    "map": AveragePrecision(),
    "recip_rank": ReciprocalRank(),
    **{f"P_{k}": Precision(1, k) for k in (5, 10, 20)},
    **{f"recall_{k}": Recall(1, k) for k in (5, 10, 20)},
    "ndcg": Ndcg("linear", 1000),
    **{f"ndcg_cut_{k}": Ndcg("linear", k) for k in (5, 10, 20)},
    **{f"P(rel={r})@{k}": Precision(r, k) for r in (1, 2, 3) for k in (5, 10)},
    **{f"R(rel={r})@{k}": Recall(r, k) for r in (1, 2, 3) for k in (5, 10)},
    **{f"RR(rel={r})": ReciprocalRank(r) for r in (1, 2, 3)},
    **{f"AP(rel={r})": AveragePrecision(r) for r in (1, 2, 3)},
    "P@10": Precision(),
    "P@5": Precision(1, 5),
    "R@10": Recall(),
    "RR@10": ReciprocalRank(1, 10),
    "RR": ReciprocalRank(),
    "AP": AveragePrecision(),
    "nDCG@5": Ndcg("linear", 5),
    "nDCG@10": Ndcg("linear", 10),
}


def renamed(document):
    """trec_eval breaks ties by document id descending; reversed names turn our rule into it."""
    return f"d{99 - int(document[1:]):02d}"


def trec(measure, qrels=QRELS):
    turned = [
        {query: {renamed(d): value for d, value in docs.items()} for query, docs in side.items()}
        for side in (qrels, RUN)
    ]
    return of_run(measure, *turned)


@pytest.mark.parametrize("name", sorted({name for values in TREC.values() for name in values}))
def test_pytrec_eval(name):
    found = trec(OURS[name])
    assert max(abs(found[query] - values[name]) for query, values in TREC.items()) < 1e-9


@pytest.mark.parametrize("name", list(IR))
def test_ir_measures(name):
    # its RR@k breaks ties by document id ascending, as we do; the rest comes from trec_eval
    found = of_run(OURS[name], QRELS, RUN) if name == "RR@10" else trec(OURS[name])
    assert found.keys() == IR[name].keys()
    assert max(abs(found[query] - value) for query, value in IR[name].items()) < 1e-9
    mean = GRADED["expected"]["ir_measures_mean"][name]
    assert np.mean(list(found.values())) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize("cutoff", [5, 10])
def test_exponential_gain_on_capped_grades(cutoff):
    golden = GRADED["expected"]["ir_measures_exponential_on_grades_capped_at_4"]
    name = f"nDCG(dcg='exp-log2')@{cutoff}"
    capped = {q: {d: min(grade, 4) for d, grade in docs.items()} for q, docs in QRELS.items()}
    found = trec(Ndcg("exp2", cutoff), capped)
    assert max(abs(found[query] - value) for query, value in golden[name].items()) <= 1.1e-5
    assert np.mean(list(found.values())) == pytest.approx(golden["mean"][name], abs=1e-5)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("ndcg@10", Ndcg("linear", 10)),
        ("ndcg_burges@10", Ndcg("exp2", 10)),
        ("mrr@10", ReciprocalRank(1, 10)),
        ("recall@10", Recall(1, 10)),
    ],
)
def test_ranx_where_nothing_is_tied(name, measure):
    golden = GRADED["expected"]["ranx_per_query"][name]
    found = of_run(measure, QRELS, RUN)
    free = [query for query in golden if (int(query) - 1) % 3]
    assert len(free) > 20
    assert max(abs(found[query] - golden[query]) for query in free) < 1e-9


def test_sklearn_on_judged_and_retrieved_documents():
    for query, case in GRADED["expected"]["sklearn_judged_and_retrieved_docs_only"].items():
        if (int(query) - 1) % 3 == 0:
            continue
        qrels = {query: {d: QRELS[query][d] for d in case["docs"]}}
        run = {query: {d: RUN[query][d] for d in case["docs"]}}
        found = of_run(Ndcg("linear"), qrels, run)[query]
        assert found == pytest.approx(case["ndcg@10_ignore_ties"], abs=1e-9)


def test_names_say_the_threshold():
    names = [
        str(m) for m in (Precision(2), Recall(1, 5), ReciprocalRank(3, 10), AveragePrecision())
    ]
    assert names == ["P(rel=2)@10", "R(rel=1)@5", "RR(rel=3)@10", "AP(rel=1)"]
    assert str(ReciprocalRank(2.5)) == "RR(rel=2.5)"
