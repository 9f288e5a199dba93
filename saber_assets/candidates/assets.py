"""Assets of the candidates stage: thresholds, queries and their pools."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import dagster as dg
import numpy as np
import polars as pl

from saber_assets.candidates.blocks import BlockRunner
from saber_assets.candidates.categories import count_categories
from saber_assets.candidates.duplicates import Listed, read_listed
from saber_assets.candidates.features import Features, build_features
from saber_assets.candidates.histograms import domain_members
from saber_assets.candidates.joint_grid import eligible_grid, joint_bins
from saber_assets.candidates.pairs import Progress
from saber_assets.candidates.precision import bin_edges
from saber_assets.candidates.sampling import sample_pools
from saber_assets.candidates.selection import Selection, eligible_queries, select_queries
from saber_assets.candidates.tables import (
    BENCHMARK_QUERIES,
    CANDIDATE_POOLS,
    LISTED_DUPLICATES,
    RELEVANCE_THRESHOLDS,
)
from saber_assets.candidates.thresholds import ThresholdSearch, search_thresholds
from saber_assets.errors import InputError
from saber_assets.materialize import NOTE_KEY, declare, hand_over
from saber_assets.ontology.tables import DOMAINS
from saber_assets.plots import bars, heat_map, histogram, lines, shown, weighted_histogram
from saber_assets.sources import duplicates_file, file_version
from saber_resources.blocks import block_files
from saber_resources.progress import progress
from saber_resources.settings import Settings

PLOT_BINS = 50
GRID_MARGIN = 4.0
"""The joint grid reaches where so many times more pairs, or fewer, lie above the thresholds."""
FINAL = "final"


def annotated(topic_sets: pl.DataFrame, summaries: pl.DataFrame) -> pl.DataFrame:
    """Return the problems that have both a topic set and a summary, by problem_id."""
    return topic_sets.join(summaries.select("problem_id", "core_idea"), on="problem_id").sort(
        "problem_id"
    )


def features_of(problems: pl.DataFrame, tree: pl.DataFrame, settings: Settings) -> Features:
    """Return the packed features of `annotated` problems."""
    return build_features(
        problems["problem_id"].to_list(),
        problems["node_ids"].to_list(),
        problems["core_idea"].to_list(),
        tree,
        empty_jaccard=settings.profile.thresholds.empty_jaccard,
    )


def final_taus(thresholds: pl.DataFrame) -> tuple[float, float]:
    """Return tau_topic and tau_summary of RELEVANCE_THRESHOLDS."""
    row = thresholds.filter(pl.col("domain") == FINAL)
    return float(row["tau_topic"][0]), float(row["tau_summary"][0])


def excluded_pairs(listed: pl.DataFrame) -> list[tuple[str, str]]:
    """Return the pairs of LISTED_DUPLICATES."""
    return list(listed.select("first_id", "second_id").iter_rows())


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    thresholds = settings.profile.thresholds
    selection = settings.profile.selection
    threshold_values = {"thresholds": thresholds.model_dump()}
    category_values = {"thresholds": thresholds.model_dump(exclude={"min_queries", "joint_grid"})}
    selection_values = {
        **category_values,
        "selection": selection.model_dump(exclude={"duplicates"}),
    }
    pool_values = {**category_values, "selection": {"seed": selection.seed}}
    duplicates = duplicates_file(settings)
    listed_values = {"selection": {"duplicates": duplicates and file_version(duplicates)}}

    @dg.multi_asset(
        name="list_duplicates",
        outs=declare([LISTED_DUPLICATES], group="candidates", version=1, values=listed_values),
    )
    def duplicate_pairs(
        deduped_corpus: pl.DataFrame, dropped_problems: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        listed = Listed(LISTED_DUPLICATES.empty(), 0, 0)
        if duplicates is not None:
            listed = read_listed(duplicates, deduped_corpus, dropped_problems)
        yield from hand_over(
            [(LISTED_DUPLICATES, listed.pairs)],
            listed_values,
            {LISTED_DUPLICATES.name: _listed_metadata(listed)},
        )

    @dg.multi_asset(
        name="search_thresholds",
        outs=declare(
            [RELEVANCE_THRESHOLDS],
            group="candidates",
            version=1,
            values=threshold_values,
            kinds=("numba",),
        ),
    )
    def relevance_thresholds(
        topic_sets: pl.DataFrame,
        solution_summaries: pl.DataFrame,
        ontology_tree: pl.DataFrame,
        listed_duplicates: pl.DataFrame,
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        problems = annotated(topic_sets, solution_summaries)
        features = features_of(problems, ontology_tree, settings)
        with (
            progress(
                "searching thresholds", (3 + thresholds.joint_grid) * problems.height
            ) as advance,
            block_files(settings, RELEVANCE_THRESHOLDS.name) as runner,
        ):
            found = search_thresholds(
                features,
                problems["domains"].to_list(),
                k=thresholds.k,
                min_queries=thresholds.min_queries,
                precision=thresholds.precision,
                excluded=excluded_pairs(listed_duplicates),
                runner=runner,
                progress=advance,
            )
            metadata = _threshold_metadata(found)
            if thresholds.joint_grid:
                metadata["joint grid"] = _joint_grid(
                    found,
                    features,
                    problems["domains"].to_list(),
                    settings,
                    excluded_pairs(listed_duplicates),
                    runner,
                    advance,
                )
        yield from hand_over(
            [(RELEVANCE_THRESHOLDS, found.thresholds)],
            threshold_values,
            {RELEVANCE_THRESHOLDS.name: metadata},
        )

    @dg.multi_asset(
        name="select_queries",
        outs=declare(
            [BENCHMARK_QUERIES],
            group="candidates",
            version=1,
            values=selection_values,
            kinds=("numba",),
        ),
    )
    def benchmark_queries(
        topic_sets: pl.DataFrame,
        solution_summaries: pl.DataFrame,
        ontology_tree: pl.DataFrame,
        relevance_thresholds: pl.DataFrame,
        listed_duplicates: pl.DataFrame,
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        problems = annotated(topic_sets, solution_summaries)
        features = features_of(problems, ontology_tree, settings)
        domains = problems["domains"].to_list()
        with (
            progress("counting candidates", problems.height) as advance,
            block_files(settings, BENCHMARK_QUERIES.name) as runner,
        ):
            counts = count_categories(
                features,
                *final_taus(relevance_thresholds),
                precision=thresholds.precision,
                excluded=excluded_pairs(listed_duplicates),
                runner=runner,
                progress=advance,
            )
        eligible = eligible_queries(features, domains, counts, thresholds.k)
        chosen = select_queries(eligible, selection.queries, selection.seed, selection.quota)
        if chosen.queries.is_empty():
            raise InputError(
                f"no problem has {thresholds.k} candidates in each category",
                "set a smaller thresholds.k, or build from more problems",
            )
        yield from hand_over(
            [(BENCHMARK_QUERIES, chosen.queries)],
            selection_values,
            {BENCHMARK_QUERIES.name: _selection_metadata(chosen, eligible)},
        )

    @dg.multi_asset(
        name="sample_pools",
        outs=declare(
            [CANDIDATE_POOLS], group="candidates", version=1, values=pool_values, kinds=("numba",)
        ),
    )
    def candidate_pools(
        topic_sets: pl.DataFrame,
        solution_summaries: pl.DataFrame,
        ontology_tree: pl.DataFrame,
        relevance_thresholds: pl.DataFrame,
        benchmark_queries: pl.DataFrame,
        listed_duplicates: pl.DataFrame,
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        problems = annotated(topic_sets, solution_summaries)
        features = features_of(problems, ontology_tree, settings)
        with (
            progress("sampling pools", benchmark_queries.height) as advance,
            block_files(settings, CANDIDATE_POOLS.name) as runner,
        ):
            pools = sample_pools(
                features,
                benchmark_queries["query_id"].to_list(),
                thresholds.k,
                final_taus(relevance_thresholds),
                selection.seed,
                precision=thresholds.precision,
                excluded=excluded_pairs(listed_duplicates),
                runner=runner,
                progress=advance,
            )
        yield from hand_over(
            [(CANDIDATE_POOLS, pools)],
            pool_values,
            {
                CANDIDATE_POOLS.name: {
                    name: shown(histogram(pools[name], f"Pools: {name}", name))
                    for name in ("topic_similarity", "summary_similarity")
                }
            },
        )

    return [duplicate_pairs, relevance_thresholds, benchmark_queries, candidate_pools]


def _listed_metadata(listed: Listed) -> dict[str, Any]:
    metadata: dict[str, Any] = {"listed": listed.lines, "with ids of no record": listed.outside}
    if listed.outside:
        metadata[NOTE_KEY] = f"{listed.outside} of {listed.lines} pairs have ids of no record"
    return metadata


def _threshold_metadata(found: ThresholdSearch) -> dict[str, Any]:
    taus = dict(zip(("tau_topic", "tau_summary"), final_taus(found.thresholds), strict=True))
    metadata: dict[str, Any] = {"notes": "; ".join(found.notes) or "none", **taus}
    pairs = (
        found.histograms.frame(PLOT_BINS).group_by("similarity", "lower").agg(pl.col("pairs").sum())
    )
    for name in ("topic", "summary"):
        counted = pairs.filter(pl.col("similarity") == name).sort("lower")
        metadata[f"{name} similarity"] = shown(
            weighted_histogram(
                [*counted["lower"], 1.0],
                counted["pairs"],
                f"Pairs by {name} similarity, all domains",
                f"{name} similarity",
                {f"tau_{name}": taus[f"tau_{name}"]},
            )
        )
    series = {
        str(domain): (part["quantile"].to_list(), part["eligible"].to_list())
        for (domain,), part in found.search.group_by("domain", maintain_order=True)
    }
    metadata["search"] = shown(
        lines(series, "Eligible queries at each common quantile", "quantile", "eligible queries")
    )
    return metadata


def _around(search: pl.DataFrame) -> tuple[float, float]:
    """Return quantiles about the chosen ones, among those that the search looked at."""
    above = 1.0 - search["quantile"].to_numpy()
    chosen = above[search["chosen"].to_numpy()]
    widest = min(chosen.max() * GRID_MARGIN, above.max())
    narrowest = max(chosen.min() / GRID_MARGIN, above.min())
    return float(1.0 - widest), float(1.0 - narrowest)


def _joint_grid(
    found: ThresholdSearch,
    features: Features,
    domains: list[list[str]],
    settings: Settings,
    excluded: list[tuple[str, str]],
    runner: BlockRunner | None,
    advance: Progress,
) -> dg.MarkdownMetadataValue:
    """Return a map of the scarcest domain's eligible queries around the final pair."""
    values = settings.profile.thresholds
    chosen = final_taus(found.thresholds)
    bins = joint_bins(found.histograms, _around(found.search), chosen)
    eligible = eligible_grid(
        features,
        domain_members(domains),
        *bins,
        values.k,
        precision=values.precision,
        excluded=excluded,
        runner=runner,
        progress=advance,
    )
    present = np.isin(DOMAINS, found.search["domain"].unique().to_list())
    edges = bin_edges(values.precision)
    return shown(
        heat_map(
            edges[bins[0]],
            edges[bins[1]],
            eligible[present].min(axis=0),
            f"Eligible queries of the scarcest domain (asked for: {values.min_queries})",
            ("tau_topic", "tau_summary", "eligible queries"),
            chosen,
        )
    )


def _selection_metadata(chosen: Selection, eligible: pl.DataFrame) -> dict[str, Any]:
    domains = chosen.queries["domains"].explode().value_counts(sort=True)
    scarce = [
        f"{row['stratum']}: wanted {row['wanted']}, selected {row['selected']}"
        for row in chosen.scarcity.iter_rows(named=True)
    ]
    note = {NOTE_KEY: f"scarce: {'; '.join(scarce)}"} if scarce else {}
    return {
        **note,
        "eligible": eligible.height,
        "scarce": "; ".join(scarce) or "nothing",
        "domains": shown(
            bars(
                domains["domains"].to_list(),
                domains["count"].to_list(),
                "Queries by domain (a query may count in several)",
                "queries",
            )
        ),
    }
