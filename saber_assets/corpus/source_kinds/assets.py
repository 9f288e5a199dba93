"""Assets of the sources: what each reader read, and what threads and documents gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import dagster as dg
import polars as pl

from saber_assets.corpus.cleaning.clean import markup_to_text
from saber_assets.corpus.cleaning.language import language_of
from saber_assets.corpus.document_cutting import cut_documents, review_frame
from saber_assets.corpus.problem_rows import UNKNOWN_LANGUAGE
from saber_assets.corpus.review import Reviews
from saber_assets.corpus.source_kinds.registry import kind
from saber_assets.corpus.source_tables import (
    DOCUMENT_PROBLEMS,
    DOCUMENTS_FOR_REVIEW,
    DROPPED_DOCUMENTS,
    THREAD_PROBLEMS,
    document_rows,
    documents_of,
    dropped_row,
    row_of,
    source_table,
    thread_row,
    threads_of,
)
from saber_assets.corpus.thread_funnel import decide_threads
from saber_assets.materialize import declare, hand_over
from saber_assets.plots import bars, shown
from saber_assets.sources import DOCUMENT_REVIEWS, files_of, source_paths, sources_of
from saber_assets.streamed import frames_of, height_of, part_folder, stream, table_parts
from saber_assets.text_readers import (
    THREAD_PROMPTS,
    document_prompts,
    open_cutter,
    open_thread_judge,
    reader_kinds,
    reader_pool,
    reader_values,
)
from saber_resources.profiles import Source
from saber_resources.progress import progress
from saber_resources.settings import Settings

GROUP = "corpus"
LAZY = dg.PythonObjectDagsterType(pl.LazyFrame)


def source_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return an asset for each configured source, and those that make problems of them."""
    return [
        *(_read(settings, source) for source in settings.profile.corpus.sources),
        *([_threads(settings)] if sources_of(settings, "threads") else []),
        *([_documents(settings)] if sources_of(settings, "documents") else []),
    ]


def _read(settings: Settings, source: Source) -> dg.AssetsDefinition:
    reader = kind(source.kind)
    table = source_table(source.name, reader.shape)
    values = {"source": source.model_dump(mode="json", include={"kind", "options"})}
    options = dict(source.options)
    if source.kind == "documents":
        options.setdefault("cache", str(settings.workdir.recognised))

    @dg.multi_asset(
        name=f"read_{source.name}",
        outs=declare([table], group=GROUP, version=1, values=values, kinds=(source.kind,)),
        deps=[files_of(source)],
    )
    def read_source() -> Iterator[dg.Output[pl.DataFrame]]:
        paths = source_paths(settings, source)
        total = reader.count(paths, options) or 0
        with (
            part_folder(settings, table.name) as folder,
            progress(f"reading {source.name}", total) as advance,
        ):

            def rows() -> Iterator[dict[str, object]]:
                for item in reader.read(paths, options):
                    yield row_of(item)
                    advance(1)

            made = stream(table, frames_of(table, rows()), folder)
            faults = made.frame.lazy().select("fault").collect()["fault"].drop_nulls()
            yield from hand_over(
                [(table, made)],
                values,
                {
                    table.name: {
                        "kind": source.kind,
                        "faulted": len(faults),
                        **{str(name): count for name, count in faults.value_counts().iter_rows()},
                    }
                },
            )

    return read_source


def lazy_inputs(tables: Iterable[str]) -> dict[str, dg.AssetIn]:
    """Return the `ins` of an asset that reads these tables piece by piece."""
    return {name: dg.AssetIn(dagster_type=LAZY) for name in tables}


def _threads(settings: Settings) -> dg.AssetsDefinition:
    sources = sources_of(settings, "threads")
    values = {
        **reader_values(settings, *THREAD_PROMPTS),
        "sources": [source.name for source in sources],
    }

    @dg.multi_asset(
        name="decide_threads",
        ins=lazy_inputs(f"source_{source.name}" for source in sources),
        outs=declare(
            [THREAD_PROBLEMS], group=GROUP, version=1, values=values, kinds=reader_kinds(settings)
        ),
        pool=reader_pool(settings),
    )
    def thread_problems(**tables: pl.LazyFrame) -> Iterator[dg.Output[pl.DataFrame]]:
        total = sum(map(height_of, tables.values()))
        with (
            part_folder(settings, THREAD_PROBLEMS.name) as folder,
            open_thread_judge(settings) as judge,
            progress("deciding about threads", total) as advance,
        ):

            def rows() -> Iterator[dict[str, object]]:
                for source in sources:
                    for part in table_parts(tables[f"source_{source.name}"]):
                        for decision in decide_threads(
                            threads_of(part), judge, render=markup_to_text, progress=advance
                        ):
                            yield thread_row(source.name, decision)

            made = stream(THREAD_PROBLEMS, frames_of(THREAD_PROBLEMS, rows()), folder)
            faults = made.frame.lazy().select(pl.col("fault").fill_null("kept")).collect()
            counts = faults["fault"].value_counts(sort=True, name="threads")
            yield from hand_over(
                [(THREAD_PROBLEMS, made)],
                values,
                {
                    THREAD_PROBLEMS.name: {
                        "decided by": judge.name,
                        "funnel": shown(
                            bars(
                                counts["fault"].to_list(),
                                counts["threads"].to_list(),
                                "What became of the threads",
                                "threads",
                            )
                        ),
                    }
                },
            )

    return thread_problems


def _documents(settings: Settings) -> dg.AssetsDefinition:
    sources = sources_of(settings, "documents")
    corpus = settings.profile.corpus
    values = {
        **reader_values(settings, *document_prompts(settings)),
        "sources": {source.name: source.language for source in sources},
    }
    if corpus.annotator == "llm":  # the rules neither translate nor have a limit
        values["corpus"] = corpus.model_dump(include={"translate", "max_document_characters"})

    @dg.multi_asset(
        name="cut_documents",
        ins=lazy_inputs(f"source_{source.name}" for source in sources),
        outs=declare(
            [DOCUMENT_PROBLEMS, DOCUMENTS_FOR_REVIEW, DROPPED_DOCUMENTS],
            group=GROUP,
            version=1,
            values=values,
            kinds=reader_kinds(settings),
        ),
        deps=[DOCUMENT_REVIEWS],
        pool=reader_pool(settings),
    )
    def document_problems(**tables: pl.LazyFrame) -> Iterator[dg.Output[pl.DataFrame]]:
        total = sum(map(height_of, tables.values()))
        problems, reviews, dropped = [], [], []
        with (
            open_cutter(settings) as cutter,
            progress("cutting documents", total) as advance,
        ):
            for source in sources:
                review = Reviews(settings.workdir.reviews, source.name)
                cut = partial(
                    cut_documents,
                    cutter=cutter,
                    review=review,
                    detect_language=partial(_language, source.language),
                )
                for part in table_parts(tables[f"source_{source.name}"]):
                    for outcome in cut(documents_of(part), progress=advance):
                        problems += document_rows(outcome)
                        reviews += [outcome] if outcome.review is not None else []
                        dropped += [dropped_row(outcome)] if outcome.dropped else []
        yield from hand_over(
            [
                (DOCUMENT_PROBLEMS, pl.DataFrame(problems, schema=dict(DOCUMENT_PROBLEMS.schema))),
                (DOCUMENTS_FOR_REVIEW, review_frame(reviews)),
                (DROPPED_DOCUMENTS, pl.DataFrame(dropped, schema=dict(DROPPED_DOCUMENTS.schema))),
            ],
            values,
            {
                DOCUMENT_PROBLEMS.name: {"documents": total, "decided by": cutter.name},
                DOCUMENTS_FOR_REVIEW.name: {
                    "edit the files in": str(settings.workdir.reviews),
                },
            },
        )

    return document_problems


def _language(stated: str | None, text: str) -> str | None:
    """Return the language of a document that states none: its source's, or what is detected."""
    found = stated or language_of(text)
    return None if found == UNKNOWN_LANGUAGE else found
