"""What `saber retrievers` lists, and which names and options are refused."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest

from saber_assets.retrieval.own import plug_ins
from saber_services.cli.main import main


@pytest.fixture
def saber(tmp_path, capsys):
    """Run a verb on a new workdir; return its exit status, standard output and standard error."""

    def run(*arguments):
        status = 0
        try:
            main([*map(str, arguments), "--workdir", str(tmp_path / "work")])
        except SystemExit as end:
            status = int(end.code or 0)
        told = capsys.readouterr()
        return status, told.out, " ".join(told.err.split())

    return run


def listed(saber, *options):
    status, out, _ = saber("retrievers", "--json", *options)
    assert status == 0
    return {row["name"]: row for row in json.loads(out)}


def test_sizes_come_from_known_parameters_too(saber):
    rows = listed(saber)
    assert rows["bge-m3"]["size"] == "568M"
    assert all(row["size"] for row in rows.values() if row["parameters"])


def test_parameters_that_only_a_name_tells_are_marked(saber):
    derived = next(
        name
        for name, row in listed(saber).items()
        if row["parameters"] and "parameters" in row["unconfirmed"]
    )
    assert " (from the name)" in saber("retrievers", derived)[1]
    assert "(from the name)" not in saber("retrievers", "bge-m3")[1]


def test_a_file_with_an_error_is_to_be_mended(saber, tmp_path):
    folder = tmp_path / "work" / "retrievers"
    folder.mkdir(parents=True)
    (folder / "bad_plug.py").write_text("class A(\n")
    row = listed(saber)["bad_plug.py"]
    assert [need["kind"] for need in row["needs"]] == ["mending"]


class Offered:
    def score(self, query, documents):
        return [1.0] * len(documents)


def test_what_packages_offer_is_listed_without_a_place_on_the_board(saber, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "offering_package", sys.modules[__name__])
    points = (EntryPoint("packaged", "offering_package:Offered", plug_ins.GROUP),)
    monkeypatch.setattr(plug_ins, "_installed", lambda: points)
    row = listed(saber)["packaged"]
    assert (row["on_board"], row["lacks"]) == (False, None)


def test_the_nearest_name_is_told(saber, tmp_path):
    folder = tmp_path / "work" / "retrievers"
    folder.mkdir(parents=True)
    (folder / "bad_plug.py").write_text("class A(\n")
    assert "the nearest is 'bge-m3'" in saber("retrievers", "bgem3")[2]
    status, _, err = saber("build", "--set", 'retrieval.retrievers=["bm25-whitespac", "random"]')
    assert status == 2
    assert err.count("bm25-whitespace") == 2
    assert "the nearest is 'bm25-whitespace'" in err
    assert "bad_plug.py" not in err


def test_an_empty_list_says_why(saber, monkeypatch):
    assert "that licence" in saber("retrievers", "--licence", "apache", "--runnable")[1]
    assert "none can run here" in saber("retrievers", "--licence", "apache", "--runnable")[1]
    assert "none fits" in saber("retrievers", "--licence", "nobody's")[1]
    status, _, err = saber("retrievers", "bm25", "--family", "lexical")
    assert status == 2
    assert "either a NAME, or options" in err
