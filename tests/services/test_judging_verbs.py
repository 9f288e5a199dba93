"""`saber agreement` and `saber simulate-tournament`, as a person runs them."""

from __future__ import annotations

import csv
import json

import polars as pl
import pytest

from saber_resources.settings import save_settings
from saber_services.cli.main import main


def saber(capsys, *arguments):
    """Return exit status, standard output and standard error."""
    status = 0
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    return status, *capsys.readouterr()


def fill(template, target, choose):
    """Judge every pair of a template."""
    with template.open(newline="") as source, target.open("w", newline="") as file:
        rows = list(csv.DictReader(source))
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(
            {**row, "choice": choose(row), "annotator": who}
            for row in rows
            for who in ("ann", "bo")
        )
    return target


def test_from_template_to_agreement(capsys, built, tmp_path):
    template = tmp_path / "pairs.csv"
    status, out, _ = saber(
        capsys, "agreement", "--template", 40, "--output", template, "--texts", "--workdir", built
    )
    assert status == 0 and "40 pairs" in out
    ratings = {
        (query, candidate): rating
        for query, candidate, rating in pl.read_parquet(
            built / "tables" / "relevance_ratings.parquet"
        )
        .select("query_id", "candidate_id", "rating")
        .iter_rows()
    }

    def higher(row):
        a, b = (ratings[row["query"], row[side]] for side in ("a", "b"))
        unsure = row["a"][-1] in "0123"
        return "tie" if unsure else "a" if a > b else row["b"]

    judged = fill(template, tmp_path / "judged.csv", higher)
    verdicts = built / "tables" / "pairwise_judgments.parquet"
    status, out, _ = saber(
        capsys, "agreement", judged, "--workdir", built, "--json",
        "--judgments", f"{verdicts}=again", "--rank-differences", "0,3",
    )  # fmt: skip
    assert status == 0
    told = json.loads(out)
    assert (told["judgments"], told["pairs"], told["annotators"]) == (80, 40, ["ann", "bo"])
    rows = {(row["reference"], row["rank_difference"]): row for row in told["agreement"]}
    with judged.open(newline="") as file:
        ties = sum(row["choice"] == "tie" for row in csv.DictReader(file)) / 80
    assert 0 < ties < 1 and rows["each other", 0]["share"] == 1.0
    assert rows["ratings", 0]["share"] == pytest.approx(1 - ties / 2)
    assert rows["ratings", 3]["pairs"] < rows["ratings", 0]["pairs"] == 40
    judge = next(row for (name, least), row in rows.items() if "heuristic" in name and not least)
    assert judge["pairs"] == 40 and 0.5 < judge["share"] <= 1 - ties / 2
    again = rows["again", 0]
    assert {**again, "reference": judge["reference"]} == judge
    assert rows["again, Bradley-Terry", 0]["points"] == rows["ratings", 0]["points"]

    status, out, _ = saber(capsys, "agreement", judged, "--workdir", built)
    assert status == 0 and "100.0%" in out and "80 judgments of 40 pairs by 2 people" in out


def test_a_template_never_takes_the_place_of_a_file(capsys, built, tmp_path):
    template = tmp_path / "pairs.csv"
    template.write_text("precious")
    status, _, error = saber(
        capsys, "agreement", "--template", 5, "--output", template, "--workdir", built
    )
    assert status == 2 and "exists already" in error and template.read_text() == "precious"


def test_any_pair_draws_pairs_that_never_met(capsys, built, tmp_path):
    counts = []
    for name, more in (("met.csv", ()), ("any.csv", ("--any-pair",))):
        arguments = ("--template", 100000, "--output", tmp_path / name, "--json", *more)
        status, out, _ = saber(capsys, "agreement", *arguments, "--workdir", built)
        assert status == 0
        counts.append(json.loads(out)["pairs"])
    pools = pl.read_parquet(built / "tables" / "candidate_pools.parquet")
    sizes = pools.group_by("query_id").len()["len"].to_list()
    assert counts[0] < counts[1] == sum(size * (size - 1) // 2 for size in sizes)


def test_judges_are_asked_about_peoples_pairs_and_paid_once(
    capsys, workdir, tmp_path, scripted_model
):
    model = scripted_model()
    llm = {"model": "scripted", "endpoints": [model.url]}
    save_settings(workdir, None, {"llm": llm})
    template = tmp_path / "pairs.csv"
    saber(capsys, "agreement", "--template", 12, "--output", template, "--workdir", workdir)
    judged = fill(template, tmp_path / "judged.csv", lambda row: "tie")
    arguments = ("agreement", judged, "--workdir", workdir, "--json", "--rank-differences", 0)
    asks = ("--ask", "pairwise", "--ask", "lexical")
    status, out, _ = saber(capsys, *arguments, *asks)
    assert status == 0 and model.total() == 12
    rows = {row["reference"]: row for row in json.loads(out)["agreement"]}
    assert {rows[f"{name}, asked now"]["pairs"] for name in ("scripted", rows_of(rows))} == {12}
    assert rows["scripted, asked now"]["share"] == 0.5  # it never ties
    again = saber(capsys, *arguments, *asks)
    assert again[:2] == (0, out) and model.total() == 12


def rows_of(rows):
    """The name of the benchmark's own judge."""
    return next(name for name in rows if "heuristic" in name and "asked" not in name)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "give either FILE.csv, or --template"),
        (("people.csv", "--template", "3"), "give either FILE.csv, or --template"),
        (("--template", "3"), "give either FILE.csv, or --template"),
        (("people.csv", "--rank-differences", "0,x"), "no list of integers"),
        (("nothing.csv",), "nothing.csv can't be read"),
    ],
)
def test_mistakes(capsys, built, arguments, told):
    status, _, error = saber(capsys, "agreement", *arguments, "--workdir", built)
    assert status == 2 and told in error and error.count("\n") == 1


def test_simulation(capsys, tmp_path):
    plot = tmp_path / "curves.png"
    options = ("--candidates", 24, "--repetitions", 3, "--rounds", "4,8")
    status, out, _ = saber(capsys, "simulate-tournament", *options, "--plot", plot)
    assert status == 0 and "With position bias, after 8 rounds" in out
    assert plot.read_bytes().startswith(b"\x89PNG")
    status, out, _ = saber(capsys, "simulate-tournament", *options, "--bias", 0, "--json")
    rows = json.loads(out)["results"]
    assert status == 0 and {row["bias"] for row in rows} == {0.0}
    assert {(row["schedule"], row["rounds"]) for row in rows} == {
        ("exhaustive", 0), ("swiss", 4), ("swiss", 8), ("random", 4), ("random", 8),
    }  # fmt: skip


def test_too_many_rounds(capsys):
    status, _, error = saber(capsys, "simulate-tournament", "--candidates", 5, "--rounds", 5)
    assert status == 2 and "5 candidates can't play 5 rounds" in error
