"""A seeded corpus with the densities of the full one: 283K problems, 17K tree nodes.

* Tree: MathWorld's (17,113 nodes) where its file is given, else a random tree of that shape:
  eleven subjects of very unequal size, depth 5.
* Topic sets: 1 to 6 topics. Subjects are drawn with the mix of competition problems; a topic
  within its subject, and each further topic of the set mostly in the same subject, by a Zipf law
  over a random order of the nodes. Half of the problems repeat the topics of one of a few
  thousand standard exercises, drawn by Zipf, so that 283K problems have about 110K distinct sets.
* Summaries: 8 to 16 distinct tokens; about two in five from a list of 40 words of the first
  topic, so that near topics and near summaries go together as in reality; the others from a Zipf
  vocabulary of 2,000 frequent and 30,000 rare words.
* Domains: those of the subjects of the topics.

Everything follows from `problems` and `seed`; nothing else.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from saber_assets.ontology.readers import read_ontology
from saber_assets.ontology.tree import domain_of, unfold

SUBJECTS = {
    "Algebra": 0.27, "Geometry": 0.24, "NumberTheory": 0.17, "DiscreteMathematics": 0.10,
    "CalculusandAnalysis": 0.14, "ProbabilityandStatistics": 0.05, "RecreationalMathematics": 0.02,
    "Topology": 0.003, "FoundationsofMathematics": 0.004, "AppliedMathematics": 0.002,
    "HistoryandTerminology": 0.001,
}  # fmt: skip
"""Share of the topics of competition problems that each subject gets."""
TOPICS_SHARES = (0.22, 0.34, 0.24, 0.12, 0.05, 0.03)
"""Share of the problems with 1, 2, ... 6 topics."""
RANDOM_NODES = 17_113
FREQUENT, RARE = 2_000, 30_000
WORDS_OF_TOPIC = 40
STANDARD_SHARE = 0.47


class Corpus(NamedTuple):
    """Ids, topic sets, core ideas and domains of each problem, and the tree."""

    ids: list[str]
    topic_sets: list[list[int]]
    ideas: list[str]
    domains: list[list[str]]
    tree: pl.DataFrame


def zipf(size: int, exponent: float, offset: float = 0.0) -> np.ndarray:
    """Return probabilities of `size` items, falling as (rank + offset)^-exponent."""
    weights = 1.0 / (np.arange(1, size + 1) + offset) ** exponent
    return weights / weights.sum()


def random_tree(seed: int, nodes: int = RANDOM_NODES) -> pl.DataFrame:
    """Return node_id, parent_id, depth, domain of a random tree: subjects, then levels 2 to 5."""
    generator = np.random.default_rng(seed)
    level = np.sort(generator.choice([2, 3, 4, 5], nodes - 12, p=[0.02, 0.23, 0.5, 0.25]))
    depth = np.concatenate(([0], np.full(11, 1), level))
    parent = np.full(nodes, -1)
    parent[1:12] = 0
    for below in range(2, 6):
        mine, above = np.flatnonzero(depth == below), np.flatnonzero(depth == below - 1)
        parent[mine] = generator.choice(
            above, mine.size, p=generator.permutation(zipf(above.size, 0.7))
        )
    domains: list[str | None] = [None, *(domain_of(name) for name in SUBJECTS)]
    for node in range(12, nodes):
        domains.append(domains[parent[node]])
    return pl.DataFrame(
        {
            "node_id": np.arange(nodes, dtype=np.int32),
            "parent_id": parent.astype(np.int32),
            "depth": depth.astype(np.int32),
            "domain": pl.Series(domains, dtype=pl.String),
        }
    )


def full_scale_corpus(problems: int, seed: int, ontology: Path | None = None) -> Corpus:
    """Return a corpus as the module describes it.

    Args:
        problems: how many.
        seed: of everything that is drawn.
        ontology: MathWorld's tree (`mathworld_tree_saber.json.gz`); None for a random one.
    """
    generator = np.random.default_rng(seed)
    tree = random_tree(seed) if ontology is None else unfold(read_ontology(ontology))
    drawn = _topics(generator, tree, problems)
    domain_of_node = tree["domain"].to_list()
    sets = [sorted(set(row[row >= 0].tolist())) for row in drawn]
    return Corpus(
        ids=[f"p{number:07d}" for number in range(problems)],
        topic_sets=sets,
        ideas=_ideas(generator, drawn[:, 0], tree.height),
        domains=[sorted({domain_of_node[node] for node in nodes} - {None}) for nodes in sets],
        tree=tree,
    )


def _topics(generator: np.random.Generator, tree: pl.DataFrame, problems: int) -> np.ndarray:
    """Return (problems, 6) nodes, -1 for none; the first topic leads."""
    subject = _subjects(tree)
    shares = np.array(list(SUBJECTS.values()))
    popularity = np.zeros(tree.height)
    for number, share in enumerate(shares):
        mine = np.flatnonzero(subject == number)
        popularity[mine] = share * generator.permutation(zipf(mine.size, 1.35, 4.0))
    popularity /= popularity.sum()
    own = _fresh_sets(generator, popularity, subject, problems)
    standard = _fresh_sets(generator, popularity, subject, max(50, problems // 20))
    repeats = generator.random(problems) < STANDARD_SHARE
    which = generator.choice(len(standard), problems, p=zipf(len(standard), 0.8))
    own[repeats] = standard[which[repeats]]
    return own


def _subjects(tree: pl.DataFrame) -> np.ndarray:
    """Return the number of each node's subject, -1 for the root."""
    parent, depth = tree["parent_id"].to_numpy(), tree["depth"].to_numpy()
    subject = np.full(tree.height, -1)
    count = 0
    for node in range(tree.height):
        if depth[node] == 1:
            name = tree["topic"][node].split("/")[-1] if "topic" in tree.columns else ""
            names = [place for place, known in enumerate(SUBJECTS) if known in name]
            subject[node] = names[0] if names else count
            count += 1
        elif depth[node] > 1:
            subject[node] = subject[parent[node]]
    return subject


def _fresh_sets(
    generator: np.random.Generator, popularity: np.ndarray, subject: np.ndarray, count: int
) -> np.ndarray:
    """Return (count, 6) drawn topics; later ones mostly share the subject of the first."""
    nodes = generator.choice(popularity.size, (count, 6), p=popularity)
    stays = generator.random((count, 6)) < 0.8
    for number in range(len(SUBJECTS)):
        mine = np.flatnonzero(subject == number)
        again = stays & (subject[nodes[:, 0]] == number)[:, None]
        again[:, 0] = False
        share = popularity[mine] / popularity[mine].sum()
        nodes[again] = generator.choice(mine, int(again.sum()), p=share)
    sizes = 1 + generator.choice(6, count, p=TOPICS_SHARES)
    nodes[np.arange(6)[None, :] >= sizes[:, None]] = -1
    return nodes


def _ideas(generator: np.random.Generator, first: np.ndarray, nodes: int) -> list[str]:
    """Return one summary a problem."""
    words = np.concatenate((0.93 * zipf(FREQUENT, 1.0, 4.0), 0.07 * zipf(RARE, 0.5)))
    of_topic = generator.choice(FREQUENT, (nodes, WORDS_OF_TOPIC), p=zipf(FREQUENT, 0.6))
    count = first.size
    tokens = generator.choice(FREQUENT + RARE, (count, 24), p=words)
    own = generator.random((count, 24)) < 0.5
    liked = generator.choice(WORDS_OF_TOPIC, (count, 24), p=zipf(WORDS_OF_TOPIC, 1.0))
    tokens = np.where(own, of_topic[first[:, None], liked], tokens)
    sizes = generator.integers(8, 17, count)
    names = np.array([f"w{word}" for word in range(FREQUENT + RARE)], dtype=object)
    return [
        " ".join(names[list(dict.fromkeys(row))[:size]])
        for row, size in zip(tokens.tolist(), sizes.tolist(), strict=True)
    ]
