"""What is found, and what is merged wrongly: `python -m benchmarks.dedup_quality FILES`.

Ours, datasketch's defaults and DataTrove's defaults judge each pair of `near_duplicates.py`.

* datasketch: MinHash of 128 permutations over runs of five words split at white space,
  MinHashLSH at threshold 0.9; whatever shares a bucket is a duplicate.
* DataTrove: 14 buckets of 8 hashes over 5-grams of simplified words; whatever shares a bucket is a
  duplicate. Its own code where `--datatrove` names an interpreter that has it, else a
  re-implementation of its settings, and the table says so.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from datasketch import MinHash, MinHashLSH

from benchmarks.near_duplicates import (
    OTHER_KINDS,
    RETYPESET_KINDS,
    SAME_KINDS,
    Pair,
    labelled_pairs,
    read_records,
)
from benchmarks.typesettings import FOREIGN_KINDS
from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.minhash import signatures
from saber_assets.corpus.tables import RAW_PROBLEMS

SEED = 1
WORDS = 5
LOOSE = 0.5
"""A lower similarity than the default 0.85, to show what the threshold trades."""


def ours(pairs: list[Pair], threshold: float) -> list[bool]:
    """Judge each pair by deduplicating a corpus of the two."""
    verdicts = []
    for pair in pairs:
        records = [
            {
                "problem_id": str(place),
                "occurrence": 1,
                "source": "s",
                "source_id": str(place),
                "location": f"row {place}",
                "problem": record.problem,
                "solution": record.solution,
                "fault": None,
            }
            for place, record in enumerate((pair.original, pair.variant))
        ]
        frame = pl.concat([RAW_PROBLEMS.empty(), pl.DataFrame(records)], how="diagonal_relaxed")
        corpus, _ = deduplicate(frame, threshold=threshold)
        verdicts.append(corpus.height == 1)
    return verdicts


def _runs(words: list[str]) -> list[str]:
    return [
        " ".join(words[start : start + WORDS]) for start in range(max(1, len(words) - WORDS + 1))
    ]


def of_datasketch(pairs: list[Pair]) -> list[bool]:
    """Judge each pair by MinHashLSH with its defaults: does the variant find the original?"""
    index = MinHashLSH(threshold=0.9, num_perm=128)

    def signed(text: str) -> MinHash:
        minhash = MinHash(num_perm=128)
        minhash.update_batch([run.encode() for run in _runs(text.split())])
        return minhash

    for place, pair in enumerate(pairs):
        index.insert(place, signed(pair.original.problem))
    return [place in index.query(signed(pair.variant.problem)) for place, pair in enumerate(pairs)]


def restated_datatrove(texts: list[str]) -> list[list[list[int]]]:
    """Return bucket signatures by DataTrove's published settings, without its word tokenizer."""
    word_lists = []
    for text in texts:
        lowered = re.sub(r"\d+([.,]\d+)?", "0", text.lower())
        spaced = "".join(" " if unicodedata.category(c)[0] in "PS" else c for c in lowered)
        plain = (c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn")
        word_lists.append("".join(plain).split())
    long = [place for place, words in enumerate(word_lists) if len(words) >= WORDS]
    matrix = signatures((word_lists[place] for place in long), WORDS, 14 * 8, SEED)
    found: list[list[list[int]]] = [[] for _ in texts]
    for place, row in zip(long, matrix, strict=True):
        found[place] = row.reshape(14, 8).tolist()
    return found


def ask_datatrove(interpreter: str, texts: list[str]) -> dict[str, Any]:
    """Return what `datatrove_signatures.py` answers."""
    script = Path(__file__).with_name("datatrove_signatures.py")
    done = subprocess.run(
        [interpreter, str(script)],
        input=json.dumps(texts),
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    )
    return json.loads(done.stdout.splitlines()[-1])


def own_datatrove(interpreter: str) -> Callable[[list[str]], list[list[list[int]]]]:
    """Return a function that asks DataTrove itself for its bucket signatures."""
    return lambda texts: ask_datatrove(interpreter, texts)["signatures"]


def of_datatrove(
    pairs: list[Pair], signed: Callable[[list[str]], list[list[list[int]]]]
) -> list[bool]:
    """Judge each pair by equal buckets."""
    texts = [record.problem for pair in pairs for record in (pair.original, pair.variant)]
    buckets = signed(texts)
    return [
        any(a == b for a, b in zip(left, right, strict=False))
        for left, right in zip(buckets[::2], buckets[1::2], strict=True)
    ]


def print_table(pairs: list[Pair], verdicts: dict[str, list[bool]]) -> None:
    """Print the share that each method merges of each kind, then precision and recalls.

    Precision is that of all kinds together; a merged pair in other words is right. The recall of
    typesetting leaves out the kind "wording".
    """
    print(f"| share merged | pairs | {' | '.join(verdicts)} |")
    print(f"|---|---:|{'---:|' * len(verdicts)}")
    retypeset = (*RETYPESET_KINDS, *FOREIGN_KINDS)
    for kind in dict.fromkeys((*retypeset, *SAME_KINDS, *OTHER_KINDS)):
        rows = [place for place, pair in enumerate(pairs) if pair.kind == kind]
        if not rows:
            continue
        name = "another problem" if kind in OTHER_KINDS else "duplicate"
        shares = [sum(merged[row] for row in rows) / len(rows) for merged in verdicts.values()]
        cells = " | ".join(f"{100 * share:.1f}%" for share in shares)
        print(f"| {kind} ({name}) | {len(rows)} | {cells} |")
    same = [pair.kind not in OTHER_KINDS for pair in pairs]
    set_again = [pair.kind in retypeset for pair in pairs]
    merged = {name: (_both(found, same), sum(found)) for name, found in verdicts.items()}
    rows_of = {
        "precision": [hits / max(1, total) for hits, total in merged.values()],
        "recall, typeset again": [
            _both(found, set_again) / max(1, sum(set_again)) for found in verdicts.values()
        ],
        "recall, all duplicates": [hits / max(1, sum(same)) for hits, _ in merged.values()],
    }
    counts = (len(pairs), sum(set_again), sum(same))
    for (name, values), count in zip(rows_of.items(), counts, strict=True):
        print(f"| {name} | {count} | {' | '.join(f'{100 * value:.1f}%' for value in values)} |")


def _both(left: list[bool], right: list[bool]) -> int:
    return sum(a and b for a, b in zip(left, right, strict=True))


def print_misses(pairs: list[Pair], merged: list[bool], count: int) -> None:
    """Print some pairs of each kind that were judged wrongly."""
    shown: dict[str, int] = {}
    for pair, verdict in zip(pairs, merged, strict=True):
        if verdict == (pair.kind in OTHER_KINDS) and shown.get(pair.kind, 0) < count:
            shown[pair.kind] = shown.get(pair.kind, 0) + 1
            print(f"{pair.kind}\n  {pair.original.problem!r}\n  {pair.variant.problem!r}")


def main() -> None:
    """Build the pairs, judge them three times, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problems", nargs="+", type=Path, help="JSON lines, plain or .gz")
    parser.add_argument("--pairs", type=int, default=150, help="of each kind")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--datatrove", help="Python interpreter that has datatrove 0.10.1")
    parser.add_argument(
        "--typesetters", help="Python interpreter that has pypandoc, latex2mathml and unicodeit"
    )
    parser.add_argument("--misses", type=int, default=0, help="wrong verdicts to show of each kind")
    chosen = parser.parse_args()
    records = read_records(chosen.problems)
    pairs = labelled_pairs(records, chosen.pairs, chosen.seed, chosen.typesetters)
    name = "DataTrove defaults" if chosen.datatrove else "re-implementation of DataTrove's settings"
    signed = own_datatrove(chosen.datatrove) if chosen.datatrove else restated_datatrove
    verdicts = {
        "SABER, 0.85": ours(pairs, 0.85),
        f"SABER, {LOOSE}": ours(pairs, LOOSE),
        "datasketch defaults": of_datasketch(pairs),
        name: of_datatrove(pairs, signed),
    }
    print_table(pairs, verdicts)
    print_misses(pairs, verdicts["SABER, 0.85"], chosen.misses)


if __name__ == "__main__":
    main()
