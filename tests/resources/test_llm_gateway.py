from __future__ import annotations

import asyncio
import json
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from saber_assets.annotation.annotator import Comparison, Failure, Problem, Summary, TopicTask
from saber_assets.annotation.llm import ChatModel, ChatRequest, LlmAnnotator
from saber_resources import endpoints, llm_gateway
from saber_resources.errors import SetupError
from saber_resources.llm_gateway import Gateway, open_gateway
from saber_resources.profiles import load_profile
from saber_resources.prompts import load_prompt
from saber_resources.response_store import ResponseStore


class Dummy:
    """An OpenAI-compatible server whose replies a function decides.

    The function gets the request body and how often the same messages were asked before. It
    returns the content, or (status, headers, body text).
    """

    def __init__(self, decide):
        self.requests, self.headers, self.flying, self.most_flying = [], [], 0, 0
        self.seen, lock, dummy = Counter(), threading.Lock(), self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with lock:
                    dummy.requests.append(body)
                    dummy.headers.append({k.lower(): v for k, v in self.headers.items()})
                    before = dummy.seen[json.dumps(body["messages"])]
                    dummy.seen[json.dumps(body["messages"])] += 1
                    dummy.flying += 1
                    dummy.most_flying = max(dummy.most_flying, dummy.flying)
                answer = decide(body, before)
                with lock:
                    dummy.flying -= 1
                status, headers, text = answer if isinstance(answer, tuple) else (200, {}, answer)
                if status == 200:
                    text = completion(text)
                data = text.encode()
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def completion(content) -> str:
    return json.dumps({
        "id": "x", "object": "chat.completion", "created": 0, "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop",
                     "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    })  # fmt: skip


@dataclass(frozen=True)
class Ask:
    text: str
    attempt: int = 0
    schema: dict | None = None
    sampling: dict = field(default_factory=lambda: {"temperature": 0.0, "max_tokens": 9})

    @property
    def messages(self):
        return [{"role": "user", "content": self.text}]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(endpoints, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(endpoints, "START_SECONDS", 0.2)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def store(tmp_path):
    with ResponseStore(tmp_path / "responses.sqlite") as opened:
        yield opened


def last(body) -> str:
    return body["messages"][-1]["content"]


def test_replies_come_in_order_and_are_asked_for_once(store):
    done = []
    with Dummy(lambda body, before: "to " + last(body)) as dummy:
        gateway = Gateway("m", [dummy.url], store, progress=done.append)
        asks = [Ask(f"q{number % 7}") for number in range(20)]
        replies = gateway.complete(asks)
        assert [reply.text for reply in replies] == [f"to q{number % 7}" for number in range(20)]
        assert len(dummy.requests) == 7
        again = gateway.complete([*asks, Ask("new")])
        assert len(dummy.requests) == 8
        assert [reply.stored for reply in again] == [True] * 20 + [False]
    assert sum(done) == 41
    assert store.totals().tokens_in == 88


def test_a_reopened_store_makes_calls_needless(tmp_path):
    with Dummy(lambda body, before: "yes") as dummy, ResponseStore(tmp_path / "r") as first:
        Gateway("m", [dummy.url], first).complete([Ask("a")])
    with ResponseStore(tmp_path / "r") as second:
        [reply] = Gateway("m", ["http://127.0.0.1:9/v1"], second).complete([Ask("a")])
    assert reply.text == "yes" and reply.stored


def test_attempt_schema_and_sampling_reach_key_and_endpoint(store):
    schema = {"type": "object"}
    asks = [Ask("a"), Ask("a", 1), Ask("a", 0, schema), Ask("a", 0, None, {"top_k": 4})]
    with Dummy(lambda body, before: f"{before}") as dummy:
        replies = Gateway("m", [dummy.url], store, concurrency=1).complete(asks)
        assert [reply.text for reply in replies] == ["0", "1", "2", "3"]
        assert dummy.requests[0]["max_tokens"] == 9
        assert dummy.requests[2]["response_format"]["json_schema"]["schema"] == schema
        assert dummy.requests[3]["top_k"] == 4
        Gateway("m", [dummy.url], store, json_schema=False).complete([Ask("b", 0, schema)])
        assert "response_format" not in dummy.requests[-1]


def test_no_content_is_a_failed_call_whose_tokens_count(store):
    with Dummy(lambda body, before: None if before == 0 else "now") as dummy:
        [reply] = Gateway("m", [dummy.url], store).complete([Ask("a")])
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("now", 22, 6)


def test_a_request_that_never_gets_text_fails_after_its_attempts(store):
    with Dummy(lambda body, before: None if "bad" in last(body) else "ok") as dummy:
        gateway = Gateway("m", [dummy.url], store, attempts=3)
        bad, good = gateway.complete([Ask("bad"), Ask("good")])
        assert bad.text is None and "no text" in bad.error
        assert good.text == "ok" and good.error is None
        assert len(dummy.requests) == 4
        gateway.complete([Ask("bad"), Ask("good")])
        assert len(dummy.requests) == 7, "failures are asked again, answers are not"


def test_retry_after_is_obeyed_and_attempts_are_capped(store):
    times = []

    def decide(body, before):
        times.append(time.monotonic())
        return (429, {"Retry-After": "0.4"}, "{}") if before < 1 else "fine"

    with Dummy(decide) as dummy:
        [reply] = Gateway("m", [dummy.url], store, attempts=2).complete([Ask("a")])
    assert reply.text == "fine"
    assert times[1] - times[0] >= 0.39
    with Dummy(lambda body, before: (429, {"Retry-After": "0"}, "{}")) as dummy:
        [reply] = Gateway("m", [dummy.url], store, attempts=3).complete([Ask("b")])
        assert "429" in reply.error and len(dummy.requests) == 3


@pytest.mark.parametrize("status", [500, 503, 408])
def test_passing_trouble_is_retried(store, status):
    with Dummy(lambda body, before: (status, {}, "oops") if before < 2 else "ok") as dummy:
        [reply] = Gateway("m", [dummy.url], store).complete([Ask("a")])
    assert reply.text == "ok"


def test_broken_json_is_retried(store):
    decide = lambda body, before: (201, {}, "{]") if before == 0 else "ok"  # noqa: E731
    with Dummy(decide) as dummy:
        [reply] = Gateway("m", [dummy.url], store).complete([Ask("a")])
    assert reply.text == "ok"


def test_a_refused_request_fails_alone_and_at_once(store):
    def decide(body, before):
        long = "long" in last(body)
        return (400, {}, '{"error": {"message": "too many tokens"}}') if long else "ok"

    with Dummy(decide) as dummy:
        long, short = Gateway("m", [dummy.url], store).complete([Ask("long"), Ask("short")])
        assert "400" in long.error and "too many tokens" in long.error
        assert short.text == "ok" and len(dummy.requests) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_fault_of_the_set_up_stops_the_run(store, status):
    with Dummy(lambda body, before: (status, {}, "{}")) as dummy:
        with pytest.raises(SetupError, match=str(status)):
            Gateway("m", [dummy.url], store, concurrency=2).complete(
                [Ask(str(number)) for number in range(50)]
            )
        assert len(dummy.requests) <= 4


def test_unreachable_endpoint_is_one_sentence_and_answers_are_kept(tmp_path, store):
    with pytest.raises(SetupError, match="no language model answers at http://127.0.0.1:9/v1"):
        Gateway("m", ["http://127.0.0.1:9/v1"], store, attempts=2).complete([Ask("a")])
    with Dummy(lambda body, before: "ok") as dummy:
        [reply] = Gateway("m", ["http://127.0.0.1:9/v1", dummy.url], store).complete([Ask("a")])
    assert reply.text == "ok", "another endpoint takes over"


def test_a_slow_answer_is_a_failure_of_its_request_only(store):
    def decide(body, before):
        if "slow" in last(body):
            time.sleep(0.6)
        return "ok"

    with Dummy(decide) as dummy:
        gateway = Gateway("m", [dummy.url], store, timeout_seconds=0.2, attempts=1)
        slow, quick = gateway.complete([Ask("slow"), Ask("quick")])
        assert "no answer within 0.2 s" in slow.error and quick.text == "ok"


def test_concurrency_is_bounded_and_used(store):
    def decide(body, before):
        time.sleep(0.03)
        return "ok"

    with Dummy(decide) as dummy:
        Gateway("m", [dummy.url], store, concurrency=4).complete([Ask(str(n)) for n in range(24)])
        assert 2 <= dummy.most_flying <= 4


def test_key_comes_from_the_named_variable_and_is_kept_nowhere(store, monkeypatch, tmp_path):
    monkeypatch.setenv("MY_KEY", "sk-secret-value")
    with Dummy(lambda body, before: "ok") as dummy:
        Gateway("m", [dummy.url], store, api_key_variable="MY_KEY").complete([Ask("a")])
        Gateway("m", [dummy.url], store, api_key_variable="NONE_SET").complete([Ask("b")])
        assert dummy.headers[0]["authorization"] == "Bearer sk-secret-value"
        assert dummy.headers[1]["authorization"] == "Bearer none"
    for path in tmp_path.iterdir():
        assert b"sk-secret" not in path.read_bytes()


def test_works_where_an_event_loop_runs_and_with_unpaired_surrogates(store):
    with Dummy(lambda body, before: "ok") as dummy:
        gateway = Gateway("m", [dummy.url], store)

        async def inside():
            return gateway.complete([Ask("x \ud800 y")])

        [reply] = asyncio.run(inside())
    assert reply.text == "ok"


def test_windows_do_not_show(store, monkeypatch):
    monkeypatch.setattr(llm_gateway, "LOOKUP", 3)
    with Dummy(lambda body, before: last(body)) as dummy:
        replies = Gateway("m", [dummy.url], store).complete([Ask(str(n)) for n in range(10)])
    assert [reply.text for reply in replies] == [str(n) for n in range(10)]


def test_open_gateway_follows_the_profile(tmp_path):
    with Dummy(lambda body, before: "ok") as dummy:
        llm = load_profile(
            "default", {"llm": {"model": "some-model", "endpoints": [dummy.url]}}
        ).llm
        with open_gateway(llm, tmp_path / "r.sqlite") as gateway:
            assert gateway.complete([Ask("a")])[0].text == "ok"
            assert dummy.requests[0]["model"] == gateway.model == "some-model"
    with (
        pytest.raises(SetupError, match=r"llm\.model"),
        open_gateway(load_profile("default").llm, tmp_path / "r.sqlite"),
    ):
        pass


# --- the annotator on top of it ---------------------------------------------------------------

PROBLEM = Problem("p", "Find $x$.", "By AM-GM, $x=1$.")
TASK = TopicTask(PROBLEM, ("M", "A"), (1, 2, 3), ("A", "B", "C"))
PAIR = Comparison(PROBLEM, Problem("q", "one", "a"), Problem("r", "two", "b"))


def annotator(dummy, store, re_asks=2) -> LlmAnnotator:
    chat: ChatModel = Gateway("judge-1", [dummy.url], store)
    return LlmAnnotator(
        chat,
        topic_scores=load_prompt("topic_scores"),
        summary=load_prompt("summary"),
        pairwise_judge=load_prompt("pairwise_judge"),
        re_asks=re_asks,
    )


def test_topic_scores_from_end_to_end(store):
    with Dummy(
        lambda body, before: 'Sure: ```json\n{"scores": {"C": 1, "A": 0.5, "B": 0}}```'
    ) as d:
        made = annotator(d, store)
        assert made.score_topics([TASK]) == [(0.5, 0.0, 1.0)]
        assert made.name == "judge-1"
        assert "- B\n- C" in last(d.requests[0])
        assert d.requests[0]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        ('{"scores": {"A": 1, "B": 0, "C": 0, "D": 0}}', "not offered: D"),
        ('{"scores": {"A": 1, "B": 0}}', "no score: C"),
        ('{"scores": {"A": 1, "B": 0, "C": 1.5}}', "from 0 to 1"),
        ('{"scores": {"A": 1, "B": 0, "C": "0.3"}}', "must be a number"),
        ('{"scores": {"A": 1, "B": 0, "C": true}}', "must be a number"),
        ('{"scores": [1, 0, 0]}', "'scores'"),
        ('{"A": 1, "B": 0, "C": 0}', "'scores'"),
        ("I can't.", "no JSON object"),
    ],
)
def test_unusable_scores_are_asked_again_with_the_fault_and_then_fail(store, bad, fault):
    good = '{"scores": {"A": 1, "B": 0, "C": 0}}'
    with Dummy(lambda body, before: bad if len(body["messages"]) == 2 else good) as dummy:
        assert annotator(dummy, store).score_topics([TASK]) == [(1.0, 0.0, 0.0)]
        again = dummy.requests[1]["messages"]
        assert again[2] == {"role": "assistant", "content": bad}
        assert fault in again[3]["content"]
    with Dummy(lambda body, before: bad) as dummy:
        other = TopicTask(Problem("z", "other", "text"), *list(vars(TASK).values())[1:])
        [result] = annotator(dummy, store, re_asks=1).score_topics([other])
        assert isinstance(result, Failure) and fault in result.reason
        assert len(dummy.requests) == 2


def test_one_bad_item_does_not_touch_the_others(store):
    def decide(body, before):
        return "no" if "broken" in body["messages"][1]["content"] else r"first \boxed{2}"

    broken = Comparison(Problem("b", "broken", ""), PAIR.first, PAIR.second)
    with Dummy(decide) as dummy:
        results = annotator(dummy, store, re_asks=0).compare([PAIR, broken, PAIR])
    assert results[0] == results[2] == 2
    assert isinstance(results[1], Failure)


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        (r"\boxed{1} looks close, but \boxed{2}", 2),
        (r"Verdict: \boxed{ 1 }.", 1),
        (r"\boxed{2}. The answer \boxed{7} of the query is no verdict.", 2),
        (r"$\boxed{\text{1}}$", 1),
    ],
)
def test_the_last_verdict_counts(store, reply, verdict):
    with Dummy(lambda body, before: reply) as dummy:
        assert annotator(dummy, store).compare([PAIR]) == [verdict]
        text = last(dummy.requests[0])
        assert text.index("Find $x$.") < text.index("one") < text.index("two")


def test_summary_keeps_latex_and_obeys_the_rules(store):
    reply = (
        r'{"noCoreIdea": false, "coreIdea": "Bound $\frac12\times\nu$ by AM-GM.",'
        r' "supportingIdeas": ["x"], "keywords": ["am-gm"], "confidence": 0.9,}'
    )
    with Dummy(lambda body, before: reply) as dummy:
        [summary] = annotator(dummy, store).summarise([PROBLEM])
    assert summary == Summary(False, r"Bound $\frac12\times\nu$ by AM-GM.", ("x",), ("am-gm",), 0.9)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"coreIdea": "word " * 31}, "31 words"),
        ({"coreIdea": " "}, "empty"),
        ({"coreIdea": None}, "string"),
        ({"noCoreIdea": "no"}, "noCoreIdea"),
        ({"supportingIdeas": ["a"] * 4}, "3 entries"),
        ({"keywords": "a, b"}, "list of strings"),
        ({"confidence": 90}, "from 0 to 1"),
    ],
)
def test_unusable_summaries_fail(store, change, fault):
    sound = {
        "noCoreIdea": False, "coreIdea": "Use it.", "supportingIdeas": [], "keywords": [],
        "confidence": 1,
    }  # fmt: skip
    with Dummy(lambda body, before: json.dumps({**sound, **change})) as dummy:
        [result] = annotator(dummy, store, re_asks=0).summarise([PROBLEM])
    assert isinstance(result, Failure) and fault in result.reason


def test_no_core_idea_has_an_empty_core(store):
    reply = (
        '{"noCoreIdea": true, "coreIdea": "none", "supportingIdeas": [], "keywords": [],'
        ' "confidence": 0.5}'
    )
    with Dummy(lambda body, before: reply) as dummy:
        [summary] = annotator(dummy, store).summarise([PROBLEM])
    assert summary.no_core_idea and summary.core_idea == ""


def test_a_rerun_pays_for_nothing_twice_not_even_for_re_asks(tmp_path):
    good = '{"scores": {"A": 1, "B": 0, "C": 0}}'
    decide = lambda body, before: "hm" if len(body["messages"]) == 2 else good  # noqa: E731
    with Dummy(decide) as dummy:
        for _ in range(2):
            with ResponseStore(tmp_path / "r.sqlite") as store:
                assert annotator(dummy, store).score_topics([TASK]) == [(1.0, 0.0, 0.0)]
        assert len(dummy.requests) == 2


def test_gateway_takes_the_annotators_requests_as_they_are(store):
    with Dummy(lambda body, before: "ok") as dummy:
        request = ChatRequest(({"role": "user", "content": "x"},), None, {"temperature": 0})
        assert Gateway("m", [dummy.url], store).complete([request])[0].text == "ok"
    assert Path(store.path).exists()
