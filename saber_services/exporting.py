"""Writing a workdir's benchmark as a released one: all files, a data card and checksums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from saber_assets.candidates.tables import BENCHMARK_QUERIES, CANDIDATE_POOLS
from saber_assets.corpus.tables import DEDUPED_CORPUS
from saber_assets.publishing.benchmark import Benchmark, from_tables
from saber_assets.publishing.card import render_card
from saber_assets.publishing.checksums import SUMS_FILE, write_sums
from saber_assets.publishing.manifest import MANIFEST_FILE
from saber_assets.publishing.permissive import LICENCE, LeftOut, keep_permissive
from saber_assets.publishing.release_files import README
from saber_assets.publishing.writers import ExportFormat, write_release
from saber_assets.retrieval.tables import RETRIEVER_SCORES
from saber_assets.tournament.tables import PAIRWISE_JUDGMENTS, RELEVANCE_RATINGS
from saber_resources.atomic import replacing_folder, write_text
from saber_resources.errors import SetupError
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table, table_files
from saber_services.builder import Board, open_board, require_built
from saber_services.card_facts import gather_facts, makers_of

RELEASED = (
    DEDUPED_CORPUS.name,
    BENCHMARK_QUERIES.name,
    CANDIDATE_POOLS.name,
    PAIRWISE_JUDGMENTS.name,
    RELEVANCE_RATINGS.name,
)


@dataclass(frozen=True)
class Wish:
    """What a person wants to export.

    Attributes:
        kind: the format.
        folder: that is written, or replaced where it is an earlier export.
        title: name of the benchmark; empty: the workdir's.
        setting: what text each side shows, in formats with one text a document.
        pooled_only: leave out documents that are in no pool.
        permissive: leave out documents that aren't permissively licensed.
    """

    kind: ExportFormat
    folder: Path
    title: str
    setting: str
    pooled_only: bool
    permissive: bool


@dataclass(frozen=True)
class Exported:
    """What an export has written."""

    folder: Path
    benchmark: Benchmark
    left_out: LeftOut | None
    states_licences: bool


def export(settings: Settings, wish: Wish) -> Exported:
    """Export the benchmark of a workdir.

    The folder is replaced as a whole: whoever is killed leaves the old one or the new one.

    Raises:
        SetupError: when nothing is built, a table that is released is stale, or the folder holds
            something else than an earlier export.
        InputError: when nothing may be passed on.
    """
    require_built(settings)
    target = wish.folder.expanduser().absolute()
    refuse_foreign(target)
    with open_board(settings) as board:
        _refuse_stale(board)
        benchmark, left_out = _gather(settings, wish)
        facts = gather_facts(board, benchmark, wish.kind, wish.title, wish.setting, left_out)
    with replacing_folder(target) as folder:
        write_release(wish.kind, benchmark, folder, wish.setting)
        write_text(folder / README, render_card(facts(folder)))
        write_sums(folder)
    states = LICENCE in benchmark.documents.columns
    return Exported(target, benchmark, left_out, states)


def refuse_foreign(folder: Path) -> None:
    """Refuse to replace what isn't an export.

    Raises:
        SetupError: for a file, or a folder that holds something else.
    """
    if folder.is_dir() and not any(folder.iterdir()):
        return
    if folder.is_dir() and all((folder / name).is_file() for name in (MANIFEST_FILE, SUMS_FILE)):
        return
    if folder.exists() or folder.is_symlink():
        raise SetupError(
            f"{folder} is there and isn't an earlier export", "name a new or empty folder"
        )


def _refuse_stale(board: Board) -> None:
    states = board.survey().states
    for state in states:
        if state.name in RELEASED and state.status != "fresh":
            root = board.settings.workdir.root
            raise SetupError(
                f"the table '{state.name}' is {state.status} ({'; '.join(state.reasons)})",
                f"run `saber build --workdir {root}` first",
            )


def _gather(settings: Settings, wish: Wish) -> tuple[Benchmark, LeftOut | None]:
    tables = settings.workdir.tables
    parts = [
        read_table(tables, RETRIEVER_SCORES.name, file.stem).filter(
            pl.col("setting") == wish.setting
        )
        for file in table_files(tables, RETRIEVER_SCORES.name)
    ]
    scores = pl.concat(parts) if parts else None
    corpus, queries, pools, judgments, ratings = (read_table(tables, name) for name in RELEASED)
    benchmark = from_tables(corpus, queries, pools, ratings, judgments, scores)
    benchmark = replace(benchmark, made_by=makers_of(settings))
    left_out = None
    if wish.permissive:
        benchmark, left_out = keep_permissive(benchmark)
    return (benchmark.only_pooled() if wish.pooled_only else benchmark), left_out
