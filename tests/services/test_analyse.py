"""`saber analyse`: every analysis runs on a built workdir, and mistakes are told in a sentence."""

from __future__ import annotations

import json
import re
from pathlib import Path

import polars as pl
import pytest

from saber_resources.settings import load_settings, save_settings
from saber_resources.warehouse import read_table, table_path
from saber_services.cli.analyse import command
from saber_services.cli.main import main

PNG = b"\x89PNG"
LONE = ("paired-tests", "rating-noise", "gain-variants", "binary-measures", "signal-effect")


@pytest.fixture
def analyse(workdir, capsys):
    def run(name, *arguments):
        main(["analyse", name, "--workdir", str(workdir), "--sanity", "--json", *arguments])
        return json.loads(capsys.readouterr().out)

    return run


@pytest.fixture
def refused(workdir, capsys):
    def run(name, *arguments):
        with pytest.raises(SystemExit) as stop:
            main(["analyse", name, "--workdir", str(workdir), *arguments])
        assert stop.value.code == 2
        told = capsys.readouterr().err.strip().splitlines()
        assert len(told) == 1 + (told[0].startswith("reading the tables"))
        return " ".join(told[-1].split())

    return run


def csv(folder: Path, name: str, **columns) -> str:
    path = folder / name
    pl.DataFrame(columns).write_csv(path)
    return str(path)


def queries(workdir):
    return read_table(workdir / "tables", "benchmark_queries")["query_id"].to_list()


def test_without_a_name_the_analyses_are_listed(capsys):
    main(["analyse"])
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {name} ", shown, re.MULTILINE) for name in command.commands)
    assert len(command.commands) == 14


@pytest.mark.parametrize("name", LONE)
def test_what_needs_nothing_else(name, analyse, workdir):
    found = analyse(name)
    assert found["analysis"] == name
    assert all(found["tables"].values())
    assert Path(found["plot"]) == workdir / "analyses" / f"{name}.png"
    assert Path(found["plot"]).read_bytes().startswith(PNG)


def test_the_ratings_row_is_best_and_told_apart(analyse):
    found = analyse("paired-tests", "--resamples", "200", "--seed", "3")
    board = next(iter(found["tables"].values()))
    assert board[0]["retriever"] == "ratings"
    assert found["values"]["pairs"] == 3
    assert len(found["tables"]["pairs"]) == 3


def test_binary_measures_at_other_thresholds(analyse, refused, workdir):
    options = ("--threshold", "3", "--cutoff", "2", "--cutoff", "5")
    tables = analyse("binary-measures", *options)["tables"]
    best = tables["relevant from a rating of 3 on"][0]
    named = [name for name in best if name[0] not in "±r"]
    assert named == ["P@2", "R@2", "P@5", "R@5", "RR", "AP"]
    assert best["retriever"] == "ratings"
    assert best["AP"] == best["RR"] == pytest.approx(1)
    against = next(iter(tables.values()))
    assert {row["pairs"] for row in against} == {3}
    default = analyse("binary-measures")["tables"]["means with 95 % intervals"]
    kept = read_table(workdir / "tables", "binary_measures").filter(setting="statement-full")
    own = [row for row in default if row["retriever"] == "bm25"]
    built = kept.filter(retriever="bm25").to_dicts()
    assert [row["measure"] for row in own] == [row["measure"] for row in built]
    for name in ("mean", "low", "high"):
        assert [row[name] for row in own] == pytest.approx([row[name] for row in built])
    assert "no number" in refused("binary-measures", "--threshold", "nan")


def test_tables_are_printed(workdir, capsys, tmp_path):
    plot = tmp_path / "new" / "it.png"
    main(["analyse", "gain-variants", "--workdir", str(workdir), "--sanity", "--plot", str(plot)])
    shown = capsys.readouterr().out
    assert "[0,3] exponential" in shown
    assert "bm25" in shown
    assert plot.read_bytes().startswith(PNG)


def test_a_plot_is_written_as_svg_where_its_name_says_so(analyse, refused, tmp_path):
    plot = tmp_path / "it.svg"
    analyse("gain-variants", "--sanity", "--plot", str(plot))
    assert "<svg" in plot.read_text(encoding="utf-8")
    assert "neither a .png nor a .svg" in refused("gain-variants", "--plot", "it.pdf")


def test_latency_and_then_the_frontier(analyse, refused, workdir, tmp_path):
    assert "saber analyse latency" in refused("pareto")
    timed = analyse("latency", "--queries", "2")
    rows = next(iter(timed["tables"].values()))
    assert {row["retriever"] for row in rows} == {"bm25", "random"}
    assert all(row["queries"] == 2 and row["median"] > 0 for row in rows)
    assert any("ratings is left out" in note for note in timed["notes"])
    kept = pl.read_csv(workdir / "analyses" / "latency.csv")
    assert kept.columns == ["retriever", "seconds"]
    analyse("latency", "--queries", "1", "--retriever", "random")
    assert pl.read_csv(workdir / "analyses" / "latency.csv").height == 2
    assert "random is left out" in " ".join(analyse("pareto")["notes"])
    slow = csv(tmp_path, "slow.csv", retriever=["bm25"], seconds=[-1.0])
    assert "negative" in refused("pareto", "--latency", slow)


def test_other_scores(analyse, refused, tmp_path):
    path = csv(tmp_path, "m.csv", retriever=["bm25", "ratings", "else"], score=[1.0, 2.0, 3.0])
    found = analyse("mteb-correlation", path)
    assert found["values"]["systems"] == 2
    assert found["values"]["spearman"] == pytest.approx(1)
    assert "random" in found["notes"][0]
    assert "else" in found["notes"][1]
    only = analyse("mteb-correlation", path, "--exclude", "bm25")
    assert only["values"]["pearson"] is None
    assert "not on the board" in refused("mteb-correlation", path, "--exclude", "nobody")


def test_other_scores_without_the_largest_gaps(analyse, tmp_path):
    path = csv(tmp_path, "m.csv", retriever=["bm25", "ratings", "random"], score=[3.0, 2.0, 1.0])
    found = analyse("mteb-correlation", path)["values"]
    assert "spearman without them" not in found
    fewer = analyse("mteb-correlation", path, "--without-gaps", "1")["values"]
    assert fewer["spearman"] == found["spearman"] == pytest.approx(0.5)
    assert fewer["without the largest gaps"] == "ratings"
    assert fewer["spearman without them"] == pytest.approx(1)
    both = ("--exclude", "ratings", "--without-gaps", "2")
    assert analyse("mteb-correlation", path, *both)["values"]["spearman without them"] is None


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        ({"retriever": ["a"]}, "no column 'score'"),
        ({"retriever": ["a"], "score": ["high"]}, "row 1 .* 'high' as score"),
        ({"retriever": ["a", "b"], "score": ["1", None]}, "row 2 .* no score"),
        ({"retriever": ["a", "a"], "score": ["1", "2"]}, "several rows for retriever 'a'"),
        ({"retriever": ["a"], "score": ["nan"]}, "'nan' as score"),
    ],
)
def test_mistakes_in_a_table(columns, told, refused, tmp_path):
    assert re.search(told, refused("mteb-correlation", csv(tmp_path, "m.csv", **columns)))


def test_files_that_are_none(refused, tmp_path):
    assert "there is no file" in refused("mteb-correlation", str(tmp_path / "none.csv"))
    (tmp_path / "scores.txt").write_text("x")
    assert "neither CSV" in refused("mteb-correlation", str(tmp_path / "scores.txt"))
    (tmp_path / "bad.parquet").write_text("x")
    assert "can't be read" in refused("judge-swap", "--ratings", str(tmp_path / "bad.parquet"))
    assert "either --judgments or --ratings" in refused("judge-swap")


def test_release_dates(analyse, tmp_path):
    dates = csv(tmp_path, "d.csv", retriever=["bm25"], released=["1994-11-02"])
    found = analyse("score-over-time", "--dates", dates)
    assert "random" in found["notes"][0]


def test_another_judge(analyse, workdir, tmp_path):
    judgments = table_path(workdir / "tables", "pairwise_judgments")
    same = analyse("judge-swap", "--judgments", str(judgments))
    assert same["values"]["inversions"] == 0
    rows = next(iter(same["tables"].values()))
    assert all(row["mean"] == pytest.approx(row["other_mean"], abs=1e-9) for row in rows)
    turned = pl.read_parquet(judgments).with_columns(winner=(3 - pl.col("winner")).cast(pl.Int8))
    turned.write_parquet(tmp_path / "turned.parquet")
    other = analyse("judge-swap", "--judgments", str(tmp_path / "turned.parquet"))
    assert other["values"]["spearman of the ratings, mean over queries"] < -0.9
    rows = next(iter(other["tables"].values()))
    assert [row["retriever"] for row in rows if row["other_rank"] == 1] != ["ratings"]


def test_formulas_against_words(analyse):
    found = analyse("word-math-split", "--retriever", "bm25")
    row = next(iter(found["tables"].values()))[0]
    assert 0 < row["queries"] <= 6
    assert row["failed"] == 0


def test_duplicates(analyse, refused, workdir, tmp_path):
    corpus = read_table(workdir / "tables", "deduped_corpus")
    ids = queries(workdir)
    texts = corpus.filter(pl.col("problem_id").is_in(ids))
    path = csv(tmp_path, "r.csv", query_id=texts["problem_id"], problem=texts["problem"])
    for extra in ((), ("--own-pool",), ("--find", "rewording")):
        found = analyse("duplicate-finding", "--rewordings", path, "--retriever", "bm25", *extra)
        row = next(iter(found["tables"].values()))[0]
        # the statement itself, unchanged, finds its problem
        assert row["median_rank"] == 1
        assert found["values"] == {"searches": 6}
    strange = csv(tmp_path, "s.csv", query_id=["nobody"], problem=["x"])
    assert "of no query" in refused("duplicate-finding", "--rewordings", strange)


def test_instructions(analyse, refused):
    assert "only lexical" in refused("instruction-effect")
    found = analyse("instruction-effect", "--retriever", "bm25")
    assert len(found["tables"]["with 95 % intervals"]) == 3
    assert "It stands in front of the query: bm25." in found["notes"]
    assert found["plot"] is not None
    assert "there is no retriever" in refused("instruction-effect", "--retriever", "bm52")


def test_leakage_from_replies(analyse, workdir, tmp_path):
    ids = queries(workdir)
    replies = ['{"equivalent": [{"document": 1, "reason": "same"}]}', "no idea"]
    path = csv(tmp_path, "a.csv", query_id=ids[:2], reply=replies)
    found = analyse("leakage", "--replies", path, "--top", "5")
    assert found["values"] == {"queries": 1, "pairs": 5, "flagged": 1}
    assert len(found["tables"]["queries without a usable reply"]) == 5
    assert found["plot"] is not None


def test_the_workdirs_model_is_asked(analyse, workdir, scripted_model):
    model = scripted_model()
    settings = load_settings(workdir)
    save_settings(
        settings.workdir.root, "sample", {"llm": {"endpoints": [model.url], "model": "scripted"}}
    )

    def spoil(kind, body):
        text = "\n".join(message["content"] for message in body["messages"])
        if "hidden duplicates" in text:
            return '{"equivalent": []}'
        if "restate a mathematics problem" in text:
            return "<problem>A fresh story with other words.</problem>"
        return None

    model.spoil = spoil
    audit = analyse("leakage", "--top", "3")
    assert audit["values"] == {"queries": 6, "pairs": 18, "flagged": 0}
    found = analyse("duplicate-finding", "--retriever", "bm25")
    assert found["values"] == {"searches": 6}
    asked = model.total()
    assert asked == 12
    analyse("leakage", "--top", "3")
    assert model.total() == asked  # answers are kept


def test_nothing_measured_is_a_mistake_in_words(refused):
    for name in ("latency", "word-math-split", "instruction-effect"):
        told = refused(name, "--retriever", "ratings")
        assert "no retriever could be asked (ratings: it ranks by the ratings" in told


def test_without_a_model_the_way_without_one_is_named(refused):
    assert "give a file with --replies" in refused("leakage")
    told = refused("duplicate-finding", "--retriever", "bm25")
    assert "give a file with --rewordings" in told
    assert "--set" not in told


def test_the_list_cuts_no_sentence(capsys):
    main(["analyse"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "documents in flight, loading outside" in shown
    assert "..." not in shown.split("Analyses:")[1].split("Examples:")[0]
