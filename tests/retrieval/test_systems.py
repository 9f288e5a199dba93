"""The field's systems are those of the published tables, as published; a bad row is told."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.builtin import BUILTIN
from saber_assets.retrieval.drivers.table import DRIVERS
from saber_assets.retrieval.systems import (
    EXPECTED,
    SIZE,
    UNITS,
    Backend,
    Family,
    System,
    load_systems,
    shipped_systems,
)

PUBLISHED = Path(__file__).parents[2].parent / "shared" / "published"
TABLES = {
    "saber-1": "saber_table1.csv",
    "saber-7": "saber_table7.csv",
    "brightpro-2": "brightpro_table2.csv",
    "brightpro-3": "brightpro_table3.csv",
}
NUMBER_IN_NAME = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([bBmM])(?![\w])")
OWN = """
[mine]
family = "bi-encoder"
type_code = "RB"
backends = ["transformers"]
model = "me/mine"
parameters = 22_000_000
licence = "MIT"
released = 2026-01-02
query_template = "q: {query}"
document_template = "{document}"
pooling = "last"
eos = ""
normalise = true
window = 512
precision = "float32"
gated = false
"""

needs_tables = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published tables aren't here")


def published(table: str) -> list[dict[str, str]]:
    return list(csv.DictReader((PUBLISHED / TABLES[table]).open(encoding="utf-8")))


def names_of(system: System) -> tuple[str, ...]:
    return (system.title, *system.aliases)


@needs_tables
@pytest.mark.parametrize("table", TABLES)
def test_every_system_of_the_tables_is_there_exactly_once(table: str) -> None:
    systems = shipped_systems().values()
    wanted = {row["model"] for row in published(table)}
    found = Counter(name for system in systems for name in names_of(system) if name in wanted)
    assert found == Counter(wanted)
    assert {name for system in systems if table in system.tables for name in names_of(system)} >= (
        wanted
    )
    assert sum(table in system.tables for system in systems) == len(wanted)


@needs_tables
def test_every_shipped_system_is_in_a_table_and_there_are_58() -> None:
    assert len(shipped_systems()) == 58
    assert all(system.tables for system in shipped_systems().values())
    without = [system for system in shipped_systems().values() if "saber-7" in system.tables]
    plain = [system for system in without if not system.title.endswith("-no-tok")]
    assert (len(without), len(plain)) == (52, 49)


@needs_tables
@pytest.mark.parametrize("table", ["saber-1", "saber-7"])
def test_type_codes_are_those_published(table: str) -> None:
    published_codes = {row["model"]: row["type"] for row in published(table)}
    wrong = {
        name: (system.type_code, published_codes[name])
        for system in shipped_systems().values()
        for name in names_of(system)
        if name in published_codes and system.type_code != published_codes[name]
    }
    assert not wrong


@pytest.mark.parametrize("name", list(shipped_systems()))
def test_sizes_are_those_in_the_published_names(name: str) -> None:
    system = shipped_systems()[name]
    stated = NUMBER_IN_NAME.search(system.title.replace("-", " "))
    if stated is None:
        return
    in_name = float(stated[1]) * UNITS[stated[2].upper()]
    assert system.size is not None
    size = SIZE.fullmatch(system.size)
    assert size is not None
    assert float(size[1]) * UNITS[size[2]] == in_name
    if system.parameters is not None:
        assert 0.85 * in_name <= system.parameters <= 1.15 * in_name


@pytest.mark.parametrize("name", list(shipped_systems()))
def test_each_card_is_whole(name: str) -> None:
    system = shipped_systems()[name]
    assert system.name == name
    assert set(system.backends) <= set(get_args(Backend))
    stated = {field for field in EXPECTED[system.family] if getattr(system, field) is not None}
    assert stated.isdisjoint(system.unconfirmed)
    assert stated | set(system.unconfirmed) >= set(EXPECTED[system.family])
    assert all(caveat.endswith(".") and "\n" not in caveat for caveat in system.caveats)
    if system.family == "lexical":
        assert system.model in BUILTIN
        assert system.name == system.model
    else:
        assert name not in BUILTIN
    if system.base is not None:
        assert system.base in shipped_systems()


def test_the_last_letter_of_the_type_is_the_family() -> None:
    letters = {
        "bi-encoder": "B",
        "learned-sparse": "B",
        "api": "B",
        "lexical": "B",
        "late-interaction": "L",
        "formula-search": "L",
        "cross-encoder": "C",
        "generative-pointwise": "C",
        "generative-groupwise": "C",
    }
    for system in shipped_systems().values():
        if system.family in letters:
            assert system.type_code[-1] == letters[system.family], system.name
        else:
            assert "W" in system.type_code
        assert ("A" in system.type_code) == (system.family == "api")
        assert ("T" in system.type_code) == (
            system.family.startswith("generative")
            or (system.family == "query-rewriter" and system.title.endswith("-Rewrite"))
        )


def test_the_published_input_formats() -> None:
    systems = shipped_systems()
    assert systems["gemma-300m"].query_template == "task: search result | query: {query}"
    assert systems["gemma-300m"].document_template == "title: none | text: {document}"
    for name in ("jina-v5-nano", "jina-v5-small"):
        assert systems[name].query_template == "Query: {query}"
        assert systems[name].document_template == "Document: {document}"
    for size in ("3b", "7b", "14b"):
        rader = systems[f"rader-{size}"]
        assert (rader.query_template, rader.document_template) == (
            "query: {query}",
            "document: {document}",
        )
        assert (rader.eos, rader.pooling) == ("<|im_end|>", "last")
    assert systems["multilingual-e5-large"].query_template == "{query}"
    assert systems["gemini-001"].query_task == "RETRIEVAL_QUERY"
    assert systems["gemini-2"].query_task is None


def test_the_names_of_families_and_backends_are_known() -> None:
    assert set(EXPECTED) == set(get_args(Family))
    kinds = [(driver.family, driver.backend) for driver in DRIVERS]
    assert len(kinds) == len(set(kinds))
    assert {family for family, _ in kinds} <= set(get_args(Family))
    assert {backend for _, backend in kinds} <= set(get_args(Backend))
    assert all(driver.install for driver in DRIVERS if driver.packages)


def test_contracts_are_made_where_all_is_confirmed() -> None:
    systems = shipped_systems()
    contract = systems["qwen3-embedding-0.6b"].contract()
    assert contract is not None
    assert (contract.eos, contract.window, contract.precision) == (
        "<|endoftext|>",
        32768,
        "bfloat16",
    )
    unconfirmed = systems["bert"].contract()
    assert unconfirmed is not None
    assert unconfirmed.precision == "float32"
    assert systems["kalm-12b-2511"].contract() is None
    assert systems["bm25"].contract() is None


def test_a_person_adds_a_row(tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(OWN, encoding="utf-8")
    found = load_systems(file)
    assert list(found)[-1] == "mine"
    assert found["mine"].title == "mine"
    assert found["mine"].weights_gib() == pytest.approx(22e6 * 4 / 2**30)
    assert load_systems(tmp_path / "none.toml") == shipped_systems()


def test_a_person_lays_values_over_a_shipped_row(tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text('[diver-4b]\nwindow = 4096\nweights = "/models/diver"\n', encoding="utf-8")
    shipped, mine = shipped_systems()["diver-4b"], load_systems(file)["diver-4b"]
    assert shipped.contract() is None
    contract = mine.contract()
    assert contract is not None
    assert contract.window == 4096
    assert mine.weights == "/models/diver"
    assert set(shipped.unconfirmed) - set(mine.unconfirmed) == {"window"}
    assert mine.model == shipped.model


def test_the_example_of_the_documentation_is_read(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "systems.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```toml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    file = tmp_path / "systems.toml"
    file.write_text(block, encoding="utf-8")
    found = load_systems(file)
    assert found["my-model"].weights == str(tmp_path / "models" / "my-model")
    assert found["my-model"].contract() is not None
    assert found["diver-4b"].contract() is not None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ('pooling = "last"', 'pooling = "max"'),
        ('backends = ["transformers"]', 'backends = ["magic"]'),
        ('backends = ["transformers"]', "backends = []"),
        ('type_code = "RB"', 'type_code = "BR"'),
        ('family = "bi-encoder"', 'family = "oracle"'),
        ('query_template = "q: {query}"', 'query_template = "q: "'),
        ('document_template = "{document}"', 'document_template = "{document}{document}"'),
        ("window = 512", "window = 0"),
        ("window = 512", 'window = "512"'),
        ("window = 512\n", ""),
        ("gated = false", 'gated = false\nunconfirmed = ["gated"]'),
        ("gated = false", 'gated = false\nunconfirmed = ["colour"]'),
        ("gated = false", "gated = false\ncolour = 1"),
        ("[mine]", "[Mine]"),
        ("[mine]", "[mine"),
        ("[mine]", "mine = 3\n[other]"),
        ("[mine]", "[mine]\nweights = '~nosuchuser/x'"),
        ("[mine]", '[mine]\nweights = "a\\u0000b"'),
        ("[mine]", "a = " + "[" * 100_000),
        ("window = 512", "window = 1" + "0" * 5000),
        ("window = 512", "window = 1" + "0" * 4000),
        ("[mine]", "[mine]\nsize = '" + "9" * 400 + "B'"),
    ],
)
def test_a_bad_row_is_told_in_one_sentence(change: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    assert change in OWN
    file.write_text(OWN.replace(change, reason), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_systems(file)
    sentence = str(caught.value)
    assert "systems.toml" in sentence
    assert sentence.isprintable()
    assert len(sentence) < 600


@pytest.mark.parametrize(
    "served",
    [
        "",
        "127.0.0.1:8000/v1",
        "file:///etc/passwd",
        "http:///v1",
        "http://127.0.0.1:99999/v1",
        "http://a..b/v1",
        "https://[::1",
        "http://a b/v1",
        "http://u:TOPSECRET@h/v1",
        "http://TOPSECRET@h/v1",
        "http://h/v1?api_key=TOPSECRET",
        "http://h/v1#TOPSECRET",
    ],
)
def test_what_is_no_address_of_an_endpoint_is_refused(served: str, tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(f'{OWN}served = "{served}"\n', encoding="utf-8")
    with pytest.raises(InputError, match="'mine' of .*systems.toml is wrong: served: ") as caught:
        load_systems(file)
    assert "TOPSECRET" not in str(caught.value)


@pytest.mark.parametrize(
    "served", ["http://127.0.0.1:8000/v1", "https://h.example/", "http://[::1]:8/v1"]
)
def test_addresses_of_endpoints(served: str, tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(f'{OWN}served = "{served}"\nkey_variable = "_My_key2"\n', encoding="utf-8")
    assert load_systems(file)["mine"].served == served


@pytest.mark.parametrize("key", ["sk-TOPSECRET", "A=B", "", "1A"])
def test_a_key_in_the_place_of_its_variable_is_not_repeated(key: str, tmp_path: Path) -> None:
    file = tmp_path / "systems.toml"
    file.write_text(f'{OWN}key_variable = "{key}"\n', encoding="utf-8")
    with pytest.raises(InputError, match="'mine' of .*isn't the name") as caught:
        load_systems(file)
    assert not key or key not in str(caught.value)


@pytest.mark.parametrize("answers", [["", ""], ["yes", ""], ["yes", "YES "], ["no", "no"]])
def test_answers_that_can_not_be_told_apart_are_refused(answers: list[str], tmp_path: Path) -> None:
    row = """
    [judge]
    family = "generative-pointwise"
    type_code = "C"
    backends = ["vllm"]
    served = "http://h/v1"
    model = "me/judge"
    pair_template = "{query}{document}"
    sampling = {}
    """
    file = tmp_path / "systems.toml"
    file.write_text(f'{row}answers = ["yes", "no"]', encoding="utf-8")
    assert load_systems(file)["judge"].answers == ("yes", "no")
    file.write_text(f"{row}answers = {answers}", encoding="utf-8")
    with pytest.raises(InputError, match="'judge' of .*answers aren't two words that differ"):
        load_systems(file)
