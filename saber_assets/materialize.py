"""How every asset declares its tables and hands them over: one way, for all stages."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg
import polars as pl

from saber_assets.content_hash import content_hash
from saber_assets.streamed import Streamed
from saber_assets.table import Table

OWNERS = ["team:benchmark"]
SAMPLE_ROWS = 5
SAMPLE_CHARACTERS = 160
VALUES_KEY = "saber/values"
NOTE_KEY = "saber/note"
"""Metadata that `saber build` tells: what a person should know of a table that is as promised."""

Values = Mapping[str, Any]
"""What decides an asset's content besides its upstream tables: configuration, fingerprints."""


def code_version(version: int, values: Values) -> str:
    """Return the code version of an asset: its algorithm's number and a hash of its values."""
    text = json.dumps(values, sort_keys=True, default=str)
    return f"{version}.{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"


def declare(
    tables: Sequence[Table],
    *,
    group: str,
    version: int,
    values: Values,
    kinds: Sequence[str] = (),
    always: bool = True,
) -> dict[str, dg.AssetOut]:
    """Return the `outs` of a multi-asset that makes these tables.

    Args:
        tables: contracts, in the order in which they are handed over.
        group: the stage.
        version: raised by hand when the algorithm changes what it makes.
        values: see `Values`; any change makes the asset stale.
        kinds: shown in the graph, besides polars and parquet.
        always: False where a run may find that there is nothing to do, and hand nothing over.
    """
    return {
        table.name: dg.AssetOut(
            description=table.description,
            group_name=group,
            code_version=code_version(version, values),
            io_manager_key="tables",
            owners=OWNERS,
            is_required=always,
            kinds={"polars", "parquet", *kinds},
            metadata={
                "dagster/column_schema": column_schema(table),
                VALUES_KEY: plain_values(values),
            },
        )
        for table in tables
    }


def plain_values(values: Values) -> dg.JsonMetadataValue:
    """Return values as metadata that compares equal after a round trip through JSON."""
    return dg.MetadataValue.json(json.loads(json.dumps(values, default=str)))


def column_schema(table: Table) -> dg.TableSchema:
    """Return a table's columns with types and descriptions for the user interface."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                name,
                str(column.dtype),
                description=column.description,
                constraints=dg.TableColumnConstraints(
                    nullable=column.nullable, unique=table.key == (name,)
                ),
            )
            for name, column in table.columns.items()
        ]
    )


def hand_over(
    frames: Sequence[tuple[Table, pl.DataFrame | Streamed]],
    values: Values,
    metadata: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[dg.Output[pl.DataFrame]]:
    """Yield the outputs of a multi-asset, each checked, with a content hash as data version.

    Args:
        frames: tables with what was made for them, at once or in parts.
        values: as given to `declare`; kept, so that `saber status` can name what changed.
        metadata: more to show in the user interface, by table name.
    """
    for table, made in frames:
        if not isinstance(made, Streamed):
            sound = table.conform(made)
            made = Streamed(sound, sound.height, sound, content_hash(sound))
        yield dg.Output(
            made.frame,  # type: ignore[arg-type]
            output_name=table.name,
            data_version=dg.DataVersion(made.version),
            metadata={
                "dagster/row_count": made.height,
                "sample": dg.MetadataValue.md(sample(made.head)),
                VALUES_KEY: plain_values(values),
                **((metadata or {}).get(table.name, {})),
            },
        )


def sample(frame: pl.DataFrame) -> str:
    """Return the first rows as a Markdown table, long texts cut."""
    head = frame.head(SAMPLE_ROWS)
    rows = [
        "| " + " | ".join(head.columns) + " |",
        "|" + " --- |" * len(head.columns),
        *("| " + " | ".join(_cell(value) for value in row) + " |" for row in head.iter_rows()),
    ]
    return "\n".join(rows)


def _cell(value: object) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
    return text if len(text) <= SAMPLE_CHARACTERS else text[: SAMPLE_CHARACTERS - 1] + "…"
