"""GritLM's package around a tiny model, and a package of a few lines where that isn't installed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.gate import pass_gate, passed
from saber_assets.retrieval.registry import registry

LACKS = any(importlib.util.find_spec(name) is None for name in ("torch", "transformers"))
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed"),
]

WORDS = ["[PAD]", "[UNK]", "<s>", "<|embed|>", "<|user|>", *(f"w{n}" for n in range(30))]
QUERIES = ["w1 w2", "w3 w4 w5", "w6", "w7 w8 w9"]
TEXTS = [f"w{a} w{b} w{(a * b) % 29}" for a in range(6) for b in range(7, 13)]
ROW = """
[tiny]
family = "bi-encoder"
type_code = "B"
backends = ["gritlm"]
model = "me/tiny"
weights = "{folder}"
parameters = 1000
licence = "MIT"
released = 2026-01-02
window = 16
precision = "float32"
gated = false
query_template = "<|embed|> {{query}}"
document_template = "<|embed|> {{document}}"
instruction_slot = "<|user|> {{instruction}} <|embed|> {{query}}"
pooling = "mean"
pool_instruction = false
eos = ""
normalise = true
"""


def weights(folder: Path, causal: bool = False) -> Path:
    import torch
    import transformers as t
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    torch.manual_seed(9)
    made = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 2)]
    )
    small = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "pad_token_id": 0,
        "max_position_embeddings": 64,
    }
    model = (
        t.MistralModel(t.MistralConfig(**small, num_key_value_heads=1, head_dim=8))
        if causal
        else t.BertModel(t.BertConfig(**small))
    )
    model.save_pretrained(folder)
    t.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", bos_token="<s>"
    ).save_pretrained(folder)
    return folder


class Small:
    """As much of the package's class as the driver uses."""

    embedding_attr = None

    def __init__(self, place, mode, pooling_method, normalized, device, torch_dtype):
        import transformers as t

        sys.stdout.write("it prints what it made")
        assert (mode, pooling_method, normalized) == ("embedding", "mean", True)
        self.model = t.AutoModel.from_pretrained(place, dtype=torch_dtype).to(device).eval()
        self.tokenizer = t.AutoTokenizer.from_pretrained(place)

    def encode(self, texts, batch_size, max_length, instruction):
        import torch

        skipped = len(self.tokenizer(instruction)["input_ids"])
        made = []
        for text in texts:
            ids = self.tokenizer(instruction + text, return_tensors="pt")["input_ids"]
            with torch.inference_mode():
                hidden = self.model(input_ids=ids, is_causal=False)[0][0, skipped:]
            mean = hidden.mean(dim=0).numpy()
            made.append(mean / np.linalg.norm(mean))
        return np.array(made, dtype=np.float32)


@pytest.fixture
def package(monkeypatch):
    """The package itself, or the small one in its place."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if importlib.util.find_spec("gritlm") is not None:
        return
    module = ModuleType("gritlm")
    module.GritLM = Small
    module.__spec__ = importlib.util.spec_from_loader("gritlm", loader=None)
    monkeypatch.setitem(sys.modules, "gritlm", module)


def made(workdir: Path, folder: Path, change=("", "")):
    workdir.mkdir(exist_ok=True)
    text = ROW.format(folder=folder).replace(*change)
    (workdir / "systems.toml").write_text(text, encoding="utf-8")
    entry = registry(["tiny"], workdir / "retrievers.json")["tiny"]
    assert entry.missing() is None
    return entry.make()


def test_vectors_are_those_of_the_package(package, tmp_path, capsys):
    retriever = made(tmp_path / "wd", weights(tmp_path / "m"))
    assert capsys.readouterr().out == ""
    reference, serving = retriever.reference(), retriever.serving()
    for texts in (QUERIES, TEXTS):
        np.testing.assert_allclose(
            serving.encode_queries(texts), reference.encode_queries(texts), atol=1e-5
        )
    assert passed(pass_gate("tiny", retriever, QUERIES, TEXTS))
    grit = retriever.reference()._grit
    told = retriever.with_instruction("w20 w21").serving().encode_queries(QUERIES)
    expected = grit.encode(
        QUERIES, batch_size=4, max_length=16, instruction="<|user|> w20 w21 <|embed|> "
    )
    np.testing.assert_allclose(told, expected, atol=1e-5)


def test_a_mean_that_holds_the_template_is_another_one(package, tmp_path):
    folder = weights(tmp_path / "m")
    change = ("pool_instruction = false", "pool_instruction = true")
    whole = made(tmp_path / "wd", folder, change)
    ours, theirs = whole.serving().encode(TEXTS), whole.reference().encode(TEXTS)
    assert np.abs(ours - theirs).max() > 1e-3


def test_a_causal_architecture_looks_both_ways(package, tmp_path):
    retriever = made(tmp_path / "wd", weights(tmp_path / "m", causal=True))
    assert passed(pass_gate("tiny", retriever, QUERIES, TEXTS))


def test_a_model_that_runs_causally_is_refused(package, tmp_path, monkeypatch):
    from transformers import MistralModel

    forward = MistralModel.forward

    def deaf(self, *args, is_causal=None, **kwargs):
        return forward(self, *args, **kwargs)

    monkeypatch.setattr(MistralModel, "forward", deaf)
    with pytest.raises(InputError, match="tiny runs causally under transformers"):
        made(tmp_path / "wd", weights(tmp_path / "m", causal=True))
