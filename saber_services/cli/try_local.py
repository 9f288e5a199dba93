"""`saber try-local`: the whole language-model path with a very small model on this machine."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from pathlib import Path

import click
from rich.markup import escape

from saber_assets.errors import InputError
from saber_assets.sources import sample_files
from saber_assets.tournament.position import PositionEffect
from saber_resources.errors import SetupError
from saber_resources.llama_server import lacking
from saber_resources.progress import use_display
from saber_resources.settings import Settings, save_settings
from saber_resources.warehouse import read_table
from saber_resources.worker_hold import hold_workers
from saber_services.boards import print_board
from saber_services.builder import build
from saber_services.cli.options import error_console
from saber_services.display import terminal_bar
from saber_services.local_trial import CORPUS, Account, account, write_corpus

NOT_A_BENCHMARK = (
    "NOT A BENCHMARK. A model of this size judges no better than a coin. This shows that topics,\n"
    "summaries, judgments and what follows from them run with a real model; its scores and its\n"
    "leaderboard say nothing about any retriever."
)

LEXICAL_POOLS = {"annotation": {"annotator": "lexical", "keep": 0.85}}


@click.command("try-local")
@click.option(
    "--workdir",
    type=click.Path(path_type=Path),
    default=Path("saber_local"),
    show_default=True,
    help="Where to build; a folder of its own, for two workdirs.",
)
@click.option(
    "--problems",
    type=click.IntRange(4, 60),
    default=12,
    show_default=True,
    help="How many, the shortest of the sample.",
)
def command(workdir: Path, problems: int) -> None:
    """Run a real, very small language model over a handful of problems, and tell how it went.

    First the model finds topics and summaries, and judges what pools come of them. Where none
    come, as is usual with so few problems, it judges pools that the lexical annotator made from
    the whole sample. It needs no GPU and no key: the server starts and ends with this command.
    Nothing of what it prints is a benchmark.
    """
    annotated = _prepare(workdir / "annotated", problems)
    judged = annotated
    console = error_console()

    def announce(line: str) -> None:
        console.print(f"• {escape(line)}")

    began = time.monotonic()
    unfinished: InputError | None = None
    with use_display(partial(terminal_bar, console)), hold_workers(announce):
        try:
            build(annotated, announce)
        except InputError as error:
            unfinished = error
            announce(f"no pools come of these annotations: {error.what}")
            announce("the model judges pools that the lexical annotator makes of the whole sample")
            judged = save_settings(workdir / "judged", "local", LEXICAL_POOLS)
            build(judged, announce)
    click.echo(f"\n{NOT_A_BENCHMARK}\n")
    seconds = time.monotonic() - began
    for line in _lines(account(annotated, judged), annotated.profile.llm.model, seconds):
        click.echo(line)
    if unfinished is not None:
        click.echo(f"\nThe model's own annotations gave no leaderboard: {unfinished.what}.")
        click.echo("The one below comes of its judgments of pools by the lexical annotator.")
    click.echo("")
    print_board(read_table(judged.workdir.tables, "leaderboard"))


def _prepare(workdir: Path, problems: int) -> Settings:
    """Write the small corpus and return the settings; SetupError where the model can't run."""
    settings = save_settings(workdir, "local", {})
    workers = settings.profile.workers
    if workers.kind == "llama" and not workers.python:
        missing = lacking(workers.model_path)
        if missing is not None:
            raise SetupError(
                "the local model can't run here", f"{missing}, or run `make run-local`"
            )
    corpus = settings.workdir.root / CORPUS
    write_corpus(sample_files(), corpus, problems)
    return save_settings(workdir, "local", {"corpus": {"files": [str(corpus)]}})


def _lines(found: Account, model: str, seconds: float) -> list[str]:
    failed = {name: len(reasons) for name, reasons in found.failures.items()}
    lines = [
        f"model               {model}",
        f"problems            {found.problems}: {found.walked} with a topic set "
        f"({found.without_topic} of them empty), {found.summarised} summarised",
        "failures            " + ", ".join(f"{count} {name}" for name, count in failed.items()),
        "beside the lexical annotator, a heuristic and no truth either:",
        f"  a domain in common    {found.same_domain}",
        f"  the same winner       {found.same_winner}",
        "the candidate shown first wins:",
        f"  {model:<21} {_position(found.first_shown)}",
        f"  {'lexical annotator':<21} {_position(found.lexical_first_shown)}",
        f"cost                {found.calls} calls, {found.tokens_in} + {found.tokens_out} tokens, "
        f"{found.seconds_in_calls:.0f} s in calls, {seconds:.0f} s in all",
    ]
    if found.server_megabytes is not None:
        lines.append(f"memory              {found.server_megabytes:.0f} MB at most in the server")
    for name, reasons in found.failures.items():
        for reason, count in Counter(reasons).most_common(3):
            lines.append(f"{name}: {count} x {reason}")
    return lines


def _position(effect: PositionEffect | None) -> str:
    if effect is None or effect.verdicts == 0:
        return "no verdicts"
    return (
        f"{effect.first_wins} of {effect.verdicts} ({effect.share:.0%}, "
        f"95 % interval {effect.low:.0%} to {effect.high:.0%}; unbiased: 50 %)"
    )
