"""The whole of cleaning: nothing emptied, cleaned stays cleaned, the sample as it is."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.cleaning import (
    FLAGS,
    STEP_NAMES,
    STEPS,
    clean_record,
    markup_to_text,
    trace,
)

ROOT = Path(__file__).parents[3]
REAL = ROOT.parent / "shared" / "data" / "problems"
FRAGMENTS = [
    "<b>", "</b>", "<i>", "<p>", "<br>", "<sup>", "</sup>", "<td>", "<tr>", "<li>", "<img alt='",
    "$", "$$", "\\(", "\\)", "\\[", "\\]", "\\", "\\\\", "5", "5 ", "x", "and the ", "[b]", "[/b]",
    "[i]", "[/i]", "[quote]", "[/quote]", "[hide=", "]", "[", "[asy]", "[/asy]", "[code]",
    "[/code]", "[list]", "[*]", "[/list]", "&amp;", "&lt;", "&gt;", "amp;", "lt;", "&nbsp;",
    "\u200b", "\n", "\n\n", "  ", "\t", "\r", "#### 4", "<<2=2>>", "<<", ">>", "\\begin{verbatim}",
    "\\end{verbatim}", "```", "\\verb|", "|", "\\begin{align}", "\\end{align}",
    "\\begin{tikzpicture}", "\\end{tikzpicture}", "Problem 5. ", "(10 points)", "Proposed by Ana",
    "IMO 1987", "(", ")", ".", "A", "![", "](a.png)", "\\boxed{", "{", "}", "\x08eta", "\u2028",
    "e\u0301", "<", ">", '="', "'", "<!--", "-->", "<script>", "</script>", "<math>", "</math>",
    "[img]", "[/img]", "[image]", "1,000", "\ud800", "é", "²", "Ã©",
]  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
)


def has_content(text: str) -> bool:
    return any(map(str.isalnum, text))


def sample() -> list[dict[str, Any]]:
    folder = ROOT / "saber_assets" / "corpus" / "sample"
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text(encoding="utf-8").split("\n")
        if line
    ]


def real() -> list[dict[str, Any]]:
    if not REAL.exists():
        pytest.skip("the real problems are not there")
    lines = (REAL / "real_1684.jsonl").read_text(encoding="utf-8").split("\n")
    with gzip.open(REAL / "real_18k.jsonl.gz", "rt", encoding="utf-8") as file:
        lines += file.read().split("\n")
    return [json.loads(line) for line in lines if line]


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS)
def test_cleaning_twice_changes_nothing_and_nothing_is_emptied(problem: str, solution: str) -> None:
    once = clean_record(problem, [solution])
    twice = clean_record(once.problem, once.solutions)
    assert (twice.problem, twice.solutions, twice.steps) == (once.problem, once.solutions, ())
    assert (twice.language, twice.images, twice.flags) == (once.language, once.images, once.flags)
    for before, after in ((problem, once.problem), (solution, once.solutions[0])):
        assert has_content(after) or not has_content(before)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(STEPS))
def test_each_step_is_idempotent(text: str, step: Any) -> None:
    once = step.apply(text)
    assert step.apply(once) == once
    assert has_content(once) or not has_content(text)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.sets(st.sampled_from(STEP_NAMES)))
def test_idempotent_without_any_steps(text: str, without: set[str]) -> None:
    once = clean_record(text, [text], without=without)
    assert clean_record(once.problem, once.solutions, without=without).steps == ()
    assert not set(once.steps) & without


@settings(max_examples=150, deadline=None)
@given(TEXTS, TEXTS)
def test_the_trace_leads_from_the_text_to_the_cleaned_one(problem: str, solution: str) -> None:
    cleaned = clean_record(problem, [solution])
    now = {"the problem": problem, "solution 1": solution}
    for step, before, after in trace(problem, [solution]):
        name, place = step.split(" in ")
        assert name in cleaned.steps
        assert now[place] == before != after
        now[place] = after
    assert now == {"the problem": cleaned.problem, "solution 1": cleaned.solutions[0]}


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_markup_to_text_is_idempotent(text: str) -> None:
    once = markup_to_text(text)
    assert markup_to_text(once) == once


def test_the_sample_is_left_as_it_is() -> None:
    for record in sample():
        kept = clean_record(record["problem"], [record["solution"]])
        assert (kept.problem, *kept.solutions) == (record["problem"], record["solution"])
        assert (kept.steps, kept.flags, kept.language) == ((), (), "en")


@pytest.mark.slow
def test_real_problems_settle_and_none_is_emptied() -> None:
    records = real()
    assert len(records) == 1684 + 22278
    flags = 0
    for record in records:
        problem, solution = record["problem"] or "", record["solution"] or ""
        once = clean_record(problem, [solution])
        assert clean_record(once.problem, once.solutions).steps == ()
        assert has_content(once.problem) or not has_content(problem)
        assert has_content(once.solutions[0]) or not has_content(solution)
        assert once.language in ("en", "und", "fr")
        flags += "unpaired_dollar" in once.flags
        assert "unsettled" not in once.flags
    assert flags < 80


def test_what_is_found_in_a_record() -> None:
    cleaned = clean_record(
        "<p>Problem 5. Let $ABC$ be a triangle of area $12$. [asy]draw(A--B);[/asy]</p>",
        [
            "See ![](a.png). It costs $5, so \\(x=5\\).\n#### 5",
            "It is $\\boxed{\\frac{1}{2}}$.",
            "",
        ],
    )
    assert cleaned.problem == "Let $ABC$ be a triangle of area $12$. [diagram]"
    assert cleaned.solutions[0] == "See [image]. It costs \\$5, so $x=5$."
    assert cleaned.solutions[1:] == ("It is $\\boxed{\\frac{1}{2}}$.", "")
    assert cleaned.answer == "5"
    assert cleaned.diagrams == ("[asy]draw(A--B);[/asy]",)
    assert (cleaned.images, cleaned.language, cleaned.flags) == (1, "en", ())
    assert cleaned.steps == (
        "html", "diagrams", "images", "final_answer", "money", "delimiters", "metadata",
        "white_space",
    )  # fmt: skip
    assert clean_record("", []).steps == ()


def test_what_must_survive_survives() -> None:
    text = (
        "If a<b and x>y then $\\frac{1}{2} \\times 3 \\% ~ \\#$ & more; #1 is 5% off, ~7.\n"
        "$\\begin{matrix}a & b \\\\[6pt] c & d\\end{matrix}$ and "
        "\\begin{align*}x&=1\\\\y&<2\\end{align*} on $[0,1)$, [x], $a<b<c$, <12, $<b<c$.\n"
        "    Indented: see problem 5 of IMO 1987, (10 points) each, by Ana."
    )
    assert clean_record(text, [text]).steps == ()


def test_flags() -> None:
    def flags(problem: str) -> tuple[str, ...]:
        return clean_record(problem, []).flags

    assert flags("[image: Graph of f(x)]") == ("figure_only",)
    assert flags("<img src='a.png'> [ref]") == ("figure_only",)
    assert flags("$\\frac{2}{3}+4$") == ("no_letters",)
    assert flags("Let $x be a number.") == ("unpaired_dollar",)
    assert flags("The cafÃ© is open.") == ("mojibake",)
    assert flags("") == flags("Find $x$ for \\$5.") == ()
    assert flags("&" + "amp;" * 3 + "l" + "<b></b>" + "t;b") == ()
    assert set(FLAGS) >= {"unsettled"}


def test_a_text_that_does_not_settle_is_left_alone_and_flagged() -> None:
    layer = "<i></i>"
    for _ in range(7):
        layer = f"&l{layer}t;i&gt;&l{layer}t;/i&gt;"
    once = clean_record(f"word {layer}", [])
    assert (once.problem, once.flags, once.steps) == (f"word {layer}", ("unsettled",), ())
    assert clean_record(once.problem, []) == once


def test_unknown_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="no step 'htlm'"):
        clean_record("x", [], without=["htlm"])


@pytest.mark.parametrize(
    "piece",
    ["<b>", "<a x='", "<!--", "[i][/b]", "[asy]", "\\(\\[", "a$$b$", "$5\\(", "\\verb|\\verb!",
     "```", "![a](b", "\n ", "&amp;", "\\begin{align}$", "\\boxed{", "Proposed by A ", "<<1", " "],
)  # fmt: skip
@pytest.mark.timeout(120)
def test_long_junk_ends(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(clean_record(text, []).problem) <= 2 * len(text)


@pytest.mark.parametrize(
    "text",
    ["generated by\n\t\tan element", "so\n\textend the line", "see\n\texternal", "x\rangle ABC"],
)
def test_a_tab_that_indents_is_no_command(text: str) -> None:
    assert "\\" not in clean_record("Find $x$.", [text]).solutions[0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("$\tan(x)$", "$\\tan(x)$"), ("a \textbf{b}", "a \\textbf{b}"), ("$u\rangle$", "$u\\rangle$")],
)
def test_a_tab_that_was_a_command_is_put_right(text: str, wanted: str) -> None:
    assert clean_record("Find $x$.", [text]).solutions == (wanted,)


def test_the_button_of_a_hidden_text_is_no_text() -> None:
    heading = '<div class="cmty-hide-heading faux-link">{}</div><div>It is 4.</div>'
    page = heading.format("Click to reveal hidden text")
    assert clean_record("Find $x$.", [page]).solutions == ("It is 4.",)
    assert clean_record("x", [heading.format("Proof")]).solutions == ("Proof\nIt is 4.",)
