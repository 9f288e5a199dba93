"""What a judgment costs with the plain judge and with the profiled one, on the same pairs.

    python benchmarks/judge_tokens.py problems.jsonl [--pairs 500] [--profile-characters 700]

Each line of the corpus has `problem` and `solution`. Both prompts are rendered for the same random
pairs, exactly as the judges do. Characters are counted; about CHARACTERS of them are a token in
mathematical text. The profiles are SIMULATED: lines of the stated mean length stand in their place,
and so do the stated lengths of the replies, since only a real model can tell them. With
--profiles FILE (JSON lines with `statement` and `profile`, the reply to technique_profile) real
ones are used where there is one.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from statistics import mean

from saber_assets.annotation.annotator import Problem
from saber_assets.annotation.replies.judging import read_profile
from saber_assets.tournament.judges.profiled import ProfiledProblem, profile_text
from saber_resources.prompts import load_prompt

CHARACTERS = 3.2
"""Characters a token of mathematical text; a round figure for tokenizers of current models."""
JUDGMENTS = 1500
CANDIDATES = 150
WORDS = ("bounding", "induction", "residues", "descent", "invariant", "substitution", "colouring")


def simulated(characters: int, draw: random.Random) -> str:
    """Return lines of about the stated length in the place of a profile."""
    length = max(120, round(draw.gauss(characters, characters / 4)))
    text = "- decisive: "
    while len(text) < length:
        text += f"{draw.choice(WORDS)} "
    return text[:length].strip()


def read_profiles(path: Path | None) -> dict[str, str]:
    """Return real profiles, as the judge shows them, by statement."""
    if path is None:
        return {}
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return {row["statement"]: profile_text(read_profile(row["profile"])) for row in rows}


def characters(messages: list[dict[str, str]]) -> int:
    """Return the length of a rendered prompt."""
    return sum(len(message["content"]) for message in messages)


def main() -> None:
    """Print characters and tokens a judgment."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--profile-characters", type=int, default=700)
    parser.add_argument("--profiles", type=Path)
    parser.add_argument("--plain-reply", type=int, default=1200, help="tokens")
    parser.add_argument("--profiled-reply", type=int, default=300, help="tokens")
    options = parser.parse_args()
    with options.corpus.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    problems = [
        Problem(str(number), row["problem"], row["solution"])
        for number, row in enumerate(rows)
        if row.get("solution")
    ]
    draw = random.Random(1)
    real = read_profiles(options.profiles)
    profiles = {
        p.problem_id: real.get(p.statement) or simulated(options.profile_characters, draw)
        for p in problems
    }
    plain_prompt, profiled_prompt = load_prompt("pairwise_judge"), load_prompt("profiled_judge")
    profile_prompt = load_prompt("technique_profile")
    plain, profiled, used, extraction = [], [], 0, []
    for _ in range(options.pairs):
        three = draw.sample(problems, 3)
        names = ("query", "first", "second")
        plain.append(characters(plain_prompt.render(**dict(zip(names, three, strict=True)))))
        shown = [ProfiledProblem(p.statement, profiles[p.problem_id]) for p in three]
        profiled.append(characters(profiled_prompt.render(**dict(zip(names, shown, strict=True)))))
        used += sum(p.statement in real for p in three)
        extraction += [
            characters(profile_prompt.render(statement=p.statement, solution=p.solution))
            for p in three
        ]
    kind = (
        "SIMULATED profiles"
        if not used
        else f"{used} of {3 * options.pairs} profiles real, the others SIMULATED"
    )
    length = mean(len(text) for text in profiles.values())
    print(
        f"{options.pairs} pairs of {len(problems)} problems; {kind}, mean {length:.0f} characters"
    )
    print(
        f"replies, as stated: plain {options.plain_reply}, profiled {options.profiled_reply} tokens"
    )
    token = lambda count: count / CHARACTERS  # noqa: E731
    shared = JUDGMENTS / (CANDIDATES + 1)
    each = (token(mean(extraction)) + token(length)) / shared
    rows_out = [
        ("plain", mean(plain), options.plain_reply, 0.0),
        ("profiled", mean(profiled), options.profiled_reply, each),
    ]
    print(
        f"{'judge':10} {'prompt, chars':>14} {'prompt':>8} {'reply':>7} {'profiles':>9} {'all':>7}"
    )
    for name, chars, reply, extra in rows_out:
        tokens = token(chars)
        print(
            f"{name:10} {chars:14.0f} {tokens:8.0f} {reply:7d} {extra:9.0f} "
            f"{tokens + reply + extra:7.0f}"
        )
    print(
        f"(tokens a judgment; profiles: prompt and reply of the extraction of {CANDIDATES + 1} "
        f"problems, shared by the {JUDGMENTS} judgments of a query)"
    )


if __name__ == "__main__":
    main()
