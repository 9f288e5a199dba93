"""Dagster's webserver and daemon without its warnings, and the address told when it answers.

Started by `saber ui` as a process of its own, `python -m saber_services.user_interface HOST PORT`.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import urllib.request
import warnings
from collections.abc import Callable, Sequence

CODE = "saber_assets.definitions"
WARNINGS = "ignore:Function `dev_command` is superseded"
"""For the variable PYTHONWARNINGS, which what Dagster starts inherits."""
PATIENCE = 600.0
STEP_SECONDS = 0.5


def main(arguments: Sequence[str]) -> None:
    """Run both on HOST and PORT until they are stopped."""
    host, port = arguments
    address = f"http://{host}:{port}"
    warnings.filterwarnings("ignore", message=".*is superseded")
    warnings.filterwarnings("ignore", message=".*currently in (beta|preview)")
    waiting = threading.Thread(target=tell_when_ready, args=(address, _say), daemon=True)
    waiting.start()
    from dagster._cli import main as dagster

    sys.argv = ["dagster", "dev", "--host", host, "--port", port, "-m", CODE]
    dagster()


def tell_when_ready(address: str, say: Callable[[str], None], patience: float = PATIENCE) -> None:
    """Say the address once Dagster's webserver answers there; give up in silence.

    Args:
        address: such as http://127.0.0.1:3000.
        say: is told one line.
        patience: in seconds.
    """
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if _answers(address):
            say(f"ready: {address} (Ctrl-C ends it)")
            return
        time.sleep(STEP_SECONDS)


def _answers(address: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/server_info", timeout=5) as reply:
            return "dagster_version" in json.load(reply)
    except (OSError, ValueError):
        return False


def _say(line: str) -> None:
    sys.stderr.write(f"\n{line}\n\n")
    sys.stderr.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
