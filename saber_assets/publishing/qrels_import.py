"""From the documents, queries and relevances of a collection to a benchmark with pools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from saber_assets.errors import InputError
from saber_assets.publishing.benchmark import DOCUMENTS, POOLS, QUERIES, Benchmark
from saber_assets.publishing.gain_encoding import LARGEST_RATING, decode
from saber_assets.retrieval.texts import split_full_text

PoolSource = Literal["given", "corpus"]
"""`given`: what the collection lists or judges for a query; `corpus`: every document."""
SLACK = 1e-9
MOST_PAIRS = 20_000_000
"""Query-document pairs that pools of the whole corpus may have."""


@dataclass
class Collection:
    """What a folder of one text a document holds.

    Attributes:
        documents: id to text.
        queries: id to text.
        places: of each judged pair, where it stands.
        relevances: of each judged pair, as it is written.
        candidates: the documents listed for each query; None where the collection lists none.
        domains: of each query, where they are known.
    """

    documents: dict[str, str] = field(default_factory=dict)
    queries: dict[str, str] = field(default_factory=dict)
    places: dict[tuple[str, str], str] = field(default_factory=dict)
    relevances: dict[tuple[str, str], float] = field(default_factory=dict)
    candidates: dict[str, list[str]] | None = None
    domains: dict[str, list[str]] = field(default_factory=dict)

    def add_relevance(self, place: str, query: str, document: str, relevance: float) -> None:
        """Keep a judged pair.

        Raises:
            InputError: when it is judged twice, or names what isn't there.
        """
        pair = (query, document)
        if pair in self.places:
            raise InputError(
                f"{place} judges document {document!r} for query {query!r}, as does "
                f"{self.places[pair]}",
                "delete one of them",
            )
        self.know(place, query, document)
        self.places[pair], self.relevances[pair] = place, relevance

    def know(self, place: str, query: str, document: str) -> None:
        """Refuse a query or document that the collection lacks.

        Raises:
            InputError: which names it.
        """
        for kind, name, known in (
            ("query", query, self.queries),
            ("document", document, self.documents),
        ):
            if name not in known:
                raise InputError(
                    f"{place} names {kind} {name!r}, which the folder has no text of",
                    "download the folder completely, or delete that line",
                )


def add_domains(collection: Collection, place: str, query: str, domains: list[str]) -> None:
    """Keep a query's domains.

    Raises:
        InputError: for a query that the collection lacks.
    """
    if query not in collection.queries:
        raise InputError(
            f"{place} names query {query!r}, which the folder has no text of",
            "download the folder completely, or delete that line",
        )
    collection.domains[query] = domains


def add_text(texts: dict[str, str], place: str, key: str, text: str) -> None:
    """Keep the text of an id.

    Raises:
        InputError: when the id has one, or the text is empty.
    """
    if key in texts:
        raise InputError(f"{place} has the id {key!r} again", "give each id once")
    if not text.strip():
        raise InputError(f"{place} (id {key!r}) has no text", "give it one, or delete it")
    texts[key] = text


def to_benchmark(
    collection: Collection, *, gain_scale: int | None = None, pools: PoolSource = "given"
) -> Benchmark:
    """Return the benchmark that a collection is.

    A candidate that nobody judged has rating 0, as trec_eval has it; a negative relevance counts
    as 0. A query that nobody judged for is left out, and so is a candidate that is its query.

    Args:
        collection: documents, queries, relevances.
        gain_scale: scale of relevances that are gains, see `gain_encoding`; None where they are
            ratings from 0 to 5.
        pools: see `PoolSource`.

    Raises:
        InputError: for relevances out of range, and pools in which no ranking can be wrong.
    """
    ratings = _ratings(collection, gain_scale)
    judged: dict[str, dict[str, float]] = {}
    for (query, document), rating in ratings.items():
        judged.setdefault(query, {})[document] = rating
    if not judged:
        raise InputError("the folder judges no document for any query", "check its qrels")
    asked = {query: collection.queries[query] for query in judged}
    names = query_names(asked, collection.documents)
    members = _members(collection, judged, pools)
    rows = [
        (names[query], document, judged[query].get(document, 0.0))
        for query in sorted(judged)
        for document in members[query]
        if document != names[query]
    ]
    frame = pl.DataFrame(rows, schema=POOLS, orient="row")
    if pools == "given" and frame.filter(pl.col("rating") == 0).is_empty():
        raise InputError(
            "the folder lists relevant documents only, so that every retriever would be perfect",
            "give --pools corpus, which takes every document into every pool",
        )
    in_pools = {(query, document) for query in judged for document in members[query]}
    return Benchmark(
        documents=_documents(collection),
        queries=_queries(collection, names),
        pools=frame.sort("query_id", "candidate_id"),
        notes={
            "queries without judgments": len(collection.queries) - len(judged),
            "candidates that nobody judged": sum(pair not in ratings for pair in in_pools),
            "relevant documents outside pools": sum(
                rating > 0 and pair not in in_pools for pair, rating in ratings.items()
            ),
            "candidates that are their query": len(in_pools) - len(rows),
        },
    )


def _ratings(collection: Collection, gain_scale: int | None) -> dict[tuple[str, str], float]:
    ratings = {}
    for pair, relevance in collection.relevances.items():
        known = max(0.0, relevance)
        rating = known if gain_scale is None else float(decode(known, gain_scale))
        if rating > LARGEST_RATING + SLACK:
            raise InputError(
                f"{collection.places[pair]}: the relevance {relevance:g} is above "
                f"{LARGEST_RATING:g}",
                "give --gain-scale S where relevances are S (2^rating - 1), or scale them to [0, 5]"
                if gain_scale is None
                else f"check --gain-scale {gain_scale}",
            )
        ratings[pair] = min(rating, LARGEST_RATING)
    return ratings


def query_names(queries: Mapping[str, str], documents: Mapping[str, str]) -> dict[str, str]:
    """Return the id of each query among the problems: its own, unless that is another text's.

    Args:
        queries: id to text, as a retriever sees it.
        documents: id to text, the statement alone or with its solution.
    """
    names: dict[str, str] = {}
    for query, text in queries.items():
        name = query
        while name in documents and not _same(documents[name], text):
            name = f"query-{name}"
        names[query] = name
    return names


def _same(document: str, query: str) -> bool:
    statement = split_full_text(query)[0]
    return query == document or statement == split_full_text(document)[0]


def _members(
    collection: Collection, judged: Mapping[str, Mapping[str, float]], pools: PoolSource
) -> dict[str, list[str]]:
    if pools == "corpus":
        pairs = len(judged) * len(collection.documents)
        if pairs > MOST_PAIRS:
            raise InputError(
                f"pools of the whole corpus are {pairs:,} pairs, more than {MOST_PAIRS:,}",
                "import a collection with candidates, such as an MTEB reranking folder",
            )
        whole = sorted(collection.documents)
        return dict.fromkeys(judged, whole)
    listed = collection.candidates
    if listed is None:
        return {query: sorted(documents) for query, documents in judged.items()}
    return {query: sorted(set(listed.get(query) or judged[query])) for query in judged}


def _documents(collection: Collection) -> pl.DataFrame:
    rows = [(key, *split_full_text(text)) for key, text in sorted(collection.documents.items())]
    return pl.DataFrame(rows, schema=DOCUMENTS, orient="row")


def _queries(collection: Collection, names: Mapping[str, str]) -> pl.DataFrame:
    rows = [
        (
            name,
            *split_full_text(collection.queries[query]),
            sorted(set(collection.domains.get(query, ()))),
        )
        for query, name in names.items()
    ]
    return pl.DataFrame(rows, schema=QUERIES, orient="row").sort("query_id")
