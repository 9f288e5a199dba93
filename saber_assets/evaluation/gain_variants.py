"""The board under other gains and ranges of the ratings (SPEC, section 2, 'Evaluation')."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from saber_assets.evaluation.alignment import Aligned, Scores, align
from saber_assets.evaluation.ndcg import Gain, Ndcg, Places, best_places
from saber_assets.evaluation.order_comparison import OrderComparison, compare_orders

RATED_UP_TO = 5.0


@dataclass(frozen=True)
class Variant:
    """A way to turn ratings into gains.

    Attributes:
        top: the ratings are rescaled from [0, 5] to [0, top] first.
        gain: 'exp2' or 'linear'.
    """

    top: float = RATED_UP_TO
    gain: Gain = "exp2"

    def __str__(self) -> str:
        return f"[0,{self.top:g}] {'exponential' if self.gain == 'exp2' else 'linear'}"


VARIANTS = (Variant(), Variant(3.0), Variant(5.0, "linear"), Variant(3.0, "linear"))
"""The variants that were published; the first one is the board's."""


def gain_variants(
    scores: Scores,
    failures: pl.DataFrame,
    ratings: pl.DataFrame,
    variants: Sequence[Variant] = VARIANTS,
    cutoff: int = 10,
) -> pl.DataFrame:
    """Return the mean nDCG of each system under each variant.

    A linear gain does not depend on the range, for nDCG is a quotient.

    Args:
        scores: RETRIEVER_SCORES; see `Scores`.
        failures: RETRIEVER_FAILURES.
        ratings: RELEVANCE_RATINGS.
        variants: without repeats.
        cutoff: ranks that count.

    Returns:
        Columns retriever, setting, variant, mean; ordered by setting, variant as given, mean
        descending, name.

    Raises:
        MeasureError: see `alignment.align`.
    """
    aligned = align(scores, failures, ratings)
    places = best_places(aligned.rankings, cutoff)  # which no gain changes
    frames = [
        _means(aligned, places, variant, number, cutoff) for number, variant in enumerate(variants)
    ]
    means = pl.concat(frames) if frames else _EMPTY
    order = ["setting", "place", "mean", "retriever"]
    return means.sort(order, descending=[False, False, True, False]).drop("place")


def compare_variants(
    means: pl.DataFrame, base: str = str(VARIANTS[0])
) -> list[tuple[str, OrderComparison]]:
    """Compare each variant with one of them.

    Args:
        means: of one setting, from `gain_variants`.
        base: the variant that the others are compared with.

    Returns:
        Each other variant with its comparison, in the order of `means`.

    Raises:
        ValueError: when the base is not there.
    """
    wide = means.pivot(on="variant", index="retriever", values="mean").sort("retriever")
    if base not in wide.columns:
        raise ValueError(f"there is no variant {base!r}")
    others = [name for name in means["variant"].unique(maintain_order=True) if name != base]
    return [(name, compare_orders(wide[base].to_numpy(), wide[name].to_numpy())) for name in others]


_EMPTY = pl.DataFrame(
    schema={
        "retriever": pl.String,
        "setting": pl.String,
        "variant": pl.String,
        "mean": pl.Float64,
        "place": pl.Int64,
    }
)


def _means(
    aligned: Aligned, places: Places, variant: Variant, place: int, cutoff: int
) -> pl.DataFrame:
    relevance = aligned.pools.relevance * (variant.top / RATED_UP_TO)
    rows = []
    if aligned.systems:
        values = aligned.values_at(Ndcg(variant.gain, cutoff), places, relevance)
        for (retriever, setting), mean in zip(
            aligned.systems, values.mean(axis=1).tolist(), strict=True
        ):
            rows.append((retriever, setting, str(variant), mean, place))
    return pl.DataFrame(rows, schema=_EMPTY.schema, orient="row")
