"""Analyses that read a person's table beside the kept ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from saber_assets.errors import InputError
from saber_assets.evaluation.judge_swap import judge_swap
from saber_assets.evaluation.mteb_correlation import correlate, without_largest_gaps
from saber_assets.evaluation.pareto import frontiers, left_out
from saber_assets.evaluation.score_over_time import score_over_time, without_date
from saber_assets.tournament.bradley_terry import rate
from saber_services.analyses.finding import Finding
from saber_services.analyses.kept import Kept
from saber_services.analyses.user_table import read_user_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LATENCY_FILE = "latency.csv"
JUDGMENT_COLUMNS = ("query_id", "first_id", "second_id", "winner")


def of_pareto(kept: Kept, latency: Path | None) -> Finding:
    """Trace the quality-latency frontiers."""
    path = latency or kept.folder / LATENCY_FILE
    if latency is None and not path.is_file():
        raise InputError(
            "no latency was measured here",
            "run `saber analyse latency` first, or give a CSV file with the columns retriever "
            "and seconds by --latency",
        )
    seconds = read_user_table(path, {"retriever": pl.String, "seconds": pl.Float64}, "retriever")
    if (seconds["seconds"] < 0).any():
        raise InputError(f"{path} holds a negative number of seconds", "mend it")
    systems = _systems(kept).join(
        seconds.rename({"seconds": "latency"}), on="retriever", how="left"
    )
    found = frontiers(systems)
    reasons = left_out(systems)

    def plot() -> Figure:
        from saber_assets.plots import frontier

        groups = {
            str(key[0]): [
                (row["latency"], row["quality"], row["retriever"], row["on_frontier"])
                for row in frame.iter_rows(named=True)
            ]
            for key, frame in found.group_by("class", maintain_order=True)
        }
        return frontier(
            groups,
            f"quality and latency, {kept.setting}",
            "median seconds a query",
            str(kept.measure),
            logarithmic=bool(found.height and (found["latency"] > 0).all()),
        )

    return Finding(
        f"Quality and latency, {kept.setting}",
        {"frontiers": found},
        (
            "On the frontier is whom no other of its class beats: one at least as good and at "
            "least as fast, and better in one of the two.",
            *(f"{name} is left out: {reason}." for name, reason in reasons.items()),
        ),
        plot=plot if found.height else None,
    )


def of_score_over_time(kept: Kept, dates: Path | None) -> Finding:
    """Show the best score so far by release date."""
    systems = _systems(kept).rename({"quality": "score"})
    released = dict(kept.release_dates)
    if dates is not None:
        given = read_user_table(dates, {"retriever": pl.String, "released": pl.Date}, "retriever")
        released |= dict(given.iter_rows())
    systems = systems.with_columns(
        pl.Series("released", [released.get(name) for name in systems["retriever"]], dtype=pl.Date)
    )
    found = score_over_time(systems)
    undated = without_date(systems)

    def plot() -> Figure:
        from saber_assets.plots import frontier

        groups = {
            str(key[0]): [
                (row["released"], row["score"], row["retriever"], row["is_record"])
                for row in frame.iter_rows(named=True)
            ]
            for key, frame in found.group_by("class", maintain_order=True)
        }
        return frontier(groups, f"score by release, {kept.setting}", "released", str(kept.measure))

    lacking = f"Without a release date or type code: {', '.join(undated)}." if undated else ""
    return Finding(
        f"Score by release date, {kept.setting}",
        {"a record is above all of its class that came earlier": found},
        tuple(note for note in (lacking,) if note),
        plot=plot if found.height else None,
    )


def of_mteb_correlation(
    kept: Kept, scores: Path, excluded: Sequence[str], without_gaps: int = 0
) -> Finding:
    """Correlate the board with another benchmark's scores.

    Args:
        kept: the board.
        scores: CSV with retriever and score.
        excluded: retrievers to leave out.
        without_gaps: of those left, how many with the largest gaps of rank a second correlation
            leaves out.
    """
    given = read_user_table(scores, {"retriever": pl.String, "score": pl.Float64}, "retriever")
    other = dict(given.iter_rows())
    strangers = sorted(set(excluded) - kept.means.keys())
    if strangers:
        raise InputError(
            f"'{strangers[0]}' is not on the board", f"use {', '.join(kept.retrievers)}"
        )
    found = correlate(kept.means, other, excluded)
    compared = [gap.retriever for gap in found.gaps]
    without: dict[str, object] = {}
    if without_gaps:
        ours = {name: kept.means[name] for name in compared}
        dropped, spearman = without_largest_gaps(ours, other, without_gaps)
        without = {
            "without the largest gaps": ", ".join(dropped),
            "spearman without them": spearman,
        }
    table = pl.DataFrame(
        [
            {
                "retriever": gap.retriever,
                "board": kept.means[gap.retriever],
                "other": other[gap.retriever],
                "board_rank": gap.board_rank,
                "other_rank": gap.other_rank,
            }
            for gap in found.gaps
        ]
    )

    def plot() -> Figure:
        from saber_assets.plots import scatter

        return scatter(
            [other[name] for name in compared],
            [kept.means[name] for name in compared],
            compared,
            f"the board against {scores.name}",
            f"score in {scores.name}",
            str(kept.measure),
        )

    listed = {
        "on the board, without a score there": found.missing,
        "scored there, not on the board": found.unknown,
        "excluded": found.excluded,
    }
    return Finding(
        f"The board against {scores.name}, {kept.setting}",
        {"largest differences of rank first": table} if compared else {},
        tuple(f"{what}: {', '.join(names)}." for what, names in listed.items() if names),
        asdict(found.comparison) | without,
        plot if compared else None,
    )


def of_judge_swap(kept: Kept, judgments: Path | None, ratings: Path | None) -> Finding:
    """Show the board under another judge."""
    other = _other_ratings(kept, judgments, ratings)
    try:
        found = judge_swap(kept.scores, kept.failures, kept.ratings, other, kept.measure)
    except ValueError as error:
        raise InputError(str(error), "give judgments or ratings of this workdir's pools") from error
    table = found.systems.drop("setting")

    def plot() -> Figure:
        from saber_assets.plots import scatter

        return scatter(
            table["mean"].to_list(),
            table["other_mean"].to_list(),
            table["retriever"].to_list(),
            f"{kept.measure} under two judges",
            "the board's judge",
            "the other judge",
            diagonal=True,
        )

    orders = found.orders.get(kept.setting)
    return Finding(
        f"The board under another judge, {kept.setting}",
        {"both boards, on the queries that both judged": table},
        (f"Queries that only one of them rated: {found.left_out}.",) if found.left_out else (),
        {
            "queries": found.queries,
            "spearman of the ratings, mean over queries": found.rating_correlation,
            **(asdict(orders) if orders else {}),
        },
        plot if table.height else None,
    )


def _other_ratings(kept: Kept, judgments: Path | None, ratings: Path | None) -> pl.DataFrame:
    if (judgments is None) == (ratings is None):
        raise InputError(
            "another judge's work is needed once", "give either --judgments or --ratings"
        )
    path = judgments or ratings
    assert path is not None  # noqa: S101  (one of them is given)
    columns = JUDGMENT_COLUMNS if judgments else ("query_id", "candidate_id", "rating")
    try:
        frame = pl.read_parquet(path, hive_partitioning=False, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(". ")
        raise InputError(
            f"{path} can't be read as Parquet ({reason})", "give another workdir's table"
        ) from error
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise InputError(
            f"{path} has no column '{missing[0]}'", f"its columns must be {', '.join(columns)}"
        )
    if ratings:
        return frame.select(columns)
    pools = kept.pools.filter(pl.col("query_id").is_in(frame["query_id"].unique().implode()))
    try:
        fit = kept.settings.profile.ratings
        return rate(frame, pools, fit.penalty, fit.position_term)
    except ValueError as error:
        raise InputError(
            f"the judgments in {path} don't fit ({error})", "give judgments of these pools"
        ) from error


def _systems(kept: Kept) -> pl.DataFrame:
    return kept.board.select("retriever", quality="mean").with_columns(
        pl.Series(
            "type_code",
            [kept.type_codes.get(name, "") for name in kept.retrievers],
            dtype=pl.String,
        )
    )
