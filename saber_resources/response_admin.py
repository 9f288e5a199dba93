"""What people do with a response store between builds: find what was asked in vain, remove it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import islice

from saber_resources.response_record import EVERYTHING, Response, Row, Select
from saber_resources.response_schema import connect
from saber_resources.response_store import _DROPPED, ResponseStore

KEYS_A_QUERY = 500


def lost_requests(store: ResponseStore, select: Select = EVERYTHING) -> Iterator[Row]:
    """Yield what was asked in vain: failed requests, and answers that were of no use.

    An answer that can't be used comes only where its item has no usable answer to the same
    version of the prompt: a re-ask that helped makes up for it.

    Args:
        store: to read.
        select: which.
    """
    suspects = {_subject(response) for _, response in store.failures(select)}
    if not suspects:
        return
    condition, values = select.where()
    query = (
        "SELECT DISTINCT model, prompt_fingerprint, item FROM responses "  # noqa: S608
        f"WHERE error IS NULL AND fault IS NULL AND {condition}"
    )
    with closing(connect(store.path)) as connection:
        helped = {row for row in connection.execute(query, values) if row in suspects}
    for key, response in store.failures(select):
        if response.error is not None or _subject(response) not in helped:
            yield key, response


def delete_responses(store: ResponseStore, keys: Iterable[bytes]) -> int:
    """Remove responses, and return how many; what they cost stays in the sums."""
    deleted = 0
    source = iter(keys)
    with closing(connect(store.path)) as connection:
        while part := list(islice(source, KEYS_A_QUERY)):
            condition = f"key IN ({','.join('?' * len(part))})"
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(_DROPPED.format(condition=condition), part)
                deleted += connection.execute(
                    f"DELETE FROM responses WHERE {condition}",  # noqa: S608
                    part,
                ).rowcount
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
    return deleted


def latencies(
    store: ResponseStore, select: Select = EVERYTHING
) -> Iterator[tuple[str, str, str, float]]:
    """Yield model, prompt, its version and the seconds of each call that gave an answer here."""
    condition, values = select.where()
    query = (
        "SELECT model, prompt, prompt_fingerprint, latency FROM responses "  # noqa: S608
        f"WHERE error IS NULL AND imported = 0 AND latency > 0 AND {condition}"
    )
    with closing(connect(store.path)) as connection:
        yield from connection.execute(query, values)


def _subject(response: Response) -> tuple[str, str, str]:
    return response.model, response.prompt_fingerprint, response.item
