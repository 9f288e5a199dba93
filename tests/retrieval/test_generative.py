"""Systems that generate: what is asked and read, what is asked again, what is never guessed."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.errors import InputError, UnavailableError
from saber_assets.evaluation.latency import time_retriever
from saber_assets.json_reply import ReplyError
from saber_assets.retrieval.bm25 import Bm25
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers import generative_groupwise as groupwise_driver
from saber_assets.retrieval.drivers import generative_pointwise as pointwise_driver
from saber_assets.retrieval.drivers import query_rewriter as rewriter_driver
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.encoding.instruction import instructed
from saber_assets.retrieval.field import system_entry
from saber_assets.retrieval.generative_groupwise import common_length, groups_of, read_group
from saber_assets.retrieval.generative_pointwise import answer_reader, score_reader
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.query_rewriter import RewritingRetriever
from saber_assets.retrieval.remote.served_chat import (
    QUERIES_IN_FLIGHT,
    ServedModel,
    SharedChat,
    UnansweredError,
    Wording,
    characters_for,
    filled,
    lengths,
)
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrieval.systems import load_systems, shipped_systems

URL = "http://127.0.0.1:1/v1"


@dataclass(frozen=True)
class Reply:
    text: str | None
    logprobs: list[dict[str, Any]] | None = None
    finish_reason: str = "stop"
    error: str | None = None


@dataclass
class Chat:
    """A model that is a function; it keeps answers by what was asked, as the gateway does."""

    answer: Callable[[Any], Reply | str]
    model: str = "fake"
    asked: list[Any] = field(default_factory=list)
    open: int = 0
    opened: int = 0
    arguments: tuple[str, ...] = ()
    kept: dict[str, Reply] = field(default_factory=dict)
    lock: Any = field(default_factory=threading.Lock)

    def complete(self, requests):
        assert self.open, "asked while closed"
        return [self._one(request) for request in requests]

    def _one(self, request):
        key = repr((request.messages, dict(request.sampling), request.attempt))
        if key not in self.kept:
            with self.lock:
                self.asked.append(request)
            given = self.answer(request)
            self.kept[key] = given if isinstance(given, Reply) else Reply(given)
        return self.kept[key]

    @contextmanager
    def opener(self, *arguments):
        self.arguments = arguments
        self.open += 1
        self.opened += 1
        try:
            yield self
        finally:
            self.open -= 1


def said(request) -> str:
    return str(request.messages[-1]["content"])


def served(chat: Chat, **wording: Any) -> ServedModel:
    stated = {"name": "s", "fingerprint": "f", "settings": {"temperature": 0}, **wording}
    return ServedModel(SharedChat(chat.opener), Wording(**stated))


def around(chat: Chat, tmp_path, systems=None) -> Surroundings:
    here = Machine(0, lambda name: True, {}, tmp_path / "hub")
    return Surroundings(here, systems or shipped_systems(), tmp_path, chat.opener)


def token(text: str, **top: float) -> dict[str, Any]:
    shares = {key.replace("_", " "): math.log(value) for key, value in top.items()}
    return {"token": text, "logprob": shares.get(text, 0.0), "top": shares}


# --- what is read -----------------------------------------------------------------------------


def test_the_score_is_the_share_of_the_wanted_answer() -> None:
    read = answer_reader(("true", "false"), "{query} {document} <think>")
    tokens = [token("</think>"), token(" true", _true=0.6, _false=0.2, _maybe=0.2)]
    assert read(Reply("It fits.</think> true", tokens)) == pytest.approx(0.75)
    tokens = [token("</think>"), token(" false", _false=0.9)]
    assert read(Reply("It does not.</think> false", tokens)) == 0.0


def test_documents_of_which_a_model_is_sure_are_not_tied() -> None:
    from saber_assets.retrieval.generative_pointwise import GenerativePointwise

    def answer(request):
        other = -15.0 - len(said(request))  # the longer the document, the surer
        return Reply("yes", [{"token": "yes", "logprob": -1e-7, "top": {"no": other}}])

    read = answer_reader(("yes", "no"), "{query}{document}")
    retriever = GenerativePointwise(served(Chat(answer)), "{query}{document}", read)
    scores = retriever.score("q", ["d", "dd", "ddd", "dddd"])
    assert scores.tolist() == sorted(set(scores.tolist()))
    assert scores[0] > 1 - 1e-6


def test_without_log_probabilities_the_stated_answer_counts_and_that_is_told_once(caplog) -> None:
    read = answer_reader(("yes", "no"), "{query} {document}")
    assert read(Reply("The answer is **Yes**.")) == 1.0
    assert read(Reply("yes? No")) == 0.0
    assert [record.message for record in caplog.records] == [
        "the server gives no log-probabilities: scores are 1 or 0"
    ]


def test_a_word_amid_reasoning_is_no_answer() -> None:
    read = answer_reader(("true", "false"), "{query} {document}\n<think>")
    with pytest.raises(ReplyError, match="no end"):
        read(Reply("that is true", [token(" true", _true=1.0)]))
    with pytest.raises(ReplyError, match="neither"):
        read(Reply("that is true</think> I think", [token(" true", _true=1.0)]))
    assert read(Reply(" true", [token(" true", _true=0.5, _false=0.5)])) == 0.5
    with pytest.raises(ReplyError, match="neither"):
        answer_reader(("yes", "no"), "{query}{document}")(Reply("yesterday, nothing"))


def test_an_answer_of_several_tokens_is_not_taken_from_an_earlier_mention() -> None:
    read = answer_reader(("yes", "no"), "{query} {document}")
    tokens = [token("yes", yes=0.9, no=0.1), token(" or"), token(" n"), token("o")]
    assert read(Reply("yes or no", tokens)) == 0.0


def test_the_last_score_in_a_tag_counts() -> None:
    read = score_reader(100)
    assert read(Reply("<score>3</score> ... <score>\n 87 </score>")) == 87.0
    for text in ("87", "<score>87.5</score>", "<score>-1</score>", "<score>101</score>"):
        with pytest.raises(ReplyError):
            read(Reply(text))


def test_a_group_needs_a_score_for_each_document() -> None:
    text = '<reason>{"[1]": 9}</reason><answer>\n```json\n{"[1]": 5, "[2]": 0, "3": 10}\n```\n'
    assert read_group(text, 3, 10) == [5.0, 0.0, 10.0]
    for text, reason in (
        ('{"[1]": 5}', "no score for 2, 3"),
        ('{"[1]": 5, "[2]": 1, "[4]": 1}', "no number from 1 to 3"),
        ('{"[1]": 5, "[2]": 1, "[3]": 11}', "between 0 and 10"),
        ('{"[1]": 5, "[2]": 1, "[3]": "good"}', "no number"),
        ('{"[1]": 5, "[2]": 1, "[2]]": 1, "[3]": 1}', "two scores"),
        ("all are good", "no JSON"),
    ):
        with pytest.raises(ReplyError, match=reason):
            read_group(text, 3, 10)


# --- what is asked ----------------------------------------------------------------------------


def test_rank1_is_asked_without_a_chat_template_and_as_its_card_says(tmp_path) -> None:
    chat = Chat(lambda request: Reply("It fits.</think> true", [token(" true", _true=1.0)]))
    system = shipped_systems()["rank1-7b"].model_copy(update={"served": URL})
    retriever = pointwise_driver.make(system, around(chat, tmp_path))
    assert retriever.score("Q {document}", ["D1", "D2"]).tolist() == [1.0, 1.0]
    assert chat.arguments == ("jhu-clsp/rank1-7b", URL, "")
    request = chat.asked[0]
    assert said(request).endswith("Query: Q {document}\nPassage: D1\n<think>")
    assert request.sampling["chat_template"].startswith("{% for message")
    assert request.sampling["add_generation_prompt"] is False
    assert request.sampling["top_logprobs"] == 20
    assert "seed" not in request.sampling
    assert chat.open == 0
    assert retriever.with_instruction("x") is None


def test_reasoning_without_an_end_is_closed_and_only_the_word_asked_for(tmp_path) -> None:
    def answer(request):
        if len(request.messages) == 1:
            return Reply("First.<|im_end|> Then it is true that", None, "length")
        return Reply(" false", [token(" false", _false=0.75, _true=0.25)])

    chat = Chat(answer)
    system = shipped_systems()["rank1-7b"].model_copy(update={"served": URL})
    assert pointwise_driver.make(system, around(chat, tmp_path)).score("q", ["d"]).tolist() == [
        0.25
    ]
    first, second = chat.asked
    assert said(second) == "\nFirst.\n</think>"
    assert second.messages[0] == first.messages[0]
    assert (second.sampling["max_tokens"], second.sampling["stop"]) == (2, [" true", " false"])
    assert (first.attempt, second.attempt) == (0, 1)


def test_samples_are_averaged_and_each_has_a_seed(tmp_path) -> None:
    chat = Chat(lambda request: f"<score>{10 * (request.sampling['seed'] + 1)}</score>")
    system = shipped_systems()["reasonreranker-qwen3-32b"].model_copy(
        update={"served": URL, "samples": 3, "served_model": "retro"}
    )
    retriever = pointwise_driver.make(system, around(chat, tmp_path))
    assert retriever.score("q", ["d", "e"]).tolist() == [20.0, 20.0]
    assert chat.arguments[0] == "retro"
    assert sorted(request.sampling["seed"] for request in chat.asked) == [0, 0, 1, 1, 2, 2]
    assert len({request.attempt for request in chat.asked}) == 3
    told = retriever.with_instruction("Same trick.")
    told.score("q", ["d"])
    assert "retrieval task: Same trick.\n" in said(chat.asked[-1])
    assert "helpful insights for solving" in said(chat.asked[0])


def test_a_long_document_loses_its_end_and_nothing_else(tmp_path) -> None:
    chat = Chat(lambda request: "<score>1</score>")
    system = shipped_systems()["reasonreranker-qwen3-32b"].model_copy(update={"served": URL})
    pointwise_driver.make(system, around(chat, tmp_path)).score("q", ["x" * 10**6])
    room = characters_for(32768, 4096)
    assert len(said(chat.asked[0])) == room == (32768 - 4096 - 128) * 2
    assert said(chat.asked[0]).endswith("x\n[End of Document]\n")
    assert characters_for(None, 5) is None
    assert characters_for(10, 5) == 0


def too_long(tokens: int, window: int) -> str:
    return (
        'the endpoint answered with status 400: {"error":{"message":"This model\'s maximum context '
        f"length is {window} tokens. However, your request has {tokens} input tokens"
    )


def limited(window: int, answer: Callable[[str], str]) -> Chat:
    """A server with a window, whose tokenizer makes a token of each character but a space."""

    def told(request):
        tokens = sum(character != " " for character in said_all(request))
        if tokens > window:
            return Reply(None, error=too_long(tokens, window))
        return answer(said(request))

    return Chat(told)


def documents_said(chat: Chat, window: int) -> list[int]:
    """Return the lengths of the documents that were answered."""
    texts = [said(request).split(" ## ")[1] for request in chat.asked]
    return sorted(len(text) for text in texts if len(text.replace(" ", "")) <= window - 3)


@pytest.mark.parametrize("in_flight", [None, 4])
def test_what_the_server_finds_too_long_is_cut_until_it_fits(in_flight) -> None:
    window = 1000
    chat = limited(window, lambda text: "<score>1</score>")
    retriever = of_scores(chat, characters=characters_for(window + 128, None))
    retriever.in_flight = in_flight
    documents = ["x" * 5000, "y  " * 5000, "short", "w" * 1500, "z" * 996]
    assert retriever.score("q", documents).tolist() == [1.0] * 5
    found = documents_said(chat, window)
    # cut as little as the lengths allow, and equally; what fits isn't cut further
    first = 2 * window - len("q ## ")
    cut = next(length for length in lengths() if length < window) - len("q ## ")
    assert found == sorted([cut, first, len("short"), cut, 996])
    assert cut + 5 > 0.8 * window
    assert len(chat.asked) < 5 + 2 * 5
    again = limited(window, lambda text: "<score>1</score>")
    of_scores(again, characters=2 * window).score("q", documents[::-1])
    assert documents_said(again, window) == found


def test_a_query_that_can_not_be_cut_fails_with_the_servers_words() -> None:
    chat = limited(50, lambda text: "<score>1</score>")
    with pytest.raises(UnansweredError, match="maximum context length is 50 tokens"):
        of_scores(chat).score("q" * 100, ["d" * 1000])
    assert len(chat.asked) < 20
    assert said(chat.asked[-1]) == "q" * 100 + " ## "


def test_what_is_refused_for_another_reason_is_asked_once() -> None:
    chat = Chat(lambda request: Reply(None, error="the endpoint answered with status 400: top_k"))
    with pytest.raises(UnansweredError, match="top_k"):
        of_scores(chat).score("q", ["d" * 100])
    assert len(chat.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        "'max_tokens' is too large: 500. This model's maximum context length is 4096 tokens",
        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
        "max_tokens must be at least 1, got -186.",
        "request (9412 tokens) exceeds the available context size (8192 tokens)",
        "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096.",
    ],
)
def test_servers_say_it_in_many_ways(body) -> None:
    def answer(request):
        if len(said(request)) < 500:
            return "<score>7</score>"
        return Reply(None, error=f"the endpoint answered with status 400: {body}")

    assert of_scores(Chat(answer)).score("q", ["d" * 1000]).tolist() == [7.0]


def test_groups_and_rewrites_are_cut_as_well() -> None:
    from saber_assets.retrieval.generative_groupwise import GenerativeGroupwise

    def scores(text: str) -> str:
        return '{"[1]": 5, "[2]": 3, "[3]": 8}'

    chat = limited(600, scores)
    grouped = GenerativeGroupwise(
        served(chat), "{query} {documents}", group_size=3, highest=10, characters=1200
    )
    assert sorted(grouped.score("q", ["x" * 900, "y" * 50, "z" * 700])) == [0.3, 0.5, 0.8]
    texts = said(chat.asked[-1])
    assert texts.count("y") == 50
    assert texts.count("x") == texts.count("z") > 200

    rewriter = RewritingRetriever(served(limited(100, str.upper)), "r: {query}", Base())
    (rewrite,) = rewriter.rewrites("q" * 300)
    assert rewrite == "R: " + "Q" * (len(rewrite) - 3)
    assert 80 <= len(rewrite) <= 101


def test_slots_in_texts_are_left_alone() -> None:
    assert filled("{query}|{document}|{x}", query="{document}", document="{query}") == (
        "{document}|{query}|{x}"
    )


# --- what can't be read -----------------------------------------------------------------------


def test_an_unreadable_pair_is_asked_again_then_its_query_fails_alone(tmp_path) -> None:
    chat = Chat(lambda request: "no idea" if "BAD" in said_all(request) else "<score>5</score>")
    retriever = of_scores(chat)
    with pytest.raises(UnansweredError) as caught:
        retriever.score("q", ["good", "BAD"])
    assert str(caught.value) == (
        "1 of 2 documents have no usable answer, first document number 2: 3 replies without usable "
        "content: it holds no whole number in a <score> tag"
    )
    assert sum("BAD" in said_all(request) for request in chat.asked) == 3
    scores, failures = score_pools("r", "v", retriever, *pools(), settings=["statement-full"])
    assert failures["query_id"].to_list() == ["q3"]
    assert "no usable answer" in failures["reason"][0]
    assert set(scores["query_id"]) == {f"q{n}" for n in range(12)} - {"q3"}


def test_a_call_that_fails_for_good_is_told(tmp_path) -> None:
    chat = Chat(lambda request: Reply(None, error="status 400: too long"))
    with pytest.raises(UnansweredError, match="status 400: too long"):
        of_scores(chat).score("q", ["d"])


def test_a_server_that_is_gone_ends_the_run() -> None:
    def gone(request):
        raise UnavailableError("no endpoint can be reached", "start it")

    with pytest.raises(InputError, match="no endpoint"):
        score_pools("r", "v", of_scores(Chat(gone)), *pools(), settings=["statement-full"])


def said_all(request) -> str:
    return " ".join(message["content"] for message in request.messages)


def of_scores(chat: Chat, characters: int | None = None):
    from saber_assets.retrieval.generative_pointwise import GenerativePointwise

    return GenerativePointwise(
        served(chat), "{query} ## {document}", score_reader(100), characters=characters
    )


def pools() -> tuple[pl.DataFrame, pl.DataFrame]:
    texts = {f"q{n}": f"query {n}" for n in range(12)}
    texts |= {f"d{n}": f"document {n}" for n in range(6)} | {"d9": "BAD"}
    rows = [(query, f"d{n}") for query in texts if query[0] == "q" for n in range(6)]
    rows.append(("q3", "d9"))
    corpus = pl.DataFrame(
        {"problem_id": list(texts), "problem": list(texts.values()), "solution": [""] * len(texts)}
    )
    return pl.DataFrame(rows, schema=["query_id", "candidate_id"], orient="row"), corpus


# --- many at once -----------------------------------------------------------------------------


def test_queries_overlap_and_the_scores_are_the_same() -> None:
    def answer(request):
        time.sleep(0.002)
        return f"<score>{len(said(request)) + sum(map(ord, said(request))) % 50}</score>"

    together, alone = Chat(answer), Chat(answer)
    at_once: list[int] = []

    def counting(request):
        at_once.append(together.open and threading.active_count())
        return answer(request)

    together.answer = counting
    first = score_pools("r", "v", of_scores(together), *pools(), settings=["full-full"])
    one = of_scores(alone)
    one.queries_in_flight = 1
    second = score_pools("r", "v", one, *pools(), settings=["full-full"])
    assert first[0].equals(second[0])
    assert (first[1].height, second[1].height) == (0, 0)
    assert max(at_once) >= QUERIES_IN_FLIGHT
    assert together.open == alone.open == 0
    assert len({(said(r), r.attempt) for r in together.asked}) == len(together.asked) == 73
    assert together.opened < alone.opened == 12


def test_a_model_is_open_as_long_as_anybody_asks() -> None:
    chat = Chat(lambda request: "x")
    shared = SharedChat(chat.opener)
    with shared.use(), shared.use() as one:
        assert (one, chat.open, chat.opened) == (chat, 1, 1)
    assert chat.open == 0
    with pytest.raises(KeyError), shared.use():
        raise KeyError
    assert (chat.open, chat.opened) == (0, 2)


def test_a_model_that_can_not_be_opened_is_tried_again() -> None:
    times = []

    @contextmanager
    def opener():
        times.append(1)
        if len(times) == 1:
            raise InputError("no store", "make one")
        yield Chat(lambda request: "x")

    shared = SharedChat(opener)
    with pytest.raises(InputError), shared.use():
        pass
    with shared.use() as chat:
        assert chat.model == "fake"


def test_with_each_answer_the_next_question_is_asked() -> None:
    """One slow answer is waited for alone: the others need not."""
    others = threading.Semaphore(0)
    now: set[int] = set()
    most = []

    def answer(request):
        now.add(threading.get_ident())
        most.append(len(now))
        time.sleep(0.005)
        if "d0" in said(request):
            overtaken = [others.acquire(timeout=5) for _ in range(9)]
            assert all(overtaken), "it was waited for"
        else:
            others.release()
        now.discard(threading.get_ident())
        return f"<score>{said(request)[-1]}</score>"

    retriever = of_scores(Chat(answer))
    retriever.in_flight = 4
    assert retriever.score("q", [f"d{n}" for n in range(10)]).tolist() == list(range(10))
    assert max(most) == 4


def test_a_fault_of_the_server_ends_what_is_in_flight() -> None:
    def gone(request):
        raise UnavailableError("no endpoint can be reached", "start it")

    chat = Chat(gone)
    retriever = of_scores(chat)
    retriever.in_flight = 2
    with pytest.raises(UnavailableError):
        retriever.score("q", [f"d{n}" for n in range(50)])
    assert chat.open == 0
    assert len(chat.asked) < 50


def test_latency_asks_anew_and_opens_the_model_once() -> None:
    chat = Chat(lambda request: "<score>1</score>")
    asked = [(f"q{number}", ["d", "e"]) for number in range(3)]
    assert len(time_retriever(of_scores(chat), asked)) == 3
    assert (chat.opened, chat.open, len(chat.asked)) == (1, 0, 2 * (1 + 3))

    rewriter, judge = Chat(lambda request: "short"), Chat(lambda request: "<score>1</score>")
    both = RewritingRetriever(served(rewriter), "r:{query}", of_scores(judge))
    assert len(time_retriever(both, asked)) == 3
    assert (rewriter.opened, judge.opened) == (1, 1)
    assert len(judge.asked) == 2 * (1 + 3)


# --- groups -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.text(max_size=5), unique=True, max_size=25),
    st.integers(1, 9),
    st.integers(1, 3),
    st.randoms(),
)
def test_each_document_is_in_one_group_a_round_whatever_the_order(texts, size, rounds, random):
    groups = groups_of("q", texts, size, rounds)
    places = [place for group in groups for place in group]
    assert sorted(places) == sorted(list(range(len(texts))) * rounds)
    assert all(len(group) <= size for group in groups)
    mixed = random.sample(texts, len(texts))
    other = groups_of("q", mixed, size, rounds)
    assert [[texts[p] for p in group] for group in groups] == [
        [mixed[p] for p in group] for group in other
    ]


def test_rounds_and_queries_group_differently() -> None:
    texts = [str(number) for number in range(40)]
    first, second = groups_of("q", texts, 20, 2)[0], groups_of("q", texts, 20, 2)[2]
    assert set(first) != set(second)
    assert set(groups_of("p", texts, 20, 1)[0]) != set(first)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 60), max_size=12), st.integers(-5, 300))
def test_texts_are_cut_as_little_as_they_must(lengths, room) -> None:
    length = common_length(lengths, room)
    used = sum(min(one, length) for one in lengths)
    assert used <= max(0, room)
    if lengths and length < max(lengths):
        assert sum(min(one, length + 1) for one in lengths) > room


def test_groups_are_scored_together_and_rounds_averaged(tmp_path) -> None:
    def answer(request):
        lines = [line for line in said(request).split("\n") if line.startswith("[")]
        found = {line.split(". ")[0]: int(line.split()[-1]) for line in lines if ". w " in line}
        return f"<reason>.</reason><answer>{str(found).replace(chr(39), chr(34))}</answer>"

    chat = Chat(answer)
    system = shipped_systems()["diver-grouprank-32b"].model_copy(update={"served": URL})
    retriever = groupwise_driver.make(system, around(chat, tmp_path))
    documents = [f"w\n\n {number % 11}" for number in range(50)]
    scores = retriever.score("q", documents)
    assert scores.tolist() == [number % 11 / 10 for number in range(50)]
    assert len(chat.asked) == 2 * 3
    messages = chat.asked[0].messages
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[1]["content"].startswith("I will provide you 20 documents, ")
    assert '{"[1]": 5, "[2]": 3, "[3]": 8}' in messages[1]["content"]


def test_a_group_without_an_answer_fails_its_query(tmp_path) -> None:
    chat = Chat(lambda request: '{"[1]": 1}')
    system = shipped_systems()["diver-grouprank-32b"].model_copy(update={"served": URL})
    with pytest.raises(UnansweredError, match=r"group 1 of 2 .*no score for 2"):
        groupwise_driver.make(system, around(chat, tmp_path)).score("q", ["a", "b"])


# --- rewriters --------------------------------------------------------------------------------

REWRITER = f"""
[smart-bm25]
family = "query-rewriter"
type_code = "TWB"
backends = ["vllm"]
rewriter = "me/rewriter"
base = "bm25"
served = "{URL}"
rewrite_template = "Rewrite: {{query}}"
"""


def test_a_rewriter_stands_in_front_of_a_built_in_retriever(tmp_path) -> None:
    (tmp_path / "systems.toml").write_text(REWRITER, encoding="utf-8")
    systems = load_systems(tmp_path / "systems.toml")
    chat = Chat(lambda request: "prime numbers")
    here = around(chat, tmp_path, systems)
    entry = system_entry(systems["smart-bm25"], here)
    assert entry.missing() is None
    retriever = entry.make()
    documents = ["prime numbers are odd", "a circle", "even numbers"]
    assert np.asarray(retriever.score("q", documents)).tolist() == (
        np.asarray(Bm25().score("prime numbers", documents)).tolist()
    )
    assert said(chat.asked[0]) == "Rewrite: q"
    assert chat.arguments == ("me/rewriter", URL, "")
    other = systems["smart-bm25"].model_copy(update={"base": "tfidf"})
    assert system_entry(other, here).version != entry.version


def test_a_base_that_can_not_stand_there_is_told(tmp_path) -> None:
    file = tmp_path / "systems.toml"
    for base, told in (
        ("ratings", "reads no queries"),
        ("nothing", "which no file describes"),
        ("bge-m3", "its weights"),
    ):
        file.write_text(REWRITER.replace('"bm25"', f'"{base}"'), encoding="utf-8")
        systems = load_systems(file)
        missing = system_entry(
            systems["smart-bm25"], around(Chat(str), tmp_path, systems)
        ).missing()
        assert told in str(missing)
    file.write_text(REWRITER.replace('"bm25"', '"inf-x-retriever"'), encoding="utf-8")
    with pytest.raises(InputError, match="rewrites queries itself"):
        load_systems(file)


class Base:
    """Scores by length of the query, and notes what it is handed."""

    queries_in_flight = 3

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def prepare(self, documents):
        self.calls.append(("prepare", list(documents)))

    def prepare_queries(self, queries):
        self.calls.append(("queries", list(queries)))

    def forget(self):
        self.calls.append("forget")

    def score(self, query, documents):
        return [float(len(query) + len(text)) for text in documents]


def test_all_queries_are_rewritten_together_and_hooks_reach_the_base() -> None:
    chat = Chat(lambda request: said(request) + "x" * (1 + request.sampling["seed"]))
    base = Base()
    model = served(chat, settings={"temperature": 0.6}, samples=2)
    retriever = RewritingRetriever(model, "r:{query}", base, "<{query}>")
    retriever.prepare(["d"])
    retriever.prepare_queries(["a", "b", "a"])
    assert base.calls == [
        ("prepare", ["d"]),
        ("queries", ["<r:ax>", "<r:axx>", "<r:bx>", "<r:bxx>"]),
    ]
    assert (chat.opened, len(chat.asked)) == (1, 4)
    assert np.asarray(retriever.score("a", ["d"])).tolist() == [(6 + 7) / 2 + 1]
    assert len(chat.asked) == 4
    assert retriever.queries_in_flight == 3
    assert retriever.rewrites("a") == ["r:ax", "r:axx"]
    retriever.forget()
    assert base.calls[-1] == "forget"
    retriever.score("a", ["d"])
    assert len(chat.asked) == 6
    assert retriever.with_instruction("i") is None


def test_a_query_that_is_not_rewritten_fails_alone() -> None:
    chat = Chat(lambda r: Reply(None, error="no text") if "query 3" in said(r) else "ab")
    retriever = RewritingRetriever(served(chat), "{query}", Base())
    scores, failures = score_pools("r", "v", retriever, *pools(), settings=["statement-full"])
    assert failures["query_id"].to_list() == ["q3"]
    assert failures["reason"][0].endswith("the query could not be rewritten: no text")
    assert scores["query_id"].n_unique() == 11


def test_the_published_rewriters_ask_as_their_cards_say(tmp_path) -> None:
    systems = shipped_systems()
    one, other = (
        systems["reasonembed-qwen3-8b-rewrite"],
        systems["reasonreranker-qwen3-32b-rewrite"],
    )
    assert one.rewrite_template == other.rewrite_template
    assert (one.sampling, one.samples, other.samples) == (other.sampling, 5, 1)
    chat = Chat(lambda request: "short")
    inf = systems["inf-x-retriever"].model_copy(
        update={"served": URL, "base": "tfidf", "samples": 1}
    )
    surroundings = replace(around(chat, tmp_path), behind=BUILTIN["tfidf"].make)
    retriever = rewriter_driver.make(inf, surroundings)
    seen: list[str] = []
    retriever._retriever = type("B", (), {"score": lambda self, q, d: seen.append(q) or [1.0]})()
    retriever.score("long", ["d"])
    assert seen == [f"Instruct: {inf.instruction}\nQuery: short"]
    assert said(chat.asked[0]).endswith("**Input Query:**\nlong\n**Your Output:**\n")


class Instructed(Base):
    """Has a field for an instruction, and notes the queries that it is given."""

    def __init__(self, instruction="none", asked=None) -> None:
        super().__init__()
        self.instruction, self.asked = instruction, [] if asked is None else asked

    def with_instruction(self, text):
        return type(self)(text, self.asked)

    def score(self, query, documents):
        self.asked.append((self.instruction, query))
        return super().score(query, documents)


class WithoutField(Instructed):
    def with_instruction(self, text):
        return None


def test_an_instruction_reaches_what_is_behind_a_rewriter_once(tmp_path) -> None:
    inf = shipped_systems()["inf-x-retriever"].model_copy(update={"served": URL, "samples": 1})
    chat = Chat(lambda request: "short")

    def told(base) -> list[tuple[str, str]]:
        retriever = rewriter_driver.make(inf, replace(around(chat, tmp_path), behind=lambda: base))
        made = instructed(retriever, "Same trick.")
        assert isinstance(made, RewritingRetriever)
        made.prepare_queries(["long"])
        made.score("long", ["d"])
        retriever.score("long", ["d"])
        return base.asked

    plain = f"Instruct: {inf.instruction}\nQuery: short"
    assert told(Instructed()) == [("Same trick.", "short"), ("none", plain)]
    in_slot = "Instruct: Same trick.\nQuery: short"
    assert told(WithoutField()) == [("none", in_slot), ("none", plain)]
    assert len(chat.asked) == 1  # the rewrite doesn't depend on it


# --- a person's own row -----------------------------------------------------------------------


def test_a_person_needs_few_lines(tmp_path) -> None:
    file = tmp_path / "systems.toml"
    row = f"""
[mine]
family = "generative-pointwise"
type_code = "C"
backends = ["vllm"]
model = "any-chat-model"
served = "{URL}"
answers = ["yes", "no"]
pair_template = "{{query}} {{document}}"
"""
    file.write_text(row, encoding="utf-8")
    systems = load_systems(file)
    chat = Chat(lambda request: "Yes.")
    entry = system_entry(systems["mine"], around(chat, tmp_path, systems))
    assert (entry.missing(), entry.family) == (None, "reranker")
    assert entry.make().score("q", ["d"]).tolist() == [1.0]
    changed = systems["mine"].model_copy(update={"pair_template": "{query}: {document}"})
    assert system_entry(changed, around(chat, tmp_path, systems)).version != entry.version
    moved = systems["mine"].model_copy(update={"served": "http://elsewhere/v1"})
    assert system_entry(moved, around(chat, tmp_path, systems)).version == entry.version

    file.write_text(row.replace('pair_template = "{query} {document}"', ""), encoding="utf-8")
    systems = load_systems(file)
    missing = system_entry(systems["mine"], around(chat, tmp_path, systems)).missing()
    assert "state pair_template in systems.toml" in str(missing)
    for spoiled in (
        row.replace('answers = ["yes", "no"]', ""),
        row + "highest_score = 10\n",
        row + "samples = 0\n",
    ):
        file.write_text(spoiled, encoding="utf-8")
        with pytest.raises(InputError, match="mine"):
            load_systems(file)
