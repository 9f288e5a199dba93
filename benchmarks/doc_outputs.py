"""Keeps outputs in the documentation true: `python -m benchmarks.doc_outputs [--check]`.

A block between `<!-- output: COMMAND -->` and `<!-- /output -->` is what COMMAND prints, run by
bash in a folder with the built sample in saber_work; so is the `leaderboard` block of README.
Blocks marked `output once` hold times of one machine: they are made anew, but never checked.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCK = re.compile(
    r"(?P<head><!-- (?P<kind>output|output once|leaderboard): (?P<command>[^\n]*) -->\n)"
    r"(?P<body>.*?)(?P<end><!-- /(?:output|leaderboard) -->)",
    re.DOTALL,
)
SABER = f"""#!{sys.executable}
from saber_services.cli.main import main
main()
"""
LIMIT = 600
ELSEWHERE = ("SABER_WORKDIR", "DAGSTER_HOME")
"""Variables that would have a command look into another workdir."""
BUILD = "saber build --workdir saber_work"


class Output(NamedTuple):
    """A block of a page."""

    page: Path
    command: str
    body: str
    is_timed: bool


def outputs(pages: tuple[Path, ...] = PAGES) -> list[Output]:
    """Return the blocks of the pages, in order."""
    return [
        Output(page, found["command"], found["body"], found["kind"] == "output once")
        for page in pages
        for found in BLOCK.finditer(page.read_text(encoding="utf-8"))
    ]


def run(command: str, folder: Path) -> str:
    """Return a command and what it prints, fenced, as a block holds it; of Markdown that alone.

    What a build prints is left out; the sample is built already.
    """
    command = command.removeprefix("saber build && ")
    tools = folder / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "saber").write_text(SABER, encoding="utf-8")
    (tools / "saber").chmod(0o755)
    outside = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    paths = {"PATH": f"{tools}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "COLUMNS": "80"}
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**outside, **paths},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if ended.returncode:
        raise SystemExit(f"{command}\n{ended.stderr}")
    text = "\n".join(line.rstrip() for line in ended.stdout.strip("\n").splitlines())
    return f"{text}\n" if "--format markdown" in command else f"```\n$ {command}\n{text}\n```\n"


def wrong(folder: Path) -> Iterator[Output]:
    """Yield the blocks that aren't what their command prints, in a folder with the sample."""
    for block in outputs():
        if not block.is_timed and run(block.command, folder) != block.body:
            yield block


def refresh(folder: Path, pages: tuple[Path, ...]) -> None:
    """Write every block anew, in a folder with the sample."""
    for page in sorted({block.page for block in outputs(pages)}):
        text = BLOCK.sub(
            lambda found: found["head"] + run(found["command"], folder) + found["end"],
            page.read_text(encoding="utf-8"),
        )
        page.write_text(text, encoding="utf-8")


def main() -> None:
    """Refresh the blocks, or tell which are wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", type=Path, help="Only this one.")
    parser.add_argument("--folder", type=Path, help="With the built sample in saber_work.")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = chosen.folder or Path(place)
        if chosen.folder is None:
            run(BUILD, folder)
        if not chosen.check:
            refresh(folder, PAGES if chosen.page is None else (chosen.page,))
            return
        faults = list(wrong(folder))
    for block in faults:
        print(f"{block.page.name}: not what `{block.command}` prints")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
