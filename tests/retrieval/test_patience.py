"""How long a server is waited for."""

from __future__ import annotations

import email.utils
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.errors import UnavailableError
from saber_assets.retrieval.remote.patience import PassingError, Patience, retry_after


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7), ("0.5", 0.5), ("-3", 0), (None, None), ("", None), ("soon", None), ("nan", None)],
)
def test_seconds(text, seconds):
    assert retry_after(text) == seconds


@pytest.mark.parametrize("zone", ["GMT", "-0000", "+0000"])
def test_dates_are_read_in_utc(zone, monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        date = email.utils.formatdate(time.time() + 100)[:-5] + zone
        assert retry_after(date) == pytest.approx(100, abs=3)
        assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0
    finally:
        monkeypatch.undo()
        time.tzset()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.floats(0, 1e4), max_size=60), st.integers(1, 8))
def test_patience_has_an_end_and_no_wait_is_shorter_than_was_asked(asked, tries):
    waits, left = [], iter(asked)

    def ask():
        try:
            seconds = next(left)
        except StopIteration:
            return "here"
        raise PassingError(KeyError("busy"), seconds)

    patience = Patience("it", tries, 0.5, 30.0, sleep=waits.append)
    try:
        assert patience.get(ask) == "here"
        assert len(waits) == len(asked)
    except KeyError:
        assert asked[: len(waits) + 1].count(None) == tries
    except UnavailableError:
        assert asked[len(waits)] is not None
    assert all(
        wait >= (seconds or 0.5) for wait, seconds in zip(waits, asked[: len(waits)], strict=True)
    )
    given_ = [w for w, seconds in zip(waits, asked, strict=False) if seconds is not None]
    assert sum(given_) <= patience.asked
