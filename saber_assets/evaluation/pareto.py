"""The quality-latency frontier, for the two classes of systems apart (SPEC, 'Evaluation')."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

BI_ENCODERS = "bi-encoders"
JOINT = "cross-encoders and late interaction"
CLASSES = (BI_ENCODERS, JOINT)


def class_of(type_code: str) -> str | None:
    """Return the class of a type code, by its last letter; None where it has none.

    B is a bi-encoder; C (cross-encoder) and L (late interaction) read query and document jointly.
    """
    last = type_code[-1:]
    return BI_ENCODERS if last == "B" else JOINT if last in ("C", "L") else None


def is_on_frontier(quality: ArrayLike, latency: ArrayLike) -> NDArray[np.bool_]:
    """Tell which systems no other one beats.

    A system is beaten by one that is at least as good and at least as fast, and better in one of
    the two. Of systems that are equal in both, all are on the frontier, or none is.

    Args:
        quality: (n,) higher is better.
        latency: (n,) seconds, lower is better.

    Raises:
        ValueError: on unequal lengths, numbers that are not finite, or negative latencies.
    """
    good = np.asarray(quality, dtype=np.float64)
    slow = np.asarray(latency, dtype=np.float64)
    if good.ndim != 1 or good.shape != slow.shape:
        raise ValueError(f"two vectors of one length are needed, not {good.shape}, {slow.shape}")
    if not (np.isfinite(good).all() and np.isfinite(slow).all()) or (slow < 0).any():
        raise ValueError("quality and latency must be finite, and latency not negative")
    on = np.zeros(good.size, dtype=np.bool_)
    best = -np.inf
    order = np.lexsort((-good, slow))
    for start in order:
        equal = slow[start] == slow
        if good[start] > best:
            on |= equal & (good == good[start])
            best = good[start]
    return on


def frontiers(systems: pl.DataFrame, classes: Sequence[str] = CLASSES) -> pl.DataFrame:
    """Mark the systems on the frontier of their class.

    Args:
        systems: columns retriever, type_code, quality and latency (seconds a query; null where
            it was not measured).
        classes: which to trace.

    Returns:
        Columns retriever, class, quality, latency, on_frontier, by class and ascending latency.
        Systems without a class or a latency are left out; see `left_out`.
    """
    named = _with_class(systems).filter(
        pl.col("class").is_in(list(classes)) & pl.col("latency").is_not_null()
    )
    marked = [
        part.with_columns(
            on_frontier=pl.Series(
                is_on_frontier(part["quality"].to_numpy(), part["latency"].to_numpy())
            )
        )
        for _, part in sorted(named.group_by("class"), key=lambda item: classes.index(item[0][0]))
    ]
    columns = ["retriever", "class", "quality", "latency", "on_frontier"]
    if not marked:
        return named.with_columns(on_frontier=pl.lit(False)).select(columns)
    ordered = [
        part.sort(["latency", "quality", "retriever"], descending=[False, True, False])
        for part in marked
    ]
    return pl.concat(ordered).select(columns)


def left_out(systems: pl.DataFrame) -> dict[str, str]:
    """Return the systems that no frontier can hold, with the reason."""
    reasons = {}
    for name, code, latency in (
        _with_class(systems).select("retriever", "class", "latency").sort("retriever").iter_rows()
    ):
        if code is None:
            reasons[name] = "its type code says neither bi-encoder, cross-encoder nor late one"
        elif latency is None:
            reasons[name] = "its latency was not measured"
    return reasons


def _with_class(systems: pl.DataFrame) -> pl.DataFrame:
    return systems.with_columns(
        pl.Series(
            "class",
            [class_of(code or "") for code in systems["type_code"]],
            dtype=pl.String,
        ),
        pl.col("quality").cast(pl.Float64),
        pl.col("latency").cast(pl.Float64),
    )
