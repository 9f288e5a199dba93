"""Asset checks that every stage builds from: contracts, orphan keys, shares of failures."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg
import polars as pl

from saber_assets.run_tags import PARTITION_TAG
from saber_assets.table import Table
from saber_resources.settings import Settings
from saber_resources.warehouse import read_table

Verdict = tuple[bool, Mapping[str, Any]]


def table_check(
    settings: Settings,
    asset: str,
    name: str,
    description: str,
    verdict: Callable[..., Verdict],
    others: Sequence[str] = (),
    severity: dg.AssetCheckSeverity = dg.AssetCheckSeverity.ERROR,
) -> dg.AssetChecksDefinition:
    """Return an asset check over an asset's whole table and those of other assets.

    In a run that makes one partition, it reads that partition only: the others may still wait to
    be made from new inputs, and whoever makes them checks them.

    Args:
        settings: where the tables lie.
        asset: the asset that is checked.
        name: of the check.
        description: what holds when it passes.
        verdict: takes the frames, the asset's own first; returns whether it passed, and metadata.
        others: further assets that it reads.
        severity: of a check that fails; an error stops a build, a warning is told.
    """

    @dg.asset_check(asset=asset, name=name, description=description, additional_deps=list(others))
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        partition = context.run.tags.get(PARTITION_TAG)
        tables = settings.workdir.tables
        frames = [read_table(tables, table, partition) for table in (asset, *others)]
        passed, metadata = verdict(*frames)
        return dg.AssetCheckResult(passed=bool(passed), metadata=dict(metadata), severity=severity)

    return check


def contract(settings: Settings, table: Table) -> dg.AssetChecksDefinition:
    """Return a check of a table's unique key, its nulls and its rules."""
    rules = "".join(f"; {rule.name}" for rule in table.rules)

    def verdict(frame: pl.DataFrame) -> Verdict:
        faults = table.faults(frame)
        return not faults, {"faults": "; ".join(faults) or "none", "rows": frame.height}

    return table_check(
        settings,
        table.name,
        "contract",
        f"Unique {' + '.join(table.key)}, no unexpected nulls{rules}.",
        verdict,
    )


def no_orphans(
    settings: Settings, asset: str, column: str, other: str, other_column: str
) -> dg.AssetChecksDefinition:
    """Return a check that each value of a column is a key of another table."""

    def verdict(frame: pl.DataFrame, others: pl.DataFrame) -> Verdict:
        known = others.select(pl.col(other_column).alias(column))
        orphans = frame.select(column).unique().join(known, on=column, how="anti")
        examples = ", ".join(str(value) for value in orphans[column].sort().head(5))
        return orphans.is_empty(), {"orphans": orphans.height, "examples": examples or "none"}

    return table_check(
        settings,
        asset,
        f"{column}_known",
        f"Every {column} is a {other_column} of {other}.",
        verdict,
        [other],
    )


def few_failures(settings: Settings, asset: str, failures: str) -> dg.AssetChecksDefinition:
    """Return a check that failed items are at most the configured share of all items."""
    most = settings.profile.checks.max_failure_share

    def verdict(frame: pl.DataFrame, failed: pl.DataFrame) -> Verdict:
        share = failed.height / max(1, frame.height + failed.height)
        return share <= most, {"share": share, "limit": most, "failed": failed.height}

    return table_check(
        settings,
        asset,
        "few_failures",
        f"At most {most:.0%} of the items failed.",
        verdict,
        [failures],
    )
