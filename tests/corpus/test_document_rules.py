"""Documents are cut by their headings, exactly or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.corpus.document_marks import find_marks
from saber_assets.corpus.document_parts import parts_at_paragraphs, parts_at_problems
from saber_assets.corpus.document_rules import (
    NO_MODEL,
    RulesDocumentCutter,
    cut_by_rules,
    split_solutions,
)
from saber_assets.corpus.documents import Cut, TextTask

DOCUMENTS = Path(__file__).parent / "fixtures" / "documents"


def text_of(name: str) -> str:
    return (DOCUMENTS / name).read_bytes().decode()


# numbers and counts of solutions, as read by eye
CUT = {
    "alternating.md": {"1": 1, "2": 1, "3": 1},
    "alternating_es.md": {"1": 1, "2": 2, "3": 1},
    "answers_first.md": {"1": 1, "2": 1},
    "bare_numbers.md": {"1": 1, "2": 1, "3": 1, "4": 1},
    "environments.tex": {"1": 1, "2": 1},
    "ocr_noise.md": {"1": 1, "2": 1, "3": 1},
    "repeated_statements.md": {"1": 1, "2": 1},
    "russian.md": {"1": 1, "2": 1},
    "several_solutions.md": {"1": 2, "2": 2, "3": 1},
    "shortlist.md": {"A1": 1, "A2": 1, "C1": 1},
    "two_parts_de.md": {"1": 1, "2": 1, "3": 1},
    "two_parts_fr.tex": {"1": 1, "2": 2},
}
REVIEWED = {
    "count_mismatch.md": ("count_mismatch", "problem 2 has no solution"),
    "empty.md": ("empty", "no text"),
    "gap_in_numbers.md": ("count_mismatch", "problem 3 follows problem 1"),
    "only_problems.tex": ("count_mismatch", "problem 1 has no solution"),
    "prose.md": ("no_problems", "no heading"),
}


def test_every_fixture_is_expected() -> None:
    assert {path.name for path in DOCUMENTS.iterdir()} == CUT.keys() | REVIEWED.keys()


@pytest.mark.parametrize("name", CUT)
def test_cuts(name: str) -> None:
    cut = cut_by_rules(text_of(name))
    assert cut.detail == ""
    assert {p.number: len(p.solutions) for p in cut.problems} == CUT[name]


@pytest.mark.parametrize("name", REVIEWED)
def test_leaves_to_a_person(name: str) -> None:
    cut = cut_by_rules(text_of(name))
    fault, detail = REVIEWED[name]
    assert cut.fault == fault
    assert detail in cut.detail
    assert cut.problems == ()


@pytest.mark.parametrize("name", [*CUT, *REVIEWED])
def test_pieces_are_the_documents_own_text(name: str) -> None:
    text = text_of(name)
    cut = cut_by_rules(text)
    end = 0
    for piece in cut.pieces:
        assert piece.text == text[piece.start : piece.end] != ""
        assert piece.start >= end
        end = piece.end
    for problem in cut.problems:
        assert all(part in text for part in (problem.problem, *problem.solutions))


def test_subparts_stay_in_one_problem() -> None:
    problem = cut_by_rules(text_of("alternating.md")).problems[1]
    assert problem.problem.startswith("A frog")
    assert problem.problem.endswith("b) In how many ways can it reach $10$?")
    assert problem.solutions[0].startswith("a) Count")


def test_running_heads_and_page_numbers_go_from_the_ends() -> None:
    problems = cut_by_rules(text_of("ocr_noise.md")).problems
    assert problems[0].solutions[0] == "Count the fives:\u2028 5 + 1 = 6 zeros."
    assert problems[1].problem == "Solve x² − 6x + 8 = 0."
    assert problems[2].problem == "If a<b<c are sides of a right triangle with a=20, b=21, find c."
    assert problems[2].solutions == ("By Pythagoras c = 29.",)


def test_a_bare_number_at_the_end_is_content() -> None:
    cut = cut_by_rules(
        "Problem 1. How many?\n\nSolution.\n\n12\n\nProblem 2. And?\n\nSolution. 7\n"
    )
    assert [p.solutions for p in cut.problems] == [("12",), ("7",)]


@pytest.mark.parametrize(
    "end", ["3/4", "7", "#### 16", "\\item b\n\\end{enumerate}", "So it is $-3-$", "--"]
)
def test_ends_that_are_content(end: str) -> None:
    text = f"Problem 1. A\n\nSolution. B\n\n{end}\n\nProblem 2. C\n\nSolution. D\n\n{end}\n"
    assert [p.solutions for p in cut_by_rules(text).problems] == [
        (f"B\n\n{end}",),
        (f"D\n\n{end}",),
    ]


@pytest.mark.parametrize(
    "end", ["Page 3 of 9", "Seite 4", "- 5 -", "---", "\\newpage", "## Day 2", "12\n\f"]
)
def test_ends_that_are_the_pages(end: str) -> None:
    text = f"Problem 1. A\n\nSolution. B\n\n{end}\n\nProblem 2. C\n\nSolution. D\n\n{end}\n"
    assert [p.solutions for p in cut_by_rules(text).problems] == [("B",), ("D",)]


def test_an_answer_is_no_part_of_the_statement() -> None:
    problem = cut_by_rules(text_of("answers_first.md")).problems[0]
    assert problem.problem == "What is the largest two-digit prime?"
    assert problem.solutions[0].startswith("Answer: 97.\n\nSolution. $99$")


HEADINGS = {
    "# Problem 1": ("problem", "1"),
    "Problem 3 (6 points): Foo": ("problem", "3"),
    "3. Aufgabe": ("problem", "3"),
    "Aufgabe Nr. 3": ("problem", "3"),
    "1ère exercice.": ("problem", "1"),
    "Ejercicio n.º 3.": ("problem", "3"),
    "Задача № 4. Пусть": ("problem", "4"),
    "\\section*{Aufgabe A1}": ("problem", "A1"),
    "Problem IV.": ("problem", "4"),
    "PROB1EM 2.": ("problem", "2"),
    "Problem1.": ("problem", "1"),
    "Opgave 2:": ("problem", "2"),
    "Exercício 7.": ("problem", "7"),
    "Esercizio 2. Sia": ("problem", "2"),
    "4. feladat": ("problem", "4"),
    "Zadanie 5.": ("problem", "5"),
    "1) Prove": ("problem", "1"),
    "Solution. We": ("solution", ""),
    "Lösung zu Aufgabe 3: Sei": ("solution", "3"),
    "Решение задачи 3.": ("solution", "3"),
    "Problem 4 - Solution": ("solution", "4"),
    "Problem 1. Solution. We": ("solution", "1"),
    "Solution 1 of Problem 2.": ("solution", "2"),
    "Solution to Problem N3.": ("solution", "N3"),
    "Oplossing 2.": ("solution", "2"),
    "Soluzione. Sia": ("solution", ""),
    "Alternative:": ("solution", ""),
    "Deuxième solution": ("solution", "2"),
    "# Solutions": ("solutions", ""),
    "Teil II: Lösungen": ("solutions", ""),
    "Lösungen der Aufgaben 1-3": ("solutions", ""),
    "Aufgaben": ("problems", ""),
}
NO_HEADINGS = (
    "Problem 3 shows that",
    "Solution exists since",
    "Problem 1 ......... 3",
    "## Problems and Solutions",
    "Aufgaben und Lösungen",
    "Proof of Lemma 2.",
    "a) foo",
    "1.5 liters",
    "Answer the question:",
    "Let \\begin{equation}",
    "(1) $x+y=2$",
    "The solutions are $3$ and $-3.$",
    "Total solutions: ${17 \\choose 4}$.",
    "Thus, all solutions are (1, 2) and (2, 1).",
    "No solutions.",
    "    \\item[(ii)] Find all integer solutions.",
    " answer.",
    "Another:",
    "59. Mathematics Cup 2031 ....... 4",
)


@pytest.mark.parametrize("line", HEADINGS)
def test_headings(line: str) -> None:
    assert [(mark.kind, mark.label) for mark in find_marks(line)] == [HEADINGS[line]]


@pytest.mark.parametrize("line", NO_HEADINGS)
def test_no_headings(line: str) -> None:
    assert find_marks(line) == []


DOUBTFUL = {
    "a number twice": "Problem 1. A\nSolution. B\nProblem 1. C\nSolution. D",
    "two solutions without numbers": "Problem 1. A\nSolution. B\nSolution. C",
    "the first heading of a solution lost": (
        "Problem 1. A\nSolution 1. B\nSolution 2. C\nProblem 2. D\nSolution 2. E"
    ),
    "solutions that could be of one problem": (
        "Problem 1. A\nProblem 2. B\nSolution 1. C\nSolution 2. D"
    ),
    "another order": "Problem 1. A\nProblem 2. B\n# Solutions\nProblem 2. C\nProblem 1. D",
    "a solution before all problems": "Solution. A\nProblem 1. B\nSolution. C",
    "a solution without problem": (
        "Problem 1. A\nProblem 2. B\n# Solutions\nProblem 1. C\nProblem 2. D\nProblem 3. E"
    ),
    "an empty statement": "Problem 1.\nSolution. B\nProblem 2. C\nSolution. D",
    "an empty solution": "Problem 1. A\nSolution.\nProblem 2. B\nSolution. C",
    "the solution of another": "Problem 1. A\nSolution to Problem 2. B\nProblem 2. C\nSolution. D",
    "two sets of problems": "1. A\n2. B\n1. C\n2. D",
    "the second solution only": "Problem 1. A\nSecond solution. B",
    "a statement that differs": ("Problem 1. A\n# Solutions\nProblem 1. Another text\nSolution. B"),
}


@pytest.mark.parametrize("case", DOUBTFUL)
def test_what_is_doubtful_is_left_to_a_person(case: str) -> None:
    cut = cut_by_rules(DOUBTFUL[case])
    assert cut.fault in ("count_mismatch", "not_aligned")
    assert cut.problems == ()


def test_split_solutions() -> None:
    assert split_solutions("Solution 1. A\n\nSolution 2. B") == ("A", "B")
    assert split_solutions("A\n\n**Alternative solution.** B") == ("A", "B")
    assert split_solutions("A\n\nSolution. B") == ("A\n\nSolution. B",)
    assert split_solutions("By Solution 2. we see") == ("By Solution 2. we see",)


def test_the_cutter_of_rules_names_itself_and_translates_nothing() -> None:
    cutter = RulesDocumentCutter()
    assert cutter.name == NO_MODEL == "rules (no model)"
    assert not cutter.translates and not cutter.normalises
    assert isinstance(cutter.segment([TextTask("a", text_of("shortlist.md"))])[0], Cut)


# generated booklets

LANGUAGES = {
    "en": ("Problem", "Solution", "Problems", "Solutions", "Alternative solution"),
    "de": ("Aufgabe", "Lösung", "Aufgaben", "Lösungen", "Alternative Lösung"),
    "fr": ("Exercice", "Solution", "Énoncés", "Corrigés", "Autre solution"),
    "es": ("Problema", "Solución", "Problemas", "Soluciones", "Otra solución"),
    "it": ("Esercizio", "Soluzione", "Esercizi", "Soluzioni", "Altra soluzione"),
    "pt": ("Exercício", "Solução", "Exercícios", "Soluções", "Outra solução"),
    "ru": ("Задача", "Решение", "Задачи", "Решения", "Другое решение"),
    "nl": ("Opgave", "Oplossing", "Opgaven", "Oplossingen", "Andere oplossing"),
}
FORMS = ("{} {}.", "**{} {}.**", "## {} {}\n", "\\textbf{{{} {}.}}", "\\section*{{{} {}}}\n")
SENTENCES = (
    "Let $n>1$ be odd.",
    "a) Find all $x$ with $x^2<9$.\nb) And with $x^3<27$?",
    "The cost is \\$5.",
    "We see that\n$$\\sum_{k=1}^n k = \\frac{n(n+1)}2.$$",
    "Given a<b<c,\u2028 find c.",
    "In 3.5 hours it is done.",
    "(1) holds by Problem 2, whose solution is short.",
    "12",
)
texts = st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=3).map("\n\n".join)


@st.composite
def booklets(draw: st.DrawFn) -> tuple[str, list[tuple[str, str, list[str]]], str]:
    """Return language, problems with number, statement and solutions, and the layout."""
    language = draw(st.sampled_from(sorted(LANGUAGES)))
    first = draw(st.integers(1, 9))
    count = draw(st.integers(1, 6))
    problems = [
        (
            str(first + n),
            f"Part {n} of all. {draw(texts)}",
            draw(st.lists(texts, min_size=1, max_size=2)),
        )
        for n in range(count)
    ]
    return language, problems, draw(st.sampled_from(["alternating", "two parts"]))


def printed(
    language: str,
    problems: list[tuple[str, str, list[str]]],
    layout: str,
    form: str,
    without: int | None = None,
) -> str:
    word, solution, plural, solutions, other = LANGUAGES[language]

    def solved(place: int, heading: str) -> list[str]:
        if place == without:
            return []
        number, _, found = problems[place]
        lines = [f"{heading} {found[0]}" if not heading.endswith("\n") else heading + found[0]]
        return lines + [f"{other}. {text}" for text in found[1:]]

    blocks = ["# Willow Creek Cup 2033"]
    if layout == "alternating":
        for place, (number, statement, _) in enumerate(problems):
            blocks += [f"{form.format(word, number)} {statement}", *solved(place, f"{solution}.")]
        return "\n\n".join(blocks) + "\n"
    blocks.append(f"# {plural}")
    blocks += [f"{form.format(word, number)} {statement}" for number, statement, _ in problems]
    blocks.append(f"# {solutions}")
    for place, (number, _, _) in enumerate(problems):
        blocks += solved(place, form.format(word, number))
    return "\n\n".join(blocks) + "\n"


@settings(max_examples=120, deadline=None)
@given(booklet=booklets(), form=st.sampled_from(FORMS))
def test_booklets_are_cut_exactly(
    booklet: tuple[str, list[tuple[str, str, list[str]]], str], form: str
) -> None:
    language, problems, layout = booklet
    text = printed(language, problems, layout, form)
    cut = cut_by_rules(text)
    assert cut.detail == ""
    assert [(p.number, p.problem, list(p.solutions)) for p in cut.problems] == problems
    assert all(piece.text == text[piece.start : piece.end] for piece in cut.pieces)


@settings(max_examples=120, deadline=None)
@given(booklet=booklets(), form=st.sampled_from(FORMS), data=st.data())
def test_booklets_with_a_solution_removed_are_left_to_a_person(
    booklet: tuple[str, list[tuple[str, str, list[str]]], str], form: str, data: st.DataObject
) -> None:
    language, problems, layout = booklet
    without = data.draw(st.integers(0, len(problems) - 1))
    cut = cut_by_rules(printed(language, problems, layout, form, without))
    assert cut.fault in ("count_mismatch", "not_aligned")
    assert cut.problems == ()


@settings(max_examples=120, deadline=None)
@given(booklet=booklets(), form=st.sampled_from(FORMS), data=st.data())
def test_booklets_with_a_misread_heading_are_left_to_a_person(
    booklet: tuple[str, list[tuple[str, str, list[str]]], str], form: str, data: st.DataObject
) -> None:
    language, problems, layout = booklet
    lines = printed(language, problems, layout, form).split("\n")
    word, solution, _, _, _ = LANGUAGES[language]
    headings = [
        place
        for place, line in enumerate(lines)
        if re.match(rf"\W*(section|textbf)?\W*{word} \d|{solution}\. ", line)
    ]
    place = data.draw(st.sampled_from(headings))
    lines[place] = lines[place].replace(word, "Xrlbm").replace(f"{solution}.", "Slvtn.")
    assert cut_by_rules("\n".join(lines)).problems == ()


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*HEADINGS, *NO_HEADINGS, *SENTENCES, "", "\f", "- 3 -"])))
def test_any_lines_give_pieces_in_order(lines: list[str]) -> None:
    text = "\n".join(lines)
    cut = cut_by_rules(text)
    assert (cut.fault is None) == bool(cut.problems)
    end = 0
    for piece in cut.pieces:
        assert end <= piece.start <= piece.end
        assert piece.text == text[piece.start : piece.end]
        end = piece.end


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(SENTENCES), max_size=12).map("\n\n".join), st.integers(20, 200))
def test_parts_are_the_text_and_cut_no_formula(text: str, most: int) -> None:
    parts = parts_at_paragraphs(text, most)
    if parts is None:
        return
    assert "".join(parts) == text
    assert all(len(part) <= most for part in parts)
    if most >= 60:
        assert all(part.count("$$") % 2 == 0 for part in parts)


def test_parts_begin_at_problems() -> None:
    text = text_of("alternating.md")
    parts = parts_at_problems(text, 450)
    assert parts is not None and "".join(parts) == text
    assert [part[:12] for part in parts[1:]] == ["## Problem 2", "## Problem 3"]
    assert parts_at_problems(text, 100) is None


@pytest.mark.parametrize("layout", ["alternating", "two parts"])
def test_booklets_of_real_problems(layout: str) -> None:
    path = Path(__file__).parents[2].parent / "shared" / "data" / "problems" / "real_1684.jsonl"
    if not path.exists():
        pytest.skip("the real problems are not beside the project")
    with path.open(encoding="utf-8") as lines:
        rows = [orjson.loads(line) for line in lines]
    solved = [row for row in rows if row["problem"].strip() and row["solution"].strip()][::2]
    exact = damaged = booklets = 0
    for start in range(0, len(solved) - 3, 4):
        problems = [
            (str(n), row["problem"].strip(), [row["solution"].strip()])
            for n, row in enumerate(solved[start : start + 4], start=1)
        ]
        form = FORMS[booklets % len(FORMS)]
        cut = cut_by_rules(printed("en", problems, layout, form))
        exact += [(p.number, p.problem, list(p.solutions)) for p in cut.problems] == problems
        less = printed("en", problems, layout, form, without=booklets % 4)
        damaged += bool(cut_by_rules(less).problems)
        booklets += 1
    assert damaged == 0
    assert exact >= 0.9 * booklets
