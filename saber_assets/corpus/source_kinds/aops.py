"""Kind of source "aops": JSON dumps of threads of the Art of Problem Solving forums."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from saber_assets.corpus.source_kinds.aops_topics import (
    is_single_post,
    thread_of,
    topic_id_in,
    topic_id_of,
    topics_in,
    unreadable_thread,
)
from saber_assets.corpus.source_kinds.json_stream import SUFFIXES, Broken, beginning, iter_json
from saber_assets.corpus.source_kinds.options import check_known
from saber_assets.corpus.source_kinds.protocol import SourceThread
from saber_assets.corpus.source_kinds.source_files import Skipped, check_regular, stem_of, walk
from saber_assets.errors import InputError

_MARKS = ('"topic_id"', '"topicId"', '"topicid"', '"thread_id"')
_POST_MARKS = ('"post_canonical"', '"post_rendered"', '"posts_data"', '"posts"')
_WITHOUT_THREAD = 100
"""So many values without any thread before the first one: the file isn't of this kind."""
_LARGEST_BIT = 1 << 26


@dataclass
class AopsKind:
    """Threads as an array of topics, as JSON Lines, or as a folder of files.

    A topic is an object with `topic_id`, a title, and a list of posts, alone or inside of what
    the forum's server wraps it in (`{"response": {"topic": {...}}}`). JSON Lines may also hold
    one post a line, those of a topic next to each other. Of each post the BBCode
    (`post_canonical`) is taken where there is one, else its text or HTML. A topic that comes
    again gets "#2" after its id. It has no options.
    """

    name: str = "aops"
    shape: Literal["records", "threads", "documents"] = "threads"
    description: str = "threads of the AoPS forums: JSON, JSON Lines, or a folder of such files"
    licence: str | None = "LicenseRef-AoPS"
    for_training: bool = False

    def recognises(self, path: Path) -> bool:
        """Tell whether a file, or one of the first three in a folder, begins like a dump."""
        try:
            if path.is_dir():
                with os.scandir(path) as entries:
                    names = (entry.name for entry in entries if _is_readable(entry.name))
                    first = heapq.nsmallest(3, names)
                return any(_looks_like_topics(path / name) for name in first)
            return _is_readable(path.name) and _looks_like_topics(path)
        except OSError:
            return False

    def count(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> int | None:
        """Return None: only reading everything tells."""
        return None

    def read(self, paths: tuple[Path, ...], options: Mapping[str, Any]) -> Iterator[SourceThread]:
        """Yield the threads, those that can't be read with the fault `unreadable`.

        Args:
            paths: files, whatever their names, or folders, which are walked in the order of
                names; files in them whose names don't end like JSON are passed over.
            options: none is known.

        Raises:
            InputError: for a path that isn't there, a file or folder without any thread, posts
                of a topic that are apart in a dump of a post a line, and an unknown option.
        """
        check_known(self.name, options, ())
        return _threads(tuple(Path(path) for path in paths))


KIND = AopsKind()


class _PostsApartError(InputError):
    """Posts of one topic are apart in a dump of a post a line."""


@dataclass
class _SeenIds:
    """Counts ids in little memory: a bit for each number that was seen once.

    Ids of topics are numbers below some millions, so half a million of them take less than a MB.
    """

    bits: bytearray = field(default_factory=bytearray)
    others: set[str] = field(default_factory=set)
    repeated: dict[str, int] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """Return how often an id has come, this time included."""
        if not self._seen(name):
            return 1
        self.repeated[name] = self.repeated.get(name, 1) + 1
        return self.repeated[name]

    def _seen(self, name: str) -> bool:
        plain = name.isascii() and name.isdecimal() and len(name) < 9 and str(int(name)) == name
        if not plain or int(name) >= _LARGEST_BIT:
            seen = name in self.others
            self.others.add(name)
            return seen
        place, bit = divmod(int(name), 8)
        if place >= len(self.bits):
            self.bits.extend(bytes(place + 1 - len(self.bits)))
        seen = bool(self.bits[place] >> bit & 1)
        self.bits[place] |= 1 << bit
        return seen


def _threads(paths: tuple[Path, ...]) -> Iterator[SourceThread]:
    seen = _SeenIds()
    for path in paths:
        if not path.is_dir():
            check_regular(path)
        for thread in _of_folder(path) if path.is_dir() else _of_file(path, path.name):
            number = seen.number(thread.source_id)
            yield (
                thread if number == 1 else replace(thread, source_id=f"{thread.source_id}#{number}")
            )


def _of_folder(folder: Path) -> Iterator[SourceThread]:
    found = False
    for path in walk(folder):
        if isinstance(path, Skipped) or not _is_readable(path.name):
            continue
        name = path.relative_to(folder).as_posix()
        try:
            for thread in _of_file(path, name):
                found = found or thread.fault is None
                yield thread
        except _PostsApartError:
            raise
        except InputError as error:
            yield unreadable_thread(stem_of(name), f"{name}: {error.what}")
    if not found:
        raise InputError(f"{folder} holds no thread that can be read", "give a folder of topics")


def _of_file(path: Path, name: str) -> Iterator[SourceThread]:
    """Yield a file's threads; hold those that can't be read back until one can."""
    held: list[SourceThread] | None = []
    for thread, told in _told_threads(path, name):
        if held is None:
            yield thread
            continue
        held.append(thread)
        if told:
            yield from held
            held = None
        elif len(held) >= _WITHOUT_THREAD:
            break
    if held is not None:
        first = held[0].location if held else name
        raise InputError(
            f"{path} holds no thread; it begins with {first}",
            "give topics as objects with 'topic_id' and 'posts'",
        )


@dataclass
class _Group:
    """The posts of one topic in a dump of a post a line, as far as they have come."""

    source_id: str
    place: str
    fields: dict[str, Any]
    posts: list[Any]


def _told_threads(path: Path, name: str) -> Iterator[tuple[SourceThread, bool]]:
    """Yield threads, each with whether it was decoded and has an id of its own."""
    group: _Group | None = None
    done = _SeenIds()
    for place, value in iter_json(path):
        location = f"{name} {place}"
        topics = [] if isinstance(value, Broken) else list(topics_in(value))
        if len(topics) == 1 and is_single_post(topics[0]) and (found := topic_id_of(topics[0])):
            if group is not None and group.source_id != found:
                yield _thread_of_group(group, name), True
                group = None
            if group is None:
                _refuse_apart(path, found, place, done.number(found))
                group = _Group(found, place, dict(topics[0]), [])
            group.posts.append(topics[0])
            continue
        if group is not None:
            yield _thread_of_group(group, name), True
            group = None
        if not topics:
            fragment, fault = (
                value if isinstance(value, Broken) else ("", "it holds no object with posts")
            )
            source_id = topic_id_in(fragment) or f"{stem_of(name)}@{place}"
            yield unreadable_thread(source_id, f"{location}: {fault}"), False
        for number, topic in enumerate(topics, start=1):
            inside = f" topic {number}" if len(topics) > 1 else ""
            found = topic_id_of(topic)
            source_id = found or f"{stem_of(name)}@{place}{inside}"
            thread = thread_of(topic, source_id, location + inside)
            # without an id it can't be told from other threads, nor be found again
            yield (thread if found else replace(thread, fault="unreadable")), found is not None
    if group is not None:
        yield _thread_of_group(group, name), True


def _thread_of_group(group: _Group, name: str) -> SourceThread:
    return thread_of(
        {**group.fields, "posts": group.posts}, group.source_id, f"{name} {group.place}"
    )


def _refuse_apart(path: Path, topic_id: str, place: str, beginnings: int) -> None:
    if beginnings > 1:
        raise _PostsApartError(
            f"{path} {place}: posts of topic {topic_id} go on after posts of others, and in a "
            "dump of a post a line those of a topic stand next to each other",
            "sort it by topic_id",
        )


def _is_readable(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _looks_like_topics(path: Path) -> bool:
    text = beginning(path)
    return any(mark in text for mark in _MARKS) and any(mark in text for mark in _POST_MARKS)
