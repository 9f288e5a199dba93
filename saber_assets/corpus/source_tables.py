"""The tables of sources as they were read: one a source, of the columns that its shape has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import polars as pl

from saber_assets.corpus.documents import REVIEW_REASONS, DocumentOutcome
from saber_assets.corpus.source_kinds.protocol import (
    READER_FAULTS,
    Post,
    Shape,
    SourceDocument,
    SourceItem,
    SourceRecord,
    SourceThread,
)
from saber_assets.corpus.thread_funnel import ThreadDecision
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
        "for_training": Column(pl.Boolean, "as the record says, or null", nullable=True),
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
        key=("source_id", "origin") if shape == "records" else ("source_id",),
        rules=(Rule("known fault", "fault is listed", pl.col("fault").is_in(list(READER_FAULTS))),),
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
    columns = _COLUMNS["records" if isinstance(item, SourceRecord) else "documents"]
    row = {name: getattr(item, name) for name in columns if name != "for_training"}
    if isinstance(item, SourceRecord):
        row["solutions"] = list(item.solutions)
        row["for_training"] = False if item.metadata.get("for_training") == "false" else None
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


THREAD_PROBLEMS = Table(
    name="thread_problems",
    description="What became of each thread: a problem with solutions, or the reason why not.",
    columns={
        "source": Column(pl.String, "name of the source"),
        **_ID,
        "problem": Column(pl.String, "the opening post, untouched"),
        "solutions": Column(pl.List(pl.String), "the chosen comment first; none where dropped"),
        "posts": Column(pl.List(pl.Int64), "numbers of the posts in `solutions`"),
        "comments": Column(pl.Int64, "comments that aren't empty"),
        "substantive": Column(pl.Int64, "of these, solutions"),
        "decided_by": Column(pl.String, "name of the model, or `rules (no model)`"),
        "fault": Column(pl.String, "why the thread gives no problem, or null", nullable=True),
        "detail": Column(pl.String, "what was said about it, or null", nullable=True),
    },
    key=("source", "source_id"),
)

DOCUMENT_PROBLEMS = Table(
    name="document_problems",
    description="The problems of the documents that could be cut with certainty, or by a person.",
    columns={
        "source": Column(pl.String, "name of the source"),
        "source_id": Column(pl.String, "id of the document, `#` and the number of the problem"),
        "location": Column(pl.String, "file name and number"),
        "problem": Column(pl.String, "the statement, untouched or translated"),
        "solutions": Column(pl.List(pl.String), "its solutions in the order of the document"),
        "language": Column(pl.String, "of the texts, or null where unknown", nullable=True),
        "translated": Column(pl.Boolean, "whether a model translated them"),
        "decided_by": Column(pl.String, "name of the model, `rules (no model)`, or `person`"),
    },
    key=("source", "source_id"),
)

DOCUMENTS_FOR_REVIEW = Table(
    name="documents_for_review",
    description="Documents that a person has to cut: what was found, and which file to edit.",
    columns={
        "source": Column(pl.String, "name of the source"),
        **_ID,
        "reason": Column(pl.String, f"one of {', '.join(REVIEW_REASONS)}"),
        "detail": Column(pl.String, "what is wrong, where"),
        "problems": Column(pl.List(pl.String), "statements that were found"),
        "solutions": Column(pl.List(pl.String), "solutions that were found"),
        "language": Column(pl.String, "of the document, or null where unknown", nullable=True),
        "review_file": Column(pl.String, "name of the file in the folder `reviews`"),
    },
    key=("source", "source_id"),
)

DROPPED_DOCUMENTS = Table(
    name="dropped_documents",
    description="Documents that can't be read, or that a person left out, with the reason.",
    columns={
        "source": Column(pl.String, "name of the source"),
        **_ID,
        "reason": Column(pl.String, "a fault of its reader, or dropped_by_person"),
        "detail": Column(pl.String, "more about it"),
    },
    key=("source", "source_id"),
)


def thread_row(source: str, decision: ThreadDecision) -> dict[str, Any]:
    """Return what became of a thread as a row of `THREAD_PROBLEMS`."""
    thread = decision.thread
    opening = thread.posts[0].text if thread.posts else ""
    return {
        "source": source,
        "source_id": thread.source_id,
        "location": thread.location,
        "problem": opening if decision.problem is None else decision.problem,
        "solutions": list(decision.solutions),
        "posts": list(decision.chosen),
        "comments": decision.counts.comments,
        "substantive": decision.counts.substantive,
        "decided_by": decision.judge,
        "fault": decision.reason,
        "detail": decision.detail or None,
    }


def document_rows(outcome: DocumentOutcome) -> list[dict[str, Any]]:
    """Return the problems of a document as rows of `DOCUMENT_PROBLEMS`."""
    document = outcome.document
    return [
        {
            "source": outcome.source,
            "source_id": f"{document.source_id}#{problem.number}",
            "location": f"{document.location} problem {problem.number}",
            "problem": problem.problem,
            "solutions": list(problem.solutions),
            "language": problem.language,
            "translated": problem.translated,
            "decided_by": outcome.decided_by,
        }
        for problem in outcome.problems
    ]


def dropped_row(outcome: DocumentOutcome) -> dict[str, Any]:
    """Return a dropped document as a row of `DROPPED_DOCUMENTS`."""
    document = outcome.document
    return {
        "source": outcome.source,
        "source_id": document.source_id,
        "location": document.location,
        "reason": outcome.dropped,
        "detail": outcome.detail or document.metadata.get("reason", ""),
    }
