r"""The confidence judge: the probability of the verdict's token (SPEC, "Other judges").

The last `\boxed{...}` is found in the reply's tokens, and in it the token that holds the digit.
What counts is that token against the same one with the other digit, renormalised over these two:
then it does not matter whether a server's values were taken before or after a grammar. Values at
or below -1000 stand for "forbidden by the grammar" and are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from saber_assets.annotation.annotator import Comparison, Failure, Verdict
from saber_assets.annotation.replies.judging import read_verdict, verdict_box
from saber_assets.asking import Asker, ChatReply, PromptTemplate
from saber_assets.errors import InputError
from saber_assets.json_reply import ReplyError
from saber_assets.tournament.judges.judge import pair_values

SAMPLING = {"logprobs": True, "top_logprobs": 5}
MASKED = -1000.0
"""A log-probability that no model gives: the mark of a grammar (-9999 in vLLM)."""
NO_LOGPROBS = Failure("the reply has a verdict, but its digit comes without log-probabilities")


class _Place(NamedTuple):
    token: int
    offset: int


class ConfidenceJudge:
    """The pairwise judge with the probability of its verdict.

    Args:
        asker: asks the model.
        prompt: `pairwise_judge`.
    """

    def __init__(self, asker: Asker, prompt: PromptTemplate) -> None:
        self.name = f"{asker.model} (confidence)"
        self._asker = asker
        self._prompt = prompt

    def compare(self, comparisons: Sequence[Comparison]) -> list[Verdict | Failure]:
        """Return the verdicts with their confidence.

        Raises:
            InputError: when replies come, and not one of them has log-probabilities: the server
                gives none, and no further call would help.
        """
        seen = _Seen()

        def read(reply: ChatReply) -> Verdict | Failure:
            seen.replies += 1
            seen.with_logprobs += bool(reply.logprobs)
            return sure_verdict(reply.text or "", reply.logprobs)

        answers = self._asker.ask_replies(
            comparisons,
            self._prompt,
            pair_values,
            lambda pair: read,
            lambda pair: pair.label,
            sampling=SAMPLING,
        )
        if seen.replies and not seen.with_logprobs:
            raise InputError(
                f"the server of the model '{self._asker.model}' gives no log-probabilities, which "
                "the confidence judge needs",
                "use another judge, such as --set judging.judge=pairwise, or a server with "
                "logprobs (vLLM and llama.cpp have them)",
            )
        return answers


class _Seen:
    replies = 0
    with_logprobs = 0


def sure_verdict(reply: str, tokens: Sequence[Mapping[str, Any]] | None) -> Verdict | Failure:
    r"""Return the verdict of a reply with the probability of its digit.

    Args:
        reply: the text.
        tokens: with `token`, `logprob` and `top`, see `ChatReply.logprobs`.

    Returns:
        A Verdict, the confidence of which is P(digit) / (P(digit) + P(other digit)), and at least
        0.5: a digit that was sampled though it was the less likely one keeps its side. Where the
        other digit is not among the likeliest tokens, its probability is taken to be that of the
        least likely one listed, or what they all leave over, whichever is less: the confidence is
        then a lower bound. A Failure where the digit has no usable log-probability.

    Raises:
        ReplyError: when the reply has no verdict.
    """
    winner = read_verdict(reply)
    place = _digit_place(tokens or [], winner)
    if tokens is None or place is None:
        return NO_LOGPROBS
    entry = tokens[place.token]
    text = str(entry["token"])
    other = text[: place.offset] + str(3 - winner) + text[place.offset + 1 :]
    listed = {str(name): float(value) for name, value in (entry.get("top") or {}).items()}
    own = entry.get("logprob")
    if own is not None:
        listed.setdefault(text, float(own))
    usable = {name: value for name, value in listed.items() if MASKED < value <= 1e-6}
    if text not in usable or (other in listed and other not in usable):
        return NO_LOGPROBS
    if len(usable) < 2:
        return NO_LOGPROBS
    rival = usable[other] if other in usable else _unlisted(usable)
    return Verdict(winner, max(0.5, 1.0 / (1.0 + math.exp(min(700.0, rival - usable[text])))))


def _unlisted(usable: Mapping[str, float]) -> float:
    """Return the highest log-probability that a token outside the list can have."""
    left = 1.0 - sum(math.exp(value) for value in usable.values())
    return min(*usable.values(), math.log(left) if left > 0 else -math.inf)


def _digit_place(tokens: Sequence[Mapping[str, Any]], winner: int) -> _Place | None:
    """Return where the verdict's digit is, None where the tokens hold another verdict or none."""
    texts = [str(token.get("token", "")) for token in tokens]
    try:
        box = verdict_box("".join(texts))
    except ReplyError:
        return None
    if int(box[1]) != winner:
        return None
    position = box.start(1)
    for number, text in enumerate(texts):
        if position < len(text):
            return _Place(number, position)
        position -= len(text)
    return None
