"""Deduplication from 20K to 300K problems: `python -m benchmarks.dedup_speed`.

Each size runs in a process of its own on synthetic problems (seeded, below) and prints CPU seconds,
elapsed seconds and the peak memory of the process, inputs included:

* signatures and buckets: `minhash.py` over all texts, tokens given;
* baselines of that: datasketch's `MinHash.bulk` with its default hash (SHA-1), and with Python's
  `hash`; signatures only, of a sample of texts, scaled to all (each text costs the same);
* DataTrove 0.10.1's own shingles and signatures, where `--datatrove` names an interpreter that has
  it; of the same sample of texts, whose words it finds itself;
* all of `deduplicate`: tokens, signatures, exact confirmation, the frames.

A problem has 30 to 110 words of a Zipf vocabulary of 30,000, two to five numbers and one to three
formulas. One in ten is an earlier one set differently, one in twenty an earlier one with a word of
grammar for another word, as many with another word of the subject, one in five an earlier one with
a number changed, as exercise books have them.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from datasketch import MinHash

from benchmarks.dedup_quality import ask_datatrove
from benchmarks.full_scale import zipf
from saber_assets.corpus.dedup import deduplicate
from saber_assets.corpus.minhash import band_keys, buckets, signature_batches
from saber_assets.corpus.tables import RAW_PROBLEMS
from saber_assets.corpus.tokens import shingle_tokens

Result = TypeVar("Result")
SEED = 1
SHINGLE, PERMUTATIONS, THRESHOLD = 5, 128, 0.85
VOCABULARY = 30_000
SAMPLE = 3000


def problems(count: int, seed: int) -> list[str]:
    """Return synthetic statements: a word list each, with numbers and formulas among the words."""
    random = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    lengths = random.integers(3, 10, VOCABULARY)
    words = ["".join(random.choice(letters, length)) for length in lengths]
    share = zipf(VOCABULARY, 1.05, 3.0)
    formulas = [r"$\frac{1}{x^2}$", r"$x^{2}+y^2=1$", r"$a_{n+1} \le 2a_n$", "$f(x)=3x$"]
    made: list[list[str]] = []
    for length, kind in zip(random.integers(30, 111, count), random.random(count), strict=True):
        if kind < 0.4 and len(made) > 10:
            text = list(made[random.integers(0, len(made))])
            if kind < 0.1:
                text = [part.replace(r"\frac", r"\dfrac").replace(r"\le", r"\leq") for part in text]
            elif kind < 0.2:
                plain = [place for place, part in enumerate(text) if part.isalpha()]
                other = "which" if kind < 0.15 else words[random.integers(0, VOCABULARY)]
                text[plain[random.integers(0, len(plain))]] = other
            else:
                numbers = [place for place, part in enumerate(text) if part.isdigit()]
                text[numbers[random.integers(0, len(numbers))]] = str(random.integers(2, 10_000))
        else:
            text = [words[word] for word in random.choice(VOCABULARY, length, p=share)]
            for place in random.integers(0, length, random.integers(2, 6)):
                text[place] = str(random.integers(2, 1000))
            for place in random.integers(0, length, random.integers(1, 4)):
                text[place] = formulas[random.integers(0, len(formulas))]
            text[0] = str(random.integers(2, 1000))
        made.append(text)
    return [" ".join(text) for text in made]


def frame_of(statements: list[str]) -> pl.DataFrame:
    """Return a frame of `RAW_PROBLEMS`."""
    count = len(statements)
    columns = {
        "problem_id": [f"p{place:07d}" for place in range(count)],
        "occurrence": np.ones(count, dtype=np.int32),
        "source": ["s"] * count,
        "source_id": [str(place) for place in range(count)],
        "location": [f"row {place}" for place in range(count)],
        "problem": statements,
        "solution": [
            f"The answer is {place}, as one sees step by step from the text."
            for place in range(count)
        ],
        "fault": pl.Series([None] * count, dtype=pl.String),
    }
    # columns that deduplication does not read stay null
    return pl.concat([RAW_PROBLEMS.empty(), pl.DataFrame(columns)], how="diagonal")


def sign_and_sort(token_lists: list[list[str]]) -> None:
    """Propose near-duplicates among all texts: signatures, band keys, buckets."""
    batches = signature_batches(token_lists, SHINGLE, PERMUTATIONS, SEED)
    buckets(np.concatenate([band_keys(batch, THRESHOLD) for batch in batches]))


def bulk(token_lists: list[list[str]], quick: bool) -> None:
    """Sign with datasketch's bulk; `quick` hashes with Python's `hash`, else with SHA-1."""
    runs = [
        [" ".join(tokens[s : s + SHINGLE]).encode() for s in range(len(tokens) - SHINGLE + 1)]
        for tokens in token_lists
    ]
    options = {"hashfunc": lambda run: hash(run) & 0xFFFFFFFF} if quick else {}
    MinHash.bulk(runs, num_perm=PERMUTATIONS, seed=SEED, **options)


def timed(work: Callable[[], Result], scale: float = 1.0) -> tuple[Result, float, float]:
    """Return the result, CPU seconds and elapsed seconds of one step."""
    begin, begin_cpu = time.perf_counter(), time.process_time()
    result = work()
    used, elapsed = time.process_time() - begin_cpu, time.perf_counter() - begin
    return result, used * scale, elapsed * scale


def peak_mb() -> float:
    """Return the peak memory of this process in MB (Linux counts in KB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(path: Path, datatrove: str | None) -> dict[str, str]:
    """Return the column of the table for the problems of a Parquet file."""
    deduplicate(frame_of(problems(200, SEED + 1)))  # compiles
    raw = pl.read_parquet(path)
    count = raw.height
    before = peak_mb()
    (kept, dropped), used, elapsed = timed(lambda: deduplicate(raw))
    peak = peak_mb()
    token_lists = [[sys.intern(t) for t in shingle_tokens(text)] for text in raw["problem"]]
    shingles = sum(map(len, token_lists)) / count - SHINGLE + 1
    _, sign, sign_elapsed = timed(lambda: sign_and_sort(token_lists))
    column = {
        "deduplicate, all of it": f"{used:.1f} ({elapsed:.1f})",
        "memory before, inputs (MB)": f"{before:.0f}",
        "peak memory of deduplicate (MB)": f"{peak:.0f}",
        "signatures and buckets of all texts": f"{sign:.1f} ({sign_elapsed:.1f})",
    }
    sample = token_lists[:SAMPLE]
    for name, quick in (("SHA-1", False), ("a quick hash", True)):
        _, base, base_elapsed = timed(lambda quick=quick: bulk(sample, quick), count / len(sample))
        column[f"baseline: datasketch bulk, {name}"] = f"{base:.1f} ({base_elapsed:.1f})"
        column[f"CPU ratio, {name}"] = f"{base / sign:.1f} x"
    column |= {"baseline: DataTrove, words included": "not installed"}
    if datatrove:
        took = ask_datatrove(datatrove, raw["problem"][:SAMPLE].to_list())
        base, base_elapsed = (took[name] * count / len(sample) for name in ("cpu", "elapsed"))
        column["baseline: DataTrove, words included"] = f"{base:.1f} ({base_elapsed:.1f})"
        column["CPU ratio, DataTrove to all of ours"] = f"{base / used:.1f} x"
    reasons = dict(dropped["reason"].value_counts().iter_rows())
    return column | {
        "shingles a text": f"{shingles:.0f}",
        "kept": f"{kept.height:,}",
        "dropped, exact and near": " + ".join(
            f"{reasons.get(reason, 0):,}" for reason in ("exact_duplicate", "near_duplicate")
        ),
    }


def main() -> None:
    """Measure each size in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, nargs="+", default=[20_000, 100_000, 300_000])
    parser.add_argument("--datatrove", help="Python interpreter that has datatrove 0.10.1")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(measure(chosen.one, chosen.datatrove)))
        return
    columns = []
    for count in chosen.problems:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problems.parquet"
            frame_of(problems(count, SEED)).write_parquet(path)
            command = [sys.executable, "-m", "benchmarks.dedup_speed", "--one", str(path)]
            command += ["--datatrove", chosen.datatrove] if chosen.datatrove else []
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        columns.append(json.loads(done.stdout.splitlines()[-1]))
    print(f"| CPU s (elapsed s) | {' | '.join(f'{count:,}' for count in chosen.problems)} |")
    print(f"|---|{'---:|' * len(columns)}")
    for name in columns[0]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")


if __name__ == "__main__":
    main()
