"""The rows of the two overviews: retrievers on the first board, and queries."""

from __future__ import annotations

from typing import Any

from saber_services.report.board import WholeBoard
from saber_services.report.pools import Pools
from saber_services.report.query_values import QueryValues
from saber_services.report.standings import Row


def index_rows(board: WholeBoard | None) -> list[tuple[str, dict[str, Any]]]:
    """Return each retriever's row on the first board; it is hidden where it has none there."""
    if board is None:
        return []
    first = board.standings.boards[0]
    letters = board.letters.get(first.setting, {})
    own = {row.retriever: row for row in first.rows}
    found = []
    for name, family in board.retrievers.items():
        row = own.get(name, Row(0, name, family, 0.0, 0.0, 0.0, 0, 0))
        there = name in own
        plain = {field: getattr(row, field) for field in Row.__dataclass_fields__}
        extra = {"is_control": row.is_control, "letters": letters.get(name, "")}
        found.append((name, {**plain, **extra, "setting_has": there}))
    return found


def query_rows(pools: Pools | None, values: QueryValues | None) -> list[dict[str, Any]]:
    """Return a line about each query: its pool, its mean, and who is best on it."""
    if pools is None:
        return []
    means = values.means() if values else None
    places = {q: n for n, q in enumerate(values.queries)} if values else {}
    rows = []
    for number, query in enumerate(pools.queries):
        column = places.get(query)
        best = values.best(column) if values and column is not None else None
        value = None
        if values and column is not None and best is not None:
            value = float(values.values[values.retrievers.index(best), 0, column])
        size = int(pools.offsets[number + 1] - pools.offsets[number])
        rows.append(
            {
                "query_id": query,
                "domains": pools.domains[number],
                "size": size,
                "mean": None if means is None or column is None else float(means[column]),
                "best": best,
                "value": value,
            }
        )
    return rows
