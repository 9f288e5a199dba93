"""Seeded synthetic inputs with the densities of real ones.

Topic sets: 1 to 5 nodes of a random tree, popular nodes drawn more often (Zipf). Summaries: 5 to 18
words of a Zipf vocabulary. Texts: 40 to 200 words of the same kind.
"""

from __future__ import annotations

import numpy as np
import polars as pl

NODES = 1500
WORDS = 8000
EXPONENT = 1.1


def zipf(size: int) -> np.ndarray:
    """Return Zipf probabilities of `size` items."""
    weights = 1.0 / np.arange(1, size + 1) ** EXPONENT
    return weights / weights.sum()


def random_tree(nodes: int, seed: int) -> pl.DataFrame:
    """Return node_id, parent_id, depth of a random tree in which parents come first."""
    generator = np.random.default_rng(seed)
    parent = np.array([-1, *(int(generator.integers(max(0, n // 4), n)) for n in range(1, nodes))])
    depth = np.zeros(nodes, dtype=np.int32)
    for node in range(1, nodes):
        depth[node] = depth[parent[node]] + 1
    return pl.DataFrame(
        {
            "node_id": np.arange(nodes, dtype=np.int32),
            "parent_id": parent.astype(np.int32),
            "depth": depth,
        }
    )


def topic_and_summary_corpus(
    problems: int, seed: int
) -> tuple[list[str], list[list[int]], list[str], pl.DataFrame]:
    """Return ids, topic sets, core ideas and the tree."""
    generator = np.random.default_rng(seed)
    popularity = generator.permutation(zipf(NODES - 1))
    sizes = generator.integers(1, 6, problems)
    topic_sets = [
        sorted({1 + int(node) for node in generator.choice(NODES - 1, size, p=popularity)})
        for size in sizes
    ]
    words = zipf(WORDS)
    ideas = [
        " ".join(f"w{word}" for word in generator.choice(WORDS, generator.integers(5, 19), p=words))
        for _ in range(problems)
    ]
    return (
        [f"p{number:07d}" for number in range(problems)],
        topic_sets,
        ideas,
        random_tree(NODES, seed),
    )


def pools_of_text(queries: int, size: int, seed: int) -> list[tuple[str, list[str]]]:
    """Return a query text and `size` document texts for each query."""
    generator = np.random.default_rng(seed)
    words = zipf(WORDS)

    def text() -> str:
        drawn = generator.choice(WORDS, generator.integers(40, 201), p=words)
        return " ".join(f"w{word}" for word in drawn)

    documents = [text() for _ in range(3 * size)]
    return [
        (text(), [documents[place] for place in generator.choice(len(documents), size, False)])
        for _ in range(queries)
    ]
