"""The tables of sources as they were read: one a source, of the columns that its shape has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import polars as pl

from saber_assets.corpus.source_kinds.protocol import (
    READER_FAULTS,
    Post,
    Shape,
    SourceDocument,
    SourceItem,
    SourceRecord,
    SourceThread,
)
from saber_assets.table import Column, Rule, Table

_POST = pl.Struct({"number": pl.Int64, "author": pl.String, "time": pl.Int64, "text": pl.String})
_FAULT = Column(pl.String, f"one of {', '.join(READER_FAULTS)}, or null", nullable=True)
_ID = {
    "source_id": Column(pl.String, "unique in the source"),
    "location": Column(pl.String, "file name and place in it"),
}
_METADATA = Column(pl.String, "more that the source says, as a JSON object")
_LANGUAGE = Column(pl.String, "as the source declares it, ISO 639-1", nullable=True)

_COLUMNS: Mapping[Shape, Mapping[str, Column]] = {
    "records": {
        **_ID,
        "problem": Column(pl.String, "the statement, untouched"),
        "solutions": Column(pl.List(pl.String), "its solutions, the preferred one first"),
        "answer": Column(pl.String, "the source's own short answer", nullable=True),
        "language": _LANGUAGE,
        "licence": Column(pl.String, "of the record, where not that of the source", nullable=True),
        "origin": Column(pl.String, "what the source names as origin, or empty"),
        "metadata": _METADATA,
        "fault": _FAULT,
    },
    "threads": {
        **_ID,
        "title": Column(pl.String, "of the thread"),
        "category": Column(pl.String, "forum or collection, or empty"),
        "posts": Column(pl.List(_POST), "in order, untouched; time in seconds since 1970, or 0"),
        "fault": _FAULT,
    },
    "documents": {
        **_ID,
        "text": Column(pl.String, "Markdown or LaTeX, untouched"),
        "syntax": Column(pl.String, "markdown or latex"),
        "language": _LANGUAGE,
        "metadata": _METADATA,
        "fault": _FAULT,
    },
}
_WHAT = {
    "records": "problems with their solutions",
    "threads": "threads with their posts",
    "documents": "documents",
}


def source_table(name: str, shape: Shape) -> Table:
    """Return the contract of a source's table.

    Args:
        name: of the source.
        shape: what it consists of.
    """
    return Table(
        name=f"source_{name}",
        description=f"The {_WHAT[shape]} of the source '{name}' as they were read.",
        columns=_COLUMNS[shape],
        key=("source_id",),
        rules=(
            Rule("known fault", "fault is listed", pl.col("fault").is_in(list(READER_FAULTS))),
        ),
    )


def row_of(item: SourceItem) -> dict[str, Any]:
    """Return an item as a row of its source's table."""
    if isinstance(item, SourceThread):
        posts = [
            {"number": post.number, "author": post.author, "time": post.time, "text": post.text}
            for post in item.posts
        ]
        return {
            "source_id": item.source_id,
            "location": item.location,
            "title": item.title,
            "category": item.category,
            "posts": posts,
            "fault": item.fault,
        }
    row = {
        name: getattr(item, name)
        for name in _COLUMNS["records" if isinstance(item, SourceRecord) else "documents"]
    }
    if isinstance(item, SourceRecord):
        row["solutions"] = list(item.solutions)
    row["metadata"] = orjson.dumps(dict(item.metadata), option=orjson.OPT_SORT_KEYS).decode()
    return row


def threads_of(frame: pl.DataFrame) -> Iterator[SourceThread]:
    """Yield the threads of a source's table."""
    for row in frame.iter_rows(named=True):
        posts = tuple(Post(**post) for post in row["posts"])
        yield SourceThread(
            row["source_id"], row["location"], row["title"], posts, row["category"], row["fault"]
        )


def documents_of(frame: pl.DataFrame) -> Iterator[SourceDocument]:
    """Yield the documents of a source's table."""
    for row in frame.iter_rows(named=True):
        yield SourceDocument(
            row["source_id"],
            row["location"],
            row["text"],
            row["syntax"],
            row["language"],
            orjson.loads(row["metadata"]),
            row["fault"],
        )
