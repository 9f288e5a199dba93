"""`saber ui`: the Dagster user interface on a workdir."""

from __future__ import annotations

import glob
import os
import signal
import sys
from pathlib import Path

import click

from saber_resources.errors import SetupError
from saber_resources.settings import load_settings
from saber_services import user_interface
from saber_services.cli.options import workdir_option
from saber_services.instance import prepare_environment

LOOPBACK = "127.0.0.1"


@click.command("ui")
@workdir_option
@click.option("--port", default=3000, show_default=True, help="Port on this machine only.")
def command(workdir: Path, port: int) -> None:
    """Open the Dagster user interface (webserver and daemon) on a workdir, until Ctrl-C."""
    settings = load_settings(workdir)
    root = settings.workdir.root
    if glob.has_magic(str(root)):
        raise SetupError(
            f"the user interface can't open {root}, because of the [ or * in its path",
            "move the folder to another path",
        )
    variables = prepare_environment(settings.workdir)
    # a script's `saber ui &` inherits an ignored SIGINT, with which Dagster stops its services
    signal.signal(signal.SIGINT, signal.default_int_handler)
    click.echo(f"starting http://{LOOPBACK}:{port}, which takes half a minute", err=True)
    os.execve(  # noqa: S606 - no shell, our own interpreter
        sys.executable,
        [
            sys.executable,
            "-m",
            user_interface.__name__,
            LOOPBACK,
            str(port),
        ],
        {**os.environ, "PYTHONWARNINGS": user_interface.WARNINGS, **variables},
    )
