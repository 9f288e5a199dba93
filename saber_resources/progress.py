"""Progress of long work: a bar in a terminal, a line a minute in a log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Advance = Callable[[int], None]
Display = Callable[[str, int], AbstractContextManager[Advance]]

LOG_EVERY_SECONDS = 30.0
logger = logging.getLogger(__name__)


@contextmanager
def log_display(label: str, total: int) -> Iterator[Advance]:
    """Log how far the work is, with rate and time left, every half minute."""
    started = last = time.monotonic()
    done = 0

    def advance(count: int) -> None:
        nonlocal done, last
        done += count
        now = time.monotonic()
        if now - last < LOG_EVERY_SECONDS:
            return
        last = now
        rate = done / (now - started)
        left = (total - done) / rate if rate else float("inf")
        logger.info("%s: %d of %d, %.1f/s, %.0f s left", label, done, total, rate, left)

    yield advance


class _Current:
    """Which display is in force; the command line installs its own."""

    display: Display = staticmethod(log_display)


@contextmanager
def use_display(display: Display) -> Iterator[None]:
    """Show progress through another display as long as the context lasts."""
    before = _Current.display
    _Current.display = display
    try:
        yield
    finally:
        _Current.display = before


@contextmanager
def progress(label: str, total: int) -> Iterator[Advance]:
    """Yield a function to call with the number of newly finished items.

    Args:
        label: what is done, such as "judging pairs".
        total: how many items there are in all.
    """
    with _Current.display(label, total) as advance:
        yield advance
