"""How often a server is asked for one answer, how long it is waited for, and where it may send one.

A try that may be repeated is repeated after a pause that doubles from one to the next. A server
that asks for a longer pause gets it; such tries aren't counted, but their pauses have a limit
together.
"""

from __future__ import annotations

import datetime
import email.utils
import math
import random
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar

from saber_assets.errors import UnavailableError

T = TypeVar("T")

LONGEST_ASKED = 600.0
"""Seconds that a server may ask to be left alone for, before it gives one answer."""
_REDIRECTS = (307, 308)


class PassingError(Exception):
    """A try that gave nothing; another one may.

    Args:
        fault: what it means when there is no other try.
        asked: seconds that the server asks to wait, or None.
        tries: how often it may be tried, where that is less often than usual.
    """

    def __init__(
        self, fault: Exception, asked: float | None = None, tries: int | None = None
    ) -> None:
        super().__init__(str(fault))
        self.fault, self.asked, self.tries = fault, asked, tries


@dataclass(frozen=True)
class Patience:
    """How a server is waited for.

    Attributes:
        place: what it is called in a sentence.
        tries: at most, without those after which it asked for a pause.
        first, longest: seconds of the pauses, which double.
        spread: share by which a pause may be shorter, by chance.
        asked: see `LONGEST_ASKED`.
        sleep: waits for some seconds.
    """

    place: str
    tries: int
    first: float
    longest: float
    spread: float = 0.0
    asked: float = LONGEST_ASKED
    sleep: Callable[[float], None] = time.sleep

    def get(self, ask: Callable[[], T]) -> T:
        """Return an answer.

        Args:
            ask: returns it, or raises `PassingError` where it may be asked again.

        Raises:
            UnavailableError: when the server asks for more time than it gets.
            Exception: the last fault, and whatever else `ask` raises.
        """
        tried, left = 0, self.asked
        for failed in count():
            try:
                return ask()
            except PassingError as error:
                pause = self._pause(failed)
                if error.asked is None:
                    tried += 1
                    if tried >= (error.tries or self.tries):
                        raise error.fault from None
                else:
                    pause = max(pause, error.asked)
                    left -= pause
                    if left < 0:
                        raise self._too_long(pause, error.fault) from error.fault
            self.sleep(pause)
        raise AssertionError("the last try returns or raises")

    def _pause(self, failed: int) -> float:
        whole = min(self.longest, self.first * 2.0 ** min(failed, 30))
        return whole * random.uniform(1.0 - self.spread, 1.0)

    def _too_long(self, pause: float, fault: Exception) -> UnavailableError:
        return UnavailableError(
            f"{self.place} asks to wait {pause:.0f} s more, beyond the {self.asked:.0f} s that it "
            f"gets ({fault})",
            "run again later",
        )


def retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, 0 or more; None for no such text.

    Args:
        value: seconds or an HTTP date; one without a zone is in UTC.
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = email.utils.parsedate_to_datetime(value)
        except ValueError:
            return None
        date = date if date.tzinfo else date.replace(tzinfo=datetime.UTC)
        seconds = date.timestamp() - time.time()
    return None if math.isnan(seconds) else max(seconds, 0.0)


class SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects that keep method and host, as frameworks answer for a missing slash.

    Another one would take the key to another host, or lose the body: it stays an error with its
    status.
    """

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Return the request to the new address, None where it isn't followed."""
        there, here = urllib.parse.urlsplit(newurl), urllib.parse.urlsplit(req.full_url)
        if code not in _REDIRECTS or (there.scheme, there.netloc) != (here.scheme, here.netloc):
            return None
        return urllib.request.Request(  # noqa: S310 (same scheme and host as before)
            newurl, data=req.data, headers=dict(req.header_items()), method=req.get_method()
        )
