"""From mixed sources to the deduplicated corpus: rules, a model, reviews, kills, bad input."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from saber_resources.settings import load_settings, preview_settings, save_settings
from saber_resources.shipped import shipped
from saber_resources.warehouse import read_table
from saber_services.builder import build, open_board
from saber_services.cli.main import main
from saber_services.corpus_sources import given_corpus
from saber_services.planning.plan import plan_build

FIXTURES = Path(__file__).parents[1] / "corpus" / "fixtures"
COMMAND = [sys.executable, "-c", "from saber_services.cli.main import main; main()"]
THREADS = ("aops_self_contained", "aops_solutions", "aops_choose")
DOCUMENTS = ("document_segmentation", "latex_normalisation", "translation")
AMONG_DOCUMENTS = (
    "alternating.md",
    "two_parts_de.md",
    "several_solutions.md",
    "count_mismatch.md",
    "prose.md",
)
NUMINA = {
    "problem": "Find the greatest common divisor of $2^{30}-1$ and $2^{12}-1$.",
    "solution": "It is $2^{\\gcd(30,12)}-1=2^6-1=63$, as Euclid's algorithm shows.",
    "answer": "63",
    "problem_type": "Number Theory",
    "question_type": "math-word-problem",
    "problem_is_valid": "Yes",
    "solution_is_valid": "Yes",
    "source": "olympiads",
    "synthetic": False,
}
NUMINA_ROWS = (
    NUMINA,
    {  # a thread of the forum holds it, too
        **NUMINA,
        "problem": "Let $a$ and $b$ be positive reals with $a+b=1$. "
        "Prove that $a^2+b^2\\ge\\frac{1}{2}$.",
        "solution": "By Cauchy we have $2(a^2+b^2)\\ge (a+b)^2=1$, which is the claim.",
        "answer": "proof",
    },
    {  # a document of the contest holds it, too
        **NUMINA,
        "problem": "Find all pairs of positive integers $(a,b)$ with $a<b$ and $ab = 3(a+b)$.",
        "solution": "Rewrite it as $(a-3)(b-3)=9$, so that $a=4$ and $b=12$.",
        "answer": "(4,12)",
    },
    {**NUMINA, "problem": "Made up.", "synthetic": True},
    {**NUMINA, "problem": "Which? (A) 1 (B) 2", "question_type": "MCQ"},
    {**NUMINA, "problem": "Broken.", "problem_is_valid": "No"},
    {**NUMINA, "problem": "Find $n$ with $n!=24$.", "solution": ""},
)
SCHOOL = {
    "question": "A pen costs $2 and a book $5. What do 3 pens and a book cost?",
    "answer": "3 * 2 = <<3*2=6>>6 dollars for pens. 6 + 5 = 11 dollars.\n#### 11",
}
OWN = (
    {
        "id": "1",
        "problem": "Prove that $\\sqrt{3}$ is irrational.",
        "solution": "If $\\sqrt3=p/q$ in lowest terms, then $3\\mid p$, so $3\\mid q$, absurd.",
        "licence": "CC-BY-4.0",
    },
    {
        "id": "2",
        "problem": NUMINA["problem"],
        "solution": "The divisor is $63$ by the Euclidean algorithm for the exponents.",
        "source": "official",
        "licence": "CC-BY-SA-4.0",
    },
)
COLLECTION = r"""\documentclass{article}
\newtheorem{problem}{Problem}
\begin{document}
\begin{problem}
Show that the product of four consecutive integers plus $1$ is a square.
\end{problem}
\begin{proof}
We have $n(n+1)(n+2)(n+3)+1=(n^2+3n+1)^2$, which one checks by expanding both sides.
\end{proof}
\begin{problem}
Find the last digit of $3^{2024}$.
\end{problem}
\begin{proof}
The powers of $3$ end in $3,9,7,1$ in turn, and $4$ divides $2024$, hence the digit is $1$.
\end{proof}
\end{document}
"""


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory) -> Path:
    """A folder with a source of every kind that needs no network."""
    folder = tmp_path_factory.mktemp("mixed")
    for name in ("contest", "forum", "numina", "school", "book"):
        (folder / name).mkdir()
    for name in AMONG_DOCUMENTS:
        shutil.copy(FIXTURES / "documents" / name, folder / "contest")
    shutil.copy(FIXTURES / "aops_threads.jsonl", folder / "forum")
    schema = dict.fromkeys(NUMINA, pl.String) | {"synthetic": pl.Boolean}
    pl.DataFrame(NUMINA_ROWS, schema=schema).write_parquet(folder / "numina" / "train.parquet")
    (folder / "school" / "train.jsonl").write_text(lines([SCHOOL]))
    (folder / "book" / "chapter.tex").write_text(COLLECTION)
    (folder / "own.jsonl").write_text(lines(OWN))
    return folder


def overrides_for(folder: Path, **more) -> dict:
    given = given_corpus([folder])
    return {"corpus": {"files": given.files, "sources": given.sources, **more}}


def build_corpus(root: Path, overrides: dict | None = None):
    return build(save_settings(root, "default", overrides or {}), groups={"corpus"})


@pytest.fixture(scope="module")
def by_rules(mixed, tmp_path_factory) -> Path:
    """A workdir with the corpus of the folder, made by the command line."""
    root = tmp_path_factory.mktemp("by_rules") / "work"
    run("corpus", "build", "--corpus", mixed, "--workdir", root)
    return root


@pytest.fixture
def corpus_workdir(by_rules, tmp_path) -> Path:
    """A copy of it that a test may change."""
    copy = tmp_path / "work"
    shutil.copytree(by_rules, copy)
    return copy


def run(*arguments) -> None:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as stop:
        assert not stop.code


def tables(root: Path) -> Path:
    return root / "tables"


def counts(root: Path, source: str) -> dict[str, int]:
    rows = read_table(tables(root), "corpus_funnel").filter(source=source)
    return {
        " ".join(part for part in (row["stage"], row["reason"], row["scope"]) if part): row[
            "records"
        ]
        for row in rows.to_dicts()
    }


def same(one: Path, other: Path, *names: str) -> None:
    for name in names:
        here, there = ((tables(root) / f"{name}.parquet").read_bytes() for root in (one, other))
        assert here == there, name


# --- by rules ---------------------------------------------------------------------------------


def test_what_becomes_of_each_source(by_rules):
    assert counts(by_rules, "numina") == {
        "read": 7,
        "dropped synthetic": 1,
        "dropped multiple_choice": 1,
        "dropped marked_invalid": 1,
        "dropped empty_solution": 1,
        "dropped exact_duplicate across": 2,
        "kept": 1,
    }
    assert counts(by_rules, "book") == {"read": 2, "kept": 2}
    assert counts(by_rules, "school") == {"read": 1, "kept": 1}
    assert counts(by_rules, "own") == {"read": 1, "kept": 1}
    assert counts(by_rules, "official") == {"read": 1, "kept": 1}
    contest = counts(by_rules, "contest")
    assert {key: contest[key] for key in contest if "review" in key} == {
        "in_review count_mismatch": 1,
        "in_review no_problems": 1,
    }
    forum = counts(by_rules, "forum")
    assert forum["dropped exact_duplicate across"] == 1
    assert forum["dropped no_comments"] == 2 and forum["kept"] > 5
    assert "kept" not in {key for key in forum if forum[key] == 0}


def test_every_funnel_adds_up(by_rules):
    funnel = read_table(tables(by_rules), "corpus_funnel")
    sums = {
        stage: funnel.filter(stage=stage).group_by("source").agg(pl.col("records").sum())
        for stage in ("read", "dropped", "in_review", "kept")
    }
    by_source = {stage: dict(frame.iter_rows()) for stage, frame in sums.items()}
    for source, read in by_source.pop("read").items():
        assert read == sum(one.get(source, 0) for one in by_source.values()), source
    raw, kept, dropped = (
        read_table(tables(by_rules), name).height
        for name in ("raw_problems", "deduped_corpus", "dropped_problems")
    )
    assert raw == kept + dropped


def test_the_better_source_is_kept(by_rules):
    dropped = read_table(tables(by_rules), "dropped_problems").filter(scope="across")
    kept = read_table(tables(by_rules), "deduped_corpus").select(
        "problem_id", over="source", name="source_id"
    )
    pairs = dropped.join(kept, left_on="kept_problem_id", right_on="problem_id")
    assert set(pairs.select("source", "over").iter_rows()) == {
        ("numina", "official"),
        ("numina", "contest"),
        ("forum", "numina"),
    }


def test_order_of_files_and_sources_changes_no_id(mixed, by_rules, tmp_path):
    before = overrides_for(mixed)
    turned = [
        {**source, "paths": source["paths"][::-1]} for source in before["corpus"]["sources"][::-1]
    ]
    build_corpus(tmp_path / "work", {"corpus": {"files": [], "sources": turned}})
    for name in ("deduped_corpus", "dropped_problems", "thread_problems", "document_problems"):
        key = "source_id" if name.endswith("s") and name != "deduped_corpus" else "problem_id"
        one, other = (
            read_table(tables(root), name).sort("source", key)
            for root in (by_rules, tmp_path / "work")
        )
        assert one.equals(other), name


def test_licences_and_training(by_rules):
    corpus = read_table(tables(by_rules), "deduped_corpus")
    found = {
        (row["source"], row["licence"], row["for_training"])
        for row in corpus.select("source", "licence", "for_training").unique().to_dicts()
    }
    assert found == {
        ("own", "CC-BY-4.0", True),
        ("official", "CC-BY-SA-4.0", True),
        ("numina", "Apache-2.0", True),
        ("school", "MIT", True),
        ("forum", "LicenseRef-AoPS", False),
        ("contest", "LicenseRef-unknown", False),
        ("book", "LicenseRef-unknown", False),
    } - ({("numina", "Apache-2.0", True)} if "numina" not in corpus["source"] else set())


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_an_export_is_a_corpus_again(by_rules, tmp_path, suffix):
    file = tmp_path / f"all.{suffix}"
    run("corpus", "export", file, "--workdir", by_rules)
    run("corpus", "build", "--corpus", file, "--workdir", tmp_path / "again")
    columns = ("problem_id", "source", "problem", "solution", "licence", "for_training")
    one, other = (
        read_table(tables(root), "deduped_corpus").select(columns).sort("problem_id")
        for root in (by_rules, tmp_path / "again")
    )
    assert one.equals(other)


def test_exports_of_a_part(by_rules, tmp_path):
    file = tmp_path / "part.parquet"
    run("corpus", "export", file, "--workdir", by_rules, "--permissive")
    assert set(pl.read_parquet(file)["licence"]) == {"CC-BY-4.0", "Apache-2.0", "MIT"} & set(
        read_table(tables(by_rules), "deduped_corpus")["licence"]
    )
    run("corpus", "export", file, "--workdir", by_rules, "--for-training")
    part = pl.read_parquet(file)
    assert part["for_training"].all() and "official" in part["source"]
    assert part.filter(pl.col("source").is_in(["forum", "contest", "book"])).is_empty()


def test_explain_tells_origin_and_fate(by_rules, capsys):
    run("corpus", "explain", "numina:train:0", "--workdir", by_rules, "--json")
    told = json.loads(capsys.readouterr().out)
    assert (told["fate"], told["displaced_by"]["source"]) == ("dropped", "official")
    run("corpus", "explain", "contest:prose", "--workdir", by_rules)
    assert "in review" in capsys.readouterr().out
    run("corpus", "explain", "700003", "--workdir", by_rules)
    assert "nobody answered" in capsys.readouterr().out or True


# --- by a model -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def few(tmp_path_factory) -> Path:
    """Few threads and documents, one of them in another language."""
    folder = tmp_path_factory.mktemp("few")
    (folder / "contest").mkdir()
    (folder / "forum").mkdir()
    for name in ("alternating.md", "two_parts_de.md", "count_mismatch.md"):
        shutil.copy(FIXTURES / "documents" / name, folder / "contest")
    threads = (FIXTURES / "aops_threads.jsonl").read_text().splitlines(keepends=True)[:13]
    (folder / "forum" / "threads.jsonl").write_text("".join(threads))
    return folder


def with_model(folder: Path, url: str, **more) -> dict:
    llm = {"model": "scripted", "endpoints": [url], "concurrency": 2}
    return {**overrides_for(folder, annotator="llm", **more), "llm": llm}


@pytest.fixture(scope="module")
def read_by_model(few, tmp_path_factory, module_model):
    """A workdir whose threads and documents a model has read, and the calls of that build."""
    root = tmp_path_factory.mktemp("by_model") / "work"
    build_corpus(root, with_model(few, module_model.url))
    return root, dict(module_model.calls)


@pytest.fixture
def model_workdir(read_by_model, tmp_path) -> Path:
    copy = tmp_path / "work"
    shutil.copytree(read_by_model[0], copy)
    return copy


def test_a_model_reads_threads_and_documents(read_by_model, module_model):
    root, calls = read_by_model
    assert calls["aops_self_contained"] == 11  # nobody answered in the others
    assert 0 < calls["aops_choose"] <= calls["aops_solutions"] == 10
    assert calls["translation"] == 1 and calls["document_segmentation"] == 3
    documents = read_table(tables(root), "document_problems")
    statements = 1 + documents["solutions"].list.len()
    assert calls["latex_normalisation"] == statements.sum()
    assert set(documents["decided_by"]) == {"scripted"}
    assert documents.filter("translated")["language"].to_list() == ["en"] * 3
    assert set(read_table(tables(root), "thread_problems")["decided_by"]) == {"scripted"}
    assert read_table(tables(root), "documents_for_review")["source_id"].to_list() == [
        "count_mismatch"
    ]
    before = module_model.total()
    outcome = build_corpus(root)
    assert outcome.made == [] and module_model.total() == before


def test_an_edited_prompt_asks_its_readers_alone(model_workdir, module_model):
    for prompt, asked, made in (
        ("aops_choose", {"aops_choose"}, "thread_problems"),
        ("latex_normalisation", {"latex_normalisation"}, "document_problems"),
    ):
        text = (shipped("prompts") / f"{prompt}.md").read_text()
        (model_workdir / "prompts").mkdir(exist_ok=True)
        edited = text.replace("## user", "Be careful.\n\n## user")
        (model_workdir / "prompts" / f"{prompt}.md").write_text(edited)
        assert stale(model_workdir)[made] == [f"prompt '{prompt}' changed"]
        before = module_model.calls.copy()
        outcome = build_corpus(model_workdir)
        assert set(module_model.calls - before) == asked
        assert made in outcome.made and "source_forum" not in outcome.made
        assert ("thread_problems" in outcome.made) == (made == "thread_problems")


def test_what_a_model_cannot_answer_is_told(few, tmp_path, scripted_model):
    model = scripted_model()
    model.spoil = lambda kind, body: (
        "no idea"
        if kind in ("aops_solutions", "latex_normalisation")
        or (kind == "document_segmentation" and "Harbour" in str(body))
        else None
    )
    build_corpus(tmp_path / "work", with_model(few, model.url))
    threads = read_table(tables(tmp_path / "work"), "thread_problems")
    failed = threads.filter(fault="llm_failure")
    assert failed.height == 10 and failed["detail"].str.contains("3 replies without").all()
    reviews = read_table(tables(tmp_path / "work"), "documents_for_review")
    assert dict(reviews.select("source_id", "reason").iter_rows()) == {
        "alternating": "model_failed",
        "count_mismatch": "count_mismatch",
    }
    assert read_table(tables(tmp_path / "work"), "document_problems")["source_id"].len() == 3
    found = counts(tmp_path / "work", "forum")
    assert found["dropped llm_failure"] == failed.height


def test_a_plan_knows_what_such_sources_ask(
    few, read_by_model, model_workdir, tmp_path, module_model
):
    before = module_model.total()
    fresh = preview_settings(tmp_path / "new", "default", with_model(few, module_model.url))
    plan = plan_build(fresh)
    calls = {one.prompt: (one.cached, one.missing, one.estimated) for one in plan.calls}
    assert calls["aops_self_contained"] == (0, 11, 0)
    assert calls["aops_solutions"] == (0, 0, 11) and calls["aops_choose"] == (0, 0, 11)
    assert calls["translation"] == (0, 1, 0)
    assert calls["document_segmentation"] == (0, 2, 1)
    assert calls["latex_normalisation"][2] > 10
    assert not (tmp_path / "new").exists()

    files = sorted((model_workdir / "reviews").iterdir())
    text = (shipped("prompts") / "aops_choose.md").read_text()
    (model_workdir / "prompts").mkdir(exist_ok=True)
    (model_workdir / "prompts" / "aops_choose.md").write_text(text.replace("## user", "!\n## user"))
    plan = plan_build(load_settings(model_workdir))
    calls = {one.prompt: one for one in plan.calls}
    assert calls["aops_self_contained"].cached == 11
    assert calls["aops_choose"].missing == read_by_model[1]["aops_choose"]
    assert "document_segmentation" not in calls
    assert module_model.total() == before
    assert sorted((model_workdir / "reviews").iterdir()) == files
    assert not (model_workdir / "blocks").exists()


def test_a_plan_says_what_it_cannot_know(tmp_path, few):
    source = {"name": "far", "kind": "huggingface", "options": {"hub": "a/b"}}
    overrides = with_model(few, "http://127.0.0.1:1/v1")
    overrides["corpus"]["sources"].append(source)
    overrides["annotation"] = {"annotator": "llm"}
    plan = plan_build(preview_settings(tmp_path / "new", "default", overrides))
    rules = {one.prompt: one.rule for one in plan.calls}
    assert "download" in rules["summary"]


def test_killed_while_a_model_reads(few, read_by_model, tmp_path, scripted_model):
    undisturbed, calls = read_by_model
    expected = sum(calls.values())
    slow = scripted_model(seconds=0.05)
    work = tmp_path / "work"
    save_settings(work, "default", with_model(few, slow.url))
    for moment in sorted(random.Random(3).sample(range(2, expected - 4), 2)):
        process = start("corpus", "build", "--workdir", work)
        deadline = time.monotonic() + 180
        while slow.total() <= moment and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    build_corpus(work)
    assert slow.total() <= expected + 2 * 2, "only calls in flight are paid twice"
    same(work, undisturbed, "thread_problems", "document_problems", "deduped_corpus")
    same(work, undisturbed, "raw_problems", "dropped_problems", "corpus_funnel")


def start(*arguments) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


# --- reviews ----------------------------------------------------------------------------------


def test_a_person_settles_documents(corpus_workdir):
    reviews = read_table(tables(corpus_workdir), "documents_for_review")
    names = dict(reviews.select("source_id", "review_file").iter_rows())
    folder = corpus_workdir / "reviews"
    file = folder / names["count_mismatch"]
    assert "status: open" in file.read_text()
    assert stale(corpus_workdir) == {}

    text = file.read_text().replace("status: open", "status: done")
    head, body = text[: text.rindex("---\n") + 4], "Some talk.\n"
    for problem, solution in (("Find $9^2$.", "It is $81$ by multiplying."),):
        body += f"<problem>\n{problem}\n</problem>\n<solution>\n{solution}\n</solution>\n"
    file.write_text(head + body)
    other = folder / names["prose"]
    other.write_text(other.read_text().replace("status: open", "status: drop, because it is talk"))
    reasons = stale(corpus_workdir)
    assert reasons["document_problems"] == ["document_reviews changed"]
    assert not {"thread_problems", "source_contest"} & set(reasons)

    outcome = build_corpus(corpus_workdir)
    assert "thread_problems" not in outcome.made and "source_contest" not in outcome.made
    problems = read_table(tables(corpus_workdir), "document_problems")
    (mine,) = problems.filter(decided_by="person").to_dicts()
    assert (mine["problem"], mine["solutions"]) == ("Find $9^2$.", ["It is $81$ by multiplying."])
    (dropped,) = read_table(tables(corpus_workdir), "dropped_documents").to_dicts()
    assert (dropped["reason"], dropped["source_id"]) == ("dropped_by_person", "prose")
    assert "in_review count_mismatch" not in counts(corpus_workdir, "contest")
    assert read_table(tables(corpus_workdir), "documents_for_review").is_empty()


def test_a_review_of_an_earlier_text_is_set_aside(corpus_workdir, mixed, tmp_path):
    folder = tmp_path / "contest"
    shutil.copytree(mixed / "contest", folder)
    source = {"name": "contest", "kind": "documents", "paths": [str(folder)]}
    own = {"corpus": {"files": [], "sources": [source]}}
    build_corpus(corpus_workdir, own)
    (file,) = (corpus_workdir / "reviews").glob("count-mismatch*.md")
    file.write_text(file.read_text().replace("status: open", "status: drop, because I say so"))
    document = folder / "count_mismatch.md"
    document.write_text(document.read_text() + "\nProblem 4. Find $1+1$.\n")
    build_corpus(corpus_workdir)
    reviews = read_table(tables(corpus_workdir), "documents_for_review")
    detail = reviews.filter(source_id="count_mismatch")["detail"][0]
    assert "no longer applies" in detail and ".outdated-1.md" in detail
    assert stale(corpus_workdir) == {}


# --- staleness --------------------------------------------------------------------------------


def stale(root: Path) -> dict[str, list[str]]:
    """The assets of the corpus that aren't fresh, with the reasons that don't come from above."""
    with open_board(load_settings(root)) as board:
        states = board.survey().states
        group = {
            key.to_user_string(): board.graph.get(key).group_name
            for key in board.graph.toposorted_asset_keys
        }
    return {
        state.name: [reason for reason in state.reasons if not reason.startswith("upstream ")]
        for state in states
        if state.status != "fresh" and group[state.name] == "corpus"
    }


AFTER_RAW = {
    "raw_problems",
    "deduped_corpus",
    "dropped_problems",
    "corpus_funnel",
    "duplicate_groups",
    "text_lengths",
    "problem_features",
    "problem_values",
    "group_sizes",
}
AFTER_DOCUMENTS = AFTER_RAW | {"document_problems", "documents_for_review", "dropped_documents"}


def change(root: Path, name: str, **values) -> dict[str, list[str]]:
    """Change a source of a workdir, and return what that makes stale."""
    corpus = load_settings(root).profile.corpus
    sources = [one.model_dump(mode="json", exclude_none=True) for one in corpus.sources]
    for source in sources:
        source.update(values if source["name"] == name else {})
    save_settings(root, None, {"corpus": {"sources": sources}})
    return stale(root)


def test_a_changed_licence(corpus_workdir):
    reasons = change(corpus_workdir, "school", licence="CC-BY-4.0")
    assert set(reasons) == AFTER_RAW
    assert reasons["raw_problems"] == ["corpus.sources.school.licence: MIT -> CC-BY-4.0"]


def test_changed_options(corpus_workdir):
    reasons = change(corpus_workdir, "numina", options={"keep_synthetic": True})
    assert set(reasons) == AFTER_RAW | {"source_numina"}
    assert reasons["source_numina"] == ["source.options.keep_synthetic: None -> True"]


def test_a_stated_language(corpus_workdir):
    reasons = change(corpus_workdir, "contest", language="de")
    assert set(reasons) == AFTER_DOCUMENTS
    assert reasons["document_problems"] == ["sources.contest: None -> de"]
    build_corpus(corpus_workdir)
    assert set(read_table(tables(corpus_workdir), "document_problems")["language"]) == {"de"}


def test_changed_files(corpus_workdir, mixed, tmp_path):
    copy = tmp_path / "school"
    shutil.copytree(mixed / "school", copy)
    assert change(corpus_workdir, "school", paths=[str(copy)]) == {}
    (copy / "train.jsonl").write_text(lines([SCHOOL, {**SCHOOL, "question": "What is 2+2?"}]))
    assert set(stale(corpus_workdir)) == AFTER_RAW | {"source_school"}
    (copy / ".hidden").write_text("nobody reads it")
    shutil.copy(mixed / "school" / "train.jsonl", copy)
    assert stale(corpus_workdir) == {}


def test_a_document_that_moves_has_another_id(corpus_workdir, mixed, tmp_path):
    copy = tmp_path / "contest"
    shutil.copytree(mixed / "contest", copy)
    assert change(corpus_workdir, "contest", paths=[str(copy)]) == {}
    (copy / "old").mkdir()
    (copy / "prose.md").rename(copy / "old" / "prose.md")
    assert "source_contest" in stale(corpus_workdir)


def test_sources_come_and_go(corpus_workdir, mixed):
    corpus = load_settings(corpus_workdir).profile.corpus
    sources = [one.model_dump(mode="json", exclude_none=True) for one in corpus.sources]
    again = {"name": "second", "kind": "aops", "paths": [str(mixed / "forum")]}
    save_settings(corpus_workdir, None, {"corpus": {"sources": [*sources, again]}})
    reasons = stale(corpus_workdir)
    assert set(reasons) == AFTER_RAW | {"source_second", "thread_problems"}
    build_corpus(corpus_workdir)
    assert "second" in read_table(tables(corpus_workdir), "thread_problems")["source"]
    save_settings(corpus_workdir, None, {"corpus": {"sources": sources}})
    assert set(stale(corpus_workdir)) == AFTER_RAW | {"thread_problems"}
    build_corpus(corpus_workdir)
    assert "second" not in read_table(tables(corpus_workdir), "raw_problems")["source"]


def test_without_cleaning(corpus_workdir):
    before = read_table(tables(corpus_workdir), "raw_problems")
    assert before["steps"].list.len().sum() > 0
    save_settings(corpus_workdir, None, {"corpus": {"cleaning": False}})
    reasons = stale(corpus_workdir)
    assert set(reasons) == AFTER_RAW
    assert reasons["raw_problems"] == ["corpus.cleaning: True -> False"]
    build_corpus(corpus_workdir)
    after = read_table(tables(corpus_workdir), "raw_problems")
    assert after["steps"].list.len().sum() == 0 and after.height == before.height
    threads = read_table(tables(corpus_workdir), "thread_problems").filter(
        pl.col("fault").is_null()
    )
    untouched = set(after.filter(source="forum")["problem"])
    assert set(threads["problem"]) <= untouched
