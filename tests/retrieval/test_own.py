"""A person's own retrievers: good ones work, and each mistake gets one clear sentence."""

import dataclasses
import json
import pickle
import sys

import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.own.own_class import load_own
from saber_assets.retrieval.own.own_list import Own, add_own, read_own, remove_own
from saber_assets.retrieval.registry import BUILTIN, own_entry, registry

GOOD = """
class Mine:
    def score(self, query, documents):
        return [float(len(document)) for document in documents]
"""


@pytest.fixture
def write(tmp_path):
    def _write(content, name="mine.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(content, encoding="utf-8")
        return path

    return _write


def test_a_class_with_one_method_is_enough(write):
    entry = load_own(f"{write(GOOD)}:Mine")
    assert (entry.name, entry.family, entry.missing()) == ("mine", "own", None)
    assert entry.make().score("q", ["a", "bb"]) == [1.0, 2.0]
    assert entry.make() is not entry.make()


def test_class_attributes_describe_it(write):
    path = write(
        "class Mine:\n"
        "    name = 'my-model.v2'\n    family = 'dense'\n    type_code = 'RB'\n"
        "    description = 'Mine.'\n    version = 7\n"
        "    def score(self, query, documents):\n        return [0.0] * len(documents)\n"
    )
    entry = load_own(f"{path}:Mine")
    assert (entry.name, entry.family, entry.type_code) == ("my-model.v2", "dense", "RB")
    assert entry.description == "Mine."
    assert load_own(f"{path}:Mine", "other").name == "other"
    path.write_text(path.read_text() + "\n# a comment\n")
    assert load_own(f"{path}:Mine").version == entry.version
    path.write_text(path.read_text().replace("version = 7", "version = 8"))
    assert load_own(f"{path}:Mine").version != entry.version


def test_the_version_follows_the_file(write):
    path = write(GOOD)
    first = load_own(f"{path}:Mine")
    assert load_own(f"{path}:Mine").version == first.version
    write(GOOD.replace("len(document)", "-len(document)"))
    second = load_own(f"{path}:Mine")
    assert second.version != first.version
    assert second.make().score("q", ["abc"]) == [-3.0]
    write(GOOD)
    assert load_own(f"{path}:Mine").version == first.version


def test_files_beside_it_are_importable_count_and_do_not_mix(write):
    content = "from helper import VALUE\n" + GOOD.replace("float(len(document))", "VALUE")
    versions = {}
    for folder, value in (("one", 1.0), ("two", 2.0)):
        write(f"VALUE = {value}\n", f"{folder}/helper.py")
        path = write(content, f"{folder}/mine.py")
        entry = load_own(f"{path}:Mine")
        assert entry.make().score("q", ["d"]) == [value]
        assert str(path.parent) not in sys.path
        versions[folder] = entry.version
    assert versions["one"] != versions["two"]
    write("VALUE = 3.0\n", "one/helper.py")
    changed = load_own(f"{path.parents[1] / 'one' / 'mine.py'}:Mine")
    assert changed.version != versions["one"]
    assert changed.make().score("q", ["d"]) == [3.0]
    assert not list(path.parents[1].rglob("__pycache__"))
    write(GOOD, "one/mine.py")
    (path.parents[1] / "one" / "helper.py").unlink()
    assert load_own(f"{path.parents[1] / 'one' / 'mine.py'}:Mine").make().score("q", ["d"]) == [1.0]


def test_installed_packages_below_it_are_left_alone(write, monkeypatch):
    write("VALUE = 1.0\n", ".venv/site-packages/installed_below.py")
    path = write("import installed_below, saber_assets.evaluation.tables\n" + GOOD)
    monkeypatch.syspath_prepend(str(path.parent / ".venv" / "site-packages"))
    load_own(f"{path}:Mine")
    kept = sys.modules["installed_below"]
    path.write_text(path.read_text() + "# edited\n")
    load_own(f"{path}:Mine")
    assert sys.modules["installed_below"] is kept
    del sys.modules["installed_below"]


def test_dataclasses_and_pickle_work(write):
    path = write(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Mine:\n    weight: float = 2.0\n"
        "    def score(self, query, documents):\n        return [self.weight] * len(documents)\n"
    )
    made = load_own(f"{path}:Mine").make()
    assert pickle.loads(pickle.dumps(made)).score("q", ["d"]) == [2.0]


def test_a_module_of_the_current_folder(write, monkeypatch):
    path = write(GOOD, "package_of_mine/retrievers.py")
    write("", "package_of_mine/__init__.py")
    monkeypatch.chdir(path.parents[1])
    entry = load_own("package_of_mine.retrievers:Mine")
    assert entry.make().score("q", ["abc"]) == [3.0]


BAD = [
    ("no colon", GOOD, "{path}", "has no colon"),
    ("no class", GOOD, "{path}:", "lacks a file or a class name"),
    ("no such file", GOOD, "{path}x.py:Mine", "doesn't exist"),
    ("syntax", "class Mine:\n    def score(self\n", "{path}:Mine", "line 2, SyntaxError"),
    ("raises", "\n\nraise KeyError('oops')\n", "{path}:Mine", "line 3, KeyError: 'oops'"),
    ("exits", "import sys\nsys.exit(3)\n", "{path}:Mine", "line 2, SystemExit: 3"),
    ("import", "import not_there_at_all\n", "{path}:Mine", "install what it imports ('not_there"),
    ("other class", GOOD, "{path}:Yours", "the classes there are Mine"),
    ("no class at all", "X = 1\n", "{path}:Mine", "there is no class at all"),
    ("a function", "def Mine():\n    pass\n", "{path}:Mine", "isn't a class"),
    ("arguments", "class Mine:\n    def __init__(self, model):\n        pass\n"
     "    def score(self, q, d):\n        return []\n", "{path}:Mine", "'model'"),
    ("no score", "class Mine:\n    pass\n", "{path}:Mine", "has no method `score`"),
    ("bad name", "class Mine:\n    name = 'My Model'\n    def score(self, q, d): ...\n",
     "{path}:Mine", "'My Model' can't be the name"),
    ("built in", "class Bm25:\n    def score(self, q, d): ...\n", "{path}:Bm25", "built-in"),
    ("no module", GOOD, "not_there_at_all.deep:Mine", "there is no module"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reference", "sentence"), [case[1:] for case in BAD],
                         ids=[case[0] for case in BAD])  # fmt: skip
def test_mistakes_get_one_sentence(write, content, reference, sentence):
    path = write(content)
    with pytest.raises(InputError) as caught:
        load_own(reference.format(path=path))
    message = str(caught.value)
    assert sentence in message
    assert "\n" not in message
    assert "Traceback" not in message
    assert str(path.parent) not in sys.path


@pytest.mark.parametrize("name", ["", "Upper", "-dash", "a/b", "a b", "x" * 65, "é", "a\n"])
def test_names_that_break_the_rule(write, name):
    with pytest.raises(InputError, match="can't be the name"):
        load_own(f"{write(GOOD)}:Mine", name)


def test_a_constructor_that_fails_tells_when_it_is_made(write):
    path = write(
        "class Mine:\n    def __init__(self):\n        raise RuntimeError('no\\nGPU')\n"
        "    def score(self, q, d): ...\n"
    )
    with pytest.raises(InputError, match="RuntimeError: no GPU"):
        load_own(f"{path}:Mine").make()


def test_the_list(tmp_path, write, monkeypatch):
    path, own = tmp_path / "work" / "retrievers.json", write(GOOD)
    assert read_own(path) == []
    monkeypatch.chdir(tmp_path)
    add_own(path, Own("one", "mine.py:Mine"))
    add_own(path, Own("two", f"{own}:Mine"))
    add_own(path, Own("two", f"{own}:Mine"))
    assert read_own(path) == [Own("one", f"{own}:Mine"), Own("two", f"{own}:Mine")]
    with pytest.raises(InputError, match="'two' is taken by"):
        add_own(path, Own("two", "other.py:Mine"))
    with pytest.raises(InputError, match="built-in"):
        add_own(path, Own("bm25", "mine.py:Mine"))
    remove_own(path, "one")
    with pytest.raises(InputError, match="name one of two"):
        remove_own(path, "one")
    assert [item.name for item in read_own(path)] == ["two"]
    assert [file.name for file in path.parent.iterdir()] == ["retrievers.json"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("[{", "is not JSON"),
        ("{}", "is not a list"),
        ('[{"name": "a"}]', "item 1"),
        ("[3]", "item 1"),
        ('[{"name": "A", "reference": "x.py:X"}]', "can't be the name"),
        ('[{"name": "a", "reference": "x.py:X"}, {"name": "a", "reference": "x:X"}]', "twice"),
        ("[" * 100_000, "nested too deeply"),
        ("[1" + "0" * 5000 + "]", "4300 digits"),
        *(
            (f'[{{"name": "a", "reference": "http://h/", "timeout": {value}}}]', "item 1.*timeout")
            for value in ("1" + "0" * 400, "NaN", "Infinity", "-5")
        ),
    ],
)
def test_broken_lists(tmp_path, content, sentence):
    path = tmp_path / "retrievers.json"
    path.write_text(content)
    with pytest.raises(InputError, match=sentence) as caught:
        read_own(path)
    assert str(path) in str(caught.value)


def test_an_own_one_that_has_gone_does_not_break_the_others(tmp_path, write):
    path, own = tmp_path / "retrievers.json", write(GOOD)
    add_own(path, Own("gone", f"{tmp_path}/gone.py:Mine"))
    add_own(path, Own("here", f"{own}:Mine"))
    entries = registry(["jaccard", "bm25", "here"], path)
    assert list(entries) == ["bm25", "jaccard", "gone", "here"]
    assert "gone.py doesn't exist" in entries["gone"].missing()
    with pytest.raises(InputError, match=r"gone\.py doesn't exist"):
        entries["gone"].make()
    assert entries["here"].make().score("q", ["abc"]) == [3.0]


@pytest.mark.parametrize(
    "reference",
    [
        "",
        " :X",
        "~nosuchuser/run.trec",
        "~nosuchuser/x.py:X",
        "\0.trec",
        "\0.py:X",
        "\ud800.trec",
        "a" * 5000 + ".trec",
        "..a:X",
        "http://a..b/",
        "http://[::1",
    ],
)
def test_one_that_can_not_be_used_does_not_break_the_others(tmp_path, reference):
    path = tmp_path / "retrievers.json"
    path.write_text(json.dumps([{"name": "mine", "reference": reference}]))
    entries = registry(["bm25"], path)
    assert list(entries) == ["bm25", "mine"]
    told = entries["mine"].missing()
    assert told.startswith("Retriever mine: ")
    assert told.isprintable()
    assert entries["mine"].description.isprintable()
    with pytest.raises(InputError):
        own_entry([Own("mine", reference)])


@pytest.mark.parametrize("key", ["sk-TOPSECRET", "TOP SECRET", "A=B", "1TOPSECRET", "A\0B", "é"])
def test_a_key_in_the_place_of_its_variable_is_not_repeated(tmp_path, key):
    path = tmp_path / "retrievers.json"
    item = {"name": "a", "reference": "http://h/", "key_variable": key}
    path.write_text(json.dumps([item]))
    for act in (lambda: read_own(path), lambda: Own(**item)):
        with pytest.raises(InputError, match="the key's variable isn't the name") as caught:
            act()
        assert key not in str(caught.value)
    assert Own(**{**item, "key_variable": "MY_key_2"}).key_variable == "MY_key_2"


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"no retriever 'bm52': the known ones are: bm25, "):
        registry(["bm25", "bm52"], tmp_path / "none.json")


def test_the_built_in_ones():
    assert list(BUILTIN) == [
        "bm25", "bm25-whitespace", "tfidf", "tfidf-whitespace", "jaccard", "jaccard-whitespace",
        "wordllama-256", "minilm-l6", "minilm-maxsim", "splade-tiny", "random", "ratings",
    ]  # fmt: skip
    assert len({entry.version for entry in BUILTIN.values()}) == len(BUILTIN)
    for entry in BUILTIN.values():
        if entry.missing() is None and entry.family != "dense":
            assert hasattr(entry.make(), "score")


def test_what_is_missing_is_said_in_one_sentence():
    entry = dataclasses.replace(BUILTIN["minilm-l6"], requires=("numpy", "not_there_at_all"))
    assert entry.missing() == (
        "Retriever minilm-l6 needs not-there-at-all: run pip install 'saber-platform[models]'."
    )
    with pytest.raises(InputError, match="not-there-at-all"):
        entry.make()
