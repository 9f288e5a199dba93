"""The analyses on the published tables, against derived_statistics.json.

Where a published number can't be had from the published tables, the value that can is asserted,
and that it is another one.
"""

import csv
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from saber_assets.correlation import spearman
from saber_assets.evaluation.instruction_effect import differences
from saber_assets.evaluation.mteb_correlation import correlate, without_largest_gaps
from saber_assets.evaluation.order_comparison import compare_orders
from saber_assets.evaluation.pareto import BI_ENCODERS, JOINT, frontiers

FOLDER = Path(__file__).parents[1] / "golden" / "published"
DERIVED = {
    entry["id"]: entry
    for entry in json.loads((FOLDER / "derived_statistics.json").read_text())["expected"]
}
BEFORE_2025 = [
    "BGE-m3",
    "Multilingual-E5-Large",
    "Text-Embedding-3-Large",
    "Text-Embedding-3-Small",
]
OTHER_NAMES = {"Reason-ModernColBERT": "Reason-ColBERT", "GTE-ModernColBERT": "GTE-ColBERT"}
DOMAINS = ("algebra", "geometry", "number_theory", "combinatorics", "calculus")


def table(number):
    with (FOLDER / f"saber_table{number}.csv").open() as file:
        return list(csv.DictReader(file))


def column(rows, name):
    return {row["model"]: float(row[name]) for row in rows if row[name]}


TABLE1, TABLE7, TABLE8, TABLE9, TABLE11 = (table(number) for number in (1, 7, 8, 9, 11))
OVERALL, MTEB = column(TABLE1, "overall"), column(TABLE1, "mteb_retrieval")


# --- frontiers ----------------------------------------------------------------------------------


def on_frontier(name):
    systems = pl.DataFrame(
        {
            "retriever": [row["model"] for row in TABLE1],
            "type_code": [row["type"] for row in TABLE1],
            "quality": [float(row["overall"]) for row in TABLE1],
            "latency": [float(row["median_s_per_query"]) for row in TABLE1],
        }
    )
    found = frontiers(systems)
    return found.filter((pl.col("class") == name) & pl.col("on_frontier"))["retriever"].to_list()


@pytest.mark.parametrize(("name", "key"), [(BI_ENCODERS, "frontier_bi"), (JOINT, "frontier_cross")])
def test_frontiers(name, key):
    golden = DERIVED[key]
    assert sorted(on_frontier(name)) == sorted(golden["recomputed"])
    assert set(golden["published"]) <= set(golden["recomputed"])


def test_bm25_is_on_the_frontier_though_it_is_not_named():
    named = set(DERIVED["frontier_bi"]["published"])
    assert set(on_frontier(BI_ENCODERS)) - named == {"BM25"}
    assert set(on_frontier(JOINT)) == set(DERIVED["frontier_cross"]["published"])


def test_ratios_and_gaps_of_the_frontier():
    latency = column(TABLE1, "median_s_per_query")
    slow = latency["Diver-GroupRank-32B"] / latency["Qwen3-Reranker-4B"]
    assert slow == pytest.approx(DERIVED["ratio_55x"]["recomputed"], abs=1e-4)
    slow = latency["ReasonReranker-Qwen3-32B-Rewrite"] / latency["ReasonEmbed-Qwen3-8B"]
    assert slow == pytest.approx(DERIVED["ratio_67x"]["recomputed"], abs=1e-4)
    between = sorted(latency.values())
    place = between.index(0.022)
    assert between[place : place + 2] == DERIVED["frontier_gap"]["recomputed"]
    assert not [value for value in between if 0.022 < value < 0.399]
    for key, better, worse in [
        ("diff_0.010", "Diver-GroupRank-32B", "Qwen3-Reranker-4B"),
        ("diff_0.027", "ReasonEmbed-Qwen3-8B", "Qwen3-Reranker-4B"),
        ("diff_0.031", "ReasonReranker-Qwen3-32B-Rewrite", "ReasonEmbed-Qwen3-8B"),
        ("diff_0.046", "ReasonEmbed-Qwen3-8B", "ReasonEmbed-Llama-3.1-8B"),
        ("diff_0.056", "ReasonEmbed-Qwen3-8B", "RaDeR-3B"),
    ]:
        assert OVERALL[better] - OVERALL[worse] == pytest.approx(DERIVED[key]["published"])


# --- MTEB ---------------------------------------------------------------------------------------


def test_pearson_with_mteb():
    found = correlate(OVERALL, MTEB)
    assert found.comparison.systems == 17
    assert found.comparison.pearson == pytest.approx(
        DERIVED["mteb_pearson"]["recomputed"], abs=1e-6
    )
    assert round(found.comparison.pearson, 2) == DERIVED["mteb_pearson"]["published"]
    assert len(found.missing) == 42 - 17


def test_other_correlations_with_mteb_are_not_those_published():
    """Table 1 gives 0.79, 0.60 and 0.66, where 0.82, 0.62 and 0.73 are published."""
    late = correlate(OVERALL, MTEB, BEFORE_2025)
    assert late.comparison.systems == 13
    for key, value in [
        ("mteb_spearman", correlate(OVERALL, MTEB).comparison.spearman),
        ("mteb_2025_pearson", late.comparison.pearson),
        ("mteb_2025_spearman", late.comparison.spearman),
    ]:
        assert value == pytest.approx(DERIVED[key]["recomputed"], abs=1e-6)
        assert round(value, 2) != DERIVED[key]["published"]


def test_the_published_correlations_come_from_an_older_list_of_scores():
    golden = DERIVED["mteb_with_official_script_scores"]
    older = OVERALL | {
        "Gemini-001": 0.605,
        "KaLM-12B-2511": 0.585,
        "Jina-v5-Small": 0.57,
        "Text-Embedding-3-Large": 0.558,
        "Jina-v5-Nano": 0.532,
        "Gemma-300m": 0.519,
    }
    found = [
        value
        for excluded in ([], BEFORE_2025)
        for compared in [correlate(older, MTEB, excluded).comparison]
        for value in (compared.pearson, compared.spearman)
    ]
    assert found == pytest.approx(golden["recomputed"], abs=1e-6)
    assert [round(value, 2) for value in found] == golden["published"]


@pytest.mark.parametrize("drop", [1, 2])
def test_without_the_largest_rank_gaps(drop):
    golden = DERIVED["mteb_drop_gaps"]["recomputed"]
    late = {name: score for name, score in OVERALL.items() if name not in BEFORE_2025}
    for board, key in ((OVERALL, "table1_all_rows"), (late, "table1_2025_on")):
        dropped, value = without_largest_gaps(board, MTEB, drop)
        names, expected = golden[key][drop - 1]
        assert set(dropped) == set(names)
        assert value == pytest.approx(expected, abs=1e-6)


# --- duplicate finding --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "name", "sign"),
    [
        ("table11_median", "median_rank", -1),
        ("table11_top1_pct", "top1_pct", 1),
        ("table11_top64_pct", "top64_pct", 1),
    ],
)
def test_columns_of_table_11(key, name, sign):
    score, other = column(TABLE11, "saber_ndcg10"), column(TABLE11, name)
    value = spearman(list(score.values()), [sign * other[model] for model in score])
    assert value == pytest.approx(DERIVED[key]["recomputed"], abs=1e-6)
    assert round(value, 2) == DERIVED[key]["published"]


def test_table_11_in_words():
    score, median = column(TABLE11, "saber_ndcg10"), column(TABLE11, "median_rank")
    assert len(TABLE11) == DERIVED["table11_rows"]["published"]
    factor = max(score.values()) / min(score.values())
    assert factor == pytest.approx(DERIVED["table11_factor"]["recomputed"], abs=1e-4)
    span = [min(median.values()), max(median.values())]
    assert span == DERIVED["table11_span"]["published"]
    above = [sum(v > score["Gemini-001"] for v in score.values()) + 1]
    above.append(sum(v < median["Gemini-001"] for v in median.values()) + 1)
    assert above == DERIVED["gemini001"]["published"]


def test_table_2_is_a_part_of_table_11():
    rows = {row["model"]: row for row in TABLE11}
    part = table(2)
    assert all(rows[row["model"]] == row for row in part)
    assert len(part) == DERIVED["table2_in_11"]["published"]
    value = spearman(
        [float(row["saber_ndcg10"]) for row in part], [-float(row["median_rank"]) for row in part]
    )
    assert value == pytest.approx(DERIVED["table2_subset"]["recomputed"], abs=1e-6)


# --- inversions ---------------------------------------------------------------------------------


def test_inversions_can_be_at_most_the_published_number_of_pairs():
    """Table 4 needs per-query scores; what the tables allow is its number of pairs."""
    values = list(OVERALL.values())
    found = compare_orders(values, values)
    assert found.pairs == DERIVED["pairs861"]["published"]
    assert found.inversions == found.ties == 0
    assert all(int(row["pairs"]) == found.pairs for row in table(4))
    assert [int(row["inversions"]) for row in table(4)] == [3, 9, 9]


def test_inversions_between_the_settings_of_table_1():
    """Counted pair by pair in plain Python: settings reorder far more than gains do."""
    settings = {name: column(TABLE1, name) for name in ("statement_statement", "full_full")}
    models = list(OVERALL)
    for name, other in settings.items():
        counted = sum(
            (OVERALL[a] - OVERALL[b]) * (other[a] - other[b]) < 0
            for i, a in enumerate(models)
            for b in models[:i]
        )
        found = compare_orders([OVERALL[m] for m in models], [other[m] for m in models])
        assert found.inversions == counted
        assert found.inversions > 9, name


# --- intervals ----------------------------------------------------------------------------------


def test_half_widths_of_table_7_tell_the_sample_sizes():
    """Each half-width is 1.96 sd / sqrt(n): domains were drawn 300 at a time, not at their size."""
    golden = DERIVED["ci_halfwidth"]["recomputed"]
    half = {
        name: np.mean([
            (float(row[f"{name}_ci_plus"]) + float(row[f"{name}_ci_minus"])) / 2 for row in TABLE7
        ])
        for name in ("overall", *DOMAINS)
    }  # fmt: skip
    for name, expected in golden.items():
        assert half[name] == pytest.approx(expected, rel=1e-4), name
    sizes = dict(zip(DOMAINS, (254, 200, 250, 252, 200), strict=True))
    overall_sd = half["overall"] * np.sqrt(1000) / 1.96
    assert overall_sd == pytest.approx(0.147, abs=0.001)
    as_300 = np.mean([half[name] * np.sqrt(300) / 1.96 for name in DOMAINS])
    as_sized = np.mean([half[name] * np.sqrt(sizes[name]) / 1.96 for name in DOMAINS])
    assert as_300 == pytest.approx(0.145, abs=0.001)
    assert as_sized == pytest.approx(0.127, abs=0.002)
    assert abs(as_300 - overall_sd) < abs(as_sized - overall_sd)


def test_overall_is_a_mean_over_queries():
    golden = DERIVED["overall_weighting"]["recomputed"]
    weights = np.array([254, 200, 250, 252, 200])
    rows = np.array([[float(row[name]) for name in DOMAINS] for row in TABLE1])
    overall = np.array([float(row["overall"]) for row in TABLE1])
    macro = np.abs(rows.mean(axis=1) - overall)
    weighted = np.abs(rows @ weights / weights.sum() - overall)
    assert macro.mean() == pytest.approx(golden["mean_abs_gap_macro"], rel=1e-4)
    assert weighted.mean() == pytest.approx(
        golden["mean_abs_gap_weighted_by_254_200_250_252_200"], rel=1e-4
    )
    assert weighted.max() == pytest.approx(golden["max_weighted"], rel=1e-4)


# --- tables against each other ------------------------------------------------------------------


def test_tables_agree_with_each_other():
    seven = column(TABLE7, "overall")
    assert len(OVERALL) == DERIVED["table1_rows"]["published"]
    off = {n: v for n, v in OVERALL.items() if abs(seven[OTHER_NAMES.get(n, n)] - v) > 0.001 + 1e-9}
    assert off == {}
    for name, other in (("statement_statement", "ss_overall"), ("full_full", "ff_overall")):
        one, two = column(TABLE1, name), column(TABLE8, other)
        assert {m for m in one if OTHER_NAMES.get(m, m) not in two} == set()
        assert all(one[m] == two[OTHER_NAMES.get(m, m)] for m in one)


def test_bold_marks_the_maximum_of_each_column_of_table_1():
    columns = ("overall", *DOMAINS, "statement_statement", "full_full")
    for name in columns:
        values = column(TABLE1, name)
        bold = {row["model"] for row in TABLE1 if name in row["bold_columns"].split()}
        assert bold == {model for model, v in values.items() if v == max(values.values())}


def test_the_mathematical_tokenizer():
    """It helps BM25 everywhere and TF-IDF nowhere; Jaccard not in two domains, against the text."""
    rows = {row["model"]: row for row in TABLE7}
    golden = DERIVED["tokenizer_effect"]["recomputed"]
    for name, expected in golden.items():
        better = [
            c
            for c in ("overall", *DOMAINS)
            if float(rows[name][c]) > float(rows[f"{name}-no-tok"][c])
        ]
        assert better == expected


# --- instructions -------------------------------------------------------------------------------


def instructed():
    return pl.DataFrame(
        [
            (row["model"], name, float(row[name]))
            for row in TABLE9
            for name in ("no_instruction", "i1", "i2", "i3")
        ],
        schema=["retriever", "instruction", "mean"],
        orient="row",
    )


def test_bold_marks_the_best_instruction_of_table_9():
    found = differences(instructed(), "no_instruction")
    best = dict(found.select("retriever", "best").iter_rows())
    assert len(best) == 45
    assert best == {row["model"]: row["bold_column"] for row in TABLE9}


def test_differences_of_table_9():
    found = differences(instructed(), "no_instruction")
    rows = {row["retriever"]: row for row in found.iter_rows(named=True)}
    assert rows["Rank1-32B"]["i1"] == pytest.approx(0.075)
    assert rows["RoBERTa"]["i3"] == pytest.approx(-0.011)
    without = column(TABLE9, "no_instruction")
    seven = column(TABLE7, "overall")
    off = [[m, v, seven[m]] for m, v in without.items() if v != seven[m]]
    assert off == DERIVED["t9_vs_t7"]["recomputed"]
