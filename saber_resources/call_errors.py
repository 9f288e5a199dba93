"""Why a call to a language model gave nothing, and what may help."""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping

from saber_resources.chat_request import Usage
from saber_resources.errors import SetupError

LONGEST_RETRY_AFTER = 600.0
"""Seconds; an endpoint that asks for a longer pause is asked again after this one."""
_SHOWN = 300
_SET_UP_FAULTS = {
    401: "set the API key in the variable that llm.api_key_variable names",
    403: "check the rights of the API key",
    404: "check llm.endpoints (they usually end in /v1) and llm.model",
}
_CONGESTION = frozenset({429, 503})
_PASSING = frozenset({408, 409, 425, 429})


class CallError(Exception):
    """A call that gave nothing.

    Args:
        reason: in one sentence.
        retry: whether another try may help.
        congestion: whether the endpoint has too much to do.
        unhealthy: whether it says something about the endpoint rather than about the request.
        unreachable: whether no connection came about.
        pause: seconds that the endpoint asked to wait, or None.
        usage: tokens that were paid for nevertheless.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry: bool = True,
        congestion: bool = False,
        unhealthy: bool = False,
        unreachable: bool = False,
        pause: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason, self.retry, self.congestion = reason, retry, congestion
        self.unhealthy, self.unreachable, self.pause = unhealthy, unreachable, pause
        self.usage = usage or Usage()


def timed_out(seconds: float) -> CallError:
    """Return the error of a call that took too long."""
    return CallError(f"no answer within {seconds:g} s", congestion=True, unhealthy=True)


def refused(status: int, headers: Mapping[str, str], body: str, label: str) -> CallError:
    """Return what a status means.

    Args:
        status: of the answer, 400 or more.
        headers: of the answer, with names in any case.
        body: of the answer, shown where it is about the request itself.
        label: of the endpoint.

    Raises:
        SetupError: where every call would be refused.
    """
    if status in _SET_UP_FAULTS:
        raise SetupError(f"{label} refused the call with status {status}", _SET_UP_FAULTS[status])
    reason = f"the endpoint answered with status {status}"
    retry = status in _PASSING or status >= 500
    if not retry:
        reason += f": {' '.join(body.split())[:_SHOWN]}"
    return CallError(
        reason,
        retry=retry,
        congestion=status in _CONGESTION,
        unhealthy=status >= 500,
        pause=retry_after(headers),
    )


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a Retry-After header asks to wait, or None.

    Args:
        headers: the header gives seconds or an HTTP date.
    """
    value = headers.get("Retry-After") or headers.get("retry-after")
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    if seconds != seconds:
        return None
    return min(max(seconds, 0.0), LONGEST_RETRY_AFTER)
