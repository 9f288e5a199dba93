"""Assets of the evaluation stage: the measure on every query, the board, and the analyses of it.

Analyses read scores by the retrievers that `query_measures` lists: it was made from the same
partitions, and whatever changes a score that matters changes it, too.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import dagster as dg
import polars as pl
from dagster import AssetExecutionContext

from saber_assets.evaluation.alignment import Parts, measure_matrix
from saber_assets.evaluation.binary_measures import (
    THRESHOLDS,
    binary_measures,
    compare_with_board,
)
from saber_assets.evaluation.gain_variants import VARIANTS, compare_variants, gain_variants
from saber_assets.evaluation.leaderboard import build_leaderboard, measure_queries
from saber_assets.evaluation.ndcg import Ndcg
from saber_assets.evaluation.paired_tests import paired_tests, square_of
from saber_assets.evaluation.rating_noise import has_errors, rating_noise
from saber_assets.evaluation.signal_effect import signal_effect
from saber_assets.evaluation.tables import (
    BINARY_MEASURES,
    GAIN_VARIANTS,
    LEADERBOARD,
    PAIRED_TESTS,
    QUERY_MEASURES,
    RATING_NOISE,
    SIGNAL_EFFECT,
)
from saber_assets.kept_scores import usable_scores
from saber_assets.materialize import Values, declare, hand_over
from saber_assets.plots import histogram, intervals, lines, measures_plot, shown, squares
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.tables import (
    RETRIEVER_FAILURES,
    RETRIEVER_SCORES,
    SETTINGS,
)
from saber_assets.retrievers import retrievers_of
from saber_assets.table import Table
from saber_resources.settings import Settings
from saber_resources.warehouse import table_path

PARTITIONS_KEY = "saber/partitions"
RESAMPLES = 10_000
"""Of the paired tests."""
DRAWS = 200
"""Of ratings, within their standard errors."""
GROUP = "evaluation"
Made = Iterator[dg.Output[pl.DataFrame]]


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    evaluation = settings.profile.evaluation
    measure_values = {"evaluation": {"gain": evaluation.gain, "cutoff": evaluation.cutoff}}
    board_values = {
        "evaluation": {"resamples": evaluation.resamples, "seed": evaluation.seed},
    }
    measure = Ndcg(gain=evaluation.gain, cutoff=evaluation.cutoff)

    @dg.multi_asset(
        name="measure_queries",
        outs=declare([QUERY_MEASURES], group="evaluation", version=1, values=measure_values),
        deps=[RETRIEVER_SCORES.name, RETRIEVER_FAILURES.name],
    )
    def query_measures(
        context: AssetExecutionContext, relevance_ratings: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        versions = usable_scores(context.instance, retrievers_of(settings), settings.workdir.tables)
        measured = measure_queries(
            _scores(settings, versions),
            _failures(settings, versions),
            relevance_ratings,
            measure,
        )
        yield from hand_over(
            [(QUERY_MEASURES, measured)],
            measure_values,
            {
                QUERY_MEASURES.name: {
                    PARTITIONS_KEY: dg.MetadataValue.json(versions),
                    "values": shown(histogram(measured["value"], f"{measure}", "value")),
                }
            },
        )

    @dg.multi_asset(
        name="rank_retrievers",
        outs=declare([LEADERBOARD], group="evaluation", version=1, values=board_values),
    )
    def leaderboard(
        query_measures: pl.DataFrame, benchmark_queries: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        board = build_leaderboard(
            query_measures,
            benchmark_queries,
            {name: entry.family for name, entry in retrievers_of(settings).items()},
            resamples=evaluation.resamples,
            seed=evaluation.seed,
        )
        main = board.filter((pl.col("setting") == SETTINGS[0]) & (pl.col("domain") == "all"))
        plot = intervals(
            main["retriever"].to_list(),
            main["mean"].to_list(),
            main["low"].to_list(),
            main["high"].to_list(),
            f"{measure}, {SETTINGS[0]}, 95 % intervals",
            str(measure),
        )
        yield from hand_over(
            [(LEADERBOARD, board)], board_values, {LEADERBOARD.name: {"board": shown(plot)}}
        )

    return [
        query_measures,
        leaderboard,
        _gain_variants(settings),
        _binary_measures(settings),
        _paired_tests(settings),
        _rating_noise(settings),
        _signal_effect(settings),
    ]


def _scores(settings: Settings, names: Iterable[str]) -> Parts:
    """Return the scores by some retrievers, of which one at a time is in memory."""
    return Parts(tuple(names), lambda name: _partition(settings, RETRIEVER_SCORES, name))


def _failures(settings: Settings, names: Iterable[str]) -> pl.DataFrame:
    return pl.concat(
        [
            RETRIEVER_FAILURES.empty(),
            *(_partition(settings, RETRIEVER_FAILURES, name) for name in names),
        ]
    )


def _partition(settings: Settings, table: Table, name: str) -> pl.DataFrame:
    path = table_path(settings.workdir.tables, table.name, name)
    return pl.read_parquet(path, hive_partitioning=False, glob=False)


def _gain_variants(settings: Settings) -> dg.AssetsDefinition:
    cutoff = settings.profile.evaluation.cutoff
    values = {"evaluation": {"cutoff": cutoff}, "variants": [str(one) for one in VARIANTS]}

    @dg.multi_asset(
        name="compare_gains", outs=declare([GAIN_VARIANTS], group=GROUP, version=1, values=values)
    )
    def gain_variants_asset(query_measures: pl.DataFrame, relevance_ratings: pl.DataFrame) -> Made:
        scores, failures = _scored(settings, query_measures)
        means = gain_variants(scores, failures, relevance_ratings, cutoff=cutoff)
        main = means.filter(pl.col("setting") == SETTINGS[0])
        turned = {
            f"inversions under {name}": comparison.inversions
            for name, comparison in (compare_variants(main) if main.height else [])
        }
        yield from _handed(GAIN_VARIANTS, means, values, turned)

    return gain_variants_asset


def _binary_measures(settings: Settings) -> dg.AssetsDefinition:
    chosen = settings.profile.evaluation
    values = {
        "evaluation": {name: getattr(chosen, name) for name in ("cutoff", "resamples", "seed")},
        "thresholds": list(THRESHOLDS),
    }

    @dg.multi_asset(
        name="count_relevant",
        outs=declare([BINARY_MEASURES], group=GROUP, version=1, values=values),
    )
    def binary_measures_asset(
        query_measures: pl.DataFrame, relevance_ratings: pl.DataFrame
    ) -> Made:
        scores, failures = _scored(settings, query_measures)
        means = binary_measures(
            scores,
            failures,
            relevance_ratings,
            cutoffs=(chosen.cutoff,),
            resamples=chosen.resamples,
            seed=chosen.seed,
        )
        main = means.filter(pl.col("setting") == SETTINGS[0])
        metadata: dict[str, Any] = {}
        if main.height:
            board = _without_sanity(query_measures).filter(pl.col("setting") == SETTINGS[0])
            usual = dict(board.group_by("retriever").agg(pl.col("value").mean()).iter_rows())
            for name, comparison in compare_with_board(main, usual):
                metadata[f"inversions by {name}"] = comparison.inversions
            plot = measures_plot(main, THRESHOLDS[len(THRESHOLDS) // 2], SETTINGS[0])
            metadata["means"] = shown(plot)
        yield from _handed(BINARY_MEASURES, means, values, metadata)

    return binary_measures_asset


def _paired_tests(settings: Settings) -> dg.AssetsDefinition:
    seed = settings.profile.evaluation.seed
    values = {"evaluation": {"seed": seed}, "resamples": RESAMPLES}

    @dg.multi_asset(
        name="test_pairs", outs=declare([PAIRED_TESTS], group=GROUP, version=1, values=values)
    )
    def paired_tests_asset(query_measures: pl.DataFrame) -> Made:
        frames = [PAIRED_TESTS.empty()]
        for key, rows in sorted(_without_sanity(query_measures).group_by("setting")):
            matrix = measure_matrix(rows)
            tests = paired_tests(
                dict(zip(matrix.retrievers, matrix.values, strict=True)), RESAMPLES, seed
            )
            named = tests.with_columns(setting=pl.lit(key[0]), seed=pl.lit(seed))
            frames.append(PAIRED_TESTS.conform(named))
        made = pl.concat(frames)
        yield from _handed(PAIRED_TESTS, made, values, _squares(made))

    return paired_tests_asset


def _rating_noise(settings: Settings) -> dg.AssetsDefinition:
    chosen = settings.profile.evaluation
    measure = Ndcg(gain=chosen.gain, cutoff=chosen.cutoff)
    values = {"evaluation": chosen.model_dump(), "draws": DRAWS}

    @dg.multi_asset(
        name="draw_ratings", outs=declare([RATING_NOISE], group=GROUP, version=1, values=values)
    )
    def rating_noise_asset(query_measures: pl.DataFrame, relevance_ratings: pl.DataFrame) -> Made:
        if not has_errors(relevance_ratings):
            yield from _handed(RATING_NOISE, RATING_NOISE.empty(), values, {})
            return
        scores, failures = _scored(settings, query_measures)
        found = rating_noise(
            scores,
            failures,
            relevance_ratings,
            measure,
            DRAWS,
            max(chosen.resamples, DRAWS),
            chosen.seed,
        )
        main = found.systems.filter(pl.col("setting") == SETTINGS[0])
        plot = shown(
            intervals(
                main["retriever"].to_list(),
                main["drawn_mean"].to_list(),
                main["low"].to_list(),
                main["high"].to_list(),
                "ratings and queries drawn together, 95 %",
                str(measure),
            )
        )
        made = found.systems.with_columns(seed=pl.lit(chosen.seed))
        yield from _handed(RATING_NOISE, made, values, {"intervals": plot})

    return rating_noise_asset


def _signal_effect(settings: Settings) -> dg.AssetsDefinition:
    @dg.multi_asset(
        name="follow_signals", outs=declare([SIGNAL_EFFECT], group=GROUP, version=1, values={})
    )
    def signal_effect_asset(relevance_ratings: pl.DataFrame, candidate_pools: pl.DataFrame) -> Made:
        effect = signal_effect(relevance_ratings, candidate_pools)
        curves = {
            str(key[0]): (rows["rank"].to_list(), rows["share"].to_list())
            for key, rows in effect.group_by("category", maintain_order=True)
        }
        plots: dict[str, Any] = {}
        if curves:  # a release doesn't tell categories
            plot = lines(curves, "candidates among the top r", "r", "share of the category")
            plots["curves"] = shown(plot)
        yield from _handed(SIGNAL_EFFECT, effect, {}, plots)

    return signal_effect_asset


def _handed(table: Table, made: pl.DataFrame, values: Values, metadata: dict[str, Any]) -> Made:
    yield from hand_over([(table, made)], values, {table.name: metadata})


def _without_sanity(measures: pl.DataFrame) -> pl.DataFrame:
    """Leave out the rows that show the ends of the scale: they would take part in every pair."""
    ends = [name for name, entry in BUILTIN.items() if entry.family == "sanity"]
    return measures.filter(~pl.col("retriever").is_in(ends))


def _scored(settings: Settings, measures: pl.DataFrame) -> tuple[Parts, pl.DataFrame]:
    names = sorted(_without_sanity(measures)["retriever"].unique())
    return _scores(settings, names), _failures(settings, names)


def _squares(tests: pl.DataFrame) -> dict[str, Any]:
    """Return the plot of the adjusted p of the main setting."""
    main = tests.filter(pl.col("setting") == SETTINGS[0])
    if main.is_empty():
        return {}
    names = list(dict.fromkeys([*main["first"], *main["second"]]))
    plot = squares(names, square_of(names, main), "paired tests", "p, randomisation, Holm")
    return {"p": shown(plot)}
