"""The data card of an export: a README with the head that Hugging Face reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

TAGS = ("mathematics", "information-retrieval", "reranking", "graded-relevance", "saber")
TASKS = ("text-retrieval", "text-ranking")
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (10**6, "100K<n<1M"))
LARGEST_SIZE = "1M<n<10M"

Table = tuple[Sequence[str], Sequence[Sequence[object]]]
"""Heads and rows."""


@dataclass(frozen=True)
class CardFacts:
    """What a card tells.

    Attributes:
        title: name of the benchmark.
        documents: how many.
        licences: SPDX identifier to documents under it; empty where none is known.
        languages: ISO 639-1 codes; empty where unknown.
        configs: for the head, see `hf_dataset.card_configs`; empty where the format has none.
        data: name to figure.
        sections: title to what stands below: paragraphs, or tables of heads and rows.
        limits: known ones, a sentence each.
        loading: Python code that loads the export.
    """

    title: str
    documents: int
    licences: Mapping[str, int] = field(default_factory=dict)
    languages: Sequence[str] = ()
    configs: Sequence[Mapping[str, object]] = ()
    data: Mapping[str, object] = field(default_factory=dict)
    sections: Mapping[str, Sequence[str | Table]] = field(default_factory=dict)
    limits: Sequence[str] = ()
    loading: str = ""


def render_card(facts: CardFacts) -> str:
    """Return the README as Markdown with a YAML head; the same facts give the same text."""
    parts = [
        f"---\n{yaml.safe_dump(_head(facts), sort_keys=False, allow_unicode=True)}---",
        f"# {_line(facts.title)}",
        "A graded retrieval benchmark of mathematical problems, made and exported with SABER: "
        "each query has a pool of candidate documents, and each candidate a rating from 0 to 5 "
        "for how useful it is. The measure is nDCG@10 with gain 2^rating - 1 over the pool.",
        "## Data",
        _table((("what", "value"), list(facts.data.items()))),
    ]
    if facts.loading:
        parts += ["## Loading it", f"```python\n{facts.loading.strip()}\n```"]
    for title, blocks in facts.sections.items():
        parts.append(f"## {title}")
        parts += [block if isinstance(block, str) else _table(block) for block in blocks]
    parts += ["## Licences", _licences(facts.licences)]
    parts += ["## Known limits", "\n".join(f"* {_line(limit)}" for limit in facts.limits)]
    parts += ["## Files", "`sha256sum --check SHA256SUMS` tells whether the files are whole."]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(facts: CardFacts) -> dict[str, Any]:
    known = [name for name in facts.licences if name]
    head: dict[str, Any] = {
        "pretty_name": facts.title,
        "license": known[0].lower() if len(facts.licences) == 1 and known else "other",
        "task_categories": list(TASKS),
        "tags": list(TAGS),
        "size_categories": [_size(facts.documents)],
    }
    if facts.languages:
        head["language"] = list(facts.languages)
    if facts.configs:
        head["configs"] = [dict(config) for config in facts.configs]
    return head


def _size(documents: int) -> str:
    return next((name for limit, name in SIZES if documents < limit), LARGEST_SIZE)


def _licences(licences: Mapping[str, int]) -> str:
    if not licences:
        return (
            "The licences of the documents are not known to this benchmark: ask its sources before "
            "you pass the texts on."
        )
    rows = [(name or "not stated", count) for name, count in licences.items()]
    return _table((("licence", "documents"), rows))


def _table(table: Table) -> str:
    heads, rows = table
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return _line(text).replace("|", "\\|").replace("<", "&lt;")


def _line(text: str) -> str:
    return " ".join(text.split())
