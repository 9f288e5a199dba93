"""Entry point of the `saber` command: its verbs, and how errors are told."""

from __future__ import annotations

import importlib
import json
import keyword
import os
import sys
import warnings
from collections.abc import Sequence

import click

from saber_assets.errors import printable
from saber_services.cli.faults import MISTAKE, TRACEBACK_VARIABLE, Fault, fault_of

VERBS = {
    "build": "Make everything that is missing or stale, and print the leaderboard.",
    "corpus": "Sources of problems, what became of each record, and exports of the corpus.",
    "plan": "Show what a build would make, ask and cost, before anything runs.",
    "status": "List each asset: fresh, stale (and why), or missing.",
    "leaderboard": "Print the leaderboard.",
    "evaluate": "Put your own retriever on the board.",
    "retrievers": "List the retrievers, and what those that can't run here lack.",
    "analyse": "Ask more of the kept tables: tests, frontiers, noise, duplicates, other judges.",
    "agreement": "Compare judges with people's judgments, or draw pairs for people to judge.",
    "simulate-tournament": "Show how tournaments rank when the judge's noise and bias are known.",
    "llm": "Answers of language models: statistics, failures, sharing, offline batches.",
    "prompts": "List and show prompts, and what a changed one would cost.",
    "report": "Write the report, a site of pages.",
    "export": "Write the benchmark for others: SABER, MTEB, BEIR, TREC, Hugging Face.",
    "import": "Evaluate on a released benchmark: SABER, MTEB, BEIR or TREC.",
    "query": "Run a SQL query over the tables.",
    "try-local": "Run a very small language model over a handful of problems, as a trial.",
    "ui": "Open the Dagster user interface on a workdir.",
}


class Verbs(click.Group):
    """Loads a verb's module only when it is used, so that help is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the verbs, in the order in which one uses them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb."""
        if cmd_name not in VERBS:
            return None
        name = cmd_name.replace("-", "_") + "_" * keyword.iskeyword(cmd_name)
        module = importlib.import_module(f"saber_services.cli.{name}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the verbs without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.command(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  saber build                                   the sample that ships with SABER
  saber build --corpus my.jsonl --workdir out   your own corpus
  saber evaluate my_retriever.py:MyRetriever    your own retriever
  saber leaderboard --format markdown
""",
)
@click.version_option(package_name="saber-platform", prog_name="saber")
def cli() -> None:
    """Turn a corpus of solved mathematics problems into a graded retrieval benchmark."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command; exit with 0, 2 for a person's mistake, 1 for a failure, 130 for Ctrl-C.

    Whatever goes wrong is told on standard error in one sentence: what, where, how to mend it;
    with --json as the object {"error": ..., "mend": ...} on the last line.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    warnings.filterwarnings("ignore", module="dagster")
    warnings.filterwarnings("ignore", message=".*currently in (beta|preview).*")
    try:
        cli.main(args=given, prog_name="saber", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(MISTAKE)
    except BrokenPipeError:
        # whoever read the output, such as `head`, has enough; nothing is left to flush at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (Exception, KeyboardInterrupt) as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        fault = fault_of(error)
        _tell(fault, as_json="--json" in given)
        sys.exit(fault.status)


def _tell(fault: Fault, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"error": fault.what, "mend": fault.mend}), err=True)
        return
    sentence = printable(" ".join(f"saber: {fault.what}: {fault.mend}".split()))
    click.echo(sentence, err=True)
