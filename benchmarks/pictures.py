"""The pictures of the analyses in the documentation: `python -m benchmarks.pictures`.

Each is the plot of `saber analyse`, as SVG, the same bytes on each run. Most are those of the
shipped sample, which is built anew for them. Latency, the frontiers, scores over time and the
correlation with MTEB are drawn from the published board, whose tables the tests keep: of its 42
systems that have all numbers. What a person would bring is made up mechanically, and said so in the
documentation: a second judge that goes by one model's vectors, and rewordings that leave out words.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from saber_assets import plots
from saber_assets.evaluation.leakage import TOP
from saber_assets.evaluation.word_math_split import highest_rated
from saber_assets.retrieval.systems import shipped_systems
from saber_assets.retrieval.tables import SETTINGS
from saber_resources.settings import save_settings
from saber_resources.warehouse import read_table
from saber_services.analyses import by_asking, from_tables, with_inputs
from saber_services.analyses.finding import Finding
from saber_services.analyses.kept import Kept
from saber_services.builder import build

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "tests" / "golden" / "published" / "saber_table1.csv"
JUDGE = "wordllama-256"
LEFT_OUT = 3
"""Every third word of a statement is left out of its rewording."""
SIMILAR = 0.25
"""Jaccard of two statements' words from which the mechanical audit flags a document."""


class PublishedBoard(Kept):
    """The published board, where a workdir's would stand."""

    @cached_property
    def table(self) -> pl.DataFrame:
        """Table 1, by rank."""
        return pl.read_csv(PUBLISHED).sort("overall", descending=True)

    @cached_property
    def board(self) -> pl.DataFrame:
        """Means by rank."""
        return self.table.select(retriever="model", mean="overall")

    @cached_property
    def type_codes(self) -> dict[str, str]:
        """Published type codes."""
        return dict(self.table.select("model", "type").iter_rows())

    @property
    def release_dates(self) -> dict[str, Any]:
        """Dates of the cards, by their titles."""
        described = shipped_systems().values()
        return {one.title: one.released for one in described if one.released is not None}


def track(label: str, total: int) -> Any:
    """Tell nobody."""
    return nullcontext(lambda done: None)


def of_published(folder: Path, kept: PublishedBoard) -> Iterator[tuple[str, Callable[[], Finding]]]:
    """Yield the analyses of the published board."""
    seconds, mteb = folder / "seconds.csv", folder / "mteb.csv"
    timed = kept.table.select(retriever="model", seconds="median_s_per_query").drop_nulls()
    timed.write_csv(seconds)
    kept.table.select(retriever="model", score="mteb_retrieval").drop_nulls().write_csv(mteb)
    yield "pareto", lambda: with_inputs.of_pareto(kept, seconds)
    yield "score-over-time", lambda: with_inputs.of_score_over_time(kept, None)
    yield "mteb-correlation", lambda: with_inputs.of_mteb_correlation(kept, mteb, ())
    ordered = timed.sort("seconds")
    series = {"median, published": ordered["seconds"].to_list()}
    names = ordered["retriever"].to_list()
    yield (
        "latency",
        lambda: Finding(
            "",
            {},
            plot=lambda: plots.dots(names, series, "seconds a query", "seconds", logarithmic=True),
        ),
    )


def of_sample(folder: Path, kept: Kept) -> Iterator[tuple[str, Callable[[], Finding]]]:
    """Yield the analyses of the sample."""
    everybody, nobody = ("bm25", "bm25-whitespace", "jaccard", "tfidf", JUDGE), ()
    yield "paired-tests", lambda: from_tables.of_paired_tests(kept, 10_000, 0)
    yield "rating-noise", lambda: from_tables.of_rating_noise(kept, 200, 0)
    yield "gain-variants", lambda: from_tables.of_gain_variants(kept)
    yield "binary-measures", lambda: from_tables.of_binary_measures(kept)
    yield "signal-effect", lambda: from_tables.of_signal_effect(kept)
    yield "word-math-split", lambda: by_asking.of_word_math_split(kept, nobody, track)
    yield "instruction-effect", lambda: by_asking.of_instruction_effect(kept, nobody, track)
    verdicts, words, replies = (folder / f"{name}" for name in ("j.parquet", "w.csv", "r.csv"))
    second_judge(kept).write_parquet(verdicts)
    rewordings(kept).write_csv(words)
    audit(kept).write_csv(replies)
    yield "judge-swap", lambda: with_inputs.of_judge_swap(kept, verdicts, None)
    yield (
        "duplicate-finding",
        lambda: by_asking.of_duplicate_finding(kept, everybody, words, "source", True, track),
    )
    yield "leakage", lambda: by_asking.of_leakage(kept, TOP, replies)


def second_judge(kept: Kept) -> pl.DataFrame:
    """Return the sample's judgments by a judge that prefers the nearer vectors of one model."""
    judgments = kept._table("pairwise_judgments")
    scores = read_table(kept.settings.workdir.tables, "retriever_scores", JUDGE)
    scores = scores.filter(pl.col("setting") == "full-full").select(
        "query_id", "candidate_id", "score"
    )
    for side in ("first", "second"):
        named = scores.rename({"candidate_id": f"{side}_id", "score": side})
        judgments = judgments.join(named, on=["query_id", f"{side}_id"])
    return judgments.with_columns(
        winner=pl.when(pl.col("first") >= pl.col("second")).then(1).otherwise(2).cast(pl.Int8)
    ).drop("first", "second")


def rewordings(kept: Kept) -> pl.DataFrame:
    """Return the queries' statements without every third word."""
    statements = dict(kept.corpus.select("problem_id", "problem").iter_rows())
    rows = [
        (
            query,
            " ".join(
                word for place, word in enumerate(statements[query].split(), 1) if place % LEFT_OUT
            ),
        )
        for query in sorted(set(kept.pools["query_id"]))
    ]
    return pl.DataFrame(rows, schema=["query_id", "problem"], orient="row")


def audit(kept: Kept) -> pl.DataFrame:
    """Return replies that flag documents of much the same words as the query."""
    words = {
        key: set(problem.lower().split())
        for key, problem in kept.corpus.select("problem_id", "problem").iter_rows()
    }
    rows = []
    for query, ids in highest_rated(kept.ratings, TOP).items():
        asked = words[query]
        flagged = [
            {"document": place, "reason": "much the same words"}
            for place, key in enumerate(ids, 1)
            if len(asked & words[key]) >= SIMILAR * len(asked | words[key])
        ]
        rows.append((query, json.dumps({"equivalent": flagged})))
    return pl.DataFrame(rows, schema=["query_id", "reply"], orient="row")


def main() -> None:
    """Write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "pictures")
    parser.add_argument("--workdir", type=Path, help="The built sample; by default it is built.")
    chosen = parser.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        settings = save_settings(chosen.workdir or folder / "sample", None, {})
        if chosen.workdir is None:
            build(settings)
        kept = Kept(settings, SETTINGS[0])
        published = PublishedBoard(settings, SETTINGS[0])
        for name, analysis in [*of_sample(folder, kept), *of_published(folder, published)]:
            draw = analysis().plot
            assert draw is not None, name
            picture = plots.svg(draw())
            (chosen.folder / f"{name}.svg").write_bytes(picture)
            print(f"{name:20} {len(picture) / 1000:5.1f} kB")


if __name__ == "__main__":
    main()
