"""Records of sources as rows of the corpus: what a reader says of a fault goes along."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from saber_assets.corpus.problem_rows import record_part


def test_the_reason_of_a_fault_becomes_its_detail(tmp_path: Path) -> None:
    table = pl.LazyFrame(
        {
            "source_id": ["a", "b", "c"],
            "fault": ["unreadable", None, "synthetic"],
            "metadata": ['{"reason":"there is no such file"}', '{"reason":"mine"}', "{}"],
        }
    )
    part, _ = record_part(table, tmp_path / "part.parquet", "books")
    assert part.height == 3
    assert pl.read_parquet(part.file)["detail"].to_list() == ["there is no such file", None, None]
