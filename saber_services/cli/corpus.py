"""`saber corpus`: sources, what became of their problems, and exports of the corpus."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from saber_services.cli.options import (
    build_options,
    json_option,
    overrides_of,
    workdir_option,
)


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
    table = _table("kind", "consists of", "licence", "description")
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
        click.echo(f"# not read: {path}: {reason}")


@command.command(
    "build",
    epilog="\b\nExamples:\n  saber corpus build --corpus downloads --workdir out\n"
    "  saber corpus build --workdir out --annotator llm",
)
@workdir_option
@build_options
@json_option
def build_(
    workdir: Path,
    corpus: tuple[Path, ...],
    ontology: Path | None,
    profile: str | None,
    bad_rows: str | None,
    annotator: str | None,
    pairs: tuple[str, ...],
    as_json: bool,
) -> None:
    """Make the deduplicated corpus and no more, and print what became of each source."""
    from saber_services.cli.build import build_stages

    chosen, overrides = overrides_of(workdir, corpus, ontology, profile, bad_rows, annotator, pairs)
    settings = build_stages(workdir, chosen, overrides, {"corpus"})
    print("done")


def _table(*names: str) -> Table:
    table = Table(header_style="bold", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in names:
        table.add_column(name)
    return table
