"""The judges against a scripted model: what is asked, how often, and what comes of it."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

import pytest

from saber_assets.annotation.annotator import Comparison, Failure, Problem, Verdict
from saber_assets.asking import Asker
from saber_assets.errors import InputError
from saber_assets.json_reply import ReplyError
from saber_assets.tournament.judges.confidence import ConfidenceJudge, sure_verdict
from saber_assets.tournament.judges.majority import MajorityJudge, count
from saber_assets.tournament.judges.ordinal import OrdinalJudge
from saber_assets.tournament.judges.profiled import ProfiledJudge
from saber_resources.prompts import load_prompt
from saber_resources.response_record import request_key

PROBLEMS = {name: Problem(name, f"Statement {name}.", f"Solution {name}.") for name in "qabcd"}
PAIRS = [
    Comparison(PROBLEMS["q"], PROBLEMS[first], PROBLEMS[second])
    for first, second in ("ab", "cd", "ac", "bd")
]


@dataclass(frozen=True)
class Said:
    text: str | None
    error: str | None = None
    logprobs: Any = None


class Model:
    """Answers with a function of the request, and counts what was asked."""

    model = "m"

    def __init__(self, answer):
        self.answer, self.requests = answer, []

    def complete(self, requests):
        self.requests += requests
        replies = [self.answer(request) for request in requests]
        return [Said(reply) if isinstance(reply, str) else reply for reply in replies]


def text_of(request) -> str:
    return request.messages[1]["content"]


def asker(answer, re_asks=1):
    model = Model(answer)
    return model, Asker(model, re_asks)


# --- majority -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        ([1, 1, 1, 1, 1], 1),
        ([1, 1, 1, 1, 2], 1),
        ([2, 1, 2, 2, 2], 2),
        ([1, 1, 1, 2, 2], 0),
        ([2, 2, 2, 1, 1], 0),
        ([1, 1, 1, 2, Failure("x")], 1),
        ([1, 1, 2, 2, Failure("x")], 0),
        ([1, 1, 1, Failure("x"), Failure("x")], 1),
    ],
)
def test_a_margin_of_one_or_less_is_a_tie(votes, outcome):
    assert count(votes) == outcome


def test_too_few_votes_are_a_failure_with_the_reason():
    failed = count([1, 1, Failure("full"), Failure("late"), Failure("late")])
    assert isinstance(failed, Failure)
    assert "3 of 5" in failed.reason and "full" in failed.reason


def test_votes_are_samples_of_the_pairwise_prompt():
    model, ask = asker(lambda request: rf"\boxed{{{1 + (request.attempt % 10) // 6}}}")
    judge = MajorityJudge(ask, load_prompt("pairwise_judge"), votes=5, temperature=0.8)
    assert judge.name == "m (majority of 5)"
    # samples 0 to 4 have the attempts 0, 2, 4, 6, 8: three votes for 1, two for 2
    assert judge.compare(PAIRS[:2]) == [0, 0]
    assert [request.attempt for request in model.requests] == [0, 2, 4, 6, 8] * 2
    assert {request.sampling["temperature"] for request in model.requests} == {0.8}
    assert len({text_of(request) for request in model.requests[:5]}) == 1
    assert len({key_of(request) for request in model.requests}) == 10


def key_of(request) -> bytes:
    return request_key("m", request.messages, request.schema, request.sampling, request.attempt)


def test_re_asks_of_samples_have_keys_of_their_own():
    model, ask = asker(lambda request: "no verdict", re_asks=2)
    [outcome] = MajorityJudge(ask, load_prompt("pairwise_judge"), votes=3).compare(PAIRS[:1])
    assert isinstance(outcome, Failure)
    assert len({key_of(request) for request in model.requests}) == len(model.requests) == 9


def test_a_reply_that_was_cut_off_is_no_verdict():
    @dataclass(frozen=True)
    class Cut(Said):
        finish_reason: str = "length"

    model, ask = asker(
        lambda request: r"\boxed{2}" if request.attempt else Cut(r"\boxed{1} looks close, but")
    )
    judge = ProfiledJudge(ask, load_prompt("technique_profile"), load_prompt("profiled_judge"))
    judge._profiles = dict.fromkeys(PROBLEMS, "profile")
    assert judge.compare(PAIRS[:1]) == [2]
    assert "cut off" in model.requests[-1].messages[-1]["content"]


def test_majority_refuses_votes_that_can_only_be_the_same():
    for options in ({"votes": 1}, {"temperature": 0.0}):
        with pytest.raises(ValueError, match="votes"):
            MajorityJudge(asker(None)[1], load_prompt("pairwise_judge"), **options)


# --- ordinal ----------------------------------------------------------------------------------

SCORES = {"a": 70, "b": 40, "c": 70, "d": 100}


def score(request):
    name = re.search(r"Candidate problem:\nStatement (\w)", text_of(request))[1]
    return rf"Profile \boxed{{3}}. Final score: \boxed{{{SCORES[name]}}}"


def test_ordinal_scores_each_candidate_once():
    model, ask = asker(score)
    judge = OrdinalJudge(ask, load_prompt("ordinal_judge"))
    assert judge.compare(PAIRS) == [1, 2, 0, 2]
    assert len(model.requests) == 4
    assert [request.item for request in model.requests] == ["q|a", "q|b", "q|c", "q|d"]
    assert judge.compare(PAIRS[::-1]) == [2, 0, 2, 1]
    assert len(model.requests) == 4, "scores are kept"
    other = Comparison(PROBLEMS["d"], PROBLEMS["a"], PROBLEMS["b"])
    assert judge.compare([other]) == [1]
    assert len(model.requests) == 6, "another query, another score"


def test_a_candidate_without_score_fails_its_pairs_alone():
    model, ask = asker(
        lambda request: Said(None, "gone") if "Statement b" in text_of(request) else score(request)
    )
    outcomes = OrdinalJudge(ask, load_prompt("ordinal_judge")).compare(PAIRS)
    assert outcomes[1:3] == [2, 0]
    assert outcomes[0] == outcomes[3] == Failure("candidate b has no score: gone")


# --- profiled ---------------------------------------------------------------------------------

PROFILE = json.dumps(
    {
        "techniques": [{"name": "Vieta jumping", "role": "decisive", "why": "descends"}],
        "objects": ["roots"],
        "keySteps": ["fix the sum", "jump"],
    }
)


def profile_or_verdict(request):
    if request.prompt == "technique_profile":
        return PROFILE if "Statement c" not in text_of(request) else "no JSON"
    return r"\boxed{2}"


def test_profiles_are_made_once_and_shown_instead_of_solutions():
    model, ask = asker(profile_or_verdict)
    judge = ProfiledJudge(ask, load_prompt("technique_profile"), load_prompt("profiled_judge"))
    assert judge.compare([PAIRS[0], PAIRS[3]]) == [2, 2]
    made = [r.item for r in model.requests if r.prompt == "technique_profile"]
    assert made == ["q", "a", "b", "d"]
    shown = text_of(model.requests[-1])
    assert "Statement q" in shown and "Vieta jumping (descends)" in shown
    assert "Solution" not in shown, "no solution is shown"
    assert "(1) fix the sum (2) jump" in shown and "objects: roots" in shown
    outcomes = judge.compare(PAIRS)
    assert outcomes[0] == outcomes[3] == 2
    assert all("problem c has no profile" in outcome.reason for outcome in outcomes[1:3])
    again = [r.item for r in model.requests if r.prompt == "technique_profile"]
    assert again == [*made, "c", "c"], "one re-ask, and no profile twice"


# --- confidence -------------------------------------------------------------------------------


def tokens(*texts, digit="1", own=-0.1, other=-3.0, rest=None):
    """Tokens of a reply; the last one that is `digit` gets the alternatives."""
    entries = [{"token": text, "logprob": -0.01, "top": {text: -0.01}} for text in texts]
    place = max(number for number, text in enumerate(texts) if text == digit)
    swapped = digit.replace("1", "#").replace("2", "1").replace("#", "2")
    top = {digit: own} | ({} if other is None else {swapped: other}) | (rest or {})
    entries[place] = {"token": digit, "logprob": own, "top": top}
    return entries


def said(entries) -> str:
    return "".join(entry["token"] for entry in entries)


def test_confidence_is_renormalised_over_the_two_digits():
    entries = tokens("so ", "\\boxed", "{", "1", "}", own=math.log(0.6), other=math.log(0.2))
    verdict = sure_verdict(said(entries), entries)
    assert verdict.winner == 1
    assert verdict.confidence == pytest.approx(0.75)


def test_the_last_box_counts_and_digits_in_longer_tokens_are_found():
    entries = tokens("\\boxed{1}", " no: ", "\\boxed", "{2", "}.", digit="{2", own=-0.2, other=-1.7)
    verdict = sure_verdict(said(entries), entries)
    assert verdict == Verdict(2, pytest.approx(1 / (1 + math.exp(-1.5))))


def test_an_unlisted_rival_gives_a_lower_bound():
    entries = tokens(
        "\\boxed{", "1", "}", own=math.log(0.9), other=None, rest={"{": math.log(0.06)}
    )
    verdict = sure_verdict(said(entries), entries)
    assert verdict.confidence == pytest.approx(0.9 / 0.94)


def test_a_digit_that_was_the_less_likely_one_keeps_its_side():
    entries = tokens("\\boxed{", "1", "}", own=-2.0, other=-0.2)
    assert sure_verdict(said(entries), entries) == Verdict(1, 0.5)


@pytest.mark.parametrize(
    "broken",
    [
        tokens("\\boxed{", "1", "}", own=-9999.0, other=-9999.0),
        tokens("\\boxed{", "1", "}", own=-0.1, other=-9999.0),
        tokens("\\boxed{", "1", "}", own=-0.1, other=None),
        tokens("\\boxed{", "1", "}", own=float("nan")),
        tokens("\\boxed{", "2", "}", digit="2"),
        [{"token": "\\boxed{1}", "logprob": None, "top": {}}],
        [{"token": "cut", "logprob": -1.0, "top": {}}],
        [],
        None,
    ],
)
def test_masked_missing_or_foreign_log_probabilities_are_no_confidence(broken):
    failure = sure_verdict(r"\boxed{1}", broken)
    assert isinstance(failure, Failure) and "log-probabilities" in failure.reason


def test_without_a_verdict_there_is_nothing_to_be_sure_of():
    with pytest.raises(ReplyError):
        sure_verdict("neither", tokens("neither", "1"))


def test_confidence_is_asked_for_and_returned():
    def answer(request):
        entries = tokens("\\boxed{", "2", "}", digit="2", own=-0.1, other=-2.1)
        return Said(said(entries), None, None if "Statement c" in text_of(request) else entries)

    model, ask = asker(answer)
    outcomes = ConfidenceJudge(ask, load_prompt("pairwise_judge")).compare(PAIRS)
    assert outcomes[0] == Verdict(2, pytest.approx(1 / (1 + math.exp(-2))))
    assert isinstance(outcomes[1], Failure) and isinstance(outcomes[2], Failure)
    assert model.requests[0].sampling["logprobs"] is True
    assert model.requests[0].sampling["top_logprobs"] == 5


def test_a_server_without_log_probabilities_is_one_sentence():
    _, ask = asker(lambda request: r"\boxed{1}")
    with pytest.raises(InputError, match=r"'m' gives no log-probabilities"):
        ConfidenceJudge(ask, load_prompt("pairwise_judge")).compare(PAIRS)
    _, ask = asker(lambda request: Said(None, "down"))
    assert ConfidenceJudge(ask, load_prompt("pairwise_judge")).compare(PAIRS[:1]) == [
        Failure("down")
    ]


def test_a_profiled_judgment_shows_less_than_a_plain_one():
    long = {name: Problem(name, f"Statement {name}.", f"Step {name}. " * 150) for name in "qab"}
    pair = Comparison(long["q"], long["a"], long["b"])
    lengths = {}
    for prompt in ("pairwise_judge", "profiled_judge"):
        model, ask = asker(profile_or_verdict)
        if prompt == "pairwise_judge":
            judge = MajorityJudge(ask, load_prompt(prompt), votes=2)
        else:
            judge = ProfiledJudge(ask, load_prompt("technique_profile"), load_prompt(prompt))
        judge.compare([pair])
        asked = [request for request in model.requests if request.prompt == prompt]
        lengths[prompt] = sum(len(message["content"]) for message in asked[0].messages)
    assert lengths["profiled_judge"] < 0.5 * lengths["pairwise_judge"]
