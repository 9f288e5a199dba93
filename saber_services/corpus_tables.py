"""What `saber corpus` shows of a workdir's corpus: the funnel, one record, an export."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape

from saber_assets.corpus.cleaning.clean import Change, trace
from saber_assets.corpus.licences import permissive
from saber_assets.corpus.provenance import CorpusFrames, Explanation, explain
from saber_assets.corpus.quality import DROPPED, IN_REVIEW, KEPT, READ
from saber_assets.corpus.readers import read_corpus
from saber_assets.corpus.source_kinds.protocol import Shape
from saber_assets.corpus.source_tables import (
    DOCUMENT_PROBLEMS,
    DOCUMENTS_FOR_REVIEW,
    DROPPED_DOCUMENTS,
    THREAD_PROBLEMS,
)
from saber_assets.errors import InputError
from saber_assets.sources import corpus_files, sources_of
from saber_resources.atomic import replacing
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table
from saber_services.display import plain_table

MADE: Mapping[Shape, str] = {
    "threads": THREAD_PROBLEMS.name,
    "documents": DOCUMENT_PROBLEMS.name,
}
WRITERS = (".jsonl", ".csv", ".parquet")
LISTS = ("alternatives", "diagrams")


def corpus_frames(settings: Settings) -> CorpusFrames:
    """Read the tables that explanations are made from.

    Raises:
        SetupError: when the corpus isn't made yet.
    """
    tables = settings.workdir.tables
    raw, dropped = (read_table(tables, name) for name in ("raw_problems", "dropped_problems"))
    if not sources_of(settings, "documents"):  # tables of sources that went may lie there still
        return CorpusFrames(raw, dropped)
    reviews, left_out = (DOCUMENTS_FOR_REVIEW.name, DROPPED_DOCUMENTS.name)
    return CorpusFrames(raw, dropped, read_table(tables, reviews), read_table(tables, left_out))


def explained(settings: Settings, name: str) -> tuple[Explanation, list[Change]]:
    """Return what is known of a record, and what cleaning did to its texts.

    Args:
        settings: the workdir.
        name: problem id, id in the source, or SOURCE:ID.

    Raises:
        InputError: for an id that is unknown or that several records have.
    """
    found = explain(name, corpus_frames(settings))
    before = _untouched(settings, found) if found.steps else None
    return found, [] if before is None else trace(*before)


def _untouched(settings: Settings, found: Explanation) -> tuple[str, list[str]] | None:
    """Return the texts of a record before cleaning, or None where they can't be told."""
    same_id = pl.col("source_id") == found.source_id
    made = [
        _scan(settings, name).filter(same_id, pl.col("source") == found.source)
        for shape, name in MADE.items()
        if sources_of(settings, shape)
    ]
    read = [
        _scan(settings, f"source_{source.name}").filter(
            same_id, (pl.col("origin") == found.source) | (source.name == found.source)
        )
        for source in sources_of(settings, "records")
    ]
    rows = (
        pl.concat(
            [frame.select("problem", "solutions") for frame in (*made, *read)], how="vertical"
        ).collect()
        if made or read
        else pl.DataFrame()
    )
    if rows.is_empty() and (files := corpus_files(settings)):
        own = read_corpus(files, bad_rows="set_aside")
        rows = own.filter(same_id, pl.col("source") == found.source).select(
            "problem", solutions=pl.concat_list("solution")
        )
    return None if rows.is_empty() else (rows["problem"][0], rows["solutions"][0].to_list())


def unfinished_reviews(settings: Settings) -> list[str]:
    """Return what is wrong with each review that a person has marked as done, with its line."""
    if not sources_of(settings, "documents"):
        return []
    waiting = read_table(settings.workdir.tables, DOCUMENTS_FOR_REVIEW.name)
    return [on_one_line(text) for text in waiting.filter(reason="review_unfinished")["detail"]]


def _scan(settings: Settings, name: str) -> pl.LazyFrame:
    file = settings.workdir.tables / f"{name}.parquet"
    return pl.scan_parquet(file, hive_partitioning=False, glob=False)


def print_funnel(funnel: pl.DataFrame) -> None:
    """Print what became of the records of each source."""
    table = plain_table()
    for name in ("source", "", "reason"):
        table.add_column(name, overflow="fold")
    table.add_column("records", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    words = {READ: "read", DROPPED: "dropped", IN_REVIEW: "in review", KEPT: "kept"}
    last = None
    for row in funnel.iter_rows(named=True):
        if last is not None and row["source"] != last:
            table.add_section()
        reason = " ".join(part for part in (row["reason"].replace("_", " "), row["scope"]) if part)
        style = "bold" if row["stage"] in (READ, KEPT) else None
        table.add_row(
            escape(on_one_line(row["source"])) if row["source"] != last else "",
            words[row["stage"]],
            reason,
            f"{row['records']:,}",
            f"{row['share']:.1%}",
            style=style,
        )
        last = row["source"]
    if funnel["source"].n_unique() > 1:
        table.add_section()
        counts = {
            stage: int(funnel.filter(pl.col("stage") == stage)["records"].sum()) for stage in words
        }
        for stage, count in counts.items():
            if count or stage in (READ, KEPT):
                read = counts[READ]
                cells = (words[stage], "", f"{count:,}", f"{count / max(read, 1):.1%}")
                table.add_row("all" if stage == READ else "", *cells, style="bold")
    Console(highlight=False).print(table)


def print_explanation(found: Explanation, changes: list[Change]) -> None:
    """Print where a record came from, what was done to it, and what became of it."""
    console = Console(highlight=False)

    def line(label: str, text: object) -> None:
        shown = escape(on_one_line(str(text)))
        console.print(f"[bold]{label:<12}[/bold]{shown}", soft_wrap=True)

    if found.problem_id is not None:
        line("problem", f"{found.problem_id} (occurrence {found.occurrence})")
    line("from", f"{found.source}:{found.source_id}, {found.location}")
    if found.licence is not None:
        training = "" if found.for_training else ", not for training"
        line("licence", f"{found.licence}{training}")
    if found.language:
        line("language", found.language)
    line("fate", found.fate.replace("_", " ") + (f": {found.reason}" if found.reason else ""))
    if found.detail:
        line("", found.detail)
    if found.displaced_by is not None:
        line("displaced by", _named(found.displaced_by))
    for place, other in enumerate(found.displaced):
        line("displaced" if place == 0 else "", _named(other))
    if found.steps:
        line("cleaned by", ", ".join(found.steps))
    for change in changes:
        console.print(f"  [dim]{escape(change.step)}[/dim]", soft_wrap=True)
        before, after = _difference(change.before, change.after)
        console.print(f"    [red]- {escape(before)}[/red]", soft_wrap=True)
        console.print(f"    [green]+ {escape(after)}[/green]", soft_wrap=True)
    if found.flags:
        line("flags", ", ".join(found.flags))
    if found.statement:
        line("statement", " ".join(found.statement.split())[:300])


def on_one_line(text: str) -> str:
    """Return a text for a terminal: what isn't printable, such as an escape code, is spelled."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def _named(other: Any) -> str:
    evidence = "" if other.evidence is None else f", {other.evidence.replace('_', ' ')}"
    scopes = {None: "", "within": ", within the source", "across": ", across sources"}
    return (
        f"{other.problem_id} {other.source}:{other.source_id} "
        f"(similarity {other.similarity:.3f}{scopes[other.scope]}{evidence})"
    )


def _difference(before: str, after: str, around: int = 30, most: int = 160) -> tuple[str, str]:
    """Return where two texts differ, with a little of what is around."""
    start = next(
        (place for place, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    end = 0
    while end < min(len(before), len(after)) - start and before[-1 - end] == after[-1 - end]:
        end += 1
    return tuple(  # type: ignore[return-value]
        repr(text[max(0, start - around) : len(text) - max(0, end - around)][:most])
        for text in (before, after)
    )


def as_json(found: Explanation, changes: list[Change]) -> str:
    """Return an explanation for machines."""
    values: Mapping[str, Any] = {**asdict(found), "changes": [one._asdict() for one in changes]}
    return json.dumps(values, indent=2, ensure_ascii=False)


def export_corpus(
    settings: Settings, file: Path, only_permissive: bool, only_for_training: bool
) -> tuple[int, int]:
    """Write the deduplicated corpus, licences included, into one file.

    Args:
        settings: the workdir.
        file: its suffix says the format.
        only_permissive: leave out records whose licence asks for more than attribution.
        only_for_training: leave out records that models may not be trained on.

    Returns:
        How many records were written, and how many left out.

    Raises:
        InputError: for another suffix, or a folder that isn't there.
        SetupError: when the corpus isn't made yet.
    """
    suffix = file.suffix.lower()
    if suffix not in WRITERS:
        raise InputError(f"{file} has a suffix that is not known", f"use {' or '.join(WRITERS)}")
    if not file.parent.is_dir():
        raise InputError(f"the folder {file.parent} does not exist", "make it, or name another")
    corpus = read_table(settings.workdir.tables, "deduped_corpus")
    kept = corpus
    if only_permissive:
        allowed = [name for name in corpus["licence"].unique().to_list() if permissive(name)]
        kept = kept.filter(pl.col("licence").is_in(allowed))
    if only_for_training:
        kept = kept.filter("for_training")
    with replacing(file.resolve()) as temporary:
        if suffix == ".parquet":
            kept.rename({"problem_id": "id"}).write_parquet(temporary, compression="zstd")
        elif suffix == ".csv":
            listed = {
                name: pl.Series(
                    [json.dumps(texts) for texts in kept[name].to_list()], dtype=pl.String
                )
                for name in LISTS
            }
            kept.with_columns(**listed).rename({"problem_id": "id"}).write_csv(temporary)
        else:
            kept.rename({"problem_id": "id"}).write_ndjson(temporary)
    return kept.height, corpus.height - kept.height
