"""The report site, on small tables that obey the contracts."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.tables import SETTINGS
from saber_resources import atomic
from saber_resources.errors import SetupError
from saber_resources.warehouse import table_path
from saber_services.cli.faults import fault_of
from saber_services.report.examples import cut
from saber_services.report.names import page_of
from saber_services.report.outside import Outside
from saber_services.report.site import MARK, Site, write_site

SECTIONS = {
    "index.html": ("leaderboard", "by-domain"),
    "analyses.html": (
        *("frontier", "paired-tests", "rating-noise", "gain-variants", "binary-measures"),
        "signal-effect",
    ),
    "queries.html": ("queries",),
    "benchmark.html": ("corpus", "domains", "thresholds"),
    "judging.html": ("ratings", "position", "examples"),
    "failures.html": ("failures",),
    "provenance.html": ("colophon",),
}
ALL_SECTIONS = {name for names in SECTIONS.values() for name in names}


def test_every_section_is_there_in_order_and_well_formed(pages, reports):
    for name, page in pages.items():
        reader = reports.Reader(page)
        assert reader.open == [], name
        assert len(reader.ids) == len(set(reader.ids)), name
        assert "Not made yet" not in reader.text, name
        if name in SECTIONS:
            found = [one for one in reader.ids if one in ALL_SECTIONS]
            assert [one for one in found if one in SECTIONS[name]] == list(SECTIONS[name])


def problems_of(tables: Path) -> set[str]:
    pools = pl.read_parquet(table_path(tables, "candidate_pools"))
    return {*pools["query_id"], *pools["candidate_id"]}


def test_there_is_a_page_of_each_retriever_query_and_problem(pages, tables, reports):
    kinds = [name.split("/")[0] for name in pages if "/" in name]
    assert {kind: kinds.count(kind) for kind in "rqp"} == {
        "r": 7,
        "q": reports.queries,
        "p": len(problems_of(tables)),
    }
    assert len(pages) == len(SECTIONS) + len(kinds)


def test_texts_are_escaped_and_latex_is_set(pages, reports):
    for name, page in pages.items():
        assert "<script>alert" not in page, name
        assert "<img" not in page
        assert "<b>" not in page
        assert "\x00" not in page
        reader = reports.Reader(page)
        assert "Olympiad <b>sample</b>" in reader.text
        executed = [at for tag, at in reader.elements if tag == "script" and at.get("type") is None]
        assert len(executed) == (0 if name.startswith("p/") else 1)
        assert not [key for _, attrs in reader.elements for key in attrs if key.startswith("on")]
        assert not [key for _, attrs in reader.elements for key in attrs if key == "style"]
    problem = pages[page_of("p", "p001")]
    assert reports.hostile in reports.Reader(problem).text
    assert "<msub><mi>a</mi><mn>1</mn></msub><mo>&lt;</mo>" in problem
    assert "<mfrac>" in problem
    assert "a_1" not in problem


def test_pages_ask_for_nothing_outside_the_site(site, pages, reports):
    for name, page in pages.items():
        for tag, attributes in reports.Reader(page).elements:
            for key in ("src", "href", "xlink:href", "action", "poster", "srcset"):
                address = attributes.get(key) or "#"
                assert not urlsplit(address).scheme or address == "data:,", (name, tag, address)
                assert not urlsplit(address).netloc
        style = re.search(r"<style>(.*?)</style>", page, re.DOTALL).group(1)
        assert "@import" not in style
        assert "url(" not in style
        assert not re.search(r"https?://", page.replace("https://evil.example", ""))


def test_every_link_leads_to_a_page_and_a_place_on_it(site, pages, reports):
    ids = {name: set(reports.Reader(page).ids) for name, page in pages.items()}
    links = 0
    for name, page in pages.items():
        for tag, attributes in reports.Reader(page).elements:
            if tag != "a":
                continue
            parts = urlsplit(attributes["href"])
            target = (
                os.path.normpath(Path(name).parent / unquote(parts.path)) if parts.path else name
            )
            assert target in ids, (name, attributes)
            assert not parts.fragment or parts.fragment in ids[target], (name, attributes)
            links += 1
    assert links > 1000


def test_the_only_script_and_style_that_the_policy_allows_are_the_pages_own(pages):
    for name, page in pages.items():
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
        assert "unsafe" not in policy
        assert policy.startswith("default-src 'none'")
        for kind in ("script", "style"):
            found = re.search(rf"<{kind}>(.*?)</{kind}>", page, re.DOTALL)
            if found is None:
                assert (kind, name[:2]) == ("script", "p/")
                assert "script-src" not in policy
                continue
            digest = base64.b64encode(hashlib.sha256(found.group(1).encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
        assert len(page) < 400_000


def test_pages_can_be_read_by_a_screen_reader(pages, reports):
    for name, page in pages.items():
        elements = reports.Reader(page).elements
        tags = [tag for tag, _ in elements]
        for landmark in ("header", "nav", "main", "footer", "h1"):
            assert tags.count(landmark) == 1, (name, landmark)
        assert tags.count("caption") == tags.count("table"), name
        assert elements[tags.index("a")][1]["href"] == "#main"
        assert all(at.get("scope") in ("col", "row") for tag, at in elements if tag == "th"), name
        for tag, attributes in elements:
            if tag == "svg":
                assert attributes.get("role") == "img" or attributes.get("aria-hidden") == "true"
                assert attributes.get("aria-label") or attributes.get("aria-hidden")
        levels = [int(tag[1]) for tag in tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1
        steps = zip(levels, levels[1:], strict=False)
        assert all(after <= before + 1 for before, after in steps), (name, levels)


def test_headline_counts_and_names_a_heuristic(pages, reports):
    text = reports.words(pages["index.html"])
    for figure in (
        "problems in the corpus 90",
        "queries 8",
        "candidates per query 12",
        "pairwise judgments 80",
    ):
        assert figure in text
    assert (
        "Judged by the lexical heuristic (no model): fine for trying the pipeline, "
        "not a benchmark to cite." in text
    )


def test_a_model_that_judges_gets_no_judging_warning(tmp_path, reports):
    tables = reports.make_tables(tmp_path / "tables", judge="Qwen3-32B")
    page = reports.read(reports.write(tables, tmp_path / "report"))["index.html"]
    text = reports.words(page)
    assert "Judged by" not in text
    assert "Judgments Qwen3-32B" in text
    assert "Solutions summarised by the lexical heuristic" in text


def test_leaderboard_and_position_show_the_tables_numbers(pages, tables, reports):
    text = reports.words(pages["index.html"])
    for setting in SETTINGS:
        assert f"in the setting {setting}" in text
    assert "0.5800" in text and "0.530–0.630 a B dense 22M 8 1" in text
    assert "0.440–0.540 b RC dense 7B" in text or "0.440–0.540 ab RC dense 7B" in text
    judging = reports.words(pages["judging.html"])
    winners = pl.read_parquet(table_path(tables, "pairwise_judgments"))["winner"]
    first = int((winners == 1).sum())
    assert f"shown first won {first} of 79 verdicts: {100 * first / 79:.1f} %" in judging
    assert "1 of 80 judgments are without a verdict" in judging
    assert "1 never judged" in judging


def test_the_switches_data_is_the_leaderboard(pages, tables):
    text = re.search(r'id="board-data">(.*?)</script>', pages["index.html"], re.DOTALL).group(1)
    data = json.loads(text)
    board = pl.read_parquet(table_path(tables, "leaderboard"))
    cells = 0
    for setting, own in zip(data["settings"], data["cells"], strict=True):
        for domain, row in zip(data["domains"], own, strict=True):
            for name, cell in zip(data["names"], row, strict=True):
                kept = board.row(
                    by_predicate=(pl.col("setting") == setting)
                    & (pl.col("domain") == domain)
                    & (pl.col("retriever") == name),
                    named=True,
                )
                assert cell[:4] == [
                    kept["rank"],
                    *(round(kept[k], 5) for k in ("mean", "low", "high")),
                ]
                assert cell[4:6] == [kept["queries"], kept["failed"]]
                cells += 1
    assert cells == board.height


def test_funnel_adds_up(pages, reports):
    text = reports.words(pages["benchmark.html"])
    for row in (
        "records read 100 100.0 %",
        "dropped: near duplicate 6 6.0 %",
        "kept: the corpus 90 90.0 %",
        "with topics 89 89.0 %",
        "chosen as queries 8 8.0 %",
    ):
        assert row in text


def test_examples_show_three_best_and_two_worst(pages, reports):
    page = pages["judging.html"]
    reader = reports.Reader(page)
    assert sum(attrs.get("class") == "example" for _, attrs in reader.elements) == 3
    ratings = re.findall(r'class="rating">([\d.]+)<', page)
    assert len(ratings) == 15
    assert ratings[0] == "5.00"
    assert ratings[4] == "0.00"
    texts = re.findall(r'<div class="text" dir="auto">(.*?)</div>', page, re.DOTALL)
    assert any(text.endswith(" …") for text in texts)


def test_failures_are_listed_and_empty_ones_named(pages, reports):
    text = reports.words(pages["failures.html"])
    assert "Judgment failures 1" in text
    assert "ran out of memory" in text
    assert "Without a failure: topic_failures, summary_failures." in text


def test_a_retrievers_page_tells_its_card_numbers_queries_and_failures(pages, reports):
    text = reports.words(pages[page_of("r", "minilm-l6")])
    for told in (
        "What it is a small <b>encoder</b>",
        "Licence Apache-2.0",
        "Released 2021-08-30",
        "Reads 256 tokens.",
        "Parity gate Spearman 0.9999",
        "Version of the scores v-minilm-l6",
        "Median seconds a query 0.2",
        "statement-full p001 ran out of memory",
        "0.0000 failed p001",
    ):
        assert told in text, told
    assert "rank 2" in text
    best = [name for name in ("bm25", "tfidf", "jaccard-whitespace") if f" {name}" in text]
    assert best == ["bm25", "tfidf"]  # the pair with the last one differs


def test_a_querys_page_has_ratings_ranks_and_judgments(pages, tables, reports):
    page = pages[page_of("q", "p001")]
    ratings = pl.read_parquet(table_path(tables, "relevance_ratings")).filter(query_id="p001")
    shown = re.findall(r'<td class="n mean">([\d.]+)</td>', page)
    expected = ratings.sort("rating", "candidate_id", descending=[True, False])["rating"]
    assert shown == [f"{rating:.2f}" for rating in expected]
    # 0.4 on the scale of the strengths, which here spread over 5
    assert page.count('<td class="n">0.40</td>') == reports.pool
    text = reports.words(page)
    assert "ratings 0.1250" not in text
    assert "1 2 3 4 5 6 7 8 9 10" in text  # what ranks by the ratings
    assert "0.0000 failed" in text
    assert "round 1 " in text
    assert re.search(r"<dd>\d+[›‹=?]\d+ \d+[›‹=?]\d+</dd>", page)


def test_the_data_of_ranks_is_that_of_the_scores(pages, tables, reports):
    page = pages[page_of("q", "p001")]
    data = json.loads(re.search(r'id="rank-data">(.*?)</script>', page, re.DOTALL).group(1))
    ratings = pl.read_parquet(table_path(tables, "relevance_ratings")).filter(query_id="p001")
    order = ratings.sort("rating", "candidate_id", descending=[True, False])["candidate_id"]
    for name, coded in zip(data["names"], data["ranks"], strict=True):
        scores = pl.read_parquet(table_path(tables, "retriever_scores", name))
        for setting, text in zip(data["settings"], coded, strict=True):
            own = scores.filter(setting=setting, query_id="p001")
            ranked = sorted(own.select("score", "candidate_id").rows(), key=lambda r: (-r[0], r[1]))
            expected = {candidate: place for place, (_, candidate) in enumerate(ranked, 1)}
            width = data["width"]
            found = [int(text[i : i + width], 36) for i in range(0, len(text), width)]
            assert found == [expected.get(candidate, 0) for candidate in order]
    assert set(data["names"]) == {path.stem for path in (tables / "retriever_scores").iterdir()}


def test_provenance_names_prompts_versions_and_unconverted_formulas(pages, reports):
    text = reports.words(pages["provenance.html"])
    for told in (
        "topic_walk " + "f00d" * 8,
        "data-1",
        "code-1",
        "bm25 v-bm25",
        "evaluation.seed 1",
    ):
        assert told in text
    assert "Seed of the tournaments 1" in text
    assert "0 of them could not be converted" in text
    for name in ("index.html", page_of("q", "p001"), page_of("r", "bm25")):
        assert "provenance.html" in pages[name]


def test_frontier_marks_both_classes_or_says_how_to_measure(pages, tables, tmp_path, reports):
    page = pages["analyses.html"]
    text = reports.words(page)
    assert "1 bm25 bi-encoders 0.5500 0.001 yes" in text
    assert "2 tfidf bi-encoders 0.5200 0.002 no" in text
    assert "4 wordllama-256 cross-encoders and late interaction 0.4900 0.4 yes" in text
    assert "its latency was not measured" not in text.split("Left out:")[0]
    bare = reports.read(reports.write(tables, tmp_path / "report", outside=Outside()))
    assert "Run saber analyse latency" in reports.words(bare["analyses.html"])


def test_odd_ids_become_plain_file_names(site, pages, reports):
    name = page_of("q", reports.odd_id)
    assert re.fullmatch(r"q/[a-z0-9-]+\.html", name)
    assert name in pages
    assert reports.odd_id in reports.Reader(pages[name]).text
    assert all(
        re.fullmatch(r"[a-z0-9-]+\.html|report\.json", path.name) for path in site.rglob("*.*")
    )
    assert page_of("q", "A") != page_of("q", "a")


def test_without_any_table_each_section_says_so(tmp_path, reports):
    found = reports.read(reports.write(tmp_path / "none", tmp_path / "report", outside=Outside()))
    assert list(found) == sorted(SECTIONS)
    text = {name: reports.Reader(page).text for name, page in found.items()}
    missing = {"index.html": 2, "analyses.html": 5, "queries.html": 1, "benchmark.html": 3,
               "judging.html": 3, "failures.html": 1}  # fmt: skip
    assert {name: text[name].count("Not made yet:") for name in missing} == missing
    assert "no tables yet" in text["provenance.html"]


@pytest.mark.parametrize(
    "name",
    [
        "raw_problems",
        "deduped_corpus",
        "dropped_problems",
        "topic_sets",
        "solution_summaries",
        "relevance_thresholds",
        "benchmark_queries",
        "candidate_pools",
        "relevance_ratings",
        "pairwise_judgments",
        "leaderboard",
        "judgment_failures",
        "query_measures",
        "paired_tests",
        "rating_noise",
        "gain_variants",
        "binary_measures",
        "signal_effect",
        "retriever_scores",
        "retriever_failures",
    ],
)
def test_one_missing_or_empty_table_never_breaks_the_site(tables, tmp_path, name, reports):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    parts = sorted((folder / name).glob("*.parquet")) or [table_path(folder, name)]
    emptied = [pl.read_parquet(path).clear() for path in parts]
    for path in parts:
        path.unlink()
    for _ in range(2):
        for page in reports.read(reports.write(folder, tmp_path / "report")).values():
            assert reports.Reader(page).open == []
        for path, frame in zip(parts, emptied, strict=True):
            frame.write_parquet(path)


def test_same_tables_same_bytes(tables, tmp_path, pages, reports):
    copy = tmp_path / "elsewhere" / "tables"
    shutil.copytree(tables, copy)
    reports.set_times(copy)
    again = reports.write(copy, tmp_path / "report", "Olympiad <b>sample</b>")
    assert reports.read(again) == pages
    assert "2023-11-14 22:13 UTC" in pages["index.html"]


def test_row_order_of_the_files_does_not_matter(tables, tmp_path, pages, reports):
    copy = tmp_path / "tables"
    shutil.copytree(tables, copy)
    for path in copy.rglob("*.parquet"):
        pl.read_parquet(path).reverse().write_parquet(path)
    reports.set_times(copy)
    again = reports.write(copy, tmp_path / "report", "Olympiad <b>sample</b>")
    assert reports.read(again) == pages


def test_a_torn_table_is_named_and_the_old_report_stays(tables, tmp_path, reports):
    shutil.copytree(tables, tmp_path / "tables")
    target = reports.write(tmp_path / "tables", tmp_path / "report")
    before = reports.read(target)
    table_path(tmp_path / "tables", "leaderboard").write_bytes(b"PAR1 torn")
    with pytest.raises(SetupError, match="leaderboard"):
        reports.write(tmp_path / "tables", target)
    assert reports.read(target) == before


def test_a_report_that_breaks_off_leaves_the_old_one(tables, tmp_path, reports):
    target = reports.write(tables, tmp_path / "report")
    before = reports.read(target)
    done = 0

    def stop(count: int) -> None:
        nonlocal done
        done += count
        if done == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_site(Site.of(tables, "another"), target, stop)
    assert reports.read(target) == before
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_pages_that_are_gone_do_not_stay(tables, tmp_path, reports):
    target = reports.write(tables, tmp_path / "report")
    (target / "r" / "old.html").write_text("old")
    reports.write(tables, target)
    assert not (target / "r" / "old.html").exists()


@pytest.mark.parametrize("content", ["{}", "not json", '{"kind": "holiday"}', None])
def test_a_folder_with_something_else_is_not_replaced(tables, tmp_path, content, reports):
    target = tmp_path / "documents"
    target.mkdir()
    (target / "thesis.tex").write_text("years of work")
    if content is not None:
        (target / MARK).write_text(content)
    with pytest.raises(InputError, match="something else"):
        reports.write(tables, target)
    assert (target / "thesis.tex").read_text() == "years of work"
    file = tmp_path / "file"
    file.write_text("x")
    with pytest.raises(InputError, match="something else"):
        reports.write(tables, file)


@pytest.mark.parametrize("older", [False, True])
@pytest.mark.parametrize("name", [".git", "CNAME", "notes.md"])
def test_what_lies_beside_a_report_is_not_deleted(tables, tmp_path, name, older, reports):
    target = reports.write(tables, tmp_path / "board")
    if older:
        mark = json.loads((target / MARK).read_text())
        (target / MARK).write_text(json.dumps({"kind": mark["kind"], "pages": mark["pages"]}))
    (target / ".DS_Store").write_text("of a file manager")
    reports.write(tables, target)
    assert not (target / ".DS_Store").exists()
    (target / name).mkdir()
    (target / name / "HEAD").write_text("main")
    with pytest.raises(InputError, match=re.escape(f"something else than its report ({name})")):
        reports.write(tables, target)
    assert (target / name / "HEAD").read_text() == "main"


def test_a_mount_point_is_refused_in_words(tables, tmp_path, monkeypatch, reports):
    target = tmp_path / "board"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "is_mount", lambda path: path == target)
        with pytest.raises(InputError, match=r"board is a mount point.*such as .*board/board"):
            reports.write(tables, target)

    def busy(new: Path, old: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(new))

    monkeypatch.setattr(atomic, "_take_place", busy)
    with pytest.raises(InputError, match="board is a mount point"):
        reports.write(tables, target)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_is_told_with_the_path(tables, tmp_path, monkeypatch, reports):
    def full(site: Site, folder: Path, advance: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Site, "write", full)
    target = tmp_path / "board"
    with pytest.raises(OSError, match="No space left") as caught:
        reports.write(tables, target)
    fault = fault_of(caught.value)
    assert fault.what == f"the disk is full ({target} can't be written)"
    assert fault.mend.startswith("free space")


def test_a_title_from_an_undecodable_folder_name_is_written(tmp_path, reports):
    title = os.fsdecode(b"caf\xe9")
    folder = reports.write(tmp_path / "none", tmp_path / "report", title)
    assert "caf?" in (folder / "index.html").read_text(encoding="utf-8")


def test_many_problems_have_pages_only_where_they_are_shown(tables, tmp_path, monkeypatch, reports):
    monkeypatch.setattr("saber_services.report.problem_texts.MOST_PAGES", 10)
    monkeypatch.setattr("saber_services.report.problem_texts.BEST", 2)
    monkeypatch.setattr("saber_services.report.problem_texts.WORST", 1)
    found = reports.read(reports.write(tables, tmp_path / "report"))
    problems = [name for name in found if name.startswith("p/")]
    assert 8 < len(problems) <= 8 + 3 * reports.queries
    page = found[page_of("q", "p001")]
    linked = re.findall(r'<tr id="c\d+".*?</tr>', page, re.DOTALL)
    are_linked = ["href" in row for row in linked]
    assert are_linked[:2] == [True, True]
    assert are_linked[-1]
    assert not all(are_linked)
    assert "$a_1&lt;a_2$" in linked[are_linked.index(False)]
    whole = write_site(Site.of(tables, "x", all_texts=True), tmp_path / "whole")
    assert len(list((whole.index.parent / "p").iterdir())) == len(problems_of(tables))


def test_the_verb_tells_where_the_report_is(built, tmp_path):
    from click.testing import CliRunner

    from saber_services.cli.main import cli

    runner = CliRunner()
    shown = runner.invoke(cli, ["report", "--workdir", str(built)])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout.strip() == str(built.resolve() / "report" / "index.html")
    assert "browser" in shown.stderr
    other = tmp_path / "other"
    told = runner.invoke(cli, ["report", "--workdir", str(built), "--to", str(other), "--json"])
    assert json.loads(told.stdout)["pages"] == len(list(other.rglob("*.html")))
    made = (other / "provenance.html").read_text(encoding="utf-8")
    assert "retriever_scores/bm25" in made
    assert "tournament.rounds" in made


@pytest.mark.parametrize(
    ("text", "longest", "expected"),
    [
        ("short", 10, "short"),
        ("one two three four", 14, "one two three …"),
        ("x" * 30, 10, "x" * 10 + " …"),
        ("  padded  ", 10, "padded"),
    ],
)
def test_cut(text, longest, expected):
    assert cut(text, longest) == expected
