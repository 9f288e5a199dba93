"""Write a corpus of any size out of a small one: copies of its problems with other numbers.

usage: python -m benchmarks.full_corpus SOURCE.jsonl[.gz] TARGET.jsonl --problems 283000

Copy number k adds k to every whole number of statement and solution, so that no copy repeats
another and topics stay what they are. The answers are then wrong, and many topic sets equal: it is
a load for the pipeline, no corpus to learn from. Records without a solution are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NUMBER = re.compile(r"\d+")


def usable(path: Path) -> list[dict[str, Any]]:
    """Return the records that have a statement and a solution, each id once."""
    opened = gzip.open if path.suffix == ".gz" else open
    found: dict[str, dict[str, Any]] = {}
    with opened(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            record = json.loads(line)
            if record["problem"].strip() and (record["solution"] or "").strip():
                found.setdefault(str(record["id"]), record)
    return list(found.values())


def copies(records: list[dict[str, Any]], problems: int) -> Iterator[dict[str, str]]:
    """Yield `problems` records, going round and round."""
    for place in range(problems):
        shift, number = divmod(place, len(records))
        record = records[number]

        def moved(text: str, shift: int = shift) -> str:
            return NUMBER.sub(lambda match: str(int(match[0][:9]) + shift), text)

        yield {
            "id": f"{record['id']}/{shift}",
            "source": record.get("source") or "source",
            "problem": moved(record["problem"]),
            "solution": moved(record["solution"]),
        }


def main() -> None:
    """Write the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--problems", type=int, default=283_000)
    chosen = parser.parse_args()
    with chosen.target.open("w", encoding="utf-8", newline="\n") as file:
        for record in copies(usable(chosen.source), chosen.problems):
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
