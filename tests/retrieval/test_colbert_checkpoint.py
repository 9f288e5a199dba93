"""Tiny ColBERT checkpoints with fixed weights: token vectors equal PyLate's, kept as numbers.

`golden/colbert_pylate.json` holds what PyLate 1.6.0 (torch 2.11, transformers 5.3) made of the
checkpoints below; where PyLate is installed, it is asked again.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.colbert_checkpoint import ColbertCheckpoint, read_config
from saber_assets.retrieval.late_interaction import LateInteractionRetriever, maxsim
from saber_assets.retrieval.registry import registry

GOLDEN = Path(__file__).parents[1] / "golden" / "colbert_pylate.json"
LACKS = any(importlib.util.find_spec(name) is None for name in ("torch", "transformers"))
needs_models = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed"),
]
pytestmark = needs_models

WORDS = ["prove", "that", "the", "sum", "of", "two", "odd", "numbers", "is", "even", "x", "y", "1"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[Q] ", "[D] "]
SIGNS = [".", ",", "+", "=", "(", ")"]
VOCABULARY = {token: number for number, token in enumerate([*SPECIAL, *WORDS, *SIGNS])}
QUERIES = ["prove that x + y is even", "", " the  sum (of two odd numbers) . ", "1 " * 20]
DOCUMENTS = ["x + y = 1 .", "", "the sum, of two odd numbers, is even.", "= ( ) .", "prove strange"]
CASES: dict[str, dict] = {
    "bert": {"architecture": "bert", "dense": [(16, 8, {})]},
    "modernbert": {"architecture": "modernbert", "dense": [(16, 8, {})]},
    "two-layers": {
        "architecture": "modernbert",
        "dense": [(16, 12, {"use_residual": True, "bias": True}), (12, 12, {"use_residual": True})],
    },
    "tanh": {
        "architecture": "bert",
        "dense": [(16, 8, {"activation_function": "torch.nn.modules.activation.Tanh"})],
    },
    "attended": {
        "architecture": "modernbert",
        "dense": [(16, 8, {})],
        "settings": {"attend_to_expansion_tokens": True},
    },
    "unexpanded": {
        "architecture": "bert",
        "dense": [(16, 8, {})],
        "settings": {"do_query_expansion": False, "skiplist_words": []},
    },
    "unmarked": {
        "architecture": "bert",
        "dense": [(16, 8, {})],
        "settings": {"query_prefix": "", "document_prefix": ""},
    },
    "lower": {"architecture": "bert", "dense": [(16, 8, {})], "lower": True},
}


def tokenizer_of():
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.add_special_tokens(SPECIAL[:5])
    made.add_tokens([AddedToken(token, normalized=False) for token in SPECIAL[5:]])
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()]
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[("[CLS]", VOCABULARY["[CLS]"]), ("[SEP]", VOCABULARY["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def fill(module, seed: int):
    """Give every parameter a value that no library's generator decides."""
    import torch

    generator = np.random.default_rng(seed)
    with torch.no_grad():
        for _, parameter in sorted(module.named_parameters()):
            values = generator.normal(scale=0.4, size=tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(values))
    return module


def model_of(architecture: str):
    import transformers as t

    shared = {
        "vocab_size": len(VOCABULARY),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "pad_token_id": 0,
        "max_position_embeddings": 64,
    }
    if architecture == "bert":
        return fill(t.BertModel(t.BertConfig(**shared), add_pooling_layer=False), 1)
    extra = {"global_attn_every_n_layers": 2, "local_attention": 8}
    ends = {"cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}
    return fill(t.ModernBertModel(t.ModernBertConfig(**shared, **extra, **ends)), 2)


def checkpoint(folder: Path, case: dict) -> Path:
    """Write a checkpoint as PyLate saves one."""
    from safetensors.numpy import save_file

    tokenizer_of().save_pretrained(folder)
    model_of(case["architecture"]).save_pretrained(folder)
    rows = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for number, (taken, given, settings) in enumerate(case["dense"], 1):
        place = folder / f"{number}_Dense"
        place.mkdir()
        stated = {
            "in_features": taken,
            "out_features": given,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
            **settings,
        }
        (place / "config.json").write_text(json.dumps(stated))
        generator = np.random.default_rng(number)
        weights = {"linear.weight": (given, taken)}
        if stated["bias"]:
            weights["linear.bias"] = (given,)
        if stated.get("use_residual") and taken != given:
            weights["residual.weight"] = (given, taken)
        made = {
            name: generator.normal(size=shape).astype(np.float32) for name, shape in weights.items()
        }
        save_file(made, place / "model.safetensors")
        kind = "pylate.models.Dense.Dense"
        rows.append({"idx": number, "name": f"{number}", "path": place.name, "type": kind})
    (folder / "modules.json").write_text(json.dumps(rows))
    settings = {"query_length": 12, "document_length": 16, **case.get("settings", {})}
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"model_type": "ColBERT", **settings})
    )
    (folder / "sentence_bert_config.json").write_text(
        json.dumps({"max_seq_length": 15, "do_lower_case": case.get("lower", False)})
    )
    return folder


def of_pylate(folder: Path) -> dict[str, list]:
    """Return what PyLate makes of the queries and documents."""
    from pylate import models

    model = models.ColBERT(str(folder), device="cpu")
    asked = model.encode(QUERIES, is_query=True, show_progress_bar=False)
    given = model.encode(DOCUMENTS, is_query=False, show_progress_bar=False)
    return {
        "queries": [np.round(tokens.astype(np.float64), 6).tolist() for tokens in asked],
        "documents": [np.round(tokens.astype(np.float64), 6).tolist() for tokens in given],
    }


def assert_equal(encoder: ColbertCheckpoint, expected: dict[str, list]) -> None:
    asked = [encoder.query_tokens(text) for text in QUERIES]
    for found, wanted in zip(
        [*asked, *encoder.document_tokens(DOCUMENTS)],
        [*expected["queries"], *expected["documents"]],
        strict=True,
    ):
        np.testing.assert_allclose(found, np.array(wanted, np.float32), atol=1e-5)


@pytest.mark.parametrize("case", CASES)
def test_token_vectors_equal_those_of_pylate(case: str, tmp_path: Path) -> None:
    encoder = ColbertCheckpoint.load(checkpoint(tmp_path, CASES[case]))
    assert_equal(encoder, json.loads(GOLDEN.read_text())[case])


@pytest.mark.parametrize("case", CASES)
def test_token_vectors_equal_those_of_the_pylate_that_is_installed(case, tmp_path) -> None:
    pytest.importorskip("pylate", reason="pylate is not installed")
    folder = checkpoint(tmp_path, CASES[case])
    assert_equal(ColbertCheckpoint.load(folder), of_pylate(folder))


def test_a_long_document_has_the_tokens_of_all_its_windows(tmp_path: Path) -> None:
    encoder = ColbertCheckpoint.load(checkpoint(tmp_path, CASES["bert"]))
    long = " ".join(["prove", "that", "x", "=", "even", "y"] * 6)
    room = 16 - 3  # the special tokens and the marker
    words = long.split()
    pieces = [" ".join(words[start : start + room]) for start in range(0, len(words), room)]
    whole = encoder.document_tokens([long])[0]
    parts = encoder.document_tokens(pieces)
    np.testing.assert_allclose(whole, np.concatenate(parts), atol=1e-6)
    query = encoder.query_tokens("x is even")
    best = [(query @ part.T).max(axis=1) for part in parts]
    expected = np.max(best, axis=0).sum()
    np.testing.assert_allclose(maxsim(query, [whole]), [expected], atol=1e-5)


def test_batches_and_order_change_no_score(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, CASES["modernbert"])
    documents = [*DOCUMENTS, " ".join(WORDS * 3)]
    together = LateInteractionRetriever(ColbertCheckpoint.load(folder))
    scores = together.score("the sum", documents)
    for document, score in zip(documents, scores, strict=True):
        alone = LateInteractionRetriever(ColbertCheckpoint.load(folder))
        assert alone.score("the sum", [document]).tolist() == [score]
    turned = LateInteractionRetriever(ColbertCheckpoint.load(folder))
    assert turned.score("the sum", documents[::-1]).tolist() == scores[::-1].tolist()


def test_lengths_can_be_laid_over_those_of_the_checkpoint(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path, CASES["bert"])
    encoder = ColbertCheckpoint.load(folder, query_length=20, document_length=30)
    assert encoder.query_tokens("x").shape == (20, 8)
    assert len(encoder.document_tokens([" ".join(WORDS[:11] * 2)])[0]) == 25
    assert read_config(folder).query_length == 12


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "marked", CASES["bert"])
    settings = folder / "config_sentence_transformers.json"
    settings.write_text(json.dumps({"query_prefix": "[ASK] "}))
    with pytest.raises(InputError, match=r"has no token '\[ASK\] '"):
        ColbertCheckpoint.load(folder)
    settings.write_text("{}")
    assert ColbertCheckpoint.load(folder).config.query_prefix == "[Q] "
    activation = {"activation_function": "mine.Own"}
    stated = folder / "1_Dense" / "config.json"
    stated.write_text(json.dumps({**json.loads(stated.read_text()), **activation}))
    with pytest.raises(InputError, match=r"activation mine\.Own, which isn't one of torch"):
        ColbertCheckpoint.load(folder)
    (folder / "modules.json").write_text("[]")
    with pytest.raises(InputError, match="lists no transformer"):
        ColbertCheckpoint.load(folder)
    with pytest.raises(InputError, match="can't be read"):
        ColbertCheckpoint.load(tmp_path)


ROW = """
[tiny]
family = "late-interaction"
type_code = "L"
backends = ["pylate"]
model = "me/tiny"
weights = "{folder}"
parameters = 1000
licence = "MIT"
released = 2026-01-02
query_template = "[Q] {{query}}"
document_template = "[D] {{document}}"
window = 16
query_window = {query_window}
precision = "float32"
gated = false
"""


def entry_of(workdir: Path, folder: Path, query_window: int = 12):
    workdir.mkdir(exist_ok=True)
    row = ROW.format(folder=folder, query_window=query_window)
    (workdir / "systems.toml").write_text(row, encoding="utf-8")
    return registry(["tiny"], workdir / "retrievers.json")["tiny"]


def test_a_card_with_a_folder_is_a_retriever(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "weights", CASES["bert"])
    entry = entry_of(tmp_path / "wd", folder)
    assert entry.missing() is None
    encoder = ColbertCheckpoint.load(folder)
    expected = maxsim(encoder.query_tokens("the sum"), encoder.document_tokens(DOCUMENTS))
    np.testing.assert_allclose(entry.make().score("the sum", DOCUMENTS), expected, atol=1e-4)
    assert entry_of(tmp_path / "wd", folder, query_window=20).version != entry.version
    projection = folder / "1_Dense" / "config.json"
    projection.write_text(projection.read_text() + " ")
    assert entry_of(tmp_path / "wd", folder).version != entry.version


def test_a_card_that_marks_texts_otherwise_is_refused(tmp_path: Path) -> None:
    folder = checkpoint(tmp_path / "weights", CASES["unmarked"])
    with pytest.raises(InputError, match=r"says '\[Q\] \{query\}', its checkpoint '\{query\}'"):
        entry_of(tmp_path / "wd", folder).make()
