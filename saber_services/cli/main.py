"""Entry point of the `saber` command: its verbs, and how errors are told."""

from __future__ import annotations

import errno
import importlib
import json
import sys
import warnings
from collections.abc import Sequence

import click

from saber_assets.errors import InputError
from saber_resources.errors import SetupError

MISTAKE = 2
FAILURE = 1
INTERRUPTED = 130

VERBS = {
    "build": "Make everything that is missing or stale, and print the leaderboard.",
    "status": "List each asset: fresh, stale (and why), or missing.",
    "leaderboard": "Print the leaderboard.",
    "evaluate": "Put your own retriever on the board.",
    "retrievers": "List the retrievers, and what those that can't run here lack.",
    "report": "Write the report page.",
    "query": "Run a SQL query over the tables.",
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
        module = importlib.import_module(f"saber_services.cli.{cmd_name}")
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
    """Run the command; exit with 0, 2 for a person's mistake, 1 for a failure."""
    warnings.filterwarnings("ignore", module="dagster")
    warnings.filterwarnings("ignore", message=".*currently in (beta|preview).*")
    try:
        cli.main(args=arguments, prog_name="saber", standalone_mode=False)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.Abort:
        _tell("interrupted; run the same command again to go on where it stopped")
        sys.exit(INTERRUPTED)
    except KeyboardInterrupt:
        _tell("interrupted; run the same command again to go on where it stopped")
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(MISTAKE)
    except (InputError, SetupError) as error:
        _tell(str(error))
        sys.exit(MISTAKE)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT):
            raise
        place = error.filename or "the workdir"
        _tell(f"{place} can't be written ({error.strerror}): free space or choose another workdir")
        sys.exit(FAILURE)
    except BrokenPipeError:
        sys.exit(0)
    except Exception as error:  # noqa: BLE001 - the last resort: one sentence instead of a traceback
        _tell_failure(error)
        sys.exit(FAILURE)


def _tell(sentence: str) -> None:
    click.echo(f"saber: {' '.join(sentence.split())}", err=True)


def _tell_failure(error: Exception) -> None:
    if "--json" in sys.argv:
        click.echo(json.dumps({"error": str(error), "kind": type(error).__name__}), err=True)
        return
    _tell(f"failed: {type(error).__name__}: {error}")
