"""Which failures a person wants to be tried again: the next build makes their assets anew."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from saber_resources.atomic import write_text
from saber_resources.settings import Workdir

SUFFIX = "_failures"


@dataclass(frozen=True)
class Retry:
    """A wish to try failures again.

    Attributes:
        at: seconds since 1970; what was made later has granted the wish.
        count: how many failures.
    """

    at: float
    count: int


def ask_again(workdir: Workdir, failures: Mapping[str, int]) -> None:
    """Note that failures are to be tried again.

    Args:
        workdir: where to note it.
        failures: how many, by the name of the table that lists them.
    """
    now = time.time()
    wishes = read_retries(workdir) | {name: Retry(now, count) for name, count in failures.items()}
    content = {name: {"at": wish.at, "count": wish.count} for name, wish in wishes.items()}
    write_text(workdir.retries, json.dumps(content, indent=2) + "\n")


def read_retries(workdir: Workdir) -> dict[str, Retry]:
    """Return the wishes by table; a damaged file holds none."""
    try:
        content = json.loads(workdir.retries.read_text(encoding="utf-8"))
        return {
            name: Retry(float(wish["at"]), int(wish["count"])) for name, wish in content.items()
        }
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}


def retry_reason(
    wishes: Mapping[str, Retry], together: Iterable[str], made_at: float
) -> str | None:
    """Return why an asset is to be made again, or None.

    Args:
        wishes: from `read_retries`.
        together: the assets that one step makes.
        made_at: when it was made last.
    """
    for name in together:
        wish = wishes.get(name)
        if wish is not None and wish.count and made_at < wish.at:
            return f"{wish.count} failure{'s' if wish.count > 1 else ''} to retry"
    return None
