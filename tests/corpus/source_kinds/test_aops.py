"""Dumps of AoPS threads, in the shapes and with the damage that they come with."""

import gzip
import json
import random
import tracemalloc
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.source_kinds import json_stream
from saber_assets.corpus.source_kinds.aops import KIND, _SeenIds
from saber_assets.corpus.source_kinds.json_stream import Broken, iter_json
from saber_assets.errors import InputError

FIXTURE = Path(__file__).parents[1] / "fixtures" / "aops_threads.jsonl"


def topic(number, *texts, **more):
    posts = [
        {"post_id": number * 100 + n, "post_number": n, "username": f"u{n}", "post_time": n,
         "post_canonical": text}
        for n, text in enumerate(texts or ("Find $x$.", "It is $2$."), start=1)
    ]  # fmt: skip
    return {"topic_id": number, "topic_title": f"T{number}", "posts": posts} | more


def read(path):
    return list(KIND.read((path,), {}))


def write(path, *values, lines=True):
    path.write_text("\n".join(map(json.dumps, values)) if lines else json.dumps(list(values)))
    return path


def test_what_the_kind_declares():
    assert (KIND.name, KIND.shape, KIND.for_training) == ("aops", "threads", False)
    assert KIND.licence == "LicenseRef-AoPS"


def test_a_thread_of_each_shape_reads_alike(tmp_path):
    one = topic(7, "Find $x$.", "It is $2$.")
    texts = {
        "array.json": json.dumps([one]),
        "pretty.json": json.dumps([one], indent=2),
        "one.json": json.dumps(one),
        "one_pretty.json": json.dumps(one, indent=1),
        "lines.jsonl": json.dumps(one) + "\n",
        "crlf.ndjson": "\ufeff" + json.dumps(one) + "\r\n\r\n",
        "response.json": json.dumps({"response": {"topic": one}}),
        "apart.json": json.dumps(
            {"response": {"topic": {k: one[k] for k in ("topic_id", "topic_title")},
                          "posts": one["posts"]}}
        ),  # fmt: skip
        "many.json": json.dumps({"response": {"topics": [one]}}),
        "wrapped.json": json.dumps({"topics": [one], "count": 1}),
        "data.json": json.dumps(
            {"topic_id": 7, "topic_title": "T7", "posts_data": one["posts"]}
        ),
        "numbered.json": json.dumps(one | {"posts": dict(enumerate(one["posts"]))}),
        "posts.jsonl": "\n".join(
            json.dumps({"topic_id": "7", "topic_title": "T7", **post}) for post in one["posts"]
        ),
    }  # fmt: skip
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        (thread,) = read(tmp_path / name)
        assert (thread.source_id, thread.title, thread.fault) == ("7", "T7", None), name
        assert [(p.number, p.author, p.time, p.text) for p in thread.posts] == [
            (1, "u1", 1, "Find $x$."),
            (2, "u2", 2, "It is $2$."),
        ], name
        assert thread.location.startswith(name)
        assert KIND.recognises(tmp_path / name), name
    with gzip.open(tmp_path / "z.jsonl.gz", "wt") as stream:
        stream.write(texts["lines.jsonl"])
    assert read(tmp_path / "z.jsonl.gz")[0].posts == read(tmp_path / "one.json")[0].posts


def test_fields_under_other_names(tmp_path):
    (thread,) = read(
        write(tmp_path / "a.json", {
            "topic_id": "12", "title": " Sum ", "category": {"category_id": 4, "name": "Algebra"},
            "posts": [
                {"poster": "a", "time": "2012-05-04T10:00:00Z", "post_rendered": "<b>Find</b> $x$"},
                {"author": {"username": "b"}, "post_time": "1336125600", "text": "$x=1$"},
                {"poster_id": 5, "post_time": 1336125600123, "post_canonical": "", "body": "$2$"},
                {"post_canonical": "[b]x[/b]", "post_rendered": "<b>x</b>", "time": "yesterday"},
                "a bare text",
            ],
        })
    )  # fmt: skip
    assert (thread.title, thread.category) == ("Sum", "Algebra")
    assert [(p.number, p.author, p.time, p.text) for p in thread.posts] == [
        (1, "a", 1336125600, "<b>Find</b> $x$"),
        (2, "b", 1336125600, "$x=1$"),
        (3, "5", 1336125600, "$2$"),
        (4, "", 0, "[b]x[/b]"),
        (5, "", 0, "a bare text"),
    ]


@pytest.mark.parametrize("missing", [[], ["post_number"], ["post_number", "post_id"]])
def test_posts_out_of_order(tmp_path, missing):
    value = topic(3, "first", "second", "third")
    value["posts"].reverse()
    for post in value["posts"]:
        for name in missing:
            del post[name]
    (thread,) = read(write(tmp_path / "a.jsonl", value))
    assert [(p.number, p.text) for p in thread.posts] == [(1, "first"), (2, "second"), (3, "third")]


def test_gaps_in_the_numbers_stay_and_an_opening_post_that_is_not_there_is_empty(tmp_path):
    value = topic(3, "first", "second", "third", "fourth")
    del value["posts"][2]
    (thread,) = read(write(tmp_path / "a.jsonl", value))
    assert [p.number for p in thread.posts] == [1, 2, 4]
    del value["posts"][0]
    (thread,) = read(write(tmp_path / "a.jsonl", value))
    assert [(p.number, p.text) for p in thread.posts] == [(1, ""), (2, "second"), (4, "fourth")]


def test_deleted_and_repeated_posts(tmp_path):
    value = topic(3, "first", "second", "third")
    value["posts"][1]["deleted"] = True
    value["posts"] += [None, {"post_id": 303, "post_number": 3, "post_canonical": "third, edited"}]
    (thread,) = read(write(tmp_path / "a.jsonl", value))
    assert [p.text for p in thread.posts] == ["first", "", "third, edited", ""]


def test_a_topic_that_comes_again_gets_a_number(tmp_path):
    values = [topic(5), topic(5) | {"topic_id": "5"}, topic(6), topic(5) | {"topic_id": 5.0}]
    write(tmp_path / "a.jsonl", *values)
    write(tmp_path / "b.json", topic(6), lines=False)
    found = list(KIND.read((tmp_path / "a.jsonl", tmp_path / "b.json"), {}))
    assert [t.source_id for t in found] == ["5", "5#2", "6", "5#3", "6#2"]


@given(st.lists(st.one_of(st.integers(0, 40).map(str), st.sampled_from(["07", "x", "9" * 12]))))
def test_seen_ids_count_like_a_dictionary(names):
    seen, counts = _SeenIds(), {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        assert seen.number(name) == counts[name]


BROKEN = [
    '{"topic_id": 41, "posts": [{"post_canonical": "cut',
    '{"topic_id": 41, "posts": [{"post_canonical": "an "inner" quote"}]}',
    '{"topic_id": 41, "posts": [{"post_canonical": "bad \\q escape"}]}',
    '{"topic_id": 41, "posts": [}',
    '{"topic_id": 41, "posts": [{"post_canonical": "x"}]}}',
    '{"topic_id": 41 "posts": []}',
    '{"topic_id": 41, "posts": [{"topic_id": 41, "text": "a", {"topic_id": 41, "text": "b"}]}',
]


@pytest.mark.parametrize("broken", BROKEN)
@pytest.mark.parametrize("array", [True, False])
def test_a_broken_topic_costs_no_other(tmp_path, broken, array):
    good = [json.dumps(topic(number)) for number in (1, 2, 3, 4)]
    values = [*good[:2], broken, *good[2:]]
    path = tmp_path / ("a.json" if array else "a.jsonl")
    path.write_text("[" + ",\n".join(values) + "]" if array else "\n".join(values))
    found = read(path)
    sound = [t.source_id for t in found if t.fault is None and t.source_id[:2] != "41"]
    assert sound == list("1234")
    rest = [t for t in found if t.source_id not in set("1234")]
    assert rest
    assert all(t.posts for t in found)
    if not broken.endswith(("}}", '"b"}]}')):
        assert [(t.source_id, t.fault) for t in rest] == [("41", "unreadable")]
        assert "item 3" in rest[0].location or "line 3" in rest[0].location


@pytest.mark.parametrize(
    "value",
    [{"a": 1}, 17, "text", {"topic_id": 9}, {"posts": ["x"]}, {"topic_id": 9, "posts": []},
     {"topic_id": 9, "posts": None}],
)  # fmt: skip
def test_a_value_that_is_no_thread_is_unreadable_and_stays_visible(tmp_path, value):
    found = read(write(tmp_path / "dump.json", topic(1), value, topic(2), lines=False))
    assert [t.fault for t in found] == [None, "unreadable", None]
    expected = "9" if isinstance(value, dict) and "topic_id" in value else "dump@item 2"
    assert found[1].source_id.startswith(expected)


def test_an_array_that_breaks_off(tmp_path):
    path = tmp_path / "a.json"
    whole = json.dumps([topic(1), topic(2), topic(3)])
    for end in range(len(whole) // 3 + 40, len(whole)):
        path.write_text(whole[:end])
        found = read(path)
        assert found[0].source_id == "1"
        assert found[0].fault is None
        assert found[-1].fault == "unreadable"
        assert {t.source_id for t in found if t.fault is None} <= {"1", "2", "3"}


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_chunks_change_nothing(tmp_path_factory, data):
    strings = st.text(alphabet='ab"\\{}[],:\n\u2028é😀', max_size=12)
    values = data.draw(st.lists(st.dictionaries(strings, strings | st.integers()), min_size=1))
    array = data.draw(st.booleans())
    path = tmp_path_factory.mktemp("chunks") / "a.json"
    write(path, *values, lines=not array)
    old = json_stream.CHUNK
    json_stream.CHUNK = data.draw(st.integers(1, 60))
    try:
        assert [placed.value for placed in iter_json(path)] == values
    finally:
        json_stream.CHUNK = old


def test_broken_values_are_told_with_small_chunks_too(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_text('[{"topic_id": 1}, {"topic_id": 2, }, {"topic_id": tru}, {"topic_id": 4}]')
    for chunk in (1, 7, 20, 1000):
        monkeypatch.setattr(json_stream, "CHUNK", chunk)
        values = [placed.value for placed in iter_json(path)]
        assert [isinstance(value, Broken) for value in values] == [False, True, True, False]


def test_numbers_are_not_cut_where_the_window_ends(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("[12345, 67, true, 8.5, 8e-1]")
    for chunk in (1, 2, 3, 4):
        monkeypatch.setattr(json_stream, "CHUNK", chunk)
        assert [v.value for v in iter_json(tmp_path / "a.json")] == [12345, 67, True, 8.5, 0.8]


def test_raw_line_breaks_and_tabs_in_strings(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"topic_id": 1, "posts": ["a\tb\nc"]}\n' + json.dumps(topic(2)))
    assert [t.posts[0].text for t in read(path)] == ["a\tb\nc", "Find $x$."]


def test_line_separators_inside_strings(tmp_path):
    path = tmp_path / "a.jsonl"
    text = "a\u2028b\u0085c"
    path.write_text(json.dumps(topic(1, text), ensure_ascii=False), encoding="utf-8")
    assert read(path)[0].posts[0].text == text


def test_lost_characters(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(
        json.dumps(topic(1, "sound", "half \ud83d")).encode()
        + b"\n"
        + json.dumps(topic(2, "half \ud83d", "sound")).encode()
        + b'\n{"topic_id": 3, "posts": ["a", "caf\xe9"]}'
    )
    found = read(path)
    assert [t.fault for t in found] == [None, "unreadable", None]
    assert [t.posts[1].text for t in found] == ["half \ufffd", "sound", "caf\ufffd"]
    for thread in found:
        "".join(post.text for post in thread.posts).encode()


def test_polls_hidden_blocks_and_quotations_stay_as_they_are(tmp_path):
    text = "[quote=a]x[/quote] [hide=S]a<b[/hide]\n[poll]1|2[/poll]\r\n"
    value = topic(1, "p", text, poll={"options": ["1", "2"]}, tags=["algebra"])
    (thread,) = read(write(tmp_path / "a.jsonl", value))
    assert thread.posts[1].text == text


def test_a_folder_of_topics(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name, value in (("b", 2), ("a", 1), ("sub/c", 3), (".hidden/d", 4)):
        write(tmp_path / f"{name}.json", topic(value))
    (tmp_path / "readme.txt").write_text("no topic")
    (tmp_path / "c6h99.json").write_text("<html>Too many requests</html>")
    (tmp_path / "empty.json").write_text("")
    write(tmp_path / "many.json", topic(5), topic(6), lines=False)
    found = read(tmp_path)
    assert [(t.source_id, t.fault) for t in found] == [
        ("1", None), ("2", None), ("c6h99", "unreadable"), ("empty", "unreadable"), ("5", None),
        ("6", None), ("3", None),
    ]  # fmt: skip
    assert found[-1].location == "sub/c.json line 1"
    assert KIND.recognises(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("a.json", b"", "is empty"),
        ("a.json", b"<html></html>", "isn't JSON"),
        ("a.json", b"\xff\xfe[\x00", "isn't JSON"),
        ("a.json", b"[]", "no thread"),
        ("a.jsonl", b'{"id": 1, "problem": "x", "solution": "y"}\n' * 200, "no thread"),
        ("a.jsonl", b"{broken\n" * 3, "no thread"),
        ("a.jsonl.gz", b"no gzip", "can't be read"),
        ("a.jsonl.gz", gzip.compress(b'{"topic_id": 1, "posts": ["a"]}' * 99)[:-12], "end"),
        ("a.csv", b"x,y", "isn't JSON"),
        ("a.jsonl", b"\n".join(b'{"topic_id": %d, "text": "a"}' % n for n in (1, 2, 1)),
         "go on after posts of others"),
    ],
)  # fmt: skip
def test_files_that_are_refused(tmp_path, name, content, part):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=part) as caught:
        read(tmp_path / name)
    assert name in str(caught.value)


def test_more_that_is_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read(tmp_path / "nothing.json")
    with pytest.raises(InputError, match="no thread"):
        read(tmp_path)
    with pytest.raises(InputError, match="no option 'forum'"):
        KIND.read((FIXTURE,), {"forum": 6})


def test_recognises_never_raises(tmp_path):
    write(tmp_path / "p.jsonl", {"id": 1, "problem": "x", "solution": "y"})
    (tmp_path / "b.json.gz").write_bytes(b"no gzip")
    (tmp_path / "c.json").write_bytes(b"\xff\xfe\x00")
    for name in ("p.jsonl", "b.json.gz", "c.json", "missing.json", "x.tex"):
        assert not KIND.recognises(tmp_path / name)
    assert not KIND.recognises(tmp_path)
    assert KIND.recognises(FIXTURE)


def test_the_fixture_reads_whole():
    found = read(FIXTURE)
    rows = [line for line in FIXTURE.read_bytes().split(b"\n") if line.strip()]
    assert len(found) == len(rows) >= 25
    assert all(a.source_id < b.source_id for a, b in pairwise(found))
    assert read(FIXTURE) == found


@pytest.mark.parametrize("array", [True, False])
def test_memory_stays_flat(tmp_path, array):
    """A dump of 20 MB takes no more memory than one of 5 MB, and far less than itself."""
    words = random.Random(1).choices(["let", "$x^2+y^2$", "hence", "prime", "triangle"], k=600)
    peaks = []
    for megabytes in (5, 20):
        path = tmp_path / f"{megabytes}.json"
        text = json.dumps(topic(0, *[" ".join(words)] * 5)).replace(
            '"topic_id": 0', '"topic_id": %d'
        )
        count = megabytes * 1_000_000 // len(text)
        lines = (text % number for number in range(count))
        path.write_text(("[%s]" if array else "%s") % (",\n" if array else "\n").join(lines))
        tracemalloc.start()
        assert sum(thread.fault is None for thread in KIND.read((path,), {})) == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]
    assert peaks[1] < 8_000_000
