"""Requests to a service: grouped, in flight together, halved where refused, and checked."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.errors import InputError
from saber_assets.retrieval.dense import DenseRetriever, RefusedTextError
from saber_assets.retrieval.encoding.vector_cache import VectorCache
from saber_assets.retrieval.remote.remote_encoder import (
    HOPELESS,
    RemoteEncoder,
    TextRefusedError,
    cut,
)
from saber_assets.retrieval.remote.served_windows import WholeTexts


class Letters:
    """Counts a and b; refuses '!', finds texts over `longest` too long, dies at '#'."""

    place = "the service"

    def __init__(self, longest=1000, pause=0.0):
        self.requests = []
        self.longest, self.pause = longest, pause
        self.running = self.most = 0
        self.lock = threading.Lock()

    def vectors(self, inputs, side):
        with self.lock:
            self.requests.append(list(inputs))
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(self.pause * (1 + len(inputs[0]) % 3))
        with self.lock:
            self.running -= 1
        if any("#" in text for text in inputs):
            raise InputError("the key is refused", "set another")
        if any("!" in text for text in inputs):
            raise TextRefusedError("no shouting")
        if any(len(text) > self.longest for text in inputs):
            raise TextRefusedError("too long", too_long=True)
        return np.array([[t.count("a"), t.count("b"), 1.0] for t in inputs], dtype=np.float32)


def encoder_of(service, **more):
    values = {"normalise": False, "dimension": 3, "at_once": 4}
    return RemoteEncoder(service, WholeTexts("q: {query}", "{document}"), **{**values, **more})


def test_order_is_kept_while_requests_overtake_each_other():
    service = Letters(pause=0.005)
    texts = ["a" * number + "b" * (40 - number) for number in range(40)]
    found = encoder_of(service, in_flight=5).encode(texts)
    assert found[:, 0].tolist() == list(range(40))
    assert 1 < service.most <= 5
    assert max(map(len, service.requests)) == 4
    assert sum(map(len, service.requests)) == 40


def test_sides_have_their_templates():
    service = Letters()
    encoder = encoder_of(service)
    encoder.encode_queries(["ab"])
    encoder.encode(["ab"])
    encoder.with_query_template("Instruct: b {query}").encode_queries(["ab"])
    assert service.requests == [["q: ab"], ["ab"], ["Instruct: b ab"]]


def test_one_refused_text_costs_no_other():
    service = Letters()
    texts = ["a", "b", "a!", "ab", "aa", "\ud800", ""]
    parts = list(encoder_of(service, at_once=7).parts(texts, "document"))
    good = {n: part.vectors[i].tolist() for part in parts if part.vectors is not None
            for i, n in enumerate(part.positions)}  # fmt: skip
    bad = {n: part.reason for part in parts if part.vectors is None for n in part.positions}
    assert good == {0: [1, 0, 1], 1: [0, 1, 1], 3: [1, 1, 1], 4: [2, 0, 1], 6: [0, 0, 0]}
    assert bad[2] == "no shouting"
    assert "half of a pair" in bad[5]
    with pytest.raises(RefusedTextError, match="no shouting|half of a pair"):
        encoder_of(service).encode(texts)


def test_what_everything_would_meet_ends_it_and_what_was_answered_is_kept(tmp_path):
    service = Letters(pause=0.002)
    texts = sorted(["a" * n for n in range(1, 40)] + ["#" * 12], key=len)
    disk = VectorCache(tmp_path / "v.sqlite", "one", 3)
    with pytest.raises(InputError, match="the key is refused"):
        DenseRetriever(encoder_of(service, in_flight=2), disk=disk).prepare(texts)
    answered = [t for request in service.requests for t in request if "#" not in " ".join(request)]
    assert 8 <= len(answered) < 30
    assert {texts[n] for n in disk.get(texts)} == set(answered)


def test_a_service_that_refuses_all_is_not_asked_for_ever():
    service = Letters(longest=0)
    service.vectors = lambda inputs, side: (_ for _ in ()).throw(TextRefusedError("bad parameter"))
    with pytest.raises(InputError, match="refuses every text, the last one with: bad parameter"):
        list(encoder_of(service, at_once=2, in_flight=1).parts(["ab"] * 100, "document"))
    some = list(encoder_of(service).parts(["ab"] * (HOPELESS - 1), "document"))
    assert len(some) == HOPELESS - 1


@pytest.mark.parametrize("normalise", [False, True])
def test_what_is_too_long_is_halved_and_averaged(normalise):
    text = "aab aab " * 3 + "bbbb bbb"
    found = encoder_of(Letters(longest=10), normalise=normalise).encode(["b", text])[1]
    pieces = [piece for half in cut(text, 2) for piece in cut(half, 2)]
    assert max(map(len, pieces)) <= 10
    vectors = np.array([[p.count("a"), p.count("b"), 1.0] for p in pieces])
    if normalise:
        vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    np.testing.assert_allclose(found, vectors.mean(axis=0), atol=1e-6)


def test_what_is_too_long_whatever_is_cut_fails_alone():
    parts = list(encoder_of(Letters(longest=0)).parts(["ab"], "document"))
    assert parts[0].vectors is None
    assert "single character" in parts[0].reason


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (np.ones((1, 3)), "1 vectors for 2 texts"),
        (np.ones((3, 3)), "3 vectors for 2 texts"),
        (np.ones((2, 4)), "length 4, and 3 is expected"),
    ],
)
def test_a_wrong_answer_ends_it(answer, fault):
    service = Letters()
    service.vectors = lambda inputs, side: answer.astype(np.float32)
    with pytest.raises(InputError, match=fault):
        encoder_of(service).encode(["a", "b"])


def test_a_number_that_is_none_fails_its_own_text():
    service = Letters()
    made = np.array([[1, 0, 0], [np.nan, 0, 0], [np.inf, 1, 0]], dtype=np.float32)
    service.vectors = lambda inputs, side: made
    parts = list(encoder_of(service).parts(["a", "b", "c"], "document"))
    assert [part.positions for part in parts] == [[0], [1], [2]]
    assert all("aren't finite" in part.reason for part in parts[1:])


def test_the_length_is_asked_for_where_nobody_states_it():
    assert encoder_of(Letters(), dimension=None).dimension == 3


@given(st.text(alphabet="ab \n", min_size=1, max_size=80), st.integers(1, 9))
@settings(max_examples=200, deadline=None)
def test_a_cut_loses_nothing(text, count):
    count = min(count, len(text))
    parts = cut(text, count)
    assert "".join(parts) == text
    assert len(parts) == count
    assert all(parts)


def test_a_cut_falls_between_words():
    text = "alpha beta gamma delta epsilon zeta eta theta"
    assert cut(text, 2) == ["alpha beta gamma delta ", "epsilon zeta eta theta"]


def test_a_text_that_gets_zeros_alone_is_refused_and_no_other():
    service = Letters()
    ask = service.vectors
    service.vectors = lambda inputs, side: ask(inputs, side) * [["z" not in t] for t in inputs]
    parts = list(encoder_of(service).parts(["a", "z", "b", ""], "document"))
    refused = {number: part.reason for part in parts if not hasattr(part.vectors, "shape")
               for number in part.positions}  # fmt: skip
    assert refused == {1: "the service answered with zeros alone"}
    assert sorted(number for part in parts for number in part.positions) == [0, 1, 2, 3]
    with pytest.raises(InputError, match="refuses every text"):
        list(encoder_of(service).parts(["z"] * 9, "document"))


def test_vectors_of_length_0_are_refused():
    service = Letters()
    service.vectors = lambda inputs, side: np.zeros((len(inputs), 0), dtype=np.float32)
    with pytest.raises(InputError, match="vectors of length 0"):
        _ = encoder_of(service, dimension=None).dimension
