"""The choice of the benchmark's queries among the eligible ones, even over the domains.

Strata are combinations of domains. The greedy rule, repeated until enough queries are chosen:

1. take the domain with the fewest chosen queries so far that still has some to give (a query of
   several domains counts in each; ties: the order of `DOMAINS`);
2. among the combinations that contain it, take the one whose other domains are least ahead of
   it, then the one of which the smallest share is used, then the first by name;
3. take that stratum's next query, in an order drawn from the seed and the id.

The order within a stratum is a keyed hash of the id: the order of the corpus doesn't matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_assets.candidates.features import Features
from saber_assets.candidates.tables import BENCHMARK_QUERIES
from saber_assets.errors import InputError
from saber_assets.ontology.tables import DOMAINS

JOINER = " + "
SCARCITY_SCHEMA = {
    "stratum": pl.String,
    "wanted": pl.Int64,
    "available": pl.Int64,
    "selected": pl.Int64,
    "missing": pl.Int64,
}


class Selection(NamedTuple):
    """The chosen queries and what could not be had.

    Attributes:
        queries: rows of BENCHMARK_QUERIES, by query_id.
        scarcity: one row for each domain or combination that fell short, and one named "all"
            where the total did: stratum, wanted, available, selected, missing. Empty when
            everything was met.
    """

    queries: pl.DataFrame
    scarcity: pl.DataFrame


def keyed_number(seed: int, purpose: str, text: str) -> int:
    """Return 64 bits drawn from a seed, a purpose and an id, the same on every machine."""
    message = f"{seed}\n{purpose}\n{text}".encode()
    return int.from_bytes(blake2b(message, digest_size=8).digest(), "little")


def combination_of(domains: Sequence[str]) -> str:
    """Return the name of a stratum: sorted distinct domains, joined."""
    return JOINER.join(sorted(set(domains)))


def eligible_queries(
    features: Features,
    domains: Sequence[Sequence[str]],
    counts: NDArray[np.int64],
    k: int,
) -> pl.DataFrame:
    """Return the problems that can be queries.

    Args:
        features: the packed corpus of n problems.
        domains: the domains of each problem.
        counts: (n, 3) from `count_categories`.
        k: K, candidates that a query needs in each category.

    Returns:
        query_id, domains (sorted), combination, topic_only, summary_only, both; by query_id.
        A problem without a domain can't be a query, as it belongs to no stratum.
    """
    enough = np.flatnonzero((counts >= k).all(axis=1)).tolist()
    rows = [row for row in enough if domains[row]]
    return pl.DataFrame(
        {
            "query_id": [features.problem_ids[row] for row in rows],
            "domains": [sorted(set(domains[row])) for row in rows],
            "combination": [combination_of(domains[row]) for row in rows],
            "topic_only": counts[rows, 0],
            "summary_only": counts[rows, 1],
            "both": counts[rows, 2],
        },
        schema_overrides={"query_id": pl.String, "domains": pl.List(pl.String)},
    ).sort("query_id")


def select_queries(
    eligible: pl.DataFrame,
    count: int | None,
    seed: int,
    quota: Mapping[str, int] | None = None,
) -> Selection:
    """Choose the benchmark's queries.

    Args:
        eligible: from `eligible_queries`.
        count: how many; None only with a quota, whose total it then is.
        seed: decides which queries of a stratum are taken.
        quota: queries of each combination, named "Algebra + Geometry" (paper mode); None for
            the greedy rule of this module.

    Returns:
        As many of the wished queries as there are, and what is scarce.

    Raises:
        InputError: for an unknown domain in the quota, or a count that is not its total.
        ValueError: for a negative count, or none without a quota.

    Source: SPEC section 2, "Selection".
    """
    strata = _shuffled_strata(eligible, seed)
    if quota is None:
        if count is None or count < 0:
            raise ValueError("count is a number of queries, 0 or more")
        taken = _take_evenly(strata, count)
        scarcity = _scarce_domains(strata, taken, count)
    else:
        wanted = _checked_quota(quota, count)
        taken = {name: min(number, len(strata.get(name, ()))) for name, number in wanted.items()}
        scarcity = [
            (name, number, len(strata.get(name, ())), taken[name])
            for name, number in sorted(wanted.items())
        ]
    chosen = [query for name, number in taken.items() for query in strata.get(name, ())[:number]]
    queries = eligible.filter(pl.col("query_id").is_in(chosen)).sort("query_id")
    return Selection(
        queries=BENCHMARK_QUERIES.conform(queries.with_columns(pl.lit(seed).alias("seed"))),
        scarcity=pl.DataFrame(
            [(*row, row[1] - row[3]) for row in scarcity if row[1] > row[3]],
            schema=SCARCITY_SCHEMA,
            orient="row",
        ),
    )


def _shuffled_strata(eligible: pl.DataFrame, seed: int) -> dict[str, list[str]]:
    """Return the queries of each combination in the order in which they are taken."""
    strata: dict[str, list[str]] = {}
    for query, combination in eligible.select("query_id", "combination").iter_rows():
        strata.setdefault(combination, []).append(query)
    for queries in strata.values():
        queries.sort(key=lambda query: (keyed_number(seed, "selection", query), query))
    return dict(sorted(strata.items()))


def _take_evenly(strata: Mapping[str, Sequence[str]], count: int) -> dict[str, int]:
    """Return how many queries of each combination the greedy rule takes."""
    taken = dict.fromkeys(strata, 0)
    chosen = dict.fromkeys(DOMAINS, 0)
    parts = {name: name.split(JOINER) for name in strata}
    for _ in range(min(count, sum(map(len, strata.values())))):
        open_strata = [name for name in strata if taken[name] < len(strata[name])]
        giving = {domain for name in open_strata for domain in parts[name]}
        neediest = min(
            (domain for domain in DOMAINS if domain in giving), key=lambda domain: chosen[domain]
        )
        stratum = min(
            (name for name in open_strata if neediest in parts[name]),
            key=lambda name: (
                max(chosen[domain] for domain in parts[name]),
                taken[name] / len(strata[name]),
                name,
            ),
        )
        taken[stratum] += 1
        for domain in parts[stratum]:
            chosen[domain] += 1
    return taken


def _scarce_domains(
    strata: Mapping[str, Sequence[str]], taken: Mapping[str, int], count: int
) -> list[tuple[str, int, int, int]]:
    """Return wanted, available and selected for each exhausted domain, and for the total.

    A domain is wanted as often as the one chosen most, less the one query that rounding costs.
    """
    selected = {
        domain: sum(n for name, n in taken.items() if domain in name.split(JOINER))
        for domain in DOMAINS
    }
    available = {
        domain: sum(len(q) for name, q in strata.items() if domain in name.split(JOINER))
        for domain in DOMAINS
    }
    level = max(selected.values()) - 1
    rows = [
        (domain, level, available[domain], selected[domain])
        for domain in DOMAINS
        if selected[domain] == available[domain]
    ]
    total = sum(map(len, strata.values()))
    return [*rows, ("all", count, total, sum(taken.values()))]


def _checked_quota(quota: Mapping[str, int], count: int | None) -> dict[str, int]:
    wanted: dict[str, int] = {}
    for name, number in quota.items():
        listed = [part.strip() for part in name.split("+")]
        unknown = [part for part in listed if part not in DOMAINS]
        if unknown:
            raise InputError(
                f"the quota {name!r} names the unknown domain {unknown[0]!r}",
                f"use {', '.join(DOMAINS)}, joined by '{JOINER}'",
            )
        if number < 0:
            raise InputError(f"the quota of {name!r} is {number}", "give a number from 0 up")
        wanted[combination_of(listed)] = wanted.get(combination_of(listed), 0) + number
    total = sum(wanted.values())
    if count is not None and count != total:
        raise InputError(
            f"the quota adds up to {total} queries but {count} are asked for",
            "make the two agree, or leave the count out",
        )
    return wanted
