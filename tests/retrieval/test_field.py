"""A system described in systems.toml is made from a folder of weights and scores pools."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from saber_assets.retrieval.registry import registry

LACKS = any(importlib.util.find_spec(name) is None for name in ("torch", "transformers"))
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed"),
]
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "yes", "no", *(f"w{n}" for n in range(20))]
DOCUMENTS = ["w1 w2 w3", "w4", "w5 w6 w7 w8 w9 w10 w11 w12 w13", ""]
ROW = """
[tiny]
family = "{family}"
type_code = "{code}"
backends = ["transformers"]
model = "me/tiny"
weights = "{folder}"
parameters = 1000
licence = "MIT"
released = 2026-01-02
window = 8
precision = "float32"
gated = false
"""
DENSE = """
query_template = "w0 {query}"
document_template = "{document}"
pooling = "mean"
eos = ""
normalise = true
"""


def weights(folder: Path, kind: str) -> Path:
    import torch
    import transformers as t
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(5)
    made = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if kind == "bert":
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
        )
    small = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 16,
    }
    if kind == "bert":
        model = t.BertModel(t.BertConfig(**small))
    else:
        model = t.Qwen3ForCausalLM(t.Qwen3Config(**small, num_key_value_heads=1, head_dim=8))
    model.save_pretrained(folder)
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]"
    )
    tokenizer.save_pretrained(folder)
    return folder


def entry_of(workdir: Path, text: str):
    workdir.mkdir(exist_ok=True)
    (workdir / "systems.toml").write_text(text, encoding="utf-8")
    return registry(["tiny"], workdir / "retrievers.json")["tiny"]


def test_a_bi_encoder_of_a_folder_runs_and_keeps_its_vectors(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = weights(tmp_path / "weights", "bert")
    text = ROW.format(family="bi-encoder", code="B", folder=folder) + DENSE
    entry = entry_of(tmp_path / "wd", text)
    assert entry.missing() is None
    first = entry.make()
    scores = first.score("w1 w2", DOCUMENTS)
    assert np.isfinite(scores).all()
    assert len(set(np.asarray(scores).tolist())) == len(DOCUMENTS)
    assert (tmp_path / "wd" / "vectors.sqlite").is_file()

    again = entry.make()
    monkeypatch.setattr(type(again._encoder), "encode", None)  # documents come from the disk
    assert np.asarray(again.score("w1 w2", DOCUMENTS)).tolist() == np.asarray(scores).tolist()


def test_another_contract_never_reads_the_vectors_of_the_first(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = weights(tmp_path / "weights", "bert")
    text = ROW.format(family="bi-encoder", code="B", folder=folder) + DENSE
    mean = entry_of(tmp_path / "wd", text)
    cls = entry_of(tmp_path / "wd", text.replace('"mean"', '"cls"'))
    assert mean.version != cls.version
    one, other = (entry.make().score("w1", DOCUMENTS) for entry in (mean, cls))
    assert np.abs(np.asarray(one) - np.asarray(other)).max() > 1e-4
    fresh = entry_of(tmp_path / "other", text.replace('"mean"', '"cls"')).make()
    assert np.asarray(fresh.score("w1", DOCUMENTS)).tolist() == np.asarray(other).tolist()


def test_a_cross_encoder_of_a_folder_runs(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = weights(tmp_path / "weights", "qwen3")
    text = ROW.format(family="cross-encoder", code="C", folder=folder)
    entry = entry_of(tmp_path / "wd", text + 'pair_template = "w0 {query} w19 {document} w18"\n')
    assert (entry.missing(), entry.family) == (None, "reranker")
    scores = np.asarray(entry.make().score("w1 w2", DOCUMENTS))
    assert np.isfinite(scores).all() and len({*scores.tolist()}) == len(DOCUMENTS)


def test_changed_weights_in_the_same_folder_are_another_contract(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import torch

    folder = weights(tmp_path / "weights", "bert")
    text = ROW.format(family="bi-encoder", code="B", folder=folder) + DENSE
    entry = entry_of(tmp_path / "wd", text)
    before = np.asarray(entry.make().score("w1", DOCUMENTS))
    from transformers import BertModel

    model = BertModel.from_pretrained(folder)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    model.save_pretrained(folder)
    changed = entry_of(tmp_path / "wd", text)
    fresh = entry_of(tmp_path / "other", text)
    expected = np.asarray(fresh.make().score("w1", DOCUMENTS))
    assert np.abs(expected - before).max() > 1e-5
    assert np.asarray(changed.make().score("w1", DOCUMENTS)).tolist() == expected.tolist()
    assert changed.version != entry.version


def test_another_version_of_a_library_embeds_anew(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    folder = weights(tmp_path / "weights", "bert")
    text = ROW.format(family="bi-encoder", code="B", folder=folder) + DENSE
    entry = entry_of(tmp_path / "wd", text)
    entry.make().prepare(DOCUMENTS)
    again = entry.make()
    monkeypatch.setattr(type(again._encoder), "encode", None)
    again.prepare(DOCUMENTS)  # from the disk
    monkeypatch.setattr(
        "saber_assets.retrieval.drivers.driver.package_version", lambda name: "another"
    )
    other = entry_of(tmp_path / "wd", text)
    assert other.version != entry.version
    with pytest.raises(TypeError):  # nothing is kept of that version
        other.make().prepare(DOCUMENTS)
