"""How much of what is sent is a prefix that a server may still have: topic walk, summary, judges.

    python benchmarks/prefix_share.py problems.jsonl ontology/topics.csv [--problems N]

Each line of the corpus has `problem` and `solution`. Prompts are rendered exactly as a build does,
in the order in which a build makes its calls: the topic walk with scores from the lexical
annotator, and a Swiss tournament of 8 queries with 24 candidates with its verdicts. Characters
stand for tokens. For each prompt: the share of characters that the call before has at its beginning
too, and the share that the best of the last N calls has, which stands for a server that keeps the
prefixes of N calls.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from saber_assets.annotation.annotator import Comparison, Problem
from saber_assets.annotation.lexical import LexicalAnnotator
from saber_assets.annotation.llm import LlmAnnotator
from saber_assets.annotation.topic_walk import walk_topics
from saber_assets.asking import Asker, ChatRequest
from saber_assets.ontology.readers import read_ontology
from saber_assets.ontology.tree import unfold
from saber_assets.tournament.judges.ordinal import OrdinalJudge
from saber_assets.tournament.judges.profiled import ProfiledJudge
from saber_assets.tournament.tournament import Outcome, Pairing, run_tournaments
from saber_resources.prompts import load_prompt

KEPT = (1, 64, 2048)
QUERIES, CANDIDATES, ROUNDS = 8, 24, 6
BLOCK = 64
"""Characters compared at once; some 16 tokens, the block of a prefix cache."""


@dataclass
class Meter:
    """Shared and total characters of a stream of prompts."""

    total: int = 0
    calls: int = 0
    shared: dict[int, int] = field(default_factory=lambda: dict.fromkeys(KEPT, 0))
    seen: dict[int, tuple[deque[list[int]], dict[int, int]]] = field(
        default_factory=lambda: {kept: (deque(), {}) for kept in KEPT}
    )

    def add(self, prompt: str) -> None:
        """Count one call: whole blocks whose prefix is among those of the last N calls."""
        self.calls += 1
        self.total += len(prompt)
        hashes, state = [], 0
        for start in range(0, len(prompt) - BLOCK + 1, BLOCK):
            state = hash((state, prompt[start : start + BLOCK]))
            hashes.append(state)
        for kept, (window, counts) in self.seen.items():
            hits = 0
            for one in hashes:
                if not counts.get(one):
                    break
                hits += 1
            self.shared[kept] += hits * BLOCK
            window.append(hashes)
            for one in hashes:
                counts[one] = counts.get(one, 0) + 1
            if len(window) > kept:
                for one in window.popleft():
                    counts[one] -= 1
                    if not counts[one]:
                        del counts[one]


@dataclass(frozen=True)
class Said:
    """A reply of the measuring model."""

    text: str
    error: None = None
    logprobs: None = None


class Measuring:
    """Meters every request, and answers with a function of the item that it is about."""

    model = "measured"

    def __init__(self, answer: Callable[[ChatRequest, int], str]) -> None:
        self.answer, self.meters = answer, dict[str, Meter]()

    def complete(self, requests: Sequence[ChatRequest]) -> list[Said]:
        """Return one answer for each request."""
        replies = []
        for number, request in enumerate(requests):
            text = "\n".join(message["content"] for message in request.messages)
            self.meters.setdefault(request.prompt, Meter()).add(text)
            replies.append(Said(self.answer(request, number)))
        return replies


class Walker:
    """Scores like the lexical annotator, and renders what a language model would be asked."""

    def __init__(self, lexical: LexicalAnnotator) -> None:
        self.lexical = lexical
        self.name = "measured"
        self.scores: list[Any] = []
        self.names: list[Sequence[str]] = []
        self.chat = Measuring(lambda request, number: self.said(number))
        self.asked = LlmAnnotator(self.chat, *prompts("topic_scores", "summary", "pairwise_judge"))

    def said(self, number: int) -> str:
        """Return the lexical scores as a reply."""
        scores = dict(zip(self.names[number], self.scores[number], strict=True))
        return json.dumps({"scores": scores})

    def score_topics(self, tasks: Sequence[Any]) -> list[Any]:
        """Return the lexical scores."""
        found: list[Any] = []
        for start in range(0, len(tasks), 2048):  # as the asker does
            part = tasks[start : start + 2048]
            self.scores = self.lexical.score_topics(part)
            self.names = [task.names for task in part]
            found += self.asked.score_topics(part)
        return found


def prompts(*names: str) -> list[Any]:
    """Return prompts by name."""
    return [load_prompt(name) for name in names]


def judged(problems: list[Problem], lexical: LexicalAnnotator) -> list[tuple[str, Meter]]:
    """Run tournaments with each judge and return what was metered."""
    draw = random.Random(1)
    queries = draw.sample(problems, QUERIES)
    pools = {
        query.problem_id: [p.problem_id for p in draw.sample(problems, CANDIDATES) if p != query]
        for query in queries
    }
    by_id = {problem.problem_id: problem for problem in problems}
    found: list[tuple[str, Meter]] = []
    verdicts: list[int | Any] = []
    profile = {
        "techniques": [{"name": "n" * 30, "role": "decisive", "why": "w" * 60}] * 3,
        "objects": ["o" * 20] * 3,
        "keySteps": ["s" * 70] * 4,
    }

    def answer(request: ChatRequest, number: int) -> str:
        if request.prompt == "technique_profile":  # a simulated profile, of typical length
            return json.dumps(profile)
        if request.prompt == "ordinal_judge":
            return r"\boxed{50}"
        return rf"\boxed{{{verdicts[number % len(verdicts)]}}}"

    for make in (
        lambda chat: LlmAnnotator(chat, *prompts("topic_scores", "summary", "pairwise_judge")),
        lambda chat: OrdinalJudge(Asker(chat), *prompts("ordinal_judge")),
        lambda chat: ProfiledJudge(Asker(chat), *prompts("technique_profile", "profiled_judge")),
    ):
        chat = Measuring(answer)
        judge = make(chat)

        def compare(pairings: list[Pairing], judge: Any = judge) -> Sequence[Outcome]:
            pairs = [
                Comparison(by_id[p.query_id], by_id[p.first_id], by_id[p.second_id])
                for p in pairings
            ]
            verdicts[:] = lexical.compare(pairs)
            judge.compare(pairs)
            return verdicts

        run_tournaments(pools, compare, rounds=ROUNDS, seed=1, judge_name="measured")
        found += list(chat.meters.items())
    return found


def main() -> None:
    """Print one line a prompt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("ontology", type=Path)
    parser.add_argument("--problems", type=int, default=400)
    options = parser.parse_args()
    with options.corpus.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    problems = [
        Problem(f"{number}", row["problem"], row["solution"])
        for number, row in enumerate(rows)
        if row.get("solution")
    ][: options.problems]
    tree = unfold(read_ontology(options.ontology))
    lexical = LexicalAnnotator(tree)
    walker = Walker(lexical)
    sets, _ = walk_topics(problems, tree, walker)
    summarising = Measuring(lambda request, number: "{}")
    LlmAnnotator(
        summarising, *prompts("topic_scores", "summary", "pairwise_judge"), re_asks=0
    ).summarise(problems)
    print(f"{len(problems)} problems, {sets['calls'].sum() / len(problems):.1f} topic calls each")
    print(f"{'prompt':18} {'calls':>6} {'chars a call':>12} " + " ".join(
        f"{'last ' + str(kept):>10}" for kept in KEPT
    ))  # fmt: skip
    meters = [*walker.chat.meters.items(), *summarising.meters.items(), *judged(problems, lexical)]
    for name, meter in meters:
        shares = " ".join(f"{meter.shared[kept] / meter.total:10.1%}" for kept in KEPT)
        print(f"{name:18} {meter.calls:6d} {meter.total / meter.calls:12.0f} {shares}")


if __name__ == "__main__":
    main()
