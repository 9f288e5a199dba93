"""Plots of the analyses that ask retrievers, or a language model, anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl

from saber_assets.evaluation import leakage

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def changes(effect: pl.DataFrame) -> Callable[[], Any]:
    """Return what draws the changes of the mean by instructions, with their intervals."""

    def plot() -> Any:
        from saber_assets.plots import intervals

        return intervals(
            [f"{name}, {key}" for name, key in effect.select("retriever", "instruction").rows()],
            effect["difference"].to_list(),
            effect["low"].to_list(),
            effect["high"].to_list(),
            "change of the mean by an instruction, 95 % intervals",
            "with minus without",
            mark=0.0,
        )

    return plot


def flagged(result: leakage.Leakage, top: int) -> Callable[[], Any]:
    """Return what draws how the flags add up down the ranks."""

    def plot() -> Any:
        from saber_assets.plots import lines

        ranks = list(range(1, top + 1))
        upto = [float((result.flagged["rank"] <= rank).sum()) for rank in ranks]
        asked = [
            float(result.flagged.filter(pl.col("rank") <= rank)["query_id"].n_unique())
            for rank in ranks
        ]
        at = [float(rank) for rank in ranks]
        return lines(
            {"documents": (at, upto), "queries that have one": (at, asked)},
            f"flagged as equivalent, of {result.pairs} documents for {result.queries} queries",
            "among the r documents that are rated highest",
            "flagged",
        )

    return plot


def seconds(table: pl.DataFrame) -> Callable[[], Figure]:
    """Return what draws the seconds of each retriever."""

    def plot() -> Figure:
        from saber_assets.plots import dots

        series = {name: table[name].to_list() for name in ("median", "p90")}
        positive = bool((table["median"] > 0).all())
        names = table["retriever"].to_list()
        return dots(names, series, "seconds a query, cold", "seconds", logarithmic=positive)

    return plot


def shares(table: pl.DataFrame) -> Callable[[], Figure]:
    """Return what draws the share of queries whose formulas match better, by retriever."""

    def plot() -> Figure:
        from saber_assets.plots import intervals

        return intervals(
            table["retriever"].to_list(),
            table["share"].to_list(),
            table["low"].to_list(),
            table["high"].to_list(),
            "queries whose formulas match better than their words, 95 %",
            "share",
            mark=0.5,
        )

    return plot


def found(table: pl.DataFrame) -> Callable[[], Figure]:
    """Return what draws how often each retriever found what it sought among the first k."""

    def plot() -> Figure:
        from saber_assets.plots import dots

        series = {
            name.replace("_", " "): table[name].to_list()
            for name in table.columns
            if name.startswith("top")
        }
        return dots(table["retriever"].to_list(), series, "found among the first k", "share")

    return plot
