"""A chat model that only looks answers up, and counts what a build would have to ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from saber_assets.annotation.annotator import Comparison, Failure, Problem, Summary, TopicTask
from saber_resources.chat_request import Request
from saber_resources.profiles import Llm
from saber_resources.response_store import Response, ResponseStore, request_key

NOT_ASKED = "not in the response store yet"
"""The reason of the Failure of an item that a build would have to ask for."""

OnMissing = Callable[[bytes, Request], None]
"""Is told key and content of each request that has no answer, once."""


@dataclass
class Calls:
    """What was looked up for one prompt.

    Attributes:
        cached: requests with an answer in the store.
        missing: requests without, each counted once.
        characters: of the missing requests' messages.
        known_characters: of cached requests that were answered by one call.
        known_tokens: prompt tokens of the same.
    """

    cached: int = 0
    missing: int = 0
    characters: int = 0
    known_characters: int = 0
    known_tokens: int = 0

    def add(self, other: Calls) -> None:
        """Add another count to this one."""
        self.cached += other.cached
        self.missing += other.missing
        self.characters += other.characters
        self.known_characters += other.known_characters
        self.known_tokens += other.known_tokens


@dataclass(frozen=True)
class Found:
    """A reply out of the store, or none; what `complete` of a gateway returns."""

    text: str | None
    error: str | None
    key: bytes
    logprobs: Any = None
    finish_reason: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    stored: bool = True
    noted: bool = True


@dataclass
class LookupModel:
    """Answers from the response store alone; a request without an answer fails as NOT_ASKED.

    Attributes:
        model: name of the model.
        store: None where there is none yet.
        json_schema: whether a request's schema is sent along; a part of the key.
        on_missing: see OnMissing.
        calls: what was looked up, by the prompt's name.
    """

    model: str
    store: ResponseStore | None
    json_schema: bool = True
    on_missing: OnMissing | None = None
    calls: dict[str, Calls] = field(default_factory=dict)
    _seen: set[bytes] = field(default_factory=set)

    @property
    def missing(self) -> int:
        """How many requests have no answer."""
        return sum(calls.missing for calls in self.calls.values())

    def complete(self, requests: Sequence[Request]) -> list[Found]:
        """Return the stored reply of each request, in order."""
        keys = [self.key(request) for request in requests]
        answers = {} if self.store is None else self.store.get(keys)
        found = []
        for key, request in zip(keys, requests, strict=True):
            response = answers.get(key)
            if key not in self._seen:
                self._seen.add(key)
                self._count(key, request, response)
            found.append(_reply(key, response))
        return found

    def note(self, outcomes: Iterable[tuple[bytes, str | None, str | None]]) -> None:
        """Keep nothing: what was read out of stored replies is for a build to note."""

    def schema(self, request: Request) -> Mapping[str, Any] | None:
        """Return the schema that is sent along."""
        return request.schema if self.json_schema else None

    def key(self, request: Request) -> bytes:
        """Return what the store finds the answer to a request by."""
        return request_key(
            self.model,
            request.messages,
            self.schema(request),
            request.sampling,
            request.attempt,
        )

    def _count(self, key: bytes, request: Request, response: Response | None) -> None:
        calls = self.calls.setdefault(str(getattr(request, "prompt", "")), Calls())
        characters = sum(len(message["content"]) for message in request.messages)
        if response is None:
            calls.missing += 1
            calls.characters += characters
            if self.on_missing is not None:
                self.on_missing(key, request)
            return
        calls.cached += 1
        if response.attempts == 1 and response.tokens_in > 0:
            calls.known_characters += characters
            calls.known_tokens += response.tokens_in


def _reply(key: bytes, response: Response | None) -> Found:
    if response is None:
        return Found(None, NOT_ASKED, key)
    logprobs = None if response.logprobs is None else orjson.loads(response.logprobs)
    return Found(response.text, None, key, logprobs, response.finish_reason)


@dataclass
class KnownAnnotator:
    """Annotates and judges as far as answers are known.

    Which pairs meet in a round depends on all verdicts before it. So once a query lacks a verdict,
    its later rounds are only counted: what they would ask isn't known yet.

    Attributes:
        inner: asks the LookupModel.
        compared: pairings that were not in the verdict journal.
        lacking: of these, pairings that lack a verdict and whose turn it is.
        later: of these, pairings of rounds after the first one that lacks a verdict.
        topic_calls: scoring calls of each problem's walk, up to the first that lacks an answer.
    """

    inner: Any
    compared: int = 0
    lacking: int = 0
    later: int = 0
    topic_calls: dict[str, int] = field(default_factory=dict)
    unfinished: set[str] = field(default_factory=set)
    """Problems whose walk lacks an answer."""
    _open_round: dict[str, set[str]] = field(default_factory=dict)
    """For each query that lacks a verdict: the candidates of that round met so far."""
    _beyond: set[str] = field(default_factory=set)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def score_topics(self, tasks: Sequence[TopicTask]) -> list[tuple[float, ...] | Failure]:
        """Return the known scores."""
        results: list[tuple[float, ...] | Failure] = self.inner.score_topics(tasks)
        for task, result in zip(tasks, results, strict=True):
            name = task.problem.problem_id
            self.topic_calls[name] = self.topic_calls.get(name, 0) + 1
            if _not_asked(result):
                self.unfinished.add(name)
        return results

    def summarise(self, problems: Sequence[Problem]) -> list[Summary | Failure]:
        """Return the known summaries."""
        results: list[Summary | Failure] = self.inner.summarise(problems)
        return results

    def compare(self, comparisons: Sequence[Comparison]) -> list[int | Failure]:
        """Return the known verdicts."""
        results: list[int | Failure] = [Failure(NOT_ASKED)] * len(comparisons)
        self._note_rounds(comparisons)
        places = [
            place
            for place, pair in enumerate(comparisons)
            if pair.query.problem_id not in self._beyond
        ]
        self.compared += len(comparisons)
        self.later += len(comparisons) - len(places)
        asked = [comparisons[place] for place in places]
        verdicts = self.inner.compare(asked) if asked else []
        for place, pair, verdict in zip(places, asked, verdicts, strict=True):
            results[place] = verdict
            if _not_asked(verdict):
                self.lacking += 1
                self._open_round.setdefault(pair.query.problem_id, set())
        for pair in asked:
            met = self._open_round.get(pair.query.problem_id)
            if met is not None:
                met |= {pair.first.problem_id, pair.second.problem_id}
        return results

    def _note_rounds(self, comparisons: Sequence[Comparison]) -> None:
        """Notice where a later round begins: a candidate plays once a round."""
        for pair in comparisons:
            met = self._open_round.get(pair.query.problem_id, ())
            if pair.first.problem_id in met or pair.second.problem_id in met:
                self._beyond.add(pair.query.problem_id)


def _not_asked(result: object) -> bool:
    return isinstance(result, Failure) and NOT_ASKED in result.reason


@contextmanager
def open_lookup(llm: Llm, path: Path, on_missing: OnMissing | None = None) -> Iterator[LookupModel]:
    """Yield a model over a store, which isn't made where it is absent.

    Args:
        llm: the profile's section.
        path: of the response store.
        on_missing: see OnMissing.
    """
    if not path.is_file():
        yield LookupModel(llm.model, None, llm.json_schema, on_missing)
        return
    with ResponseStore(path) as store:
        yield LookupModel(llm.model, store, llm.json_schema, on_missing)
