"""Each export is loaded with the library that it is for, and gives our nDCG@10."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from saber_assets.publishing.card import CardFacts, render_card
from saber_assets.publishing.hf_dataset import card_configs
from saber_assets.publishing.loading import LOADING
from saber_assets.publishing.safe_ids import restore, safe
from saber_assets.publishing.writers import DEFAULT_CONFIG, write_release

SETTING = "statement-full"
TOLERANCE = 2e-5


@pytest.fixture(scope="module")
def export(benchmark, tmp_path_factory):
    def write(kind: str) -> Path:
        folder = tmp_path_factory.mktemp(kind)
        write_release(kind, benchmark, folder, SETTING)
        configs = card_configs(folder, DEFAULT_CONFIG[kind]) if kind in DEFAULT_CONFIG else ()
        card = CardFacts("Test", benchmark.documents.height, configs=configs)
        (folder / "README.md").write_text(render_card(card), encoding="utf-8")
        return folder

    return write


def need(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} isn't installed")


@pytest.fixture
def offline(monkeypatch, tmp_path):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))


def compare(found: dict[str, float], ours: dict[str, float], back=str) -> None:
    assert {back(query): value for query, value in found.items()} == pytest.approx(
        ours, abs=TOLERANCE
    )


def linear(qrels, run) -> dict[str, float]:
    import pytrec_eval

    measured = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
    return {query: values["ndcg_cut_10"] for query, values in measured.items()}


def encoded(pools: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {
        safe(query): {safe(document): score for document, score in pool.items()}
        for query, pool in pools.items()
    }


def test_ir_measures_reads_qrels_and_run(export, ours) -> None:
    need("ir_measures", "pytrec_eval")
    import ir_measures

    folder = export("trec")
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(folder / "runs" / "tied.txt")))
    found = ir_measures.iter_calc([ir_measures.nDCG @ 10], qrels, run)
    compare({metric.query_id: metric.value for metric in found}, ours, restore)


def test_pytrec_eval_reads_qrels_and_run(export, ours) -> None:
    need("pytrec_eval")
    import pytrec_eval

    folder = export("trec")
    with (folder / "qrels.txt").open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    with (folder / "runs" / "tied.txt").open() as file:
        run = pytrec_eval.parse_run(file)
    compare(linear(qrels, run), ours, restore)


def test_ir_datasets_reads_all_of_a_trec_folder(export, benchmark, ours, ranked) -> None:
    need("ir_datasets", "pytrec_eval")
    from ir_datasets.formats import JsonlDocs, TrecQrels, TrecScoredDocs, TsvQueries
    from ir_datasets.util import LocalDownload

    folder = export("trec")

    def at(name: str) -> LocalDownload:
        return LocalDownload(folder / name)

    docs = JsonlDocs(at("documents.jsonl"), mapping={"doc_id": "id", "text": "contents"})
    assert {restore(doc.doc_id): doc.text for doc in docs.docs_iter()} == dict(
        benchmark.document_texts(SETTING)
    )
    queries = {query.query_id: query.text for query in TsvQueries(at("topics.tsv")).queries_iter()}
    assert {restore(query): text for query, text in queries.items()} == {
        query: " ".join(text.split()) for query, text in benchmark.query_texts(SETTING)
    }
    qrels: dict[str, dict[str, int]] = {}
    for qrel in TrecQrels(at("qrels.txt"), {}).qrels_iter():
        qrels.setdefault(qrel.query_id, {})[qrel.doc_id] = qrel.relevance
    run: dict[str, dict[str, float]] = {}
    for scored in TrecScoredDocs(at("runs/tied.txt")).scoreddocs_iter():
        run.setdefault(scored.query_id, {})[scored.doc_id] = scored.score
    compare(linear(qrels, run), ours, restore)


def test_beir_loads_its_folder(export, benchmark, ours, ranked) -> None:
    need("beir", "pytrec_eval")
    from beir.datasets.data_loader import GenericDataLoader
    from beir.retrieval.evaluation import EvaluateRetrieval

    corpus, queries, qrels = GenericDataLoader(str(export("beir"))).load(split="test")
    assert {restore(key): value["text"] for key, value in corpus.items()} == dict(
        benchmark.document_texts(SETTING)
    )
    assert {restore(key): text for key, text in queries.items()} == dict(
        benchmark.query_texts(SETTING)
    )
    run = encoded(ranked)
    compare(linear(qrels, run), ours, restore)
    mean = EvaluateRetrieval.evaluate(qrels, run, [10])[0]["NDCG@10"]
    assert mean == pytest.approx(sum(ours.values()) / len(ours), abs=TOLERANCE)


@pytest.mark.parametrize("kind", ["hf", "mteb"])
def test_datasets_loads_every_config(kind, export, benchmark, offline) -> None:
    need("datasets")
    import datasets

    folder = export(kind)
    names = sorted(path.name for path in folder.iterdir() if path.is_dir())
    assert datasets.get_dataset_config_names(str(folder)) == names
    loaded = {name: datasets.load_dataset(str(folder), name, split="test") for name in names}
    assert all(len(part) for part in loaded.values())
    assert datasets.load_dataset(str(folder), split="test").column_names  # the default config


def test_the_card_of_a_dataset_loads_it(export, offline, monkeypatch) -> None:
    need("datasets")
    monkeypatch.chdir(export("hf"))
    names: dict = {}
    exec(LOADING["hf"], names)
    assert len(names["pool"]) == len(names["queries"][0]["relevance_scores"])


def test_datasets_gives_our_measure_from_a_dataset(export, ours, ranked, offline) -> None:
    need("datasets")
    import datasets
    import numpy as np

    folder = str(export("hf"))
    documents = datasets.load_dataset(folder, "documents", split="test")
    found = {}
    for query in datasets.load_dataset(folder, "queries", split="test"):
        pool = documents.select(query["candidates"])["id"]
        ratings = dict(zip(pool, query["relevance_scores"], strict=True))
        order = sorted(ratings, key=lambda key: -ranked[query["id"]][key])
        gains = 2 ** np.array([ratings[key] for key in order]) - 1
        discounts = 1 / np.log2(np.arange(2, 12))
        ideal = np.sort(gains)[::-1][:10] @ discounts
        found[query["id"]] = gains[:10] @ discounts / ideal
    assert found == pytest.approx(ours, abs=1e-9)


def test_mteb_evaluates_a_model_on_its_folder(
    export, benchmark, ours, ranked, offline, tmp_path, monkeypatch
) -> None:
    """With the task that the data card shows, and a model that knows the scores."""
    need("mteb")
    import mteb

    folder = export("mteb")
    monkeypatch.chdir(folder)
    names: dict = {}
    exec(LOADING["mteb"], names)
    task = names["Saber"]()
    task.load_data()
    split = task.dataset["default"]["test"]
    assert dict(zip(split["corpus"]["id"], split["corpus"]["text"], strict=True)) == dict(
        benchmark.document_texts(SETTING)
    )
    assert {query: set(pool) for query, pool in split["top_ranked"].items()} == {
        query: set(pool) for query, pool in ranked.items()
    }

    class Known:
        mteb_model_meta = mteb.models.ModelMeta.create_empty({"name": "test/known"})

        def index(self, corpus, **_) -> None:
            self.corpus = set(corpus["id"])

        def search(self, queries, *, top_ranked, **_):
            return {
                query: {document: ranked[query][document] for document in top_ranked[query]}
                for query in queries["id"]
            }

    result = mteb.evaluate(Known(), task, cache=None, overwrite_strategy="always")
    scores = result[0].scores["test"][0]
    assert scores["ndcg_at_10"] == pytest.approx(sum(ours.values()) / len(ours), abs=TOLERANCE)
