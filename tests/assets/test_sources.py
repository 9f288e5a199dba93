"""Versions of the files that a build is made from: each is read once, and no change is missed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from saber_assets import sources
from saber_assets.errors import InputError
from saber_assets.sources import CORPUS_FILES, file_version, source_versions
from saber_resources.profiles import load_profile
from saber_resources.settings import Settings, Workdir

OLD = 10**9 * 1_700_000_000


@pytest.fixture
def opened(monkeypatch):
    """Names of the files that were opened for hashing."""
    names = []
    read = Path.open

    def spy(path, *arguments, **options):
        names.append(path.name)
        return read(path, *arguments, **options)

    monkeypatch.setattr(Path, "open", spy)
    return names


@pytest.fixture
def settled(monkeypatch):
    """Files count as old enough to be known by their times."""
    monkeypatch.setattr(sources, "CLOCK_TICK", -1)


def settings_of(tmp_path, *names):
    profile = load_profile("default", {"corpus": {"files": names}, "ontology": {"file": "o.csv"}})
    (tmp_path / "o.csv").write_text("id,parents\nm,\n", encoding="utf-8")
    return Settings(Workdir(tmp_path), profile)


def test_unchanged_files_are_read_once_and_changed_ones_again(tmp_path, opened, settled):
    settings = settings_of(tmp_path, "a.jsonl", "b.jsonl")
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(name.encode())
    opened.clear()
    first = source_versions(settings)
    assert opened.count("a.jsonl") == opened.count("b.jsonl") == opened.count("o.csv") == 1
    assert source_versions(settings) == first
    assert opened.count("a.jsonl") == 1
    (tmp_path / "b.jsonl").write_bytes(b"c.jsonl")  # the same size
    assert source_versions(settings)[CORPUS_FILES] != first[CORPUS_FILES]
    assert opened.count("o.csv") == 1


@pytest.mark.parametrize("how", ["size", "time", "replaced", "time put back"])
def test_any_sign_of_a_write_is_enough(tmp_path, settled, how):
    file = tmp_path / "f"
    file.write_bytes(b"one")
    os.utime(file, ns=(OLD, OLD))
    before = file_version(file)
    if how == "replaced":
        (tmp_path / "g").write_bytes(b"two")
        os.utime(tmp_path / "g", ns=(OLD, OLD))
        (tmp_path / "g").replace(file)
    else:
        time.sleep(0.02)
        file.write_bytes(b"three" if how == "size" else b"two")
        os.utime(file, ns=(OLD, OLD + (how == "time")))
    after = file_version(file)
    assert after != before
    sources._HASHES.clear()
    assert file_version(file) == after


def test_a_file_written_just_now_is_not_trusted(tmp_path, opened):
    file = tmp_path / "f"
    file.write_bytes(b"one")
    opened.clear()
    assert file_version(file) == file_version(file)
    assert opened.count("f") == 2


def test_a_file_that_grows_while_it_is_read_is_read_again(tmp_path, settled, monkeypatch):
    file = tmp_path / "f"
    file.write_bytes(b"one")
    read = Path.open

    def grows(path, *arguments):
        monkeypatch.setattr(Path, "open", read)
        file.write_bytes(b"one and two")
        return read(path, *arguments)

    monkeypatch.setattr(Path, "open", grows)
    file_version(file)
    file.write_bytes(b"one and six")
    grown = file_version(file)
    sources._HASHES.clear()
    assert file_version(file) == grown


def test_what_is_not_there_has_a_version_or_a_sentence(tmp_path):
    assert file_version(tmp_path / "none") == "unreadable (No such file or directory)"
    with pytest.raises(InputError, match=r"corpus file .*none.jsonl does not exist"):
        source_versions(settings_of(tmp_path, "none.jsonl"))


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(InputError, match="is a pipe or a device"):
        sources.check_file(tmp_path / "pipe.jsonl", "corpus file")
