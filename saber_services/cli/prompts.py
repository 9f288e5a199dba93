"""`saber prompts`: which prompts there are, and what a changed one would cost."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from saber_resources.settings import load_settings
from saber_services.cli.options import json_option, workdir_option

if TYPE_CHECKING:
    from saber_services.planning.plan import Plan
    from saber_services.prompt_texts import PromptChange


@click.group("prompts")
def command() -> None:
    """List and show prompts, and what a changed one would cost."""


@command.command("list")
@workdir_option
@json_option
def list_(workdir: Path, as_json: bool) -> None:
    """List the prompts: version, what identifies them, and whose file is used."""
    from saber_services.prompt_texts import prompt_entry, prompt_names

    settings = load_settings(workdir)
    entries = [prompt_entry(settings, name) for name in prompt_names(settings)]
    if as_json:
        rows = [
            {
                "name": entry.prompt.name,
                "version": entry.prompt.version,
                "fingerprint": entry.prompt.fingerprint,
                "own": entry.own,
                "file": str(entry.path),
            }
            for entry in entries
        ]
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table(header_style="bold")
    for name in ("prompt", "version", "fingerprint", "file"):
        table.add_column(name, overflow="fold")
    for entry in entries:
        whose = str(entry.path) if entry.own else "ships with SABER"
        prompt = entry.prompt
        table.add_row(
            escape(prompt.name), escape(prompt.version), prompt.fingerprint[:12], escape(whose)
        )
    console = Console(highlight=False)
    console.print(table)
    console.print(
        f"a file of the same name in {settings.workdir.prompts} takes a prompt's place",
        style="dim",
        markup=False,
        soft_wrap=True,
    )


@command.command("show", epilog="\b\nExample:\n  saber prompts show summary > summary.md")
@click.argument("name")
@workdir_option
def show(name: str, workdir: Path) -> None:
    """Print a prompt's file, as it would be used now."""
    from saber_services.prompt_texts import prompt_entry

    entry = prompt_entry(load_settings(workdir), name)
    click.echo(entry.path.read_text(encoding="utf-8-sig"), nl=False)


@command.command("diff", epilog="\b\nExample:\n  saber prompts diff --workdir out")
@workdir_option
@json_option
def diff(workdir: Path, as_json: bool) -> None:
    """Show which prompts differ from those that the tables were made with.

    With each comes what changed in its text, the calls that the next build would need for it, and
    what they would cost. Nothing is asked.
    """
    from saber_services.builder import open_board, require_workdir
    from saber_services.planning.plan import plan_build
    from saber_services.prompt_texts import changed_prompts

    settings = load_settings(workdir)
    require_workdir(settings)
    with open_board(settings) as board:
        changes = changed_prompts(board.graph, board.instance, settings)
    plan = plan_build(settings) if changes else None
    if as_json:
        click.echo(json.dumps([_as_json(change, plan) for change in changes], indent=2))
        return
    if plan is None:
        click.echo("no prompt differs from those that the tables were made with")
        return
    for change in changes:
        _print_change(change)
    from saber_services.cli.plan import print_calls

    names = {change.name for change in changes}
    plan.calls = [calls for calls in plan.calls if calls.prompt in names]
    print_calls(plan)


def _as_json(change: PromptChange, plan: Plan | None) -> dict[str, Any]:
    calls = [asdict(one) for one in plan.calls if one.prompt == change.name] if plan else []
    return {**asdict(change), "calls": calls}


def _print_change(change: PromptChange) -> None:
    click.secho(
        f"{change.name}: {change.before[:12]} -> {change.now[:12]}, "
        f"touches {', '.join(change.assets)}",
        bold=True,
    )
    if change.diff is None:
        click.echo("the earlier text isn't known: a build has kept none\n")
        return
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for line in change.diff.splitlines():
        click.secho(line, fg=colours.get(line[:1]))
    click.echo()
