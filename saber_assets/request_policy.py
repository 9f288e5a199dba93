"""What is requested again, and when: each version a few times, with growing waits, then no more.

Sensors keep the attempts as JSON in their cursors, so that a restart forgets nothing.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field

BACK_OFF = (600.0, 3_600.0, 21_600.0)
"""Seconds from the end of an attempt to the next one; after the last, there is none."""


@dataclass(frozen=True)
class Due:
    """Something that isn't current.

    Attributes:
        name: of the retriever.
        key: of what it would be made from: another key, another count of attempts.
        reason: why it is due.
    """

    name: str
    key: str
    reason: str


@dataclass(frozen=True)
class Attempt:
    """How often something was requested.

    Attributes:
        key: see `Due`.
        tries: so far.
        at: when the last one was requested, in seconds since 1970.
    """

    key: str
    tries: int
    at: float


@dataclass
class Decision:
    """What to request now.

    Attributes:
        requests: in the order given.
        attempts: what to remember; names that aren't due any more are forgotten.
        told: a sentence for each that is due and not requested.
    """

    requests: list[Due] = field(default_factory=list)
    attempts: dict[str, Attempt] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def decide(
    due: Sequence[Due],
    attempts: Mapping[str, Attempt],
    under_way: Collection[str],
    ended: Mapping[str, float],
    now: float,
) -> Decision:
    """Decide what to request.

    Args:
        due: what isn't current.
        attempts: as remembered.
        under_way: names of which a run hasn't ended: they are never requested a second time.
        ended: when the run of the last attempt ended, in seconds since 1970, by name.
        now: the same.
    """
    found = Decision()
    for item in due:
        known = attempts.get(item.name)
        tries = known.tries if known is not None and known.key == item.key else 0
        if known is not None and tries:
            found.attempts[item.name] = known
        if item.name in under_way:
            found.told.append(f"{item.name} is under way")
            continue
        if known is not None and tries:
            if tries > len(BACK_OFF):
                found.told.append(
                    f"{item.name} was given up after {tries} attempts, until it or the benchmark "
                    "changes"
                )
                continue
            again = max(known.at, ended.get(item.name, 0.0)) + BACK_OFF[tries - 1]
            if now < again:
                clock = time.strftime("%H:%M:%S UTC", time.gmtime(again))
                found.told.append(f"{item.name} failed {tries} times, is tried again at {clock}")
                continue
        found.requests.append(item)
        found.attempts[item.name] = Attempt(item.key, tries + 1, now)
    return found


def key_of(name: str, values: Mapping[str, str | None]) -> str:
    """Return a short hash of what is made and of the versions that it is made from."""
    content = json.dumps([name, dict(values)], sort_keys=True)
    return hashlib.blake2b(content.encode(), digest_size=8).hexdigest()


def write_attempts(attempts: Mapping[str, Attempt]) -> str:
    """Return attempts as JSON."""
    return json.dumps({name: asdict(attempt) for name, attempt in attempts.items()})


def read_attempts(text: str | None) -> dict[str, Attempt]:
    """Return attempts from JSON; a cursor of another kind holds none."""
    try:
        content = json.loads(text or "{}")
        return {
            name: Attempt(str(item["key"]), int(item["tries"]), float(item["at"]))
            for name, item in content.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return {}
