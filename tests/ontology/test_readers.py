"""Reading ontologies, and refusing those that break a rule."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from saber_assets.errors import InputError
from saber_assets.ontology.readers import Vocabulary, read_ontology, readable_label
from saber_assets.ontology.tree import unfold

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "ontology"
SHIPPED = Path(__file__).parents[2] / "ontology" / "topics.csv"


def written(tmp_path, text, name="o.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_topics_csv(tmp_path):
    path = written(
        tmp_path,
        "\ufeffid,label,parents,aliases\r\nm,Mathematics,,\r\n"
        'a,Algebra,m,"algebra, elementary | al-jabr"\r\nq_r,,a|m,\r\n',
    )
    dag = read_ontology(path)
    assert dag.root == "m"
    assert dag.labels == ("Mathematics", "Algebra", "q r")
    assert dag.parents == ((), ("m",), ("a", "m"))
    assert dag.aliases[1] == ("algebra, elementary", "al-jabr")
    assert unfold(dag).height == 4


def test_edges_csv(tmp_path):
    dag = read_ontology(written(tmp_path, "parent,child\nM,Number_theory\nM,In/out\n"))
    assert dag.root == "M"
    assert dag.ids == ("M", "Number_theory", "In%2Fout")
    assert dag.labels == ("M", "Number theory", "In/out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("id,label,parents\n", "holds no topic"),
        ("id,label\nm,M\n", "has the columns 'id', 'label'"),
        ("id,parents\nm,\na,m\na,m\n", r"line 4: the id 'a' is used twice \(first at line 3\)"),
        ("id,parents\nm,\na,n\n", "the topic 'a' names the parent 'n', which does not exist"),
        ("id,parents\nm,\na/b,m\n", "line 3: the id 'a/b' holds a '/'"),
        ("id,parents\nm,\n ,m\n", "line 3: a topic has no id"),
        ("id,parents\nm,\na,m|a\n", "'a' is its own parent"),
        ("id,parents\nm,\na,m|c\nb,a\nc,b\n", "a -> b -> c -> a"),
        ("id,parents\na,b\nb,a\n", "a -> b -> a"),
        ("id,parents\nm,\nn,\n", r"2 topics without a parent \('m', 'n'\)"),
        ("id,parents\nm,,\n", "line 2 has more or fewer fields"),
        ('id,parents\nm,"x\n', "is not valid CSV"),
        ("parent,child\na,\n", "line 2: an edge lacks an end"),
        ("parent,child\na,b\nc,d\n", "2 topics without a parent"),
    ],
)
def test_faults_are_named(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        read_ontology(written(tmp_path, text))


def test_many_cycles_are_counted(tmp_path):
    knots = "".join(f"m,a{i}\na{i},b{i}\nb{i},a{i}\n" for i in range(7))
    with pytest.raises(InputError, match=r"7 groups of topics .*\(14 topics\): a0 -> b0 -> a0;"):
        read_ontology(written(tmp_path, "parent,child\n" + knots))


def test_long_cycles_need_no_recursion(tmp_path):
    chain = "".join(f"{i},{i + 1}\n" for i in range(20000))
    with pytest.raises(InputError, match="1 group of topics"):
        read_ontology(written(tmp_path, "parent,child\nm,0\n" + chain + "20000,0\n"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("o.json", b"{", "is not valid JSON"),
        ("o.json", b"[]", "the outermost object is not an object with a title"),
        ("o.json", b'{"title": "M", "links": [3]}', "an entry in the links of 'M'"),
        ("o.json", b'{"title": "M", "links": 3}', "links of 'M' are not a list"),
        ("o.json", b'{"title":"M","links":[' * 100_000, "nested too deep"),
        ("o.json.gz", b"not gzip", "can't be read"),
        ("o.csv", b"id,parents\n\xff,\n", "line 2 is not UTF-8"),
        ("o.txt", b"x", "suffix that is not known"),
    ],
)
def test_broken_files(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_ontology(path)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_ontology(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_ontology(tmp_path)


def page(title, *links, url=None):
    return {"url": url or f"https://x.org/{title}.html", "title": title, "links": list(links)}


def test_json_tree_comes_back_as_it_was(tmp_path):
    shared = page("SharedPage", page("Leaf"))
    other = page("SharedPage", url="https://x.org/topics/SharedPage.html")
    tree = page("M", page("A", shared, shared), page("B", shared, other), page("C", page("Leaf")))
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(json.dumps(tree).encode()))
    dag = read_ontology(path)
    # "A" lists one page twice; "SharedPage" names two pages
    assert sorted(dag.ids) == [
        "A",
        "B",
        "C",
        "Leaf",
        "M",
        "SharedPage",
        "SharedPage~2",
        "SharedPage~3",
    ]
    unfolded = unfold(dag)
    assert unfolded.height == 12
    assert unfolded["label"].to_list().count("Shared Page") == 4


def test_readable_labels():
    words = Vocabulary.of(
        ["Calculus", "Probability", "Proof", "ProofTheory", "ChainRule", "Chain", "Art"]
    )
    for title, label in [
        ("NumberTheory", "Number Theory"),
        ("CalculusandAnalysis", "Calculus and Analysis"),
        ("ProbabilityandStatistics", "Probability and Statistics"),
        ("FoundationsofMathematics", "Foundations of Mathematics"),
        ("ProofTheory", "Proof Theory"),
        ("ChainRule", "Chain Rule"),
        ("Number_theory", "Number theory"),
        ("Plane-PlaneIntersection", "Plane-Plane Intersection"),
        ("Algebra", "Algebra"),
    ]:
        assert readable_label(title, words) == label


@pytest.mark.parametrize(
    ("name", "topics", "nodes", "depth"),
    [
        ("mathworld_tree_saber.json.gz", 10_587, 17_113, 5),
        ("wikipedia_math_edges.csv", 1_154, 5_576, 11),
    ],
)
def test_real_ontologies(name, topics, nodes, depth):
    path = SHARED / name
    if not path.exists():
        pytest.skip("the real ontologies are not beside the checkout")
    dag = read_ontology(path)
    tree = unfold(dag)
    assert len(dag.ids) == topics
    assert tree.height == nodes
    assert tree["depth"].max() == depth
    assert set(tree["domain"].drop_nulls()) == {
        "Algebra", "Geometry", "Number Theory", "Combinatorics", "Calculus and Analysis",
    }  # fmt: skip


def test_real_cycles_are_named():
    path = SHARED / "wikipedia_math_raw_edges.csv"
    if not path.exists():
        pytest.skip("the real ontologies are not beside the checkout")
    with pytest.raises(InputError, match="8 groups of topics .*Aerodynamics -> Flight -> "):
        read_ontology(path)


def test_the_shipped_ontology_is_sound():
    if not SHIPPED.exists():
        pytest.skip("no shipped ontology yet")
    tree = unfold(read_ontology(SHIPPED))
    assert tree["domain"].n_unique() >= 6
