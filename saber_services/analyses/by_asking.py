"""Analyses that ask retrievers, or a language model, anew."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from saber_assets.annotation.annotator import Failure
from saber_assets.asking import Asker
from saber_assets.errors import InputError
from saber_assets.evaluation import instruction_effect as instructions
from saber_assets.evaluation import latency, leakage
from saber_assets.evaluation.duplicate_finding import (
    Direction,
    find_duplicates,
    searches,
    summarise,
)
from saber_assets.evaluation.leaderboard import measure_queries
from saber_assets.evaluation.llm_replies import read_audit, read_rewriting
from saber_assets.evaluation.word_math_split import highest_rated, math_against_words, preference
from saber_assets.retrieval.encoding.instruction import Prefixed, instructed
from saber_assets.retrieval.entry import Entry
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrieval.texts import document_text, query_text
from saber_resources.errors import SetupError
from saber_resources.lock import hold_models
from saber_services.analyses import asking_plots as plots
from saber_services.analyses.finding import Finding
from saber_services.analyses.guarded import alone, excused
from saber_services.analyses.kept import Kept
from saber_services.analyses.user_table import read_user_table
from saber_services.analyses.with_inputs import LATENCY_FILE

Track = Callable[[str, int], Any]
"""From a label and a number of items to a context that yields what is told of finished ones."""


def of_latency(kept: Kept, names: Sequence[str], count: int, track: Track) -> Finding:
    """Time retrievers by the protocol, and keep the medians for the frontier."""
    able, unable = kept.runnable(names)
    texts = _texts(kept)
    chosen = latency.fixed_queries(sorted(set(kept.pools["query_id"])), count)
    pools = kept.pools.filter(pl.col("query_id").is_in(chosen)).sort("query_id", "candidate_id")
    asked = [
        (
            query_text(*texts[str(key[0])], kept.setting),
            [document_text(*texts[one], kept.setting) for one in frame["candidate_id"]],
        )
        for key, frame in pools.group_by("query_id", maintain_order=True)
    ]
    rows = []
    with hold_models(kept.settings.workdir.root, wait=False):
        for name, entry in able.items():
            with excused(unable, name), track(f"timing {name}", len(asked)) as advance:
                seconds = latency.time_retriever(entry.make(), asked, progress=advance)
                rows.append({"retriever": name, **asdict(latency.summarise(seconds))})
    _require(rows, unable)
    table = pl.DataFrame(rows).sort("median") if rows else pl.DataFrame()
    saved = _save_medians(kept, table) if rows else None
    return Finding(
        f"Seconds a query, {kept.setting}",
        {f"{len(asked)} fixed queries, cold cache, {latency.IN_FLIGHT} in flight": table}
        if rows
        else {},
        (
            *_left_out(unable),
            *([f"Medians are kept in {saved} for `saber analyse pareto`."] if saved else []),
        ),
        plot=plots.seconds(table) if rows else None,
    )


def of_word_math_split(kept: Kept, names: Sequence[str], track: Track) -> Finding:
    """Ask whether retrievers go by a query's formulas or by its words."""
    able, unable = kept.runnable(names)
    texts = _texts(kept)
    best = highest_rated(kept.ratings)
    statements = {query: texts[query][0] for query in best}
    documents = {
        query: [document_text(*texts[one], kept.setting) for one in ids]
        for query, ids in best.items()
    }
    rows, frames = [], []
    with alone(kept, able):
        for name, entry in able.items():
            with excused(unable, name), track(f"asking {name}", len(best)) as advance:
                compared = math_against_words(entry.make(), statements, documents, advance)
                rows.append({"retriever": name, **asdict(preference(compared))})
                frames.append(compared.with_columns(retriever=pl.lit(name)))
    _require(rows, unable)
    table = pl.DataFrame(rows).sort("share", descending=True) if rows else pl.DataFrame()
    return Finding(
        f"Formulas against words, {kept.setting}",
        {"share of queries whose formulas alone match their best documents better": table}
        if rows
        else {},
        (
            f"{len(statements)} queries are rated; those without formulas, or without words, are "
            "not compared. low and high are the 95 % Wilson interval.",
            *_left_out(unable),
        ),
        plot=plots.shares(table) if rows else None,
        hidden={"queries": pl.concat(frames)} if frames else {},
    )


def of_duplicate_finding(
    kept: Kept,
    names: Sequence[str],
    rewordings: Path | None,
    direction: Direction,
    full_pool: bool,
    track: Track,
) -> Finding:
    """Find problems again by a rewording."""
    able, unable = kept.runnable(names)
    texts = _texts(kept)
    _require(able, unable)  # before a model is asked
    given, failed = _rewordings(kept, rewordings, texts)
    try:
        asked = searches(given, kept.corpus, kept.pools, kept.setting, direction, full_pool)
    except ValueError as error:
        raise InputError(f"{rewordings}: {error}", "use query ids of this workdir") from error
    documents = {
        key: document_text(*texts[key], kept.setting) for key in set(kept.pools["candidate_id"])
    }
    rows, frames = [], []
    with alone(kept, able):
        for name, entry in able.items():
            with excused(unable, name), track(f"searching with {name}", len(asked)) as advance:
                ranks = find_duplicates(entry.make(), asked, documents, advance)
                rows.append({"retriever": name, "board": kept.means.get(name), **summarise(ranks)})
                frames.append(ranks.with_columns(retriever=pl.lit(name)))
    _require(rows, unable)
    table = pl.DataFrame(rows).sort("median_rank", "retriever") if rows else pl.DataFrame()
    if rows:
        table = table.drop("queries").cast({"failed": pl.Int64})
        table = table if table["failed"].sum() else table.drop("failed")
    pool = "all documents" if full_pool else "the query's own candidates"
    return Finding(
        f"Finding the {direction} among {pool}, {kept.setting}",
        {"rank of what is sought; share found among the first k": table} if rows else {},
        (
            *_left_out(unable),
            *(f"{query} has no rewording: {reason}." for query, reason in failed.items()),
        ),
        {"searches": len(asked)},
        plot=plots.found(table) if rows else None,
        hidden={"ranks": pl.concat(frames)} if frames else {},
    )


def of_leakage(kept: Kept, top: int, replies: Path | None) -> Finding:
    """Look for hidden duplicates among the documents that are rated highest."""
    asked = leakage.audits(kept.ratings, top)
    if replies is not None:
        columns = {"query_id": pl.String, "reply": pl.String}
        given = dict(read_user_table(replies, columns, "query_id").iter_rows())
        answers = leakage.read_replies(asked, given)
    else:
        statements = {key: one[0] for key, one in _texts(kept).items()}
        with _asker(kept, "--replies") as asker:
            found = asker.ask(
                asked,
                _prompt(kept, "leakage_audit"),
                lambda audit: leakage.texts_of(audit, statements),
                lambda audit: lambda reply: read_audit(reply, len(audit.candidate_ids)),
                lambda audit: audit.query_id,
            )
        answers = {
            audit.query_id: one.reason if isinstance(one, Failure) else one
            for audit, one in zip(asked, found, strict=True)
        }
    result = leakage.aggregate(asked, answers)
    tables = {"flagged as equivalent": result.flagged} if result.flagged.height else {}
    if result.unread.height:
        tables["queries without a usable reply"] = result.unread
    return Finding(
        f"Audit of the {top} highest rated documents of each query",
        tables,
        ("A flag is a model's opinion: read the pair before you believe it.",),
        {"queries": result.queries, "pairs": result.pairs, "flagged": result.flagged.height},
        plot=plots.flagged(result, top) if result.queries else None,
    )


def of_instruction_effect(kept: Kept, names: Sequence[str], track: Track) -> Finding:
    """Score the pools again with each of three instructions."""
    able, unable = kept.runnable(names or _without_lexical(kept))
    _require(able, unable)
    asked: dict[str, pl.DataFrame] = {}
    in_front: list[str] = []
    with alone(kept, able):
        for name, entry in able.items():
            with excused(unable, name):
                asked[name] = _instructed_measures(kept, name, entry, in_front, track)
    _require(asked, unable)
    untold = kept.measures.filter(pl.col("retriever").is_in(list(asked)))
    frame = pl.concat([untold.with_columns(instruction=pl.lit(instructions.NONE)), *asked.values()])
    effect = instructions.instruction_effect(frame, resamples=kept.resamples, seed=kept.seed)
    means = frame.group_by("retriever", "instruction").agg(mean=pl.col("value").mean())
    return Finding(
        f"Instructions against none, {kept.setting}",
        {"change of the mean": instructions.differences(means), "with 95 % intervals": effect},
        (
            *(f"{key}: {text}" for key, text in instructions.INSTRUCTIONS.items()),
            *_placed(list(asked), in_front),
            *_left_out(unable),
        ),
        plot=plots.changes(effect) if effect.height else None,
    )


def _require(asked: Collection[Any], unable: Mapping[str, str]) -> None:
    """Refuse to show nothing.

    Raises:
        InputError: when no retriever could be asked, with the reasons.
    """
    if asked:
        return
    reasons = "; ".join(f"{name}: {reason.rstrip('.')}" for name, reason in unable.items())
    raise InputError(
        f"no retriever could be asked ({reasons or 'none is on the board'})",
        "mend that, or name another with --retriever",
    )


def _instructed_measures(
    kept: Kept, name: str, entry: Entry, in_front: list[str], track: Track
) -> pl.DataFrame:
    """Return a retriever's QUERY_MEASURES under each instruction.

    Its name is added to `in_front` where the instructions stand in front of the query.
    """
    queries = len(set(kept.pools["query_id"]))
    retriever = entry.make()  # once: the three share what it remembers of the documents
    measured = []
    for key, text in instructions.INSTRUCTIONS.items():
        told = instructed(retriever, text)
        with track(f"{name} with {key}", queries) as advance:
            scores, failures = score_pools(
                name,
                entry.version,
                told,
                kept.pools,
                kept.corpus,
                [kept.setting],
                progress=advance,
                own=entry.own,
            )
        values = measure_queries(scores, failures, kept.ratings, kept.measure)
        measured.append(values.with_columns(instruction=pl.lit(key)))
    if isinstance(told, Prefixed):
        in_front.append(name)
    return pl.concat(measured)


def _placed(names: Sequence[str], in_front: Sequence[str]) -> tuple[str, ...]:
    """Say where the instruction went."""
    own = [name for name in names if name not in in_front]
    said = [f"It enters the model's own field: {', '.join(own)}."] if own else []
    said += [f"It stands in front of the query: {', '.join(in_front)}."] if in_front else []
    return tuple(said)


def _without_lexical(kept: Kept) -> list[str]:
    """Lexical retrievers can't be told anything: they would match the instruction's words."""
    found = kept.board.filter(pl.col("family") != "lexical")["retriever"].to_list()
    if not found:
        raise InputError(
            "only lexical retrievers are on the board, which take no instruction",
            "name one with --retriever to see what its words do",
        )
    return [name for name in found if name in kept.entries]


def _rewordings(
    kept: Kept, path: Path | None, texts: Mapping[str, tuple[str, str]]
) -> tuple[dict[str, str], dict[str, str]]:
    """Return statements by query, from a file or from the workdir's model, and failures."""
    if path is not None:
        columns = {"query_id": pl.String, "problem": pl.String}
        return dict(read_user_table(path, columns, "query_id").iter_rows()), {}
    queries = sorted(set(kept.pools["query_id"]))
    with _asker(kept, "--rewordings") as asker:
        found = asker.ask(
            queries,
            _prompt(kept, "query_rewriting"),
            lambda query: {"statement": texts[query][0]},
            lambda query: lambda reply: read_rewriting(reply, texts[query][0]),
            lambda query: query,
        )
    answers = dict(zip(queries, found, strict=True))
    return (
        {key: one for key, one in answers.items() if not isinstance(one, Failure)},
        {key: one.reason for key, one in answers.items() if isinstance(one, Failure)},
    )


@contextmanager
def _asker(kept: Kept, instead: str) -> Iterator[Asker]:
    """Yield who asks the workdir's model.

    Args:
        kept: the workdir.
        instead: the option for a file that makes a model needless.

    Raises:
        SetupError: when no model is configured or reached.
    """
    # only here: the client library takes a second to import
    from saber_resources.chat_source import open_chat
    from saber_resources.worker_hold import hold_workers, worker_opener

    settings = kept.settings
    if not settings.profile.llm.model:
        raise SetupError(
            "no language model is configured",
            f"set llm.model and llm.endpoints in {settings.workdir.settings}, or go without one: "
            f"give a file with {instead}",
        )
    with (
        hold_workers(lambda line: None),
        open_chat(
            settings.profile.llm, settings.workdir.responses, worker_opener(settings)
        ) as chat,
    ):
        yield Asker(chat, settings.profile.llm.re_asks)


def _prompt(kept: Kept, step: Any) -> Any:
    from saber_assets.model_prompts import prompt_of  # with Dagster, which takes seconds to load

    return prompt_of(kept.settings, step)


def _texts(kept: Kept) -> dict[str, tuple[str, str]]:
    return {key: (problem, solution) for key, problem, solution in kept.corpus.iter_rows()}


def _save_medians(kept: Kept, table: pl.DataFrame) -> Path:
    """Write the medians beside those of other retrievers that were timed earlier."""
    path = kept.folder / LATENCY_FILE
    new = table.select("retriever", seconds="median")
    if path.is_file():
        columns = {"retriever": pl.String, "seconds": pl.Float64}
        old = read_user_table(path, columns, "retriever")
        new = pl.concat([new, old.join(new, on="retriever", how="anti")])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(new.sort("retriever").write_csv(), encoding="utf-8")
    return path


def _left_out(reasons: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name} is left out: {reason.rstrip('.')}." for name, reason in reasons.items())
