"""What the data card of an export tells: gathered from tables, settings and recorded runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

from saber_assets.materialize import VALUES_KEY
from saber_assets.publishing.benchmark import Benchmark
from saber_assets.publishing.card import CardFacts, Table
from saber_assets.publishing.gain_encoding import SCALE
from saber_assets.publishing.hf_dataset import card_configs
from saber_assets.publishing.import_tables import ACCORDING
from saber_assets.publishing.loading import LOADING
from saber_assets.publishing.permissive import LICENCE, LeftOut
from saber_assets.publishing.safe_ids import changed
from saber_assets.publishing.writers import DEFAULT_CONFIG, ONE_TEXT, ExportFormat
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table, table_files
from saber_services.builder import Board

DISTRIBUTION = "saber-platform"
HEURISTIC = "heuristic"
WORKERS = (
    ("topics", "topic_sets", "annotator"),
    ("summaries", "solution_summaries", "annotator"),
    ("judgments", "pairwise_judgments", "judge"),
)
SEEDS = (
    ("selection of queries", "benchmark_queries", "seed"),
    ("sampling of candidates", "candidate_pools", "seed"),
    ("tournaments", "pairwise_judgments", "seed"),
)
TOLD = ("corpus", "annotation", "judging", "thresholds", "selection", "tournament", "ratings")
"""Sections of the profile that decide what is released."""
SCALED = ("mteb", "beir", "trec")


def gather_facts(
    board: Board,
    benchmark: Benchmark,
    kind: ExportFormat,
    title: str,
    setting: str,
    left_out: LeftOut | None,
) -> Callable[[Path], CardFacts]:
    """Return what makes the card's facts of the folder that was written.

    Args:
        board: the opened workdir.
        benchmark: what is exported.
        kind: the format.
        title: of the benchmark; empty: the workdir's name.
        setting: what text each side shows.
        left_out: what was left out for its licence, or None.
    """
    settings = board.settings
    tables = settings.workdir.tables
    workers = _workers(settings)
    sections = {
        "How it was made": _making(board, workers),
        "Thresholds and seeds": _thresholds(tables),
        "Leaderboard": _board(tables),
        "Content hashes": [(("table", "hash"), _versions(board))],
    }
    facts = {
        "title": title or settings.workdir.root.name,
        "documents": benchmark.documents.height,
        "licences": _licences(benchmark),
        "languages": _languages(benchmark),
        "data": _data(benchmark, setting if kind in ONE_TEXT else None),
        "sections": {name: blocks for name, blocks in sections.items() if blocks},
        "limits": _limits(benchmark, kind, setting, workers, left_out),
        "loading": LOADING[kind],
    }

    def of_folder(folder: Path) -> CardFacts:
        configs = card_configs(folder, DEFAULT_CONFIG[kind]) if kind in DEFAULT_CONFIG else ()
        return CardFacts(configs=configs, **facts)  # type: ignore[arg-type]

    return of_folder


def _data(benchmark: Benchmark, setting: str | None) -> dict[str, object]:
    rated = benchmark.rated
    sizes = rated.group_by("query_id").len()["len"].to_list()
    domains = benchmark.queries["domains"].explode().drop_nulls().value_counts().sort("domains")
    found: dict[str, object] = {
        "documents": benchmark.documents.height,
        "queries": benchmark.queries.height,
        "rated candidates": rated.height,
        "candidates of a query": f"{min(sizes, default=0)} to {max(sizes, default=0)}",
        "pairwise verdicts": benchmark.verdicts.height,
        **{"queries of " + domain: count for domain, count in domains.iter_rows()},
    }
    if setting is not None:
        found["texts"] = f"{setting}: what queries show, and what documents show"
    if "source" in benchmark.documents.columns:
        sources = benchmark.documents["source"].value_counts().sort("source")
        found |= {"documents from " + name: count for name, count in sources.iter_rows()}
    return found


def makers_of(settings: Settings) -> dict[str, list[str]]:
    """Return annotators and judges by part; of an import, those that the release states."""
    imported = settings.profile.imported
    if imported.folder is not None:
        return dict(imported.made_by or {})
    found: dict[str, list[str]] = {}
    for part, table, column in WORKERS:
        found[part] = []
        if table_files(settings.workdir.tables, table):
            names = read_table(settings.workdir.tables, table)[column]
            found[part] = [str(name) for name in names.drop_nulls().unique().sort()]
    return found


def _workers(settings: Settings) -> list[tuple[str, str]]:
    said = "" if settings.profile.imported.folder is None else f", {ACCORDING}"
    return [
        (part, f"{name}{said}") for part, names in makers_of(settings).items() for name in names
    ]


def _making(board: Board, workers: list[tuple[str, str]]) -> list[str | Table]:
    settings = board.settings
    blocks: list[str | Table] = [f"SABER {_version()}."]
    imported = settings.profile.imported
    if imported.folder is not None:
        blocks.append(
            f"Imported from a released benchmark ({imported.format}, content {imported.content})."
        )
    if workers:
        blocks.append((("part", "by"), workers))
    prompts = _prompts(board)
    if prompts:
        blocks.append((("prompt", "fingerprint"), prompts))
    if imported.folder is None:
        blocks.append((("setting", "value"), _values(settings)))
    return blocks


def _prompts(board: Board) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for key in board.graph.toposorted_asset_keys:
        values = board.graph.get(key).metadata.get(VALUES_KEY)
        plain = getattr(values, "value", values)
        prompts = plain.get("prompts") if isinstance(plain, Mapping) else None
        found |= {str(name): str(mark) for name, mark in (prompts or {}).items()}
    return sorted(found.items())


def _values(settings: Settings) -> list[tuple[str, Any]]:
    rows = []
    for section in TOLD:
        values = getattr(settings.profile, section).model_dump(mode="json")
        values.pop("files", None)  # names of a person's folders
        rows += [
            (f"{section}.{key}", value if isinstance(value, (int, float, str)) else str(value))
            for key, value in values.items()
            if value is not None and not key.startswith("sources")
        ]
    model = settings.profile.llm.model
    return [*rows, *([("llm.model", model)] if model else [])]


def _thresholds(tables: Path) -> list[str | Table]:
    blocks: list[str | Table] = []
    if table_files(tables, "relevance_thresholds"):
        frame = read_table(tables, "relevance_thresholds")
        columns = ("domain", "problems", "tau_topic", "tau_summary", "eligible", "k")
        blocks.append((columns, frame.select(columns).rows()))
    seeds = []
    for part, table, column in SEEDS:
        if table_files(tables, table):
            known = read_table(tables, table)[column].drop_nulls().unique().sort().to_list()
            seeds += [(part, str(seed)) for seed in known]
    return [*blocks, *([(("seed of", "value"), seeds)] if seeds else [])]


def _board(tables: Path) -> list[str | Table]:
    board = read_table(tables, "leaderboard").filter(
        (pl.col("setting") == SETTINGS[0]) & (pl.col("domain") == "all")
    )
    if board.is_empty():
        return []
    columns = ("rank", "retriever", "mean", "low", "high")
    text = f"{board['measure'][0]}, {SETTINGS[0]}, with 95 % bootstrap intervals over the queries."
    return [text, (columns, board.sort("rank").select(columns).rows())]


def _versions(board: Board) -> list[tuple[str, str]]:
    wanted = ("deduped_corpus", "benchmark_queries", "candidate_pools", "relevance_ratings")
    found = board.survey()
    return [(name, str(found.version(name))) for name in wanted]


def _licences(benchmark: Benchmark) -> dict[str, int]:
    if LICENCE not in benchmark.documents.columns:
        return {}
    counts = benchmark.documents[LICENCE].fill_null("").value_counts().sort(LICENCE)
    return dict(counts.iter_rows()) if set(counts[LICENCE]) != {""} else {}


def _languages(benchmark: Benchmark) -> list[str]:
    if "language" not in benchmark.documents.columns:
        return []
    known = benchmark.documents["language"].drop_nulls().unique().sort().to_list()
    return [name for name in known if name != "und"]


def _limits(
    benchmark: Benchmark,
    kind: ExportFormat,
    setting: str,
    workers: list[tuple[str, str]],
    left_out: LeftOut | None,
) -> list[str]:
    limits = [
        "Only the candidates of a query were judged: a document outside its pool may be good."
    ]
    if any(HEURISTIC in name for _, name in workers):
        limits.insert(
            0,
            "A lexical heuristic took part, not only language models or people: this is no "
            "benchmark to cite.",
        )
    unrated = benchmark.pools.height - benchmark.rated.height
    if unrated:
        limits.append(f"{unrated} candidates were never judged and are left out of the qrels.")
    without = benchmark.queries.height - benchmark.rated["query_id"].n_unique()
    if without:
        limits.append(f"{without} queries have no rated candidate and are left out.")
    if kind in SCALED:
        limits.append(
            f"Relevances are gains, round({SCALE} (2^rating - 1)), for tools with integer "
            "relevances and linear gain: nDCG differs by 0.00002 at most."
        )
    if kind in ONE_TEXT:
        limits.append(f"The texts are those of the setting {setting}; there are others.")
    ids = [*benchmark.documents["problem_id"], *benchmark.queries["query_id"]]
    if kind in ("beir", "trec") and changed(ids):
        limits.append("Ids are percent-encoded, as in addresses, so that they hold no blanks.")
    if kind in ("saber", "hf") and benchmark.verdicts.height:
        lacking = benchmark.verdicts["winner"].is_in([1, 2]).not_().fill_null(True).sum()
        limits.append(f"Matches hold wins only: {lacking} ties and missing verdicts are not there.")
    if left_out is not None:
        limits.append(f"Permissive part: {left_out.sentence}. Its nDCG is not the whole's.")
    return limits


def _version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "of a checkout"
