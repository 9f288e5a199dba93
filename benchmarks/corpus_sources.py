"""The corpus from threads and records, step by step: `python -m benchmarks.corpus_sources`.

Seeded threads in the form of AoPS files and rows in the form of NuminaMath's Parquet files are
written to a folder, and a build of the corpus stage from it runs in a process of its own. Printed
are, for each step, elapsed and CPU seconds (worker processes included), the peak memory of the
building process while the step ran, and of the largest worker process up to then; then the funnel.

Of the threads a tenth have no comment, a sixth ask for no problem, a sixth have talk only; the
others have one to four solutions. A thread has one to ten posts. One row in ten is the problem of a
thread with another solution, one in twenty an earlier row set differently.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from saber_resources.settings import save_settings
from saber_resources.warehouse import read_table
from saber_services.builder import build
from saber_services.corpus_sources import given_corpus

SEED = 11
VOCABULARY = 20_000
ROWS_OF_A_FILE = 20_000
FORMULAS = (
    r"$x^{2}+y^2=1$",
    r"$\frac{a}{b}\le\sqrt{ab}$",
    r"$a_{n+1}=2a_n+1$",
    r"$\angle ABC=60^\circ$",
    "$f(x)=3x$",
    r"$\sum_{k=1}^{n}k$",
)
TALK = ("Nice problem!", "bump", "Any ideas?", "Thanks, that helps.", "See the link above.")


class Writer:
    """Writes seeded texts.

    Args:
        seed: of all draws.
    """

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
        lengths = self.random.integers(3, 10, VOCABULARY)
        self._words = ["".join(self.random.choice(letters, length)) for length in lengths]

    def words(self, least: int, most: int) -> list[str]:
        """Return words with a formula or a number every few of them."""
        count = int(self.random.integers(least, most + 1))
        places = (VOCABULARY * self.random.random(count) ** 3).astype(int)
        found = [self._words[place] for place in places]
        for place in range(3, count, 6):
            found[place] = FORMULAS[place % len(FORMULAS)]
        for place in range(5, count, 9):
            found[place] = f"${int(self.random.integers(2, 2000))}$"
        return found

    def statement(self) -> str:
        """Return a problem's statement."""
        return f"Let {' '.join(self.words(15, 60))}. Prove that {' '.join(self.words(6, 20))}."

    def solution(self) -> str:
        """Return a solution of some sentences."""
        openings = ("Since", "Hence", "Therefore", "We have that", "It follows that", "Then")
        count = int(self.random.integers(3, 12))
        return " ".join(
            f"{openings[place % len(openings)]} {' '.join(self.words(12, 30))}."
            for place in range(count)
        )


def write_threads(folder: Path, count: int, seed: int) -> None:
    """Write threads as AoPS JSON Lines."""
    writer = Writer(seed)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "threads.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps(_thread(writer, number)) + "\n")


def _thread(writer: Writer, number: int) -> dict[str, Any]:
    draw = writer.random.random()
    texts = [
        writer.statement() if draw > 1 / 6 else "How should I prepare? Please recommend books."
    ]
    if draw < 0.9:
        talk = TALK[number % len(TALK)]
        texts += [talk] * int(writer.random.integers(1, 6))
        if draw < 0.75:
            texts += [writer.solution() for _ in range(int(writer.random.integers(1, 5)))]
    posts = [
        {
            "post_number": place,
            "username": f"user{place}",
            "post_time": 1262304000 + place,
            "text": text,
        }
        for place, text in enumerate(texts, start=1)
    ]
    for post in posts:
        post["post_canonical"] = post.pop("text")
    return {"topic_id": 1_000_000 + number, "topic_title": f"Problem {number}", "posts": posts}


def write_rows(folder: Path, count: int, threads: int, seed: int) -> None:
    """Write rows as NuminaMath's Parquet files."""
    writer = Writer(seed + 1)
    forum = Writer(seed)
    folder.mkdir(parents=True, exist_ok=True)
    known = [
        _thread(forum, number)["posts"][0]["post_canonical"] for number in range(threads // 20)
    ]
    made: list[dict[str, Any]] = []
    for number in range(count):
        draw = writer.random.random()
        problem = writer.statement()
        if draw < 0.1 and known:
            problem = known[number % len(known)]
        elif draw < 0.15 and made:
            earlier = made[int(writer.random.integers(0, len(made)))]["problem"]
            problem = earlier.replace(r"\frac", r"\dfrac").replace("Prove that", "Prove  that")
        made.append(
            {
                "problem": problem,
                "solution": writer.solution(),
                "answer": "proof",
                "problem_type": "Algebra",
                "question_type": "MCQ" if number % 20 == 0 else "proof",
                "problem_is_valid": "Yes",
                "solution_is_valid": "Yes",
                "source": "olympiads",
                "synthetic": number % 33 == 0,
            }
        )
        if len(made) == ROWS_OF_A_FILE or number == count - 1:
            place = number // ROWS_OF_A_FILE
            pl.DataFrame(made).write_parquet(folder / f"train-{place:05d}.parquet")
            made = []


def measured(folder: Path, workdir: Path) -> None:
    """Build the corpus stage and print a line of JSON for each step."""
    given = given_corpus([folder])
    settings = save_settings(workdir, "default", {"corpus": {"sources": given.sources}})
    steps: list[dict[str, Any]] = []

    def begin(line: str) -> None:
        if steps:
            _end(steps[-1])
        steps.append({"step": line.partition(" (")[0], "wall": time.monotonic(), "cpu": _cpu()})
        _forget_peak()

    build(settings, begin, {"corpus"})
    _end(steps[-1])


def _end(step: dict[str, Any]) -> None:
    step["wall"] = time.monotonic() - step["wall"]
    step["cpu"] = _cpu() - step["cpu"]
    step["mib"] = _peak()
    step["worker_mib"] = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    sys.stdout.write(json.dumps(step) + "\n")
    sys.stdout.flush()


def _cpu() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak() -> float:
    """Return the peak of resident memory since it was forgotten, in MiB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:  # then peaks are those of the process so far
        return


def run(threads: int, rows: int, seed: int) -> Iterator[str]:
    """Measure one size, and yield what is printed."""
    with tempfile.TemporaryDirectory(prefix="corpus-sources-") as place:
        folder, workdir = Path(place) / "downloads", Path(place) / "work"
        write_threads(folder / "forum", threads, seed)
        if rows:
            write_rows(folder / "numinamath", rows, threads, seed)
        size = sum(path.stat().st_size for path in folder.rglob("*.*")) / 2**20
        yield f"{threads:,} threads, {rows:,} rows, {size:,.0f} MiB of files"
        yield f"{'step':<60} {'wall s':>8} {'CPU s':>8} {'MiB':>7} {'worker MiB':>11}"
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.corpus_sources"]
        command += ["--build", str(folder), str(workdir)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        for step in map(json.loads, done.stdout.splitlines()):
            yield (
                f"{step['step'][:60]:<60} {step['wall']:8.1f} {step['cpu']:8.1f} "
                f"{step['mib']:7.0f} {step['worker_mib']:11.0f}"
            )
        funnel = read_table(workdir / "tables", "corpus_funnel")
        for row in funnel.iter_rows(named=True):
            reason = f"{row['reason']} {row['scope'] or ''}"
            yield f"  {row['source']:<12} {row['stage']:<10} {reason:<26} {row['records']:>9,}"


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[20_000])
    parser.add_argument("--rows", type=int, nargs="+", default=[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--build", nargs=2, type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.build:
        measured(*arguments.build)
        return
    for threads, rows in zip(arguments.threads, arguments.rows, strict=True):
        for line in run(threads, rows, arguments.seed):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
