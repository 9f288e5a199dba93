"""Where a problem came from, what was done to it, and what became of it.

`explain` answers that for one record from the tables of the corpus alone: nothing is computed
again, so what it says is what the build did.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from saber_assets.errors import InputError

Fate = Literal["kept", "dropped", "in_review"]
SHORTEST_PREFIX = 6
"""Characters at least of the beginning of a problem id that stands for it."""
_LISTED = 5
_COMPARED = 2000


@dataclass(frozen=True)
class CorpusFrames:
    """The tables that an explanation is read from.

    Attributes:
        raw: a frame of `RAW_PROBLEMS`.
        dropped: a frame of `DROPPED_PROBLEMS`.
        review: documents that wait for a person: columns source, source_id, location, reason,
            detail, language; or None.
        dropped_documents: documents left out: columns source, source_id, location, reason,
            detail; or None.
    """

    raw: pl.DataFrame
    dropped: pl.DataFrame
    review: pl.DataFrame | None = None
    dropped_documents: pl.DataFrame | None = None


@dataclass(frozen=True)
class Duplicate:
    """Another record that the explained one was compared with.

    Attributes:
        problem_id: its id.
        occurrence: which record with that content.
        source: name of its source.
        source_id: its id there.
        location: where it stands.
        similarity: with the kept record of the group, exact Jaccard of shingles, [0, 1].
        scope: `within` a source or `across` sources; None for a group's kept record.
        evidence: a name of `EVIDENCE`; None for a group's kept record.
    """

    problem_id: str
    occurrence: int
    source: str
    source_id: str
    location: str
    similarity: float
    scope: str | None
    evidence: str | None


@dataclass(frozen=True)
class Explanation:
    """What is known of one record.

    Attributes:
        problem_id: content-derived id; None for a document, which has none.
        occurrence: which record with that content; None for a document.
        source: name of its source.
        source_id: its id there.
        location: file and place in it.
        licence: SPDX identifier; None for a document.
        for_training: whether models may be trained on it; None for a document.
        language: ISO 639-1, `und`, or None where nobody looked.
        steps: cleaning steps that changed it, in their order.
        flags: oddities that cleaning saw and left.
        fate: whether it was kept, dropped or is in review.
        reason: why it was dropped or is in review; None where it was kept.
        detail: more about the reason, or None.
        statement: the cleaned statement; "" for a document.
        displaced: the records dropped for it, the most similar first; its duplicate group is
            these and itself.
        displaced_by: the kept record that it was dropped for, or None.
        group: the others of the group that it was dropped in, the kept one first; empty where
            it was kept.
    """

    problem_id: str | None
    occurrence: int | None
    source: str
    source_id: str
    location: str
    licence: str | None
    for_training: bool | None
    language: str | None
    fate: Fate
    steps: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    reason: str | None = None
    detail: str | None = None
    statement: str = ""
    displaced: tuple[Duplicate, ...] = ()
    displaced_by: Duplicate | None = None
    group: tuple[Duplicate, ...] = field(default=())


def explain(name: str, frames: CorpusFrames) -> Explanation:
    """Tell where a record came from, what was done to it and what became of it.

    Args:
        name: a problem id or its first `SHORTEST_PREFIX` characters or more; the id that the
            record has in its source; or, where several sources have that id, `SOURCE:ID`. Of
            several records with one content, `PROBLEM_ID#2` names the second; without that the
            kept one is meant.
        frames: the tables of the corpus.

    Raises:
        InputError: for an id that is unknown, with close ones, or that several records have,
            with the names that tell them apart.
    """
    name = name.strip()
    row = _record(name, frames)
    if row is not None:
        return _of_record(row, frames)
    document = _document(name, frames)
    if document is not None:
        return document
    raise InputError(f"no record has the id '{name}'", _close(name, frames))


def _record(name: str, frames: CorpusFrames) -> dict[str, Any] | None:
    """Return the row of `raw` that a name stands for, or None."""
    raw = frames.raw
    problem_id, _, number = name.rpartition("#")
    if problem_id and number.isdigit():
        found = raw.filter(problem_id=problem_id, occurrence=int(number))
        if found.height:
            return found.row(0, named=True)
    found = raw.filter(pl.col("problem_id") == name)
    if found.height:
        return _main(found, frames)
    found = _in_sources(raw, name)
    if found.select("source", "source_id", "problem_id").n_unique() == 1:
        return _main(found, frames)
    if not found.height and len(name) >= SHORTEST_PREFIX:
        found = raw.filter(pl.col("problem_id").str.starts_with(name))
        if found["problem_id"].n_unique() == 1:
            return _main(found, frames)
    if found.height:
        raise _ambiguous(name, found)
    return None


def _main(same: pl.DataFrame, frames: CorpusFrames) -> dict[str, Any]:
    """Return the kept one of records with one content, or the first where none was kept."""
    kept = same.join(frames.dropped, on=["problem_id", "occurrence"], how="anti")
    return (kept if kept.height else same.sort("occurrence")).row(0, named=True)


def _in_sources(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """Return the rows with this id in their source, or with `SOURCE:ID`."""
    qualified = pl.concat_str("source", pl.lit(":"), "source_id") == name
    return frame.filter((pl.col("source_id") == name) | qualified)


def _ambiguous(name: str, found: pl.DataFrame) -> InputError:
    names = [
        f"{row['source']}:{row['source_id']}"
        if found.filter(source=row["source"], source_id=row["source_id"]).height == 1
        else f"{row['problem_id']}#{row['occurrence']}"
        for row in found.sort("source", "source_id", "occurrence").rows(named=True)
    ]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return InputError(
        f"{found.height} records have the id '{name}'",
        f"name one of them: {', '.join(names[:_LISTED])}{more}",
    )


def _of_record(row: Mapping[str, Any], frames: CorpusFrames) -> Explanation:
    key = {"problem_id": row["problem_id"], "occurrence": row["occurrence"]}
    gone = frames.dropped.filter(**key)
    drop = gone.row(0, named=True) if gone.height else None
    kept_id = row["problem_id"] if drop is None else drop["kept_problem_id"]
    group = _group(kept_id, frames) if kept_id is not None else ()
    leader = group[0] if drop is not None and group else None
    if leader is not None and drop is not None:
        leader = Duplicate(
            **{name: getattr(leader, name) for name in _IDENTITY},
            similarity=drop["similarity"],
            scope=drop["scope"],
            evidence=drop["evidence"],
        )
    others = tuple(
        member
        for member in group
        if (member.problem_id, member.occurrence) != (row["problem_id"], row["occurrence"])
    )
    return Explanation(
        **key,
        source=row["source"],
        source_id=row["source_id"],
        location=row["location"],
        licence=row["licence"],
        for_training=row["for_training"],
        language=row["language"],
        fate="kept" if drop is None else "dropped",
        steps=tuple(row["steps"] or ()),
        flags=tuple(row["flags"] or ()),
        reason=None if drop is None else drop["reason"],
        detail=row.get("detail"),
        statement=row["problem"],
        displaced=others if drop is None else (),
        displaced_by=leader,
        group=() if drop is None else others,
    )


_IDENTITY = ("problem_id", "occurrence", "source", "source_id", "location")


def _group(kept_id: str, frames: CorpusFrames) -> tuple[Duplicate, ...]:
    """Return the kept record with this id and those dropped for it, the most similar first."""
    same = frames.raw.filter(problem_id=kept_id)
    kept = same.join(frames.dropped, on=["problem_id", "occurrence"], how="anti").head(1)
    members = frames.dropped.filter(kept_problem_id=kept_id).sort(
        ["similarity", "problem_id", "occurrence"], descending=[True, False, False]
    )
    first = [
        Duplicate(**row, similarity=1.0, scope=None, evidence=None)
        for row in kept.select(_IDENTITY).rows(named=True)
    ]
    others = members.select(*_IDENTITY, "similarity", "scope", "evidence").rows(named=True)
    return (*first, *(Duplicate(**row) for row in others))


def _document(name: str, frames: CorpusFrames) -> Explanation | None:
    """Return what became of the document with this id, or None."""
    fates: tuple[tuple[Fate, pl.DataFrame | None], ...] = (
        ("in_review", frames.review),
        ("dropped", frames.dropped_documents),
    )
    for fate, frame in fates:
        found = _in_sources(frame, name) if frame is not None else pl.DataFrame()
        if found.height > 1:
            names = ", ".join(f"{row['source']}:{name}" for row in found.rows(named=True))
            raise InputError(
                f"{found.height} documents have the id '{name}'", f"name one of them: {names}"
            )
        if found.height:
            row = found.row(0, named=True)
            return Explanation(
                problem_id=None,
                occurrence=None,
                source=row["source"],
                source_id=row["source_id"],
                location=row["location"],
                licence=None,
                for_training=None,
                language=row.get("language"),
                fate=fate,
                reason=row["reason"],
                detail=row.get("detail"),
            )
    return None


def _close(name: str, frames: CorpusFrames) -> str:
    """Return what to do about an unknown id, with the closest that there are."""
    documents = [frame for frame in (frames.review, frames.dropped_documents) if frame is not None]
    ids = pl.concat(
        [
            frames.raw["problem_id"],
            *(frame["source_id"] for frame in (frames.raw, *documents)),
        ]
    ).unique()
    # comparing all of a large corpus takes minutes, and an id is seldom wrong in every part
    plain = name.rpartition(":")[2]
    middle = len(plain) // 2
    parts = {part for part in (plain[:middle], plain[middle:]) if len(part) > 1}
    like = [ids.str.starts_with(part) | ids.str.ends_with(part) for part in sorted(parts)]
    near = ids.filter(pl.Series([any(row) for row in zip(*like, strict=True)])) if like else ids
    pool = sorted((near if near.len() > 0 else ids).sort().head(_COMPARED))
    matches = difflib.get_close_matches(plain, pool, _LISTED, 0.6)
    if matches:
        return f"did you mean {' or '.join(matches)}?"
    return "give a problem id from the corpus, or the id that the record has in its source"
