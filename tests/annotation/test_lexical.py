from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saber_assets.annotation.annotator import Comparison, Problem
from saber_assets.annotation.lexical import LexicalAnnotator
from saber_assets.annotation.topic_walk import walk_topics
from saber_assets.annotation.topic_words import topic_words
from saber_assets.corpus.tokens import summary_tokens
from saber_assets.ontology.tables import ONTOLOGY_TREE

NODES = [
    # topic, label, parent node, domain, aliases
    ("m", "Mathematics", -1, None, []),
    ("alg", "Algebra", 0, "Algebra", []),
    ("ineq", "Inequalities", 1, "Algebra", []),
    ("amgm", "AM-GM Inequality", 2, "Algebra", ["am-gm", "arithmetic mean-geometric mean"]),
    ("cs", "Cauchy-Schwarz Inequality", 2, "Algebra", ["cauchy-schwarz"]),
    ("poly", "Polynomials", 1, "Algebra", []),
    ("vieta", "Vieta's Formulas", 5, "Algebra", ["vieta"]),
    ("geo", "Geometry", 0, "Geometry", []),
    ("tri", "Triangles", 7, "Geometry", []),
    ("sine", "Law of Sines", 8, "Geometry", ["sine rule"]),
    ("circ", "Circles", 7, "Geometry", ["circumcircle"]),
    ("nt", "Number Theory", 0, "Number Theory", []),
    ("mod", "Modular Arithmetic", 11, "Number Theory", ["congruence", "modulo"]),
    ("fermat", "Fermat's Little Theorem", 12, "Number Theory", ["fermat's little theorem"]),
    ("calc", "Calculus and Analysis", 0, "Calculus and Analysis", []),
    ("int", "Integral Calculus", 14, "Calculus and Analysis", ["integral", r"\int"]),
    ("found", "Foundations of Mathematics", 0, None, []),
    ("ind", "Mathematical Induction", 16, None, ["induction"]),
]


def small_tree() -> pl.DataFrame:
    rows, paths, depths = [], [], []
    for node, (topic, label, parent, domain, aliases) in enumerate(NODES):
        paths.append((paths[parent] if parent >= 0 else "") + "/" + topic)
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        rows.append((node, parent, topic, label, paths[-1], depths[-1], domain, aliases))
    return pl.DataFrame(rows, schema=ONTOLOGY_TREE.schema, orient="row")


TREE = small_tree()
PROBLEMS = [
    Problem("a", "Let $a,b,c>0$. Prove $a^2+b^2+c^2 \\ge ab+bc+ca$.", "By AM-GM it follows."),
    Problem("b", "Find the remainder of $2^{100}$ modulo 101.", "Use Fermat's Little Theorem."),
    Problem("c", "In triangle $ABC$ find the circumradius.", "The law of sines gives $2R$."),
    Problem("d", "Evaluate $\\int_0^1 x\\,dx$.", "$\\frac12$"),
    Problem("e", "Prove it for every $n$.", "By induction, and by the Cauchy-Schwarz inequality."),
    Problem("f", "Hello there.", "Nothing to see."),
    Problem("g", "Roots of a polynomial add up to 3.", "Vieta's formulas give coefficients."),
]  # fmt: skip


@pytest.fixture(scope="module")
def sets():
    return walk_topics(PROBLEMS, TREE, LexicalAnnotator(TREE))[0]


def paths_of(sets: pl.DataFrame) -> dict[str, list[str]]:
    return dict(sets.select("problem_id", "paths").iter_rows())


def test_named_techniques_are_found_where_they_sit(sets):
    paths = paths_of(sets)
    assert paths["a"] == ["/m/alg/ineq/amgm"]
    assert paths["b"] == ["/m/nt/mod/fermat"]
    assert paths["c"] == ["/m/geo/tri/sine"]
    assert paths["d"] == ["/m/calc/int"], "notation names a notion"
    assert paths["g"] == ["/m/alg/poly/vieta"]


def test_a_text_that_names_nothing_gets_no_topic(sets):
    assert paths_of(sets)["f"] == []


def test_the_name_says_that_it_is_a_heuristic(sets):
    assert set(sets["annotator"]) == {"lexical heuristic (no model)"}


def test_ways_of_proving_do_not_crowd_out_the_subject(sets):
    assert paths_of(sets)["e"] == ["/m/alg/ineq/cs"]


@given(st.permutations(PROBLEMS), st.integers(1, 4))
@settings(max_examples=10, deadline=None)
def test_order_batches_and_a_small_cache_do_not_matter(order, size):
    annotator = LexicalAnnotator(TREE, cache_size=1)
    parts = [
        walk_topics(order[start : start + size], TREE, annotator)[0]
        for start in range(0, len(order), size)
    ]
    whole = walk_topics(PROBLEMS, TREE, LexicalAnnotator(TREE))[0]
    assert pl.concat(parts).sort("problem_id").equals(whole.sort("problem_id"))


def test_tree_row_order_does_not_matter(sets):
    again = walk_topics(PROBLEMS, TREE, LexicalAnnotator(TREE.reverse()))[0]
    assert again.equals(sets)


def test_summary_carries_the_technique_words():
    solution = (
        "We start with a remark. Then $\\frac{a}{b}$ is large by AM-GM, and so the sum of all "
        "terms is at least three. The rest is easy."
    )
    [summary] = LexicalAnnotator(TREE).summarise([Problem("x", "s", solution)])
    assert summary.core_idea.startswith("Use AM-GM Inequality: ")
    assert "sum of all terms" in summary.core_idea
    assert "\\frac" not in summary.core_idea
    assert summary.keywords == ("AM-GM Inequality",)
    assert {"gm", "inequality"} <= summary_tokens(summary.core_idea)
    assert 0 < summary.confidence < 1


@given(st.text(max_size=300), st.lists(st.sampled_from(NODES), max_size=12))
@settings(max_examples=40, deadline=None)
def test_summaries_are_short_whatever_the_text(text, nodes):
    solution = text + " ".join(f"We use {node[1]} to conclude that it holds." for node in nodes)
    [summary] = LexicalAnnotator(TREE).summarise([Problem("x", "s", solution)])
    assert len(summary.core_idea.split()) <= 30
    assert len(summary.supporting_ideas) <= 3
    assert (summary.core_idea == "") == summary.no_core_idea
    assert 0 <= summary.confidence <= 1


@pytest.mark.parametrize(
    "solution",
    ["", "$x=2$", "42", "\\[ y^2 = 3 \\]", "She needs 99/3=<<99/3=33>>33 loaves. #### 33"],
)
def test_nothing_said_is_no_core_idea(solution):
    [summary] = LexicalAnnotator(TREE).summarise([Problem("x", "s", solution)])
    assert summary.no_core_idea and summary.core_idea == "" and summary.confidence == 0


def test_calculator_marks_are_no_idea():
    solution = "By Fermat's little theorem it is 2*3=<<2*3=6>>6 in the end. #### 6"
    [summary] = LexicalAnnotator(TREE).summarise([Problem("x", "s", solution)])
    assert "<<" not in summary.core_idea and "#" not in summary.core_idea


def test_the_candidate_with_the_query_technique_wins():
    query = Problem("q", "Minimise the sum.", "Apply AM-GM to the three terms.")
    same = Problem("s", "A different story about $x$.", "This is AM-GM again.")
    near = Problem("n", "Minimise the sum.", "Apply Cauchy-Schwarz to the three terms.")
    far = Problem("f", "Minimise the sum.", "Compute the integral.")
    annotator = LexicalAnnotator(TREE)
    pairs = [(same, near), (near, same), (near, far), (far, near)]
    verdicts = annotator.compare([Comparison(query, first, second) for first, second in pairs])
    assert verdicts == [1, 2, 1, 2]


@given(*(st.sampled_from(PROBLEMS) for _ in range(3)))
@settings(max_examples=60, deadline=None)
def test_comparison_is_symmetric(query, left, right):
    annotator = LexicalAnnotator(TREE)
    there, back = annotator.compare(
        [Comparison(query, left, right), Comparison(query, right, left)]
    )
    assert left == right or {there, back} == {1, 2}


def test_ties_are_decided_by_texts_not_by_ids():
    query = Problem("q", "x", "y")
    one, two = Problem("1", "alpha", "beta"), Problem("2", "gamma", "delta")
    renamed = Problem("9", "alpha", "beta"), Problem("0", "gamma", "delta")
    [before] = LexicalAnnotator(TREE).compare([Comparison(query, one, two)])
    [after] = LexicalAnnotator(TREE).compare([Comparison(query, *renamed)])
    assert before == after


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Vieta's formulas", ["vieta", "formula"]),
        ("inequalities, vertices and classes", ["inequality", "vertex", "and", "class"]),
        (r"$\int_0^1$", ["integral"]),
        ("Bézout factorised", ["bezout", "factorized"]),
        (r"\begin{matrix} a \end{matrix}", ["a"]),
        (r"\begin{pmatrix} a \end{pmatrix}", ["matrix", "a"]),
        ("5! = 120", ["5", "factorial", "=", "120"]),
        ("Great!", ["great", "!"]),
    ],
)
def test_words(text, words):
    assert [word for word in topic_words(text) if word not in {"_", "_0", "^1"}][
        : len(words)
    ] == words
