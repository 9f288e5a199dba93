"""How often the lexical annotator finds the domain that a problem is labelled with.

    python benchmarks/lexical_domain_accuracy.py problems.jsonl ontology/topics.csv

Each line of the corpus has `problem`, `solution` and `topic`, the label: a domain, or a word that
stands for one ("Calculus"). Lines without a known label or without a solution are left out. A hit:
the labelled domain is among the domains of the assigned topics.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path

import polars as pl

from saber_assets.annotation.annotator import Problem
from saber_assets.annotation.lexical import LexicalAnnotator
from saber_assets.annotation.topic_walk import walk_topics
from saber_assets.ontology.readers import read_ontology
from saber_assets.ontology.tables import DOMAINS
from saber_assets.ontology.tree import unfold

SYNONYMS = {
    "Calculus": "Calculus and Analysis",
    "Analysis": "Calculus and Analysis",
    "Discrete Mathematics": "Combinatorics",
    "Probability": "Combinatorics",
    "Counting & Probability": "Combinatorics",
}


def read_labelled(corpus: Path) -> tuple[list[Problem], list[str]]:
    """Return the problems with a known label, and their labels as domains."""
    problems, labels = [], []
    with corpus.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            row = json.loads(line)
            label = SYNONYMS.get(row.get("topic"), row.get("topic"))
            if label in DOMAINS and row.get("solution"):
                problems.append(Problem(f"{number}", row["problem"], row["solution"]))
                labels.append(label)
    return problems, labels


def main() -> None:
    """Print accuracy, top-1 accuracy, the share without topics, and the confusion."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("ontology", type=Path)
    options = parser.parse_args()
    problems, labels = read_labelled(options.corpus)
    tree = unfold(read_ontology(options.ontology))
    annotator = LexicalAnnotator(tree)
    start = time.perf_counter()
    sets, failures = walk_topics(problems, tree, annotator)
    seconds = time.perf_counter() - start
    firsts = tree.filter(pl.col("depth") == 1)["node_id"].to_list()
    domain_of = dict(tree.select("node_id", "domain").iter_rows())
    found = [set(domains) for domains in sets["domains"]]
    top = [domain_of[annotator.best_of(problem, firsts)] for problem in problems]
    hits = [label in domains for label, domains in zip(labels, found, strict=True)]
    firsts_right = [label == best for label, best in zip(labels, top, strict=True)]
    print(f"problems {len(problems)}, failures {failures.height}, {seconds:.1f} s")
    print(f"accuracy {sum(hits) / len(hits):.3f} (labelled domain among those assigned)")
    print(f"top-1    {sum(firsts_right) / len(hits):.3f} (strongest first-level topic)")
    print(f"without any topic {sum(n.is_empty() for n in sets['node_ids']) / len(hits):.3f}")
    print(f"domains a problem {sum(map(len, found)) / len(hits):.2f}, ", end="")
    print(f"topics {sets['node_ids'].list.len().mean():.2f}, depth {sets['depth'].mean():.2f}")
    for domain in DOMAINS:
        chosen = [hit for hit, label in zip(hits, labels, strict=True) if label == domain]
        if chosen:
            print(f"  {domain:22} {sum(chosen) / len(chosen):.3f} of {len(chosen)}")
    misses = Counter(
        (label, " + ".join(sorted(domains)) or "none")
        for label, domains, hit in zip(labels, found, hits, strict=True)
        if not hit
    )
    print("most frequent misses, labelled -> assigned:")
    for (label, assigned), count in misses.most_common(15):
        print(f"  {count:4} {label} -> {assigned}")


if __name__ == "__main__":
    main()
