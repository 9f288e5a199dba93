"""`saber llm`: what language models were asked and answered."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from saber_resources.response_record import PromptStats, Select
from saber_resources.settings import load_settings
from saber_services.cli.options import json_option, workdir_option
from saber_services.display import plain_table, shortened

prompt_option = click.option("--prompt", metavar="NAME", help="Only what this prompt asked.")
model_option = click.option("--model", metavar="NAME", help="Only what this model was asked.")


@click.group("llm")
def command() -> None:
    """Answers of language models: statistics, failures, sharing, offline batches."""


@command.command(
    "stats", epilog="\b\nExamples:\n  saber llm stats\n  saber llm stats --prompt summary --json"
)
@workdir_option
@prompt_option
@model_option
@json_option
def stats(workdir: Path, prompt: str | None, model: str | None, as_json: bool) -> None:
    """Print calls, hit rate, tokens, cost, failures and seconds, per model and prompt."""
    from saber_services.llm_admin import open_responses, report_prompts

    with open_responses(load_settings(workdir)) as store:
        reports = report_prompts(store, Select(model=model, prompt=prompt))
    if as_json:
        rows = [
            {**asdict(one.stats), "hit_rate": one.stats.hit_rate, "seconds": one.seconds}
            for one in reports
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    models = {one.stats.model for one in reports}
    table = plain_table("prompt", "version", left=2)
    table.columns[0].no_wrap = True
    table.title, table.title_justify = ", ".join(sorted(models)), "left"
    if len(models) > 1:
        table.add_column("model", overflow="fold")
    for name in ("answers", "failed", "calls", "hits", "in", "out", "cost", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in reports:
        table.add_row(*_stats_cells(one.stats, one.seconds, len(models) > 1))
    console = Console(highlight=False)
    console.print(table)
    console.print(
        "failed: without an answer, or with one that can't be used; hits: look-ups that the store "
        "answered; in, out: tokens paid for here; seconds: of 50, 90 and 99 % of the calls",
        style="dim",
        soft_wrap=True,
    )


def _stats_cells(stats: PromptStats, seconds: dict[int, float], with_model: bool) -> list[str]:
    rate = stats.hit_rate
    return [
        escape(stats.prompt or "(unnamed)"),
        stats.prompt_fingerprint[:6],
        *([escape(stats.model)] if with_model else []),
        f"{stats.responses:,}",
        f"{stats.failures + stats.unusable:,}",
        f"{stats.calls:,}",
        "" if rate is None else f"{rate:.0%}",
        shortened(stats.tokens_in),
        shortened(stats.tokens_out),
        "" if stats.price is None else f"{stats.price:,.4g}",
        "/".join(f"{value:.2g}" for value in seconds.values()),
    ]


@command.command("failures", epilog="\b\nExample:\n  saber llm failures --prompt summary")
@workdir_option
@prompt_option
@model_option
@json_option
def failures(workdir: Path, prompt: str | None, model: str | None, as_json: bool) -> None:
    """List what was asked in vain: item, prompt, reason, and calls made."""
    from saber_services.llm_admin import lost_items, open_responses

    with open_responses(load_settings(workdir)) as store:
        items = lost_items(store, Select(model=model, prompt=prompt))
    if as_json:
        click.echo(json.dumps([asdict(item) for item in items], indent=2))
        return
    console = Console(highlight=False)
    if not items:
        console.print("no failures")
        return
    table = plain_table("item", "prompt", "reason", "calls", left=3)
    for item in items:
        table.add_row(
            escape(item.item), escape(item.prompt), escape(item.reason), f"{item.attempts}"
        )
    console.print(table)
    console.print("saber llm retry lets the next build ask again", style="dim")


@command.command("retry", epilog="\b\nExample:\n  saber llm retry && saber build")
@workdir_option
@prompt_option
@json_option
def retry(workdir: Path, prompt: str | None, as_json: bool) -> None:
    """Let the next build ask again for what failed; it makes the assets concerned anew."""
    from saber_services.llm_admin import retry_failures

    outcome = retry_failures(load_settings(workdir), prompt)
    if as_json:
        click.echo(json.dumps(asdict(outcome), indent=2))
        return
    total = sum(outcome.assets.values())
    click.echo(
        f"{total} failures will be tried again by the next `saber build`"
        if total
        else "no table lists a failure, so there is nothing to try again"
    )
    for name, count in outcome.assets.items():
        click.echo(f"  {name}: {count}")
    click.echo(
        f"{outcome.responses} useless responses removed from the store, "
        f"{outcome.verdicts} failures from the verdict journal; what they cost stays counted"
    )


@command.command(
    "export", epilog="\b\nExample:\n  saber llm export summaries.parquet --prompt summary"
)
@click.argument("file", type=click.Path(path_type=Path))
@workdir_option
@prompt_option
@model_option
def export(file: Path, workdir: Path, prompt: str | None, model: str | None) -> None:
    """Write answers to a Parquet file that others can import; no endpoint is named in it."""
    from saber_services.llm_admin import open_responses
    from saber_services.response_files import export_responses

    with open_responses(load_settings(workdir)) as store:
        count = export_responses(store, file, Select(model=model, prompt=prompt))
    click.echo(f"{count:,} answers written to {file}")


@command.command("import", epilog="\b\nExample:\n  saber llm import summaries.parquet")
@click.argument("file", type=click.Path(path_type=Path))
@workdir_option
@json_option
def import_(file: Path, workdir: Path, as_json: bool) -> None:
    """Take over the answers of a file; answers that are there stay.

    The next build finds them wherever the same model would be asked the same.
    """
    from saber_resources.response_store import ResponseStore
    from saber_services.response_files import check_responses, import_responses

    settings = load_settings(workdir)
    check_responses(file)
    with ResponseStore(settings.workdir.responses) as store:
        found = import_responses(store, file)
    if as_json:
        click.echo(json.dumps({**asdict(found), "present": found.present}))
        return
    click.echo(
        f"{found.rows:,} answers read: {found.taken:,} taken, {found.present:,} were there already"
    )


@command.command(
    "batch-write", epilog="\b\nExample:\n  saber llm batch-write batches --prompt summary"
)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@workdir_option
@click.option("--prompt", metavar="NAME", required=True, help="What to ask.")
@json_option
def batch_write(folder: Path, workdir: Path, prompt: str, as_json: bool) -> None:
    """Write what a build would ask now into request files for the OpenAI Batch API.

    Where later questions depend on the answers (topics level by level, the tournament round by
    round), read the answers with `saber llm batch-read` and write again, until nothing is missing.
    """
    from saber_services.offline_batches import write_batch

    written = write_batch(load_settings(workdir), folder, prompt)
    if as_json:
        files = [str(path) for path in written.files]
        click.echo(json.dumps({"requests": written.requests, "files": files}))
        return
    if not written.requests:
        click.echo(f"nothing to ask: all answers to {prompt} that can be known are there")
        return
    click.echo(f"{written.requests:,} requests in {len(written.files)} files:")
    for path in written.files:
        click.echo(f"  {path}")


@command.command(
    "batch-read", epilog="\b\nExample:\n  saber llm batch-read output.jsonl errors.jsonl"
)
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@workdir_option
@json_option
def batch_read(files: tuple[Path, ...], workdir: Path, as_json: bool) -> None:
    """Read output and error files of the OpenAI Batch API into the response store."""
    from saber_services.offline_batches import read_batch

    found = read_batch(load_settings(workdir), files)
    if as_json:
        click.echo(json.dumps(asdict(found)))
        return
    click.echo(f"{found.answers:,} answers and {found.failures:,} failures read")
    for count, what in (
        (found.repeated, "had been read before"),
        (found.unknown, "refused: nothing was written with their id from this workdir"),
    ):
        if count:
            click.echo(f"  {count:,} {what}")
