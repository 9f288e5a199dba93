"""Assets of the tournament stage: pairwise judgments and ratings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
import polars as pl

from saber_assets.annotation.annotator import Comparison, Problem
from saber_assets.annotators import pool_of, verdict_maker
from saber_assets.judges import judge_values, open_judge
from saber_assets.materialize import declare, hand_over
from saber_assets.plots import histogram, shown
from saber_assets.tournament.bradley_terry import rate
from saber_assets.tournament.journal import Journal
from saber_assets.tournament.position import position_effect
from saber_assets.tournament.tables import (
    JUDGMENT_FAILURES,
    PAIRWISE_JUDGMENTS,
    RELEVANCE_RATINGS,
)
from saber_assets.tournament.tournament import Outcome, Pairing, run_tournaments
from saber_resources.progress import progress
from saber_resources.settings import Settings

CHUNK = 4096
"""Pairings judged between two writes of the journal."""


def confidences(judgments: pl.DataFrame) -> Mapping[str, Any]:
    """Return the distribution of the judge's confidence, nothing where it gives none."""
    known = judgments["confidence"].drop_nulls()
    if known.is_empty():
        return {}
    return {"confidence": shown(histogram(known, "Confidence of the verdicts", "confidence"))}


def assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """Return the assets of this stage, configured."""
    kind = settings.profile.judging.annotator
    tournament = settings.profile.tournament
    who = judge_values(settings)
    judgment_values = {**who, "tournament": tournament.model_dump()}
    rating_values = {"ratings": settings.profile.ratings.model_dump()}

    @dg.multi_asset(
        name="judge_pairs",
        outs=declare(
            [PAIRWISE_JUDGMENTS, JUDGMENT_FAILURES],
            group="tournament",
            version=2,
            values=judgment_values,
            kinds=("ai",) if kind == "llm" else ("heuristic",),
        ),
        pool=pool_of(kind),
    )
    def pairwise_judgments(
        candidate_pools: pl.DataFrame, deduped_corpus: pl.DataFrame, ontology_tree: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        problems = {
            row[0]: Problem(*row)
            for row in deduped_corpus.select("problem_id", "problem", "solution").iter_rows()
        }
        pools = {
            str(query): ids
            for query, ids in candidate_pools.group_by("query_id", maintain_order=True)
            .agg("candidate_id")
            .iter_rows()
        }
        most = sum(tournament.rounds * (len(ids) // 2) for ids in pools.values())
        with (
            open_judge(settings, ontology_tree) as pair_judge,
            Journal(settings.workdir.judgments) as journal,
            progress("judging pairs", most) as advance,
        ):
            known, record = journal.bind(
                pair_judge.name,
                verdict_maker(who, kind, ontology_tree),
                {query: query for query in pools},
            )

            def judge(pairings: list[Pairing]) -> Sequence[Outcome]:
                return pair_judge.compare(
                    [
                        Comparison(
                            problems[pairing.query_id],
                            problems[pairing.first_id],
                            problems[pairing.second_id],
                        )
                        for pairing in pairings
                    ]
                )

            judgments, failures = run_tournaments(
                pools,
                judge,
                rounds=tournament.rounds,
                seed=tournament.seed,
                judge_name=pair_judge.name,
                order=tournament.order,
                chunk=CHUNK,
                known=known,
                record=record,
                progress=advance,
            )
            journal.forget_failures()
        effect = position_effect(judgments)
        yield from hand_over(
            [(PAIRWISE_JUDGMENTS, judgments), (JUDGMENT_FAILURES, failures)],
            judgment_values,
            {
                PAIRWISE_JUDGMENTS.name: {
                    "judge": pair_judge.name,
                    "first shown wins": (
                        f"{effect.share:.1%} of {effect.verdicts} verdicts "
                        f"(95 % interval {effect.low:.1%} to {effect.high:.1%})"
                    ),
                    "ties": int((judgments["winner"] == 0).sum()),
                    "without verdict": failures.height,
                    **confidences(judgments),
                }
            },
        )

    @dg.multi_asset(
        name="rate_candidates",
        outs=declare([RELEVANCE_RATINGS], group="tournament", version=1, values=rating_values),
    )
    def relevance_ratings(
        pairwise_judgments: pl.DataFrame, candidate_pools: pl.DataFrame
    ) -> Iterator[dg.Output[pl.DataFrame]]:
        queries = candidate_pools["query_id"].n_unique()
        with progress("rating candidates", queries) as advance:
            ratings = rate(
                pairwise_judgments,
                candidate_pools,
                penalty=settings.profile.ratings.penalty,
                position_term=settings.profile.ratings.position_term,
                progress=advance,
            )
        flags = ratings["flag"].drop_nulls().value_counts()
        yield from hand_over(
            [(RELEVANCE_RATINGS, ratings)],
            rating_values,
            {
                RELEVANCE_RATINGS.name: {
                    "queries": queries,
                    **{f"flagged {flag}": count for flag, count in flags.iter_rows()},
                    "ratings": shown(
                        histogram(ratings["rating"].drop_nulls(), "Ratings", "rating")
                    ),
                    "standard errors": shown(
                        histogram(
                            ratings["standard_error"].drop_nulls(),
                            "Standard errors of the log strengths",
                            "standard error",
                        )
                    ),
                }
            },
        )

    return [pairwise_judgments, relevance_ratings]
