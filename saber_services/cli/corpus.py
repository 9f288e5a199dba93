"""`saber corpus`: sources, what became of their problems, and exports of the corpus."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from saber_resources.settings import Settings
from saber_services.cli.options import (
    build_options,
    error_console,
    json_option,
    overrides_of,
    workdir_option,
)
from saber_services.display import plain_table


@click.group("corpus")
def command() -> None:
    """Sources of problems: what they are, what became of each record, and exports."""


@command.command("kinds", epilog="\b\nExample:\n  saber corpus kinds")
@json_option
def kinds(as_json: bool) -> None:
    """List the kinds of source that can be read, those of other packages too."""
    from saber_assets.corpus.source_kinds.registry import kinds as all_kinds

    rows = [
        {
            "kind": name,
            "consists_of": one.shape,
            "licence": one.licence,
            "for_training": one.for_training,
            "description": one.description,
        }
        for name, one in all_kinds().items()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = plain_table("kind", "consists of", "licence", "description")
    for row in rows:
        cells = (row["kind"], row["consists_of"], row["licence"] or "as stated", row["description"])
        table.add_row(*(escape(str(cell)) for cell in cells))
    Console(highlight=False).print(table)


@command.command(
    "sources",
    epilog="\b\nExamples:\n  saber corpus sources --in downloads\n"
    "  saber corpus sources --workdir out",
)
@workdir_option
@click.option("--in", "folder", type=click.Path(path_type=Path), help="A folder to look into.")
@json_option
def sources(workdir: Path, folder: Path | None, as_json: bool) -> None:
    """Show the sources of a workdir, or those that lie in a folder, as lines of a saber.toml."""
    from saber_resources.settings import load_settings
    from saber_services.corpus_sources import as_toml, given_corpus
    from saber_services.corpus_tables import on_one_line

    if folder is not None:
        given = given_corpus([folder])
        found, skipped = given.sources, given.skipped
    else:
        corpus = load_settings(workdir).profile.corpus
        found = [one.model_dump(mode="json", exclude_none=True) for one in corpus.sources]
        skipped = []
    if as_json:
        rows = [{"path": path, "reason": reason} for path, reason in skipped]
        click.echo(json.dumps({"sources": found, "not_read": rows}, indent=2))
        return
    click.echo(as_toml(found) if found else "no sources; the corpus consists of problem files")
    for path, reason in skipped:
        click.echo(f"# not read: {on_one_line(path)}: {on_one_line(reason)}")


@command.command(
    "build",
    epilog="\b\nExamples:\n  saber corpus build --corpus downloads --workdir out\n"
    "  saber corpus build --workdir out --annotator llm",
)
@workdir_option
@build_options
@json_option
def build_(workdir: Path, as_json: bool, **wishes: Any) -> None:
    """Make the deduplicated corpus and no more, and print what became of each source."""
    from saber_services.cli.build import build_stages

    chosen, overrides = overrides_of(workdir, **wishes)
    settings = build_stages(workdir, chosen, overrides, {"corpus"})
    _show_funnel(settings, as_json)


@command.command("funnel", epilog="\b\nExample:\n  saber corpus funnel --workdir out --json")
@workdir_option
@json_option
def funnel(workdir: Path, as_json: bool) -> None:
    """Print what became of the records of each source: read, dropped and why, in review, kept."""
    from saber_resources.settings import load_settings

    _show_funnel(load_settings(workdir), as_json)


def _show_funnel(settings: Settings, as_json: bool) -> None:
    from saber_resources.warehouse import read_table
    from saber_services.corpus_tables import print_funnel, unfinished_reviews

    found = read_table(settings.workdir.tables, "corpus_funnel")
    if as_json:
        click.echo(json.dumps(found.to_dicts(), indent=2))
        return
    print_funnel(found)
    waiting = found.filter(stage="in_review")["records"].sum()
    if waiting:
        console = error_console()
        for fault in unfinished_reviews(settings):
            console.print(f"[yellow]{escape(fault)}[/yellow]", soft_wrap=True)
        who = "1 document waits" if waiting == 1 else f"{waiting} documents wait"
        console.print(
            f"{who} for a person: edit the files in "
            f"{escape(str(settings.workdir.reviews))}, then run the same command again",
            soft_wrap=True,
        )


@command.command(
    "explain",
    epilog="\b\nExamples:\n  saber corpus explain p0123456789abcdef --workdir out\n"
    "  saber corpus explain aops:700001 --workdir out",
)
@click.argument("name", metavar="ID")
@workdir_option
@json_option
def explain(name: str, workdir: Path, as_json: bool) -> None:
    """Tell where a problem came from, what was done to it, and what it displaced.

    ID is a problem id, the id that the record has in its source, or SOURCE:ID.
    """
    from saber_resources.settings import load_settings
    from saber_services import corpus_tables

    found, changes = corpus_tables.explained(load_settings(workdir), name)
    if as_json:
        click.echo(corpus_tables.as_json(found, changes))
    else:
        corpus_tables.print_explanation(found, changes)


@command.command(
    "export",
    epilog="\b\nExamples:\n  saber corpus export corpus.jsonl --workdir out --permissive\n"
    "  saber corpus export corpus.parquet --workdir out --for-training",
)
@click.argument("file", type=click.Path(path_type=Path))
@workdir_option
@click.option("--permissive", is_flag=True, help="Only records that ask for attribution at most.")
@click.option("--for-training", is_flag=True, help="Only records that models may be trained on.")
def export(file: Path, workdir: Path, permissive: bool, for_training: bool) -> None:
    """Write the deduplicated corpus with its licences: .jsonl, .csv or .parquet."""
    from saber_resources.settings import load_settings
    from saber_services.corpus_tables import export_corpus

    written, left_out = export_corpus(load_settings(workdir), file, permissive, for_training)
    error_console().print(f"{written} records written, {left_out} left out", highlight=False)
