"""`saber analyse`: what the kept tables say beyond the board."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.markup import escape

from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import load_settings
from saber_services.builder import require_built
from saber_services.cli.options import error_console, json_option, workdir_option
from saber_services.display import terminal_bar

if TYPE_CHECKING:
    from saber_services.analyses.finding import Finding
    from saber_services.analyses.kept import Kept

_FILE = click.Path(path_type=Path)
SENTENCE = 200
"""Most characters that the list shows of what an analysis does."""

retrievers_option = click.option(
    "--retriever",
    "names",
    multiple=True,
    help="Whom to ask; repeatable. Default: all on the board that can run here.",
)
seed_option = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(min=0), help="Of what is drawn."
)


@dataclass(frozen=True)
class Shown:
    """Where and how a finding is shown."""

    kept: Kept
    plot: Path
    as_json: bool


class Analyses(click.Group):
    """Lists its analyses in the order in which they are defined."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names as defined."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the analyses with all of their sentence, which would be cut otherwise."""
        rows = [(name, one.get_short_help_str(SENTENCE)) for name, one in self.commands.items()]
        with formatter.section("Analyses"):
            formatter.write_dl(rows)


@click.group(
    "analyse",
    cls=Analyses,
    invoke_without_command=True,
    epilog="""\b
Examples:
  saber analyse paired-tests
  saber analyse mteb-correlation mteb.csv --setting full-full
  saber analyse rating-noise --draws 500 --plot noise.png --json
""",
)
@click.pass_context
def command(context: click.Context) -> None:
    """Analyse a benchmark and its board; without a name, list the analyses.

    Each prints tables, and draws a plot into WORKDIR/analyses.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def analysis(name: str) -> Callable[[Callable[..., Finding]], Callable[..., Finding]]:
    """Make a function an analysis: it is given a `Kept` and its own options."""

    def register(function: Callable[..., Finding]) -> Callable[..., Finding]:
        @wraps(function)
        def run(
            workdir: Path,
            setting: str,
            sanity: bool,
            plot: Path | None,
            as_json: bool,
            **options: Any,
        ) -> None:
            from saber_services.analyses.finding import show
            from saber_services.analyses.kept import Kept

            settings = load_settings(workdir)
            require_built(settings)
            if not as_json:
                reading = f"reading the tables of {escape(str(workdir))}"
                error_console().print(reading, style="dim", soft_wrap=True)
            kept = Kept(settings, setting, sanity)
            target = plot or kept.folder / f"{name}.png"
            show(function(kept, **options), name, target, as_json)

        for option in reversed(_COMMON):
            run = option(run)
        command.command(name)(run)
        return function

    return register


_COMMON = (
    workdir_option,
    click.option(
        "--setting",
        default=SETTINGS[0],
        show_default=True,
        type=click.Choice(SETTINGS),
        help="What text the query and the documents show.",
    ),
    click.option("--sanity", is_flag=True, help="With the rows that show the scale's ends."),
    click.option("--plot", type=_FILE, metavar="FILE.png|svg", help="Default: WORKDIR/analyses."),
    json_option,
)


def _track(label: str, total: int) -> AbstractContextManager[Any]:
    return terminal_bar(error_console(), label, total)


@analysis("paired-tests")
@click.option("--resamples", default=10_000, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--alpha",
    default=0.05,
    show_default=True,
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Family-wise error rate.",
)
@seed_option
def paired(kept: Kept, resamples: int, alpha: float, seed: int) -> Finding:
    """Test all pairs of retrievers, and group those that cannot be told apart."""
    from saber_services.analyses.from_tables import of_paired_tests

    return of_paired_tests(kept, resamples, seed, alpha)


@analysis("rating-noise")
@click.option("--draws", default=200, show_default=True, type=click.IntRange(min=2))
@seed_option
def noise(kept: Kept, draws: int, seed: int) -> Finding:
    """Carry the ratings' standard errors into the intervals of the board."""
    from saber_services.analyses.from_tables import of_rating_noise

    with _track("drawing ratings", draws) as advance:
        return of_rating_noise(kept, draws, seed, advance)


@analysis("gain-variants")
def gains(kept: Kept) -> Finding:
    """Compare the board with itself under other gains and ranges of the ratings."""
    from saber_services.analyses.from_tables import of_gain_variants

    return of_gain_variants(kept)


@analysis("binary-measures")
@click.option(
    "--threshold",
    "thresholds",
    multiple=True,
    default=(1.0, 2.5, 4.0),
    show_default=True,
    type=click.FloatRange(0, 5, min_open=True),
    help="Lowest rating that counts as relevant; repeatable.",
)
@click.option(
    "--cutoff",
    "cutoffs",
    multiple=True,
    type=click.IntRange(min=1),
    help="Ranks that count for P and R; repeatable. Default: the board's.",
)
@click.option("--seed", type=click.IntRange(min=0), help="Of the bootstrap. Default: the board's.")
def binary(
    kept: Kept, thresholds: tuple[float, ...], cutoffs: tuple[int, ...], seed: int | None
) -> Finding:
    """Rank by P, R, MRR and MAP, where a candidate is relevant from some rating on."""
    from saber_services.analyses.from_tables import of_binary_measures

    return of_binary_measures(kept, thresholds, cutoffs, seed)


@analysis("signal-effect")
def signals(kept: Kept) -> Finding:
    """Show which candidates are rated highest: by topic only, by summary only, or by both."""
    from saber_services.analyses.from_tables import of_signal_effect

    return of_signal_effect(kept)


@analysis("latency")
@retrievers_option
@click.option("--queries", default=50, show_default=True, type=click.IntRange(min=1))
def seconds(kept: Kept, names: tuple[str, ...], queries: int) -> Finding:
    """Time retrievers: 50 fixed queries, cold cache, 16 documents in flight, loading outside."""
    from saber_services.analyses.by_asking import of_latency

    return of_latency(kept, names, queries, _track)


@analysis("pareto")
@click.option(
    "--latency", type=_FILE, help="CSV with retriever and seconds; default: what `latency` kept."
)
def frontier(kept: Kept, latency: Path | None) -> Finding:
    """Trace the quality-latency frontiers of bi-encoders, and of cross-encoders and late ones."""
    from saber_services.analyses.with_inputs import of_pareto

    return of_pareto(kept, latency)


@analysis("score-over-time")
@click.option("--dates", type=_FILE, help="CSV with retriever and released (2025-03-31).")
def over_time(kept: Kept, dates: Path | None) -> Finding:
    """Show the best score so far by release date."""
    from saber_services.analyses.with_inputs import of_score_over_time

    return of_score_over_time(kept, dates)


@analysis("mteb-correlation")
@click.argument("scores", type=_FILE, metavar="FILE.csv")
@click.option("--exclude", "excluded", multiple=True, help="A retriever to leave out; repeatable.")
@click.option(
    "--without-gaps",
    default=0,
    show_default=True,
    type=click.IntRange(min=0),
    help="Spearman also without so many retrievers, those with the largest gaps of rank.",
)
def mteb(kept: Kept, scores: Path, excluded: tuple[str, ...], without_gaps: int) -> Finding:
    """Correlate the board with another benchmark's scores: a CSV with retriever and score."""
    from saber_services.analyses.with_inputs import of_mteb_correlation

    return of_mteb_correlation(kept, scores, excluded, without_gaps)


@analysis("judge-swap")
@click.option("--judgments", type=_FILE, help="Another judge's pairwise_judgments, as Parquet.")
@click.option("--ratings", type=_FILE, help="Or another judge's relevance_ratings, as Parquet.")
def swap(kept: Kept, judgments: Path | None, ratings: Path | None) -> Finding:
    """Show what the board would be under another judge of the same pools."""
    from saber_services.analyses.with_inputs import of_judge_swap

    return of_judge_swap(kept, judgments, ratings)


@analysis("word-math-split")
@retrievers_option
def split(kept: Kept, names: tuple[str, ...]) -> Finding:
    """Ask whether retrievers go by a query's formulas or by its words."""
    from saber_services.analyses.by_asking import of_word_math_split

    return of_word_math_split(kept, names, _track)


@analysis("duplicate-finding")
@retrievers_option
@click.option(
    "--rewordings",
    type=_FILE,
    help="CSV or JSONL with query_id and problem; default: the workdir's model rewords.",
)
@click.option(
    "--find",
    "direction",
    default="source",
    show_default=True,
    type=click.Choice(["source", "rewording"]),
    help="What is searched for, by the other one.",
)
@click.option("--own-pool", is_flag=True, help="Among the query's candidates, not all documents.")
def duplicates(
    kept: Kept, names: tuple[str, ...], rewordings: Path | None, direction: Any, own_pool: bool
) -> Finding:
    """Find each query's problem again when its statement is worded anew."""
    from saber_services.analyses.by_asking import of_duplicate_finding

    return of_duplicate_finding(kept, names, rewordings, direction, not own_pool, _track)


@analysis("instruction-effect")
@retrievers_option
def instruct(kept: Kept, names: tuple[str, ...]) -> Finding:
    """Score the pools again with each of three instructions in front of the query."""
    from saber_services.analyses.by_asking import of_instruction_effect

    return of_instruction_effect(kept, names, _track)


@analysis("leakage")
@click.option("--top", default=50, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--replies",
    type=_FILE,
    help="CSV or JSONL with query_id and reply; default: the workdir's model is asked.",
)
def leaks(kept: Kept, top: int, replies: Path | None) -> Finding:
    """Have a model look for hidden duplicates among the documents that are rated highest."""
    from saber_services.analyses.by_asking import of_leakage

    return of_leakage(kept, top, replies)
