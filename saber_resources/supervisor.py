"""Runs one command for as long as its parent lives; started as a script, with a pipe as input.

Whoever starts it keeps the pipe's other end. When that end closes, because the parent lets go or
because it was killed, the whole process group ends: a server that has started processes of its own
leaves none behind. It imports nothing but the standard library, so that it is up at once.

Usage: python supervisor.py PARENT_PID GRACE_SECONDS COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

POLL = 0.2
"""Seconds between two looks at the child."""
NOT_STARTED = 127


def main(arguments: Sequence[str]) -> int:
    """Start the command, wait until it or the parent ends, and end everything in the group."""
    parent, grace, command = int(arguments[0]), float(arguments[1]), list(arguments[2:])
    asked: list[int] = []

    def note(number: int, frame: Any) -> None:
        asked.append(number)

    # a handler and not SIG_IGN, which the command would inherit
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, note)
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL)  # noqa: S603
    except OSError as error:
        sys.stderr.write(f"[supervisor] {command[0]} can't be started ({error.strerror})\n")
        return NOT_STARTED
    while child.poll() is None and not asked and not _released(parent):
        pass
    if child.returncode is None:
        os.killpg(0, signal.SIGTERM)
        try:
            child.wait(grace)
        except subprocess.TimeoutExpired:
            sys.stderr.write(f"[supervisor] still there after {grace:g} s: killed\n")
    else:
        sys.stderr.write(f"[supervisor] the command ended with status {child.returncode}\n")
    sys.stderr.flush()
    os.killpg(0, signal.SIGKILL)
    return 0


def _released(parent: int) -> bool:
    """Wait a moment; tell whether the pipe was closed or the parent has gone."""
    try:
        readable, _, _ = select.select([sys.stdin], [], [], POLL)
    except InterruptedError:
        return False
    return bool(readable) or os.getppid() != parent


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
