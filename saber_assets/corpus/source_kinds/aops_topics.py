"""Reads a forum topic out of the JSON objects that dumps of AoPS consist of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from saber_assets.corpus.source_kinds.protocol import Post, SourceThread

Object = Mapping[str, Any]

_TOPIC_ID = ("topic_id", "topicId", "topicid", "thread_id", "threadId")
_TITLE = ("topic_title", "title", "subject", "thread_title")
_CATEGORY = ("category_name", "forum_name", "forum", "category", "category_id", "forum_id")
_POSTS = ("posts_data", "posts", "post_list", "messages")
_WRAPPERS = ("response", "topic", "topic_data", "thread", "preload_cmty_data", "data")
_LISTS = ("topics", "threads")

_POST_ID = ("post_id", "postId", "id")
_NUMBER = ("post_number", "postNumber", "number", "post_num")
_AUTHOR = ("username", "poster", "poster_name", "author", "user", "poster_id", "user_id")
_TIME = ("post_time", "time", "timestamp", "created_at", "date", "posted_at")
_CANONICAL = ("post_canonical", "canonical", "bbcode")
_OTHER_TEXT = ("text", "body", "content", "message", "post_rendered", "rendered", "html")
_DELETED = ("deleted", "is_deleted", "post_deleted")
_NAMES = ("username", "name", "category_name", "title", "id")

_SURROGATE = re.compile("[\ud800-\udfff]")
_ID_IN_FRAGMENT = re.compile(rf'"(?:{"|".join(_TOPIC_ID)})"\s*:\s*"?(\d+)')
_MILLISECONDS = 100_000_000_000
_LAST_SECOND = 253_402_300_799  # of the year 9999


@dataclass(frozen=True, slots=True)
class _RawPost:
    """A post before the order of the thread is known; number and id are 0 where there is none."""

    post_id: int
    number: int | None
    post: Post


def topics_in(value: object) -> Iterator[Object]:
    """Yield the objects in a value that are meant as topics, or as single posts of one.

    What wraps a topic is taken off, and the keys around it are kept where it has none of its own:
    `{"response": {"topic": {...}}}`, `{"response": {"topic": {...}, "posts": [...]}}`.
    """
    if isinstance(value, list):
        for item in value:
            yield from topics_in(item)
        return
    if not isinstance(value, dict):
        return
    for name in _LISTS:
        if isinstance(value.get(name), list):
            yield from topics_in(value[name])
            return
    for name in _WRAPPERS:
        inner = value.get(name)
        if isinstance(inner, dict):
            yield from topics_in({**{k: v for k, v in value.items() if k != name}, **inner})
            return
        if isinstance(inner, list) and name != "data" and _posts(value) is None:
            yield from topics_in(inner)
            return
    yield value


def topic_id_of(value: Object) -> str | None:
    """Return the id of a topic as text, or None; 12, 12.0 and "12" are one id."""
    found = _first(value, _TOPIC_ID)
    if found is None and _posts(value) is not None:
        found = value.get("id")
    return _identifier(found)


def topic_id_in(fragment: str) -> str | None:
    """Return the id that the beginning of a broken topic names, or None."""
    match = _ID_IN_FRAGMENT.search(fragment)
    return match[1] if match else None


def is_single_post(value: Object) -> bool:
    """Tell whether an object is one post that names its topic, as in dumps of a post a line."""
    return (
        _posts(value) is None
        and _first(value, _TOPIC_ID) is not None
        and any(name in value for name in (*_CANONICAL, "post_rendered", "text"))
    )


def thread_of(value: Object, source_id: str, location: str) -> SourceThread:
    """Return the thread that an object describes.

    Posts stand in the order of their numbers. Where a number is missing or used twice, the order
    is that of the post ids, else of the times, else of the dump, and they are numbered anew. Of
    two posts with one id the later in the dump counts, unless it is empty. A deleted post is kept
    with an empty text, and so is an opening post that isn't there. Half a surrogate pair becomes
    U+FFFD in a comment; in the opening post it makes the thread unreadable.

    Args:
        value: of `topics_in`; a dict with a list of posts.
        source_id: id of the thread.
        location: for a person.
    """
    raw = [_post_of(item) for item in _posts(value) or []]
    posts = _in_order(_without_repeats(raw))
    fault = None if posts and any(post.text.strip() for post in posts) else "unreadable"
    if posts and _SURROGATE.search(posts[0].text):
        fault = "unreadable"
    return SourceThread(
        source_id,
        location,
        _readable(_as_text(_first(value, _TITLE))),
        tuple(replace(post, text=_readable(post.text)) for post in posts) or (_EMPTY,),
        _readable(_as_text(_first(value, _CATEGORY))),
        fault,
    )


def unreadable_thread(source_id: str, location: str) -> SourceThread:
    """Return what stands for a thread that can't be read."""
    return SourceThread(source_id, location, "", (_EMPTY,), fault="unreadable")


_EMPTY = Post(1, "", 0, "")


def _posts(value: Object) -> Sequence[Any] | None:
    for name in _POSTS:
        found = value.get(name)
        if isinstance(found, list):
            return found
        if isinstance(found, dict):
            return list(found.values())
    return None


def _post_of(value: object) -> _RawPost:
    if isinstance(value, str):
        return _RawPost(0, None, replace(_EMPTY, text=value))
    if not isinstance(value, dict):
        return _RawPost(0, None, _EMPTY)
    text = "" if any(value.get(name) is True for name in _DELETED) else _text_of(value)
    number = _whole(_first(value, _NUMBER))
    return _RawPost(
        _whole(_first(value, _POST_ID)) or 0,
        number,
        Post(
            1 if number is None else number,
            _readable(_as_text(_first(value, _AUTHOR))),
            _seconds(_first(value, _TIME)),
            text,
        ),
    )


def _text_of(post: Object) -> str:
    """Return BBCode where a post has it, else its plain text or HTML."""
    texts = (post.get(name) for name in (*_CANONICAL, *_OTHER_TEXT))
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def _without_repeats(raw: list[_RawPost]) -> list[_RawPost]:
    kept: dict[int, _RawPost] = {}
    for position, item in enumerate(raw):
        key = item.post_id if item.post_id > 0 else -1 - position
        if key not in kept or item.post.text.strip():
            kept[key] = item
    return list(kept.values())


def _in_order(raw: list[_RawPost]) -> list[Post]:
    numbers = [item.number for item in raw if item.number is not None]
    if len(set(numbers)) == len(raw):
        posts = sorted((item.post for item in raw), key=lambda post: post.number)
        return [_EMPTY, *posts] if posts and posts[0].number > 1 else posts
    if all(item.post_id > 0 for item in raw):
        raw = sorted(raw, key=lambda item: item.post_id)
    elif all(item.post.time > 0 for item in raw):
        raw = sorted(raw, key=lambda item: item.post.time)
    return [replace(item.post, number=number) for number, item in enumerate(raw, start=1)]


def _first(value: Object, names: Sequence[str]) -> Any:
    """Return what the first of some keys has that is there and not empty."""
    return next((value[name] for name in names if value.get(name) not in (None, "")), None)


def _as_text(value: object) -> str:
    if isinstance(value, dict):
        return _as_text(_first(value, _NAMES))
    return value.strip() if isinstance(value, str) else _identifier(value) or ""


def _identifier(value: object) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else None
    return (str(value).strip() or None) if isinstance(value, (int, str)) else None


def _whole(value: object) -> int | None:
    text = _identifier(value)
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else None


def _seconds(value: object) -> int:
    """Return a time in seconds since 1970, or 0 where it can't be told."""
    if isinstance(value, str) and not re.fullmatch(r"\s*\d{1,18}(?:\.\d+)?\s*", value):
        try:
            moment = datetime.fromisoformat(value.strip())
        except ValueError:
            return 0
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return max(0, int(moment.timestamp()))
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return 0
    number = float(value)
    if not 0 <= number < _LAST_SECOND * 1000:  # false for NaN, too
        return 0
    return int(number / 1000 if number >= _MILLISECONDS else number)


def _readable(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text) if not text.isascii() else text
