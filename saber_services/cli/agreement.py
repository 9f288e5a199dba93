"""`saber agreement`: how far judges and ratings agree with people."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import get_args

import click
import polars as pl
from rich import box
from rich.console import Console
from rich.table import Table

from saber_assets.annotation.annotator import Problem
from saber_assets.errors import InputError
from saber_assets.tournament.agreement import (
    PAIR,
    RANK_DIFFERENCES,
    Agreement,
    agreement,
    inter_annotator,
    preferences_of_judgments,
    rank_differences,
)
from saber_assets.tournament.fresh_judgments import judge_pairs
from saber_assets.tournament.human_judgments import HumanJudgments, read_human_judgments
from saber_assets.tournament.human_sample import draw_pairs
from saber_assets.tournament.references import (
    References,
    all_pairs,
    merged,
    met_pairs,
    own_references,
    table_references,
    with_texts,
)
from saber_resources.profiles import Judge
from saber_resources.settings import Settings, load_settings
from saber_resources.warehouse import read_table
from saber_services.builder import require_built
from saber_services.cli.options import error_console, json_option, read_integers, workdir_option
from saber_services.display import terminal_bar


@click.command(
    "agreement",
    epilog="""\b
Examples:
  saber agreement --template 200 --output pairs.csv --texts
  saber agreement pairs.csv
  saber agreement pairs.csv --ask pairwise --ask majority
  saber agreement pairs.csv --judgments other.parquet=other-judge --json
""",
)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@workdir_option
@click.option(
    "--judgments",
    "tables",
    multiple=True,
    metavar="FILE.parquet=NAME",
    help="Another judge's verdicts or scores on the same pools; may be repeated.",
)
@click.option(
    "--ask",
    "asked",
    multiple=True,
    type=click.Choice(["lexical", *get_args(Judge)]),
    help="Let this judge answer the people's pairs now, with the workdir's model; repeatable.",
)
@click.option(
    "--rank-differences",
    "distances",
    default=",".join(str(value) for value in RANK_DIFFERENCES),
    show_default=True,
    help="Least numbers of places between the two candidates, each reported on its own.",
)
@click.option("--template", type=click.IntRange(min=1), metavar="N", help="Draw N pairs to judge.")
@click.option("--output", type=click.Path(path_type=Path), help="The CSV file for --template.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(min=0))
@click.option("--texts", is_flag=True, help="Write statements and solutions beside the ids.")
@click.option("--any-pair", is_flag=True, help="Draw also pairs that never met in the tournament.")
@json_option
def command(
    file: Path | None,
    workdir: Path,
    tables: tuple[str, ...],
    asked: tuple[str, ...],
    distances: str,
    template: int | None,
    output: Path | None,
    seed: int,
    texts: bool,
    any_pair: bool,
    as_json: bool,
) -> None:
    """Compare judges and ratings with people's judgments in a CSV file.

    Its columns are query, a, b, choice (a, b, 1, 2, the id, or tie) and annotator; ids are
    problem_id or source_id. Or draw pairs for people to judge, with --template.
    """
    settings = load_settings(workdir)
    thresholds = read_integers("--rank-differences", distances, least=0)
    if (file is None) == (template is None) or (template is None) != (output is None):
        raise click.UsageError("give either FILE.csv, or --template N with --output FILE.csv")
    require_built(settings)
    if template is not None and output is not None:
        drawn = _draw(settings, template, seed, thresholds, any_pair, texts)
        _write(drawn, output)
        _tell_template(drawn.height, template, output, as_json)
        return
    if file is not None:
        _report(settings, file, tables, asked, thresholds, as_json)


def _draw(
    settings: Settings,
    count: int,
    seed: int,
    thresholds: Sequence[int],
    any_pair: bool,
    texts: bool,
) -> pl.DataFrame:
    places = settings.workdir.tables
    pairs = (
        all_pairs(read_table(places, "candidate_pools"))
        if any_pair
        else met_pairs(read_table(places, "pairwise_judgments"))
    )
    drawn = draw_pairs(count, pairs, read_table(places, "relevance_ratings"), seed, thresholds)
    if texts:
        drawn = with_texts(drawn, read_table(places, "deduped_corpus"))
    blank = pl.lit("")
    return drawn.rename({"query_id": "query"}).select(
        "query",
        "a",
        "b",
        blank.alias("choice"),
        blank.alias("annotator"),
        pl.exclude("query", "a", "b"),
    )


def _write(drawn: pl.DataFrame, output: Path) -> None:
    try:
        with output.open("x", encoding="utf-8", newline="") as file:
            file.write(drawn.write_csv())
    except FileExistsError as error:
        raise InputError(
            f"{output} exists already, and may hold people's judgments",
            "name another file, or delete it",
        ) from error
    except OSError as error:
        raise InputError(
            f"{output} can't be written ({error.strerror})", "name another file"
        ) from error


def _tell_template(found: int, wanted: int, output: Path, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"pairs": found, "wanted": wanted, "output": str(output)}))
        return
    fewer = "" if found == wanted else f" (there are no more; {wanted} were wanted)"
    click.echo(f"{found} pairs in {output}{fewer}")
    click.echo(f"Fill in choice (a, b or tie) and annotator, then: saber agreement {output}")


def _report(
    settings: Settings,
    file: Path,
    tables: tuple[str, ...],
    asked: tuple[str, ...],
    thresholds: list[int],
    as_json: bool,
) -> None:
    places = settings.workdir.tables
    pools = read_table(places, "candidate_pools")
    ratings = read_table(places, "relevance_ratings")
    human = read_human_judgments(file, pools, read_table(places, "deduped_corpus"))
    pairs = human.frame.select(PAIR).unique()
    others = [
        table_references(name, table, pools, pairs)
        for name, table in (_open(given) for given in tables)
    ]
    others += [_ask(settings, name, pairs) for name in dict.fromkeys(asked)]
    own = own_references(read_table(places, "pairwise_judgments"), ratings, pairs)
    differences = rank_differences(ratings, pairs)
    rows = inter_annotator(human.frame, differences, thresholds)
    for name, preferences in merged([own, *others]).items():
        rows += agreement(name, human.frame, preferences, differences, thresholds)
    if as_json:
        click.echo(json.dumps(_object(human, pairs.height, rows), indent=2))
        return
    _print(human, pairs.height, rows)


def _ask(settings: Settings, name: str, pairs: pl.DataFrame) -> References:
    """Return what a judge prefers; answers in the response store are not asked for again."""
    from saber_assets.judges import open_judge  # with Dagster, which takes seconds to load

    lexical = name == "lexical"
    chosen = {
        "annotator": "lexical" if lexical else "llm",
        "judge": "pairwise" if lexical else name,
    }
    profile = settings.profile
    judging = profile.judging.model_copy(update=chosen)
    with_judge = replace(settings, profile=profile.model_copy(update={"judging": judging}))
    tables = settings.workdir.tables
    corpus = read_table(tables, "deduped_corpus").select("problem_id", "problem", "solution")
    problems = {row[0]: Problem(*row) for row in corpus.iter_rows()}
    with (
        open_judge(with_judge, read_table(tables, "ontology_tree")) as judge,
        terminal_bar(error_console(), f"asking {name}", pairs.height) as advance,
    ):
        judgments = judge_pairs(pairs, problems, judge, advance)
    return {f"{judge.name}, asked now": preferences_of_judgments(judgments)}


def _open(given: str) -> tuple[str, pl.DataFrame]:
    """Return the name and the table of FILE=NAME; without a name, the file's own."""
    path, _, name = given.rpartition("=") if "=" in given else (given, "", Path(given).stem)
    try:
        return name, pl.read_parquet(path, hive_partitioning=False, glob=False)
    except FileNotFoundError as error:
        raise InputError(f"there is no file {path}", "check its path") from error
    except OSError as error:
        raise InputError(
            f"{path} can't be read ({error.strerror or error})", "check its path"
        ) from error
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path} is no Parquet file", "give a table in Parquet") from error


def _object(human: HumanJudgments, pairs: int, rows: list[Agreement]) -> dict[str, object]:
    return {
        "judgments": human.frame.height,
        "pairs": pairs,
        "annotators": sorted(set(human.frame["annotator"].to_list())),
        "rows_without_choice": human.open_rows,
        "agreement": [
            {
                name: None if isinstance(value, float) and math.isnan(value) else value
                for name, value in asdict(row).items()
            }
            for row in rows
        ],
    }


def _print(human: HumanJudgments, pairs: int, rows: list[Agreement]) -> None:
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
    thresholds = sorted({row.rank_difference for row in rows})
    table.add_column("with people")
    for name in ("pairs", "agreement", "95 %", "p"):
        table.add_column(name, justify="right", no_wrap=True)
    for threshold in thresholds[1:]:
        table.add_column(f"{threshold}+", justify="right", no_wrap=True)
    for name in dict.fromkeys(row.reference for row in rows):
        first, *others = sorted(
            (row for row in rows if row.reference == name), key=lambda row: row.rank_difference
        )
        measured = (
            (f"{first.share:.1%}", f"{first.low:.1%}-{first.high:.1%}", f"{first.p_value:.1e}")
            if first.pairs
            else ("", "", "")
        )
        farther = [f"{row.share:.1%}" if row.pairs else "" for row in others]
        table.add_row(name, f"{first.pairs:,}", *measured, *farther)
    Console(highlight=False).print(table)
    people = human.frame["annotator"].n_unique()
    click.echo(
        f"{human.frame.height:,} judgments of {pairs:,} pairs by "
        f"{people} {'person' if people == 1 else 'people'}"
        + (f"; {human.open_rows:,} rows without a choice left out" if human.open_rows else "")
    )
    click.echo("1 for the same preference, 1/2 where one says tie, 0 for opposite ones;")
    click.echo("Wilson interval, two-sided exact binomial p against one half")
    if len(thresholds) > 1:
        apart = ", ".join(f"{threshold}+" for threshold in thresholds[1:])
        click.echo(f"{apart}: agreement on pairs that many places apart in the ratings")
