"""Language models behind an endpoint, as retrievers ask them: one text, one or several answers."""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar

from saber_assets.asking import Asker, ChatModel, ChatReply, Failure, Repeat
from saber_assets.errors import TextError

REVISION = 2
RE_ASKS = 2
"""How often a reply that can't be used is asked for again."""
QUERIES_IN_FLIGHT = 8
"""Queries that are scored at the same time: the last answers of one leave no server idle."""
CHARACTERS_PER_TOKEN = 2.0
"""For a first cut: prose has more, formulas may have one. What then is too long, is cut further."""
MARGIN = 128
"""Tokens of a window that are left for what a chat template adds."""
AS_IT_IS = "{% for message in messages %}{{ message['content'] }}{% endfor %}"
"""A chat template that adds nothing."""
LONGEST = 1 << 20
"""Characters: the first of the lengths to which texts are cut."""
_LABEL_BYTES = 6
_TOO_LONG = re.compile(
    r"status 413\b|status (?:400|422)\b.*(?:context|too long|reduce the length|max_model_len"
    r"|maximum \w+ length|inputs?\W* tokens?|must be at least 1, got)",
    re.IGNORECASE | re.DOTALL,
)
"""How endpoints refuse a text for its length: vLLM, SGLang, TGI, llama.cpp, hosted ones."""

T = TypeVar("T")


class UnansweredError(TextError):
    """A model gave no usable answer; the message says to what, and why."""


class SharedChat:
    """A model that is open while somebody asks it: the first one opens it, the last one closes it.

    Args:
        opened: opens the model.
    """

    def __init__(self, opened: Callable[[], AbstractContextManager[ChatModel]]) -> None:
        self._opened = opened
        self._lock = threading.Lock()
        self._asking = 0
        self._chat: ChatModel | None = None
        self._close = ExitStack()

    @contextmanager
    def use(self) -> Iterator[ChatModel]:
        """Yield the model; any number of threads may."""
        with self._lock:
            chat = self._chat or self._close.enter_context(self._opened())
            self._chat = chat
            self._asking += 1
        try:
            yield chat
        finally:
            with self._lock:
                self._asking -= 1
                if not self._asking:
                    self._chat = None
                    self._close.close()


@dataclass(frozen=True, kw_only=True)
class Wording:
    """How a model is asked; what `Asker` takes for a prompt.

    Attributes:
        name: of the system, noted with the answers.
        fingerprint: what changes whenever answers may, noted likewise.
        system_prompt: said before the text, or None.
        raw: whether the server is told to add nothing to the text.
        settings: temperature, max_tokens and the like.
        samples: answers to each text.
    """

    name: str
    fingerprint: str
    system_prompt: str | None = None
    raw: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    samples: int = 1

    @property
    def schema(self) -> None:
        """None: a model answers in the form that it was trained for."""
        return

    @property
    def sampling(self) -> Mapping[str, Any]:
        """What is sent besides the messages.

        vLLM refuses a template in a request unless it was started with
        `--trust-request-chat-template`, so that a text is never wrapped unnoticed.
        """
        if not self.raw:
            return self.settings
        return {**self.settings, "chat_template": AS_IT_IS, "add_generation_prompt": False}

    @property
    def random(self) -> bool:
        """Whether answers depend on a seed."""
        return self.settings.get("temperature") != 0

    def render(self, **values: Any) -> list[dict[str, str]]:
        """Return the messages for `text`."""
        asked = {"role": "user", "content": str(values["text"])}
        if self.system_prompt is None:
            return [asked]
        return [{"role": "system", "content": self.system_prompt}, asked]


@dataclass(frozen=True)
class Question(Generic[T]):
    """A text for a model.

    Attributes:
        text: what it is asked.
        label: what it is about, noted with the answers.
        read: reads a reply, or raises ReplyError.
        within: the same question in at most so many characters, or in as few as it can have.
    """

    text: str
    label: str
    read: Callable[[ChatReply], T]
    within: Callable[[int], Question[T]]

    def shorter(self) -> Question[T] | None:
        """Return it cut to the next of `lengths`; None where it has nothing more to lose."""
        room = next((length for length in lengths() if length < len(self.text)), 0)
        cut = self.within(room)
        return cut if len(cut.text) < len(self.text) else None


class ServedModel:
    """Asks a model behind an endpoint; answers are kept, so that none is paid for twice.

    Args:
        chat: the model.
        wording: how it is asked.
        repeat: how it is asked again; None: it is shown its reply and what is wrong with it.

    Attributes:
        in_flight: answers that are waited for at the same time: with each that arrives, the next is
            asked for. None: as many as the model takes. It may take fewer, see `llm.concurrency`.
    """

    def __init__(self, chat: SharedChat, wording: Wording, repeat: Repeat | None = None) -> None:
        self.in_flight: int | None = None
        self.wording = wording
        self._chat = chat
        self._repeat = repeat
        self._first = 0

    def ask(self, questions: Sequence[Question[T]]) -> list[list[T] | Failure]:
        """Return the answers to each question, in order: as many as samples, or why not."""
        count = self.wording.samples
        items = [(question, number) for question in questions for number in range(count)]
        with self._chat.use() as chat:
            answers = self._fitting(Asker(chat, RE_ASKS), items)
        return [_together(answers[at : at + count]) for at in range(0, len(answers), count)]

    def forget(self) -> None:
        """Ask anew from now on, whatever is kept: for whoever measures how long answers take."""
        self._first = secrets.randbits(40)

    def kept_open(self) -> AbstractContextManager[ChatModel]:
        """Return a context in which the model is open, whether or not somebody asks it."""
        return self._chat.use()

    def _fitting(self, asker: Asker, items: Sequence[tuple[Question[T], int]]) -> list[T | Failure]:
        """Return the answers; a question that the server finds too long is cut and asked again."""
        answers = self._answers(asker, items)
        cut = {}
        for place, ((question, number), answer) in enumerate(zip(items, answers, strict=True)):
            if isinstance(answer, Failure) and _TOO_LONG.search(answer.reason):
                shorter = question.shorter()
                if shorter is not None:
                    cut[place] = (shorter, number)
        if cut:
            again = self._fitting(asker, list(cut.values()))
            for place, answer in zip(cut, again, strict=True):
                answers[place] = answer
        return answers

    def _answers(self, asker: Asker, items: Sequence[tuple[Question[T], int]]) -> list[T | Failure]:
        if self.in_flight is None or not items:
            return self._ask(asker, items)
        executor = ThreadPoolExecutor(self.in_flight)
        try:
            return list(executor.map(lambda item: self._ask(asker, [item])[0], items))
        finally:
            executor.shutdown(cancel_futures=True)

    def _ask(self, asker: Asker, items: Sequence[tuple[Question[T], int]]) -> list[T | Failure]:
        return asker.ask_replies(
            items,
            self.wording,
            lambda item: {"text": item[0].text},
            lambda item: item[0].read,
            lambda item: item[0].label,
            sample=lambda item: self._first + item[1],
            sampling_of=lambda item: {"seed": item[1]} if self.wording.random else {},
            repeat=self._repeat,
        )


class AskingRetriever:
    """What retrievers that ask a model have in common.

    Args:
        model: is asked.
        behind: a retriever that is told the same, where there is one.

    Attributes:
        queries_in_flight: queries that are best scored at the same time.
    """

    queries_in_flight = QUERIES_IN_FLIGHT

    def __init__(self, model: ServedModel, behind: object = None) -> None:
        self._model = model
        self._behind = behind

    @property
    def in_flight(self) -> int | None:
        """See `ServedModel`; for a retriever behind, what it takes that for."""
        return self._model.in_flight

    @in_flight.setter
    def in_flight(self, count: int | None) -> None:
        self._model.in_flight = count
        if hasattr(self._behind, "in_flight"):
            self._behind.in_flight = count

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Keep what is asked open as long as the context lasts, that of a retriever behind too."""
        with ExitStack() as stack:
            stack.enter_context(self._model.kept_open())
            behind = getattr(self._behind, "kept_open", None)
            if callable(behind):
                stack.enter_context(behind())
            yield

    def forget(self) -> None:
        """Ask anew from now on, and let a retriever behind forget."""
        self._model.forget()
        forget = getattr(self._behind, "forget", None)
        if callable(forget):
            forget()


def _together(answers: Sequence[T | Failure]) -> list[T] | Failure:
    """Return all answers, or the first reason why one is lacking."""
    given: list[T] = []
    for answer in answers:
        if isinstance(answer, Failure):
            return answer
        given.append(answer)
    return given


def filled(template: str, **values: str) -> str:
    """Return a template with its slots filled; braces inside the values are left alone."""
    slots = "|".join(map(re.escape, values))
    return re.sub(rf"\{{({slots})\}}", lambda found: values[found[1]], template)


def label_of(*texts: str) -> str:
    """Return a short name of some texts, for the record: hashes, joined by "|"."""
    digests = (hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=_LABEL_BYTES)
               for text in texts)  # fmt: skip
    return "|".join(digest.hexdigest() for digest in digests)


@cache
def lengths() -> tuple[int, ...]:
    """Return the lengths to which texts are cut, each 4/5 of the one before, down to 0.

    They are the same for all texts, so that documents of a query are cut alike.
    """
    found = [LONGEST]
    while found[-1]:
        found.append(found[-1] * 4 // 5)
    return tuple(found)


def characters_for(window: int | None, answer: object) -> int | None:
    """Return how many characters a text may have at first, or None where nobody knows the window.

    Args:
        window: tokens, those of the answer included.
        answer: tokens of the answer at most, where that is a number.
    """
    if window is None:
        return None
    taken = answer if isinstance(answer, int) else 0
    return max(0, int((window - taken - MARGIN) * CHARACTERS_PER_TOKEN))
