"""Which licence a record has, and whether models may be trained on it."""

from __future__ import annotations

import polars as pl

from saber_assets.corpus.licences import UNKNOWN, allows_training, spdx
from saber_assets.errors import InputError


def with_rights(frame: pl.DataFrame) -> pl.DataFrame:
    """Return records with `licence` as SPDX identifier and `for_training`, both never null.

    Args:
        frame: columns location; licence, as the record or its source names it, or null; and
            for_training, as these say, or null, which counts as true. A licence that forbids
            training wins.

    Raises:
        InputError: for a licence that isn't known, with the first record that names it.
    """
    names: dict[str, str] = {}
    for licence in frame["licence"].drop_nulls().unique().sort():
        try:
            names[licence] = spdx(licence)
        except InputError as error:
            first = frame.filter(pl.col("licence") == licence)["location"][0]
            raise InputError(f"{first}: {error.what}", error.mend) from error
    forbidding = [name for name in {*names.values(), UNKNOWN} if not allows_training(name)]
    licences = pl.col("licence").replace(names).fill_null(UNKNOWN)
    return frame.with_columns(
        licence=licences,
        for_training=pl.col("for_training").fill_null(True) & ~licences.is_in(forbidding),
    )
