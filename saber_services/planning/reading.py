"""How many calls come after the known ones where a model reads threads and documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from saber_assets.corpus.document_rules import cut_by_rules
from saber_assets.corpus.readers import read_corpus
from saber_assets.corpus.source_kinds.protocol import Shape
from saber_assets.corpus.source_tables import DOCUMENT_PROBLEMS, THREAD_PROBLEMS
from saber_assets.sources import corpus_files, sources_of
from saber_assets.text_readers import THREAD_PROMPTS, document_prompts
from saber_resources.settings import Settings
from saber_services.planning.lookup import Calls
from saber_services.planning.shadow import SOURCE, Shadow, Step

NOT_READ = "not known before the sources are read, which takes a download or an OCR command"


@dataclass(frozen=True)
class Remaining:
    """Calls of one prompt that come after those that are known, and the rule that counts them.

    Attributes:
        calls: how many.
        rule: how they were counted.
        characters: of what one such request shows, where that is no problem of the corpus.
    """

    calls: int
    rule: str
    characters: float | None = None


def thread_calls(settings: Settings, step: Step, shadow: Shadow) -> dict[str, Remaining]:
    """Return the calls about threads that depend on answers which are not there yet.

    Args:
        settings: of the build.
        step: the one that makes `thread_problems`.
        shadow: after its run.
    """
    if not step.ran:
        return {prompt: Remaining(0, NOT_READ) for prompt in THREAD_PROMPTS}
    first, second, third = THREAD_PROMPTS
    open_posts = step.calls.get(first, Calls()).missing
    open_comments = open_posts + step.calls.get(second, Calls()).missing
    shown = _characters_of_threads(settings, shadow)
    rules = {
        second: (open_posts, "one for each thread that turns out self-contained, at most"),
        third: (open_comments, "one for each thread that turns out to have solutions, at most"),
    }
    return {
        prompt: Remaining(calls, rule, shown) for prompt, (calls, rule) in rules.items() if calls
    }


def document_calls(settings: Settings, step: Step, shadow: Shadow) -> dict[str, Remaining]:
    """Return the calls about documents that depend on answers which are not there yet.

    Args:
        settings: of the build.
        step: the one that makes `document_problems`.
        shadow: after its run.
    """
    if not step.ran:
        return {prompt: Remaining(0, NOT_READ) for prompt in document_prompts(settings)}
    segmentation = step.calls.get("document_segmentation", Calls())
    translations = step.calls.get("translation", Calls()).missing
    documents = [text for frame in _scans(settings, shadow, "documents") for text in _texts(frame)]
    rest = max(0, len(documents) - segmentation.cached - segmentation.missing)
    found = {}
    if translations and rest:
        mean = sum(map(len, documents)) / len(documents)
        found["document_segmentation"] = Remaining(
            min(translations, rest), "one for each document that is translated first, at most", mean
        )
    if segmentation.missing or found:
        pieces = [piece for text in documents for piece in cut_by_rules(text).pieces]
        known = step.calls.get("latex_normalisation", Calls())
        calls = max(0, len(pieces) - known.cached - known.missing)
        mean = sum(len(piece.text) for piece in pieces) / max(len(pieces), 1)
        rule = "one for each statement and solution that the rules without a model find"
        found["latex_normalisation"] = Remaining(calls, rule, mean)
    return found


def corpus_size(settings: Settings, shadow: Shadow) -> tuple[int | None, str]:
    """Return how many problems the corpus will have, or None, and the words for it."""
    corpus = shadow.table("deduped_corpus")
    if corpus is not None:
        return corpus.height, f"{corpus.height} problems"
    most = 0
    for shape in ("records", "threads", "documents"):
        count = _most_problems(settings, shadow, shape)
        if count is None:
            return None, NOT_READ
        most += count
    files = corpus_files(settings)
    most += read_corpus(files, bad_rows="set_aside").height if files else 0
    return most, (
        f"{most} problems at most, before threads and documents are read and duplicates dropped"
    )


def _most_problems(settings: Settings, shadow: Shadow, shape: Shape) -> int | None:
    """Return how many problems the sources of a shape give at most, or None."""
    sources = sources_of(settings, shape)
    made = {"threads": THREAD_PROBLEMS.name, "documents": DOCUMENT_PROBLEMS.name}.get(shape)
    known = shadow.rows(made) if made is not None and sources else None
    if known is not None:
        return _sound(known)
    frames = list(_scans(settings, shadow, shape))
    if len(frames) < len(sources):
        return None
    if shape == "documents":
        texts = [text for frame in frames for text in _texts(frame)]
        pieces = [piece for text in texts for piece in cut_by_rules(text).pieces]
        return sum(piece.kind == "problem" for piece in pieces)
    if shape == "threads":
        frames = [frame.filter(pl.col("posts").list.len() > 1) for frame in frames]
    return sum(map(_sound, frames))


def _scans(settings: Settings, shadow: Shadow, shape: Shape) -> Iterator[pl.LazyFrame]:
    """Yield the tables of the sources of a shape, as far as they are known."""
    for source in sources_of(settings, shape):
        rows = shadow.rows(f"{SOURCE}{source.name}")
        if rows is not None:
            yield rows.lazy()


def _sound(table: pl.DataFrame | pl.LazyFrame) -> int:
    """Return how many rows have no fault."""
    scan = table.lazy()
    if "fault" in scan.collect_schema().names():
        scan = scan.filter(pl.col("fault").is_null())
    return int(scan.select(pl.len()).collect().item())


def _texts(documents: pl.LazyFrame) -> list[str]:
    sound = documents.filter(pl.col("fault").is_null())
    return sound.select("text").collect()["text"].to_list()


def _characters_of_threads(settings: Settings, shadow: Shadow) -> float:
    """Return the mean of the characters of all posts of a thread with comments."""
    posts = pl.col("posts")
    lengths = posts.list.eval(pl.element().struct.field("text").str.len_chars()).list.sum()
    total, threads = 0, 0
    for scan in _scans(settings, shadow, "threads"):
        found = scan.filter(posts.list.len() > 1).select(pl.len(), lengths.sum().alias("sum"))
        count, characters = found.collect().row(0)
        total, threads = total + int(characters or 0), threads + int(count)
    return total / max(threads, 1)
