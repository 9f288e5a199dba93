"""What a build says of a retriever that failed on queries."""

from __future__ import annotations

import polars as pl

from saber_services.cli.build import _told_failures


def test_the_commonest_reason_is_told_with_its_count() -> None:
    rows = [("x", "a rare one")] * 2 + [("x", "out of memory.")] * 5 + [("y", "too long")] * 3
    failures = pl.DataFrame(rows, schema=["retriever", "reason"], orient="row")
    assert list(_told_failures(failures)) == [
        ("x", 7, "5 of them: out of memory"),
        ("y", 3, "too long"),
    ]
