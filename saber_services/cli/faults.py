"""What a person is told when something goes wrong: one sentence and an exit status."""

from __future__ import annotations

import errno
import re
from dataclasses import dataclass

import click

from saber_assets.errors import InputError
from saber_resources.errors import CheckError, SetupError
from saber_services.causes import causes

FAILURE = 1
MISTAKE = 2
INTERRUPTED = 130
TRACEBACK_VARIABLE = "SABER_TRACEBACK"

AGAIN = "run the same command again to go on where it stopped"
_FULL = re.compile(r"no space left on device|disk is full|disk quota exceeded", re.IGNORECASE)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_LONGEST = 500


@dataclass(frozen=True)
class Fault:
    """What is wrong and where, how to mend it, and the status with which the command ends."""

    what: str
    mend: str
    status: int


def fault_of(error: BaseException) -> Fault:
    """Return what to tell about an error."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        return Fault("interrupted", AGAIN, INTERRUPTED)
    if isinstance(error, InputError | SetupError):
        return Fault(error.what, error.mend, MISTAKE)
    if isinstance(error, click.ClickException):
        return _usage(error)
    if isinstance(error, CheckError):
        return Fault(error.what, error.mend, FAILURE)
    chain = list(causes(error))
    for link in chain:
        if isinstance(link, InputError | SetupError):
            return Fault(link.what, link.mend, MISTAKE)
    if any(_is_full(link) for link in chain):
        files = [link.filename for link in chain if isinstance(link, OSError) and link.filename]
        place = f" ({files[0]} can't be written)" if files else ""
        return Fault(f"the disk is full{place}", f"free space, then {AGAIN}", FAILURE)
    for link in chain:
        if isinstance(link, OSError) and link.strerror:
            return _system(link)
    text = " ".join(str(error).split()).rstrip(".") or "no message"
    text = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return Fault(
        f"failed with {type(error).__name__} ({text})",
        f"{AGAIN}, and if it fails again, set {TRACEBACK_VARIABLE}=1 to see where",
        FAILURE,
    )


def _is_full(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return True
    return bool(_FULL.search(str(error)))


def _system(error: OSError) -> Fault:
    where = "" if error.filename is None else f"{error.filename} "
    if error.errno in _FORBIDDEN:
        mend = "change its permissions, or choose another place"
    else:
        mend = "check the path, then run the same command again"
    return Fault(f"{where}can't be used ({error.strerror})".strip(), mend, FAILURE)


def _usage(error: click.ClickException) -> Fault:
    context = error.ctx if isinstance(error, click.UsageError) else None
    verb = "saber" if context is None else context.command_path
    message = error.format_message().rstrip(".")
    return Fault(message[:1].lower() + message[1:], f"see `{verb} --help`", MISTAKE)
