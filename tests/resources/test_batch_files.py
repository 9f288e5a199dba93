"""Files of the OpenAI Batch API: limits, and answers of every shape."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_resources.batch_files import BatchWriter, read_answers, request_line
from saber_resources.errors import SetupError

KEY = bytes(range(32))


def body(text: str = "2 + 2?") -> dict:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def keyed(count: int) -> list:
    return [
        (number.to_bytes(32, "big"), body(f"question {number}\u2028")) for number in range(count)
    ]


def output(text="4", key=KEY, status=200, **usage) -> dict:
    return {
        "id": "batch_req_1",
        "custom_id": key.hex(),
        "response": {
            "status_code": status,
            "request_id": "r",
            "body": {
                "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                "usage": usage,
            },
        },
        "error": None,
    }


def write_batches(folder, stem, requests, **limits) -> list:
    with BatchWriter(folder, stem, **limits) as writer:
        for key, content in requests:
            writer.add(key, content)
    return writer.paths


def read(path, *lines) -> list:
    path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return list(read_answers(path))


def test_a_request_has_the_form_the_service_asks_for(tmp_path):
    [path] = write_batches(tmp_path / "new", "summary", [(KEY, body())])
    assert path.name == "summary-0001.jsonl"
    [line] = path.read_bytes().splitlines()
    assert json.loads(line) == {
        "custom_id": KEY.hex(),
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body(),
    }


def test_files_keep_to_both_limits_and_lose_no_request(tmp_path):
    requests = keyed(25)
    size = len(request_line(*requests[10]))
    by_count = write_batches(tmp_path, "a", iter(requests), most_requests=10)
    by_size = write_batches(tmp_path, "b", iter(requests), most_bytes=size * 4)
    assert [len(path.read_bytes().splitlines()) for path in by_count] == [10, 10, 5]
    assert all(path.stat().st_size <= size * 4 for path in by_size)
    for paths in (by_count, by_size):
        ids = [json.loads(line)["custom_id"] for p in paths for line in p.read_bytes().splitlines()]
        assert ids == [key.hex() for key, _ in requests]


def test_writing_again_leaves_no_file_of_the_earlier_writing(tmp_path):
    write_batches(tmp_path, "a", keyed(3), most_requests=1)
    other = write_batches(tmp_path, "ab", keyed(1))
    again = write_batches(tmp_path, "a", keyed(1))
    assert sorted(tmp_path.iterdir()) == sorted([*again, *other])
    assert write_batches(tmp_path, "a", []) == []
    assert sorted(tmp_path.iterdir()) == other


def test_an_interrupted_writing_leaves_the_earlier_files(tmp_path):
    before = write_batches(tmp_path, "a", keyed(3))
    content = before[0].read_bytes()

    def broken():
        yield from keyed(2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_batches(tmp_path, "a", broken(), most_requests=1)
    assert sorted(tmp_path.iterdir()) == before
    assert before[0].read_bytes() == content


def test_a_request_larger_than_a_file_is_refused(tmp_path):
    with pytest.raises(SetupError, match="one request has"):
        write_batches(tmp_path, "a", keyed(1), most_bytes=20)


def test_an_answer_is_read_with_its_costs(tmp_path):
    usage = {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 8},
    }
    [answer] = read(tmp_path / "out.jsonl", output(**usage))
    assert (answer.key, answer.text, answer.error) == (KEY, "4", None)
    assert (answer.tokens_in, answer.tokens_out, answer.cached_tokens) == (12, 3, 8)
    assert answer.finish_reason == "stop"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (output(text=None), "holds no text"),
        (output(text="  "), "holds no text"),
        (output(status=500), "status 500"),
        (output() | {"error": {"code": "batch_expired", "message": "too late"}}, "too late"),
        (
            {"custom_id": KEY.hex(), "response": None, "error": {"code": "batch_expired"}},
            "batch_expired",
        ),
        (
            {
                "custom_id": KEY.hex(),
                "response": {"status_code": 400, "body": {"error": {"message": "no such model"}}},
            },
            "no such model",
        ),
    ],
)
def test_whatever_holds_no_reply_is_a_failure_with_a_reason(tmp_path, line, reason):
    [answer] = read(tmp_path / "out.jsonl", line)
    assert answer.text is None
    assert reason in answer.error


def test_a_lone_surrogate_can_be_stored(tmp_path):
    [answer] = read(tmp_path / "out.jsonl", output(text="a\ud800b"))
    assert answer.text == "a?b"
    answer.text.encode()


def test_a_foreign_id_has_a_key_that_no_request_has(tmp_path):
    path = tmp_path / "out.jsonl"
    [answer] = read(path, output() | {"custom_id": "request-7"})
    assert answer.key == b""
    [answer] = read(path, output() | {"custom_id": "z" * 64})
    assert answer.key == b""


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"{}\n", "line 1 .* no 'custom_id'"),
        (b"\n[1]\n", "line 2"),
        (b"{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"\xff\xfe\n", "not JSON"),
        (b'{"custom_id": 3}\n', "no 'custom_id'"),
        (request_line(KEY, body()), "it may be a request"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_line(tmp_path, content, what):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)
    with pytest.raises(SetupError, match=what):
        list(read_answers(path))


def test_an_absent_file_is_refused(tmp_path):
    with pytest.raises(SetupError, match="can't be read"):
        list(read_answers(tmp_path / "absent.jsonl"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["body", "choices", "message", "content", "usage", "error", "status_code"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(response=JSON, error=JSON)
def test_no_answer_crashes_the_reader_or_is_half_read(tmp_path_factory, response, error):
    path = tmp_path_factory.mktemp("fuzz") / "out.jsonl"
    [answer] = read(path, {"custom_id": KEY.hex(), "response": response, "error": error})
    assert (answer.text is None) != (answer.error is None)
    assert answer.tokens_in >= 0
