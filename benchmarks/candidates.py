"""The candidates stage from 20K to 283K problems: `python -m benchmarks.candidates`.

Each size runs in a process of its own, on the corpus of `full_scale.py`, and prints CPU seconds
(user and system, all threads), elapsed seconds and the peak memory of the process, inputs
included. Baselines do the same work in the same run on a sample of query rows, scaled to all:
rows of a sparse product and numpy over Lin ("dense rows"), and a DuckDB join of the token tables.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import polars as pl
from scipy.sparse import csr_array

from benchmarks.full_scale import Corpus, full_scale_corpus
from saber_assets.candidates.categories import count_categories, domain_capacities
from saber_assets.candidates.features import Features, build_features
from saber_assets.candidates.histograms import domain_members, similarity_histograms
from saber_assets.candidates.joint_grid import eligible_grid
from saber_assets.candidates.near_pairs import NearPairs
from saber_assets.candidates.near_topics import near_index, near_topic_sets
from saber_assets.candidates.pairs import blocked_pairs
from saber_assets.candidates.precision import FLOAT64_BINS
from saber_assets.candidates.sampling import sample_pools

Result = TypeVar("Result")
SEED = 1
TAUS = 0.8579101562504547, 0.21057128906295475
"""The published thresholds."""
K = 50
GRID = 16
LOOSE = 0.7, 0.15
"""Lower end of the grid of joint thresholds."""
DENSE_ROWS, DUCKDB_ROWS = 20, 50
WARM_UP = 1500


def cpu() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Clock:
    """Times named steps: CPU and elapsed seconds."""

    def __init__(self) -> None:
        self.steps: dict[str, tuple[float, float]] = {}

    def time(self, name: str, work: Callable[[], Result], scale: float = 1.0) -> Result:
        """Run one step; `scale` extrapolates a sample."""
        begin, begin_cpu = time.perf_counter(), cpu()
        result = work()
        elapsed, used = time.perf_counter() - begin, cpu() - begin_cpu
        self.steps[name] = used * scale, elapsed * scale
        return result


def packed(corpus: Corpus, problems: int | None = None) -> Features:
    """Return the features of the first problems of a corpus."""
    first = slice(None, problems)
    return build_features(
        corpus.ids[first], corpus.topic_sets[first], corpus.ideas[first], corpus.tree
    )


def jaccard_pairs(features: Features) -> int:
    """Join the summaries alone; return the pairs at the threshold."""
    pairs = NearPairs.build(features, blocked_pairs(features), 2.0, TAUS[1])
    found = pairs.over(
        np.arange(len(features)),
        lambda block: int(np.bitwise_count(block.near).sum(dtype=np.int64)),
        near=True,
        overlaps=False,
    )
    return sum(count for _, count in found)


def topic_pairs(features: Features) -> int:
    """Join the topic sets alone, on one thread; return the pairs of problems."""
    weight = features.arrays.set_weight
    sets = np.arange(len(weight), dtype=np.int32)
    start, near, _ = near_topic_sets(features.arrays, near_index(features, TAUS[0]), sets)
    return int((np.repeat(weight, np.diff(start)) * weight[near]).sum()) - len(features)


def grid_bins() -> np.ndarray:
    """Return (2, 16) bins of topic and summary thresholds, up to the published pair."""
    steps = [np.linspace(low, high, GRID) for low, high in zip(LOOSE, TAUS, strict=True)]
    return (np.array(steps) * FLOAT64_BINS).astype(np.int32)


def line(features: Features, domains: list[list[str]]) -> list[np.ndarray]:
    """Evaluate 16 joint thresholds for every problem and domain; return eligible queries."""
    member = domain_members(domains)
    every = np.repeat(grid_bins()[None], member.shape[1], axis=0)
    capacities = domain_capacities(features, member, every, precision="float64")
    return [(capacity >= K).sum(axis=0) for capacity in capacities]


def grid(features: Features, domains: list[list[str]]) -> np.ndarray:
    """Evaluate 16 x 16 joint thresholds for every problem; return eligible queries."""
    return eligible_grid(features, domain_members(domains), *grid_bins(), K, precision="float64")


def pools(features: Features, counts: np.ndarray) -> int:
    """Sample the pools of up to 1000 eligible queries; return how many there are."""
    eligible = np.flatnonzero(counts.min(axis=1) >= K)
    queries = [features.problem_ids[row] for row in eligible[:1000]]
    return sample_pools(features, queries, K, TAUS, SEED).height // (3 * K)


def dense_rows(features: Features, rows: np.ndarray) -> np.ndarray:
    """Count the categories of some rows the usual way: sparse product, numpy over Lin."""
    arrays, lin = features.arrays, features.arrays.lin
    tokens = csr_array(
        (np.ones(arrays.tokens.size), arrays.tokens, arrays.token_start),
        shape=(len(features), arrays.posting_start.size - 1),
    )
    sizes, starts = np.diff(arrays.token_start), arrays.set_start[:-1]
    counts = []
    for row in rows:
        common = (tokens @ tokens[[row]].T).toarray().ravel()
        near_summary = common / np.maximum(sizes + sizes[row] - common, 1) >= TAUS[1]
        own = arrays.set_of[row]
        mine = arrays.set_nodes[arrays.set_start[own] : arrays.set_start[own + 1]]
        related = np.zeros((mine.size, lin.row.size))
        for place, topic in enumerate(mine):
            first, last, begin = lin.first[topic], lin.last[topic], lin.row[topic]
            related[place, first:last] = lin.values[begin + first : begin + last]
        table = related[:, arrays.set_nodes]
        forward = np.maximum.reduceat(table, starts, axis=1).sum(axis=0)
        total = forward + np.add.reduceat(table.max(axis=0), starts)
        average = total / (np.diff(arrays.set_start) + mine.size)
        near_topic = (average >= TAUS[0])[arrays.set_of]
        near_topic[row] = near_summary[row] = False
        both = near_topic & near_summary
        counts.append((near_topic.sum() - both.sum(), near_summary.sum() - both.sum(), both.sum()))
    return np.array(counts)


def duckdb_rows(features: Features, rows: int) -> int:
    """Join the summaries of the first rows with all in DuckDB; return the pairs found."""
    arrays = features.arrays
    sizes = np.diff(arrays.token_start)
    tokens = pl.DataFrame(  # noqa: F841 - DuckDB reads it by name
        {
            "row": np.repeat(np.arange(len(features)), sizes),
            "token": arrays.tokens,
            "size": np.repeat(sizes, sizes),
        }
    )
    with duckdb.connect() as connection:
        connection.execute("SET threads = 2")
        found = connection.sql(
            f"""SELECT count(*) FROM (
            SELECT a.row, b.row AS other FROM tokens a JOIN tokens b USING (token)
            WHERE a.row < {rows} AND a.row <> b.row GROUP BY a.row, b.row, a.size, b.size
            HAVING count(*) / (a.size + b.size - count(*)) >= {TAUS[1]})"""
        ).fetchall()
    return int(found[0][0])


def measure(problems: int, ontology: Path | None) -> dict[str, object]:
    """Run every step at one size, and the baselines on samples."""
    corpus = full_scale_corpus(problems, SEED, ontology)
    small = packed(corpus, WARM_UP)  # compiles
    jaccard_pairs(small), topic_pairs(small), count_categories(small, *TAUS)
    line(small, corpus.domains[:WARM_UP]), grid(small, corpus.domains[:WARM_UP])
    similarity_histograms(small, corpus.domains[:WARM_UP], topic_floor=FLOAT64_BINS // 2)
    dense_rows(small, np.arange(2))
    inputs = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    clock = Clock()
    features = clock.time("pack features, information content, Lin", lambda: packed(corpus))
    summaries = clock.time("all-pairs Jaccard", lambda: jaccard_pairs(features))
    topics = clock.time("all-pairs best-match average", lambda: topic_pairs(features))
    counts = clock.time("both, with category counts", lambda: count_categories(features, *TAUS))
    queries = clock.time("50 of each category, 1000 queries", lambda: pools(features, counts))
    clock.time(
        "histograms (topics from 0.7 on)",
        lambda: similarity_histograms(
            features, corpus.domains, topic_floor=int(LOOSE[0] * FLOAT64_BINS)
        ),
    )
    on_line = clock.time("16 joint thresholds a problem", lambda: line(features, corpus.domains))
    on_grid = clock.time(
        "16 x 16 joint thresholds a problem", lambda: grid(features, corpus.domains)
    )
    assert (on_grid[:, range(GRID), range(GRID)] == on_line).all(), "the grid counts otherwise"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = np.linspace(0, problems - 1, DENSE_ROWS).astype(int)
    usual = clock.time(
        "baseline: dense rows", lambda: dense_rows(features, rows), problems / DENSE_ROWS
    )
    assert (usual == counts[rows]).all(), "the baseline counts otherwise"
    clock.time(
        "baseline: DuckDB join, Jaccard only",
        lambda: duckdb_rows(features, DUCKDB_ROWS),
        problems / DUCKDB_ROWS,
    )
    facts = {
        "distinct topic sets": len(features.arrays.set_weight),
        "topics in use": len(features.nodes),
        "pairs near in summary": summaries,
        "pairs near in topic": topics,
        "eligible queries sampled": queries,
        "memory before, inputs (MB)": inputs // 1024,
        "peak memory (MB)": peak // 1024,
    }
    return {"steps": clock.steps, "facts": facts}


def main() -> None:
    """Print one table over all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20_000, 71_000, 283_000])
    parser.add_argument("--ontology", type=Path, help="mathworld_tree_saber.json.gz")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child is not None:
        print(json.dumps(measure(chosen.child, chosen.ontology)))
        return
    options = ["--ontology", str(chosen.ontology)] if chosen.ontology else []
    found = []
    for size in chosen.sizes:
        command = [sys.executable, "-m", "benchmarks.candidates", "--child", str(size), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    print("| CPU s (elapsed s) | " + " | ".join(f"{size:,}" for size in chosen.sizes) + " |")
    print("|---|" + "---:|" * len(found))
    for name in found[0]["steps"]:
        cells = [f"{one['steps'][name][0]:,.1f} ({one['steps'][name][1]:,.1f})" for one in found]
        print(f"| {name} | " + " | ".join(cells) + " |")
    for baseline, ours in (
        ("baseline: dense rows", "both, with category counts"),
        ("baseline: DuckDB join, Jaccard only", "all-pairs Jaccard"),
    ):
        ratios = [f"{one['steps'][baseline][0] / one['steps'][ours][0]:,.0f} x" for one in found]
        print(f"| CPU ratio, {baseline.removeprefix('baseline: ')} | {' | '.join(ratios)} |")
    for name in found[0]["facts"]:
        print(f"| {name} | " + " | ".join(f"{one['facts'][name]:,}" for one in found) + " |")


if __name__ == "__main__":
    main()
