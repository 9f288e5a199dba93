"""Analyses that need nothing but a workdir's kept tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import polars as pl

from saber_assets.errors import InputError
from saber_assets.evaluation.alignment import measure_matrix
from saber_assets.evaluation.binary_measures import (
    THRESHOLDS,
    binary_measures,
    compare_with_board,
    relevant_candidates,
)
from saber_assets.evaluation.gain_variants import VARIANTS, compare_variants, gain_variants
from saber_assets.evaluation.paired_tests import (
    ALPHA,
    cannot_be_told_apart,
    letters,
    paired_tests,
    square_of,
)
from saber_assets.evaluation.rating_noise import has_errors, rating_noise
from saber_assets.evaluation.signal_effect import at_ranks, signal_effect
from saber_services.analyses.finding import Finding
from saber_services.analyses.kept import Kept

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLOSEST = 15


def of_gain_variants(kept: Kept) -> Finding:
    """Compare the board with itself under other gains and ranges of the ratings."""
    cutoff = kept.settings.profile.evaluation.cutoff
    means = gain_variants(kept.scores, kept.failures, kept.ratings, cutoff=cutoff)
    compared = pl.DataFrame(
        [{"variant": name, **asdict(comparison)} for name, comparison in compare_variants(means)]
    )
    wide = means.pivot(on="variant", index="retriever", values="mean")

    def plot() -> Figure:
        from saber_assets.plots import dots

        series = {str(variant): wide[str(variant)].to_list() for variant in VARIANTS}
        title = f"nDCG@{cutoff} by gain and range, {kept.setting}"
        return dots(wide["retriever"].to_list(), series, title, "mean")

    return Finding(
        f"nDCG@{cutoff} under other gains, {kept.setting}",
        {f"against {VARIANTS[0]}": compared, "means": wide},
        ("An inversion is a pair of retrievers in opposite orders; `widest` is the largest "
         f"difference of such a pair under {VARIANTS[0]}.",),
        plot=plot,
    )  # fmt: skip


def of_binary_measures(
    kept: Kept,
    thresholds: Sequence[float] = THRESHOLDS,
    cutoffs: Sequence[int] = (),
    seed: int | None = None,
) -> Finding:
    """Rank by P, R, MRR and MAP at thresholds of the rating, and compare with the board.

    Args:
        kept: the tables.
        thresholds: lowest ratings that count as relevant.
        cutoffs: of P and R; none for the board's.
        seed: of the bootstrap; None for the board's.
    """
    rels = list(dict.fromkeys(thresholds))
    if not all(map(math.isfinite, rels)):
        raise InputError("a threshold is no number", "give ratings above 0, up to 5")
    cuts = list(dict.fromkeys(cutoffs)) or [kept.measure.cutoff]
    means = binary_measures(
        kept.scores,
        kept.failures,
        kept.ratings,
        rels,
        cuts,
        kept.resamples,
        kept.seed if seed is None else seed,
    )
    compared = pl.DataFrame(
        [
            {
                "measure": name,
                "spearman": one.spearman,
                "inversions": one.inversions,
                "ties": one.ties,
                "pairs": one.pairs,
                "widest": one.widest,
            }
            for name, one in compare_with_board(means, kept.means)
        ]
    )
    tables = {
        f"against {kept.measure}": compared,
        "candidates that count as relevant": relevant_candidates(kept.ratings, rels),
    }
    for rel in rels:
        tables[f"relevant from a rating of {rel:g} on"] = _side_by_side(means, rel)
    middle = rels[len(rels) // 2]

    def plot() -> Figure:
        from saber_assets.plots import measures_plot

        return measures_plot(means, middle, kept.setting)

    return Finding(
        f"P, R, MRR and MAP at thresholds of the rating, {kept.setting}",
        tables,
        (
            "RR and AP are over the whole pool; their means are MRR and MAP.",
            "± is half of the 95 % query bootstrap interval.",
            "An inversion is a pair of retrievers in opposite orders; `widest` is the largest "
            f"difference of such a pair in {kept.measure}.",
            "A query without any candidate that counts is worth 0 to everybody.",
        ),
        {"resamples": kept.resamples},
        plot if means.height else None,
        {"means with 95 % intervals": means},
    )


def _side_by_side(means: pl.DataFrame, rel: float) -> pl.DataFrame:
    """Return a column and half an interval for each measure of a threshold."""
    own = means.filter(pl.col("threshold") == rel).with_columns(
        measure=pl.col("measure").str.replace(r"\(rel=[^)]*\)", ""),
        half=(pl.col("high") - pl.col("low")) / 2,
    )
    names = own["measure"].unique(maintain_order=True).to_list()
    wide = own.pivot(on="measure", index="retriever", values=["mean", "half"])
    columns = ["retriever"]
    for name in names:
        columns += [f"mean_{name}", f"half_{name}"]
    renamed = {f"mean_{name}": name for name in names} | {f"half_{n}": f"±{n}" for n in names}
    last = names[-1] if names else "retriever"
    return (
        wide.select(one for one in columns if one in wide.columns)
        .rename(renamed, strict=False)
        .sort(last, "retriever", descending=[True, False])
    )


def of_paired_tests(kept: Kept, resamples: int, seed: int, alpha: float = ALPHA) -> Finding:
    """Test every pair of retrievers, and group those that can't be told apart."""
    matrix = measure_matrix(kept.measures)
    values = dict(zip(matrix.retrievers, matrix.values, strict=True))
    tests = paired_tests(values, resamples, seed)
    means = {name: float(one.mean()) for name, one in values.items()}
    groups = cannot_be_told_apart(means, tests, alpha)
    named = letters(groups)
    ordered = sorted(means, key=lambda name: (-means[name], name))
    board = pl.DataFrame(
        {
            "retriever": ordered,
            "mean": [means[name] for name in ordered],
            "group": [named[name] for name in ordered],
        },
        schema={"retriever": pl.String, "mean": pl.Float64, "group": pl.String},
    )
    apart = int((tests["adjusted_randomisation"] <= alpha).sum())
    closest = tests.sort("p_randomisation", "difference", descending=[True, False]).select(
        "first",
        "second",
        "low",
        "high",
        gap="difference",
        p="p_randomisation",
        p_holm="adjusted_randomisation",
    )

    def plot() -> Figure:
        from saber_assets.plots import squares

        return squares(
            ordered,
            square_of(ordered, tests),
            f"paired tests, {kept.setting}",
            "p, randomisation, Holm",
        )

    return Finding(
        f"Paired tests of {matrix.values.shape[0]} retrievers on {len(matrix.query_ids)} "
        f"queries, {kept.setting}",
        {
            "retrievers that share a letter cannot be told apart": board,
            f"the {CLOSEST} pairs that are hardest to tell apart": closest.head(CLOSEST),
        },
        (
            "A group is a longest run in the order of means in which Holm's adjusted p of every "
            f"pair, by Fisher's randomisation test, is above {alpha:g}.",
            "low and high are the 95 % paired bootstrap interval of the difference, not adjusted.",
        ),
        {"pairs": tests.height, "told apart": apart, "resamples": resamples},
        plot if ordered else None,
        {"pairs": tests},
    )


def of_rating_noise(
    kept: Kept, draws: int, seed: int, progress: Callable[[int], None] | None = None
) -> Finding:
    """Carry the ratings' standard errors into the board's intervals."""
    if not has_errors(kept.ratings):
        raise InputError(
            "the ratings have no standard errors, as those of a released benchmark",
            "build a benchmark of your own, which keeps them",
        )
    resamples = max(kept.resamples, draws)
    found = rating_noise(
        kept.scores,
        kept.failures,
        kept.ratings,
        kept.measure,
        draws,
        resamples,
        seed,
        progress=progress,
    )
    table = found.systems.drop("setting")
    shown = ("retriever", "mean", "drawn_mean", "sd_ratings", "sd_queries", "low", "high")

    def plot() -> Figure:
        from saber_assets.plots import intervals

        return intervals(
            table["retriever"].to_list(),
            table["drawn_mean"].to_list(),
            table["low"].to_list(),
            table["high"].to_list(),
            f"{kept.measure}, ratings and queries drawn again, 95 %",
            str(kept.measure),
        )

    return Finding(
        f"{kept.measure} with the ratings' uncertainty, {kept.setting}",
        {"ratings drawn from their standard errors": table.select(shown)},
        (
            "mean is the board's; drawn mean and sd ratings come from drawing the ratings alone; "
            "low and high from drawing ratings and queries together.",
            "The board's ratings are the centre of their draws, so that the drawn mean may lie "
            "below the mean.",
        ),
        {
            "draws": draws,
            "mean inversions of a draw": found.inversions.get(kept.setting, float("nan")),
        },
        plot if table.height else None,
        {"with the intervals of the query bootstrap": table},
    )


def of_signal_effect(kept: Kept) -> Finding:
    """Show which signal's candidates are rated highest."""
    effect = signal_effect(kept.ratings, kept.pools)
    if effect.is_empty():
        raise InputError(
            "the pools don't say which similarity brought a candidate in",
            "build a benchmark of your own, which keeps that",
        )

    def plot() -> Figure:
        from saber_assets.plots import lines

        series = {
            str(key[0]).replace("_", " "): (frame["rank"].to_list(), frame["share"].to_list())
            for key, frame in effect.group_by("category", maintain_order=True)
        }
        return lines(series, "candidates among the top r", "r", "share of the category")

    return Finding(
        "Which signal's candidates are rated highest",
        {"share of each category among the top rated": at_ranks(effect)},
        ("area is the mean of the curve: 0.5 for candidates placed at random.",),
        plot=plot if effect.height else None,
        hidden={"curves": effect},
    )
