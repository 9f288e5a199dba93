"""What is requested again, and when."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.request_policy import (
    BACK_OFF,
    Attempt,
    Due,
    decide,
    key_of,
    read_attempts,
    write_attempts,
)

MINE = Due("mine", "v1", "never scored")


def names(decision):
    return [due.name for due in decision.requests]


def test_a_failing_version_is_tried_a_few_times_with_growing_waits_then_given_up():
    attempts, requested, now = {}, [], 1000.0
    while now < 10 * BACK_OFF[-1]:
        decision = decide([MINE], attempts, (), {}, now)
        attempts = read_attempts(write_attempts(decision.attempts))
        if decision.requests:
            requested.append(now)
        now += 100.0
    gaps = [after - before for before, after in zip(requested, requested[1:], strict=False)]
    assert gaps == list(BACK_OFF)
    assert attempts["mine"].tries == len(BACK_OFF) + 1
    assert "given up after 4 attempts" in decide([MINE], attempts, (), {}, now).told[0]


def test_another_version_or_benchmark_starts_anew_and_what_is_current_is_forgotten():
    attempts = {"mine": Attempt("v1", 4, 0.0), "other": Attempt("v1", 1, 0.0)}
    changed = decide([Due("mine", "v2", "its version changed")], attempts, (), {}, 1.0)
    assert names(changed) == ["mine"]
    assert changed.attempts == {"mine": Attempt("v2", 1, 1.0)}


def test_the_wait_begins_when_the_run_has_ended():
    attempts = {"mine": Attempt("v1", 1, 0.0)}
    assert names(decide([MINE], attempts, (), {}, 600.0)) == ["mine"]
    later = decide([MINE], attempts, (), {"mine": 3000.0}, 3599.0)
    assert later.told == ["mine failed 1 times, is tried again at 01:00:00 UTC"]
    assert names(decide([MINE], attempts, (), {"mine": 3000.0}, 3600.0)) == ["mine"]


def test_cursors_of_another_kind_hold_nothing():
    for text in (None, "", "[]", "3", "{", '{"a": 1}', '{"a": {"key": "k"}}'):
        assert read_attempts(text) == {}


def test_keys_do_not_depend_on_order():
    assert key_of("x", {"a": "1", "b": None}) == key_of("x", {"b": None, "a": "1"})
    assert key_of("x", {"a": "1"}) != key_of("x", {"a": "2"})


def test_what_has_another_name_has_another_key():
    assert key_of("mine", {"version": "1"}) != key_of("other", {"version": "1"})


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), unique=True),
    st.sets(st.sampled_from("abc")),
    st.dictionaries(
        st.sampled_from("abc"),
        st.builds(Attempt, st.sampled_from(["k", "l"]), st.integers(1, 6), st.floats(0, 1e5)),
    ),
    st.floats(0, 1e6),
)
def test_never_twice_at_once_and_each_is_requested_or_told(due, under_way, attempts, now):
    items = [Due(name, "k", "why") for name in due]
    found = decide(items, attempts, under_way, {}, now)
    assert not set(names(found)) & under_way
    assert len(found.told) + len(found.requests) == len(due)
    assert set(found.attempts) <= set(due)
    assert set(names(found)) <= set(found.attempts)
    again = decide(items, found.attempts, under_way, {}, now)
    assert not again.requests
