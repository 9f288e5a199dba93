"""What a person types to load an export, by format; shown in its data card."""

from __future__ import annotations

SABER = """
import polars as pl

documents = pl.read_parquet("documents.parquet")
queries = pl.read_parquet("queries.parquet")
query = queries.row(0, named=True)
pool = documents[query["candidates"]]          # rated by query["relevance_scores"]
# or: saber import saber-release . --workdir W
"""

HF = """
from pathlib import Path
from datasets import load_dataset

FOLDER = str(Path.cwd())  # or its name on the hub
documents = load_dataset(FOLDER, "documents", split="test")
queries = load_dataset(FOLDER, "queries", split="test")
pool = documents.select(queries[0]["candidates"])  # rated by queries[0]["relevance_scores"]
"""

MTEB = """
from pathlib import Path
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata

FOLDER = str(Path.cwd())  # or its name on the hub

class Saber(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name="SABER", description="Graded reranking of mathematical problems", reference=None,
        type="Reranking", category="t2t", modalities=["text"], eval_splits=["test"],
        eval_langs=["eng-Latn"], main_score="ndcg_at_10",
        dataset={"path": FOLDER, "revision": "main"}, date=None,
        domains=["Academic"], task_subtypes=None, license=None,
        annotations_creators=None, dialect=None, sample_creation=None, bibtex_citation=None,
    )
# mteb.evaluate(model, Saber()): relevances are gains x 1000, so its ndcg_at_10 is SABER's
"""

BEIR = """
from beir.datasets.data_loader import GenericDataLoader

corpus, queries, qrels = GenericDataLoader(".").load(split="test")
# rank the documents of qrels[query] for each query; relevances are gains x 1000, so pass them
# to linear nDCG (trec_eval's)
"""

TREC = """
import ir_measures

qrels = list(ir_measures.read_trec_qrels("qrels.txt"))
run = list(ir_measures.read_trec_run("runs/bm25.txt"))
ir_measures.calc_aggregate([ir_measures.nDCG @ 10], qrels, run)
# relevances are gains x 1000, so linear nDCG, which this is, is SABER's
"""

LOADING = {"saber": SABER, "hf": HF, "mteb": MTEB, "beir": BEIR, "trec": TREC}
