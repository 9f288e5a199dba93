"""Folders are replaced whole, also when the process is killed at any moment."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from saber_resources import atomic
from saber_resources.atomic import replacing_folder

ROOT = Path(__file__).parents[2]
ENDLESS = """
import sys
from pathlib import Path
from saber_resources.atomic import replacing_folder
target, number = Path(sys.argv[1]), 0
while True:
    number += 1
    with replacing_folder(target) as folder:
        for name in ("a", "b", "c"):
            (folder / name).write_text(str(number))
    print(number, flush=True)
"""


def fill(folder: Path, text: str) -> None:
    (folder / "below").mkdir()
    (folder / "below" / "file").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def text_of(folder: Path) -> str:
    return (folder / "below" / "file").read_text()


@pytest.mark.parametrize("exchange", [True, False])
def test_new_over_old(exchange, tmp_path, monkeypatch) -> None:
    if not exchange:
        monkeypatch.setattr(atomic, "_exchange", lambda one, other: False)
    target = tmp_path / "deep" / "name[1]"
    for text in ("old", "new"):
        with replacing_folder(target) as folder:
            fill(folder, text)
        assert text_of(target) == text
    assert names(target.parent) == [target.name]


def test_a_failure_leaves_the_old_one(tmp_path) -> None:
    with replacing_folder(tmp_path / "x") as folder:
        fill(folder, "old")
    with pytest.raises(RuntimeError), replacing_folder(tmp_path / "x") as folder:
        fill(folder, "new")
        raise RuntimeError
    assert text_of(tmp_path / "x") == "old"
    assert names(tmp_path) == ["x"]


def test_what_the_dead_left_is_cleared_and_what_the_living_make_is_not(tmp_path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    gone, kept = tmp_path / f".x.{dead.pid}.new", tmp_path / f".x.{os.getppid()}.new"
    for folder in (gone, kept, tmp_path / f".x.{dead.pid}.old"):
        folder.mkdir()
        fill(folder, "aside")
    with pytest.raises(RuntimeError), replacing_folder(tmp_path / "x"):
        raise RuntimeError
    assert not gone.exists()
    assert kept.exists()
    assert text_of(tmp_path / "x") == "aside"  # it was killed between the two steps


def test_kills(tmp_path) -> None:
    """Twenty kills at arbitrary moments: the three files always say the same number."""
    target = tmp_path / "export"
    for tries in range(20):
        process = subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(target)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdout is not None
        for _ in range(1 + tries):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        assert len({(target / name).read_text() for name in ("a", "b", "c")}) == 1
    assert len(names(tmp_path)) <= 2
