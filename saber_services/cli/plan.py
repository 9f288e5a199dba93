"""`saber plan`: what a build would make, ask and cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from saber_resources.progress import use_display
from saber_resources.settings import preview_settings
from saber_services.cli.options import (
    build_options,
    error_console,
    json_option,
    overrides_of,
    workdir_option,
)
from saber_services.display import shortened, terminal_bar

COLOURS = {"make": "green", "follow": "cyan", "keep": "dim"}


@click.command(
    "plan",
    epilog="""\b
Examples:
  saber plan
  saber plan --annotator llm --set llm.model=Qwen3-8B --corpus problems.jsonl
  saber plan --set tournament.rounds=30 --json
""",
)
@workdir_option
@build_options
@json_option
def command(workdir: Path, as_json: bool, **wishes: Any) -> None:
    """Show what `saber build` with the same options would make, ask a model, and cost.

    Nothing is made, asked or saved.
    """
    chosen, overrides = overrides_of(workdir, **wishes)
    settings = preview_settings(workdir, chosen, overrides)
    # only here: Dagster, behind it, takes a second to import
    from saber_services.planning.plan import plan_build

    with use_display(_bars):
        plan = plan_build(settings)
    if as_json:
        click.echo(json.dumps(plan_as_json(plan), indent=2))
        return
    _print_assets(plan)
    print_calls(plan)
    _print_retriever_calls(plan)


def _bars(label: str, total: int) -> Any:
    return terminal_bar(error_console(), label, total)


def plan_as_json(plan: Any) -> dict[str, Any]:
    """Return a Plan with its sums, as plain values."""
    return {**asdict(plan), "total": asdict(plan.total())}


def _print_assets(plan: Any) -> None:
    table = Table(header_style="bold")
    for name in ("asset", "a build will", "why"):
        table.add_column(name)
    for asset in plan.assets:
        if asset.action == "keep":
            continue
        why = "; ".join(asset.reasons) if asset.stop is None else f"stops here: {asset.stop}"
        colour = COLOURS[asset.action]
        name = asset.name + (f" ({len(asset.partitions)} of it)" if asset.partitions else "")
        table.add_row(escape(name), f"[{colour}]{asset.action}[/{colour}]", escape(why))
    console = Console(highlight=False)
    if not table.row_count:
        console.print("nothing to do, everything is fresh")
        return
    console.print(table)
    console.print(
        "follow: made if what it is made from turns out different", style="dim", soft_wrap=True
    )


def print_calls(plan: Any) -> None:
    """Print the calls of a Plan as a table, with sums and what they were reckoned by."""
    console = Console(highlight=False)
    if not plan.calls:
        console.print("no calls of a language model")
        return
    table = Table(header_style="bold", title=f"calls of {plan.model or 'a model yet to be set'}")
    table.title_justify = "left"
    table.box, table.padding = SIMPLE_HEAD, (0, 1, 0, 0)
    table.add_column("prompt", no_wrap=True)
    for name in ("cached", "missing", "estimated", "in", "out", "GPU h", "price"):
        table.add_column(name, justify="right", no_wrap=True)
    total = plan.total()
    for calls in plan.calls:
        table.add_row(*_cells(calls))
    if len(plan.calls) > 1:
        table.add_section()
        table.add_row(*_cells(total), style="bold")
    console.print(table)
    for line in _footnotes(plan):
        console.print(escape(line), style="dim", soft_wrap=True)


def _print_retriever_calls(plan: Any) -> None:
    """Print what retrievers will ask models of their own."""
    for name, count in plan.retriever_calls.items():
        known = f"at most {count:,} questions" if count is not None else "questions not counted yet"
        line = f"retriever {name} asks its own model {known}, not in these sums"
        Console(highlight=False).print(escape(line), soft_wrap=True)


def _cells(calls: Any) -> list[str]:
    return [
        escape(calls.prompt),
        f"{calls.cached:,}",
        f"{calls.missing:,}",
        f"{calls.estimated:,}" if calls.estimated else "",
        shortened(calls.tokens_in),
        shortened(calls.tokens_out),
        f"{calls.gpu_hours:,.2f}",
        "" if calls.price is None else f"{calls.price:,.2f}",
    ]


def _footnotes(plan: Any) -> list[str]:
    rates = plan.rates
    lines = [f"estimated {calls.prompt}: {calls.rule}" for calls in plan.calls if calls.rule]
    if any(calls.missing or calls.estimated for calls in plan.calls):
        lines.append("in, out: tokens of missing and estimated calls; GPU h: hours of one GPU")
        lines.append(
            f"{rates.characters_per_token:.2f} characters a token ({rates.characters_source})"
        )
        lines += [
            f"{rates.tokens_out[calls.prompt]:,.0f} tokens a reply to {calls.prompt} "
            f"({rates.tokens_out_source[calls.prompt]})"
            for calls in plan.calls
            if calls.missing or calls.estimated
        ]
        speed = rates.speed
        lines.append(
            f"GPU: {speed.tokens_in_per_second:,.0f} tokens in and "
            f"{speed.tokens_out_per_second:,.0f} out a second ({speed.source})"
        )
        if rates.price_in is None:
            lines.append("no price: set llm.price_per_million")
    return lines
