"""Pointwise cross-encoders on tiny random models, against direct unbatched computation."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from saber_assets.errors import TextError

LACKS = any(importlib.util.find_spec(name) is None for name in ("torch", "transformers"))
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed"),
]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "yes", "no", "Q:", "D:", "?", "do"]
WORDS += [f"w{number}" for number in range(30)]
NUMBERS = {word: number for number, word in enumerate(WORDS)}
TEMPLATE = "{instruction} Q: {query} D: {document} ?"
DOCUMENTS = ["w1", "w2 w3 w4 w5 w6", "w7 w8", "", " ".join(f"w{n}" for n in range(30))]


def tokenizer_of(pairs: bool, segments: bool = False):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel(NUMBERS, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if pairs:
        made.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            pair="[CLS] $A [SEP] $B:1 [SEP]:1" if segments else "[CLS] $A [SEP] $B [SEP]",
            special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
        )
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if segments else [])]
    return PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", model_input_names=names
    )


def causal():
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(3)
    config = Qwen3Config(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=8,
        intermediate_size=32,
        max_position_embeddings=64,
    )
    return Qwen3ForCausalLM(config).double().eval()


def classifier():
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(4)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        num_labels=1,
        initializer_range=0.5,
    )
    return BertForSequenceClassification(config).double().eval()


def asked_for_yes(**changes):
    from saber_assets.retrieval.cross_encoder import CrossEncoder

    values = {"window": 14, "instruction": "do", "batch_tokens": 30, **changes}
    window = values.pop("window")
    return CrossEncoder(tokenizer_of(False), causal(), TEMPLATE, window, **values)


def test_yes_against_no_equals_a_direct_computation():
    import torch

    model = causal()
    scores = asked_for_yes().score("w20 w21", DOCUMENTS)
    for document, score in zip(DOCUMENTS, scores, strict=True):
        kept = document.split()[: 14 - 6]  # do Q: w20 w21 D: ... ?
        words = ["do", "Q:", "w20", "w21", "D:", *kept, "?"]
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([[NUMBERS[word] for word in words]])).logits
        both = logits[0, -1, [NUMBERS["yes"], NUMBERS["no"]]]
        assert score == pytest.approx(float(both[0] - both[1]), abs=2e-6)
        share = float(torch.softmax(both, dim=0)[0])
        assert 1 / (1 + np.exp(-score)) == pytest.approx(share, abs=2e-6)
    assert len({*scores.tolist()}) == len(DOCUMENTS)


def test_a_model_that_is_sure_of_all_ranks_them_still():
    from saber_assets.retrieval.cross_encoder import CrossEncoder

    sure = causal()
    sure.lm_head.weight.data *= 1000
    scores = CrossEncoder(tokenizer_of(False), sure, TEMPLATE, 14, instruction="do").score(
        "w20 w21", DOCUMENTS
    )
    assert np.abs(scores).min() > 20  # probabilities of 0 or 1, to eight decimals
    plain = asked_for_yes().score("w20 w21", DOCUMENTS)
    assert np.argsort(scores).tolist() == np.argsort(plain).tolist()
    assert len({*scores.tolist()}) == len(DOCUMENTS)


def test_batches_and_order_change_nothing():
    reference = asked_for_yes(batch_tokens=1).score("w20", DOCUMENTS)
    for budget in (20, 1000):
        found = asked_for_yes(batch_tokens=budget).score("w20", DOCUMENTS[::-1])
        assert found[::-1].tolist() == reference.tolist()


def test_only_the_documents_end_is_cut():
    pair = asked_for_yes().pair("w20 w21", DOCUMENTS[4])
    assert len(pair) == 14
    assert pair[-1] == NUMBERS["?"]
    assert pair[:5] == [NUMBERS[word] for word in ("do", "Q:", "w20", "w21", "D:")]
    with pytest.raises(ValueError, match="fill the window"):
        asked_for_yes().pair(" ".join(["w1"] * 20), "w2")


def test_a_query_that_fills_the_window_is_the_text_s_fault():
    from saber_assets.retrieval.cross_encoder import CrossEncoder

    joined = CrossEncoder(tokenizer_of(True), classifier(), "", 8, answers=None)
    assert np.isfinite(joined.score(" ".join(["w1"] * 4), ["w2 w3"])).all()
    for encoder, query in ((joined, ["w1"] * 5), (asked_for_yes(), ["w1"] * 20)):
        with pytest.raises(TextError, match="fill the window"):
            encoder.score(" ".join(query), ["w2 w3"])


def test_the_instruction_and_the_query_matter():
    plain = asked_for_yes().score("w20", DOCUMENTS)
    assert np.abs(plain - asked_for_yes(instruction="w9").score("w20", DOCUMENTS)).max() > 1e-6
    assert np.abs(plain - asked_for_yes().score("w21", DOCUMENTS)).max() > 1e-6


def test_a_text_with_a_slot_in_it_is_no_template():
    encoder = asked_for_yes()
    assert encoder.pair("{document}", "w1")[:2] == [NUMBERS["do"], NUMBERS["Q:"]]
    assert encoder.pair("w1", "{query}")[-1] == NUMBERS["?"]


@pytest.mark.parametrize("segments", [False, True])
def test_a_classifier_head_equals_a_direct_computation(segments):
    import torch

    from saber_assets.retrieval.cross_encoder import CrossEncoder

    tokenizer, model = tokenizer_of(True, segments), classifier()
    encoder = CrossEncoder(tokenizer, model, "", 20, answers=None, batch_tokens=50)
    scores = encoder.score("w20 w21", DOCUMENTS)
    for document, score in zip(DOCUMENTS, scores, strict=True):
        words = ["[CLS]", "w20", "w21", "[SEP]", *document.split()[:15], "[SEP]"]
        types = [[0] * 4 + [int(segments)] * (len(words) - 4)]
        with torch.inference_mode():
            logits = model(
                input_ids=torch.tensor([[NUMBERS[word] for word in words]]),
                token_type_ids=torch.tensor(types),
            ).logits
        assert score == pytest.approx(float(logits[0, 0]), abs=2e-6)


def test_what_cannot_be_asked_is_refused():
    from saber_assets.retrieval.cross_encoder import CrossEncoder

    with pytest.raises(ValueError, match="2 tokens"):
        asked_for_yes(answers=("yes", "no no"))
    with pytest.raises(ValueError, match=r"lacks \{query\}"):
        CrossEncoder(tokenizer_of(False), causal(), "{document} {query}", 14)


def test_a_saved_folder_is_loaded_without_the_hub(tmp_path, monkeypatch):
    from saber_assets.errors import InputError
    from saber_assets.retrieval.cross_encoder import CrossEncoder

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    causal().float().save_pretrained(tmp_path / "model")
    tokenizer_of(False).save_pretrained(tmp_path / "model")
    loaded = CrossEncoder.load(
        str(tmp_path / "model"), TEMPLATE, 14, precision="float32", instruction="do"
    )
    expected = asked_for_yes().score("w20", DOCUMENTS)
    np.testing.assert_allclose(loaded.score("w20", DOCUMENTS), expected, atol=1e-4)
    with pytest.raises(InputError, match="hf download nobody/nothing"):
        CrossEncoder.load("nobody/nothing", TEMPLATE, 14, precision="float32")


def test_an_instruction_takes_its_place_in_the_template():
    from saber_assets.retrieval.cross_encoder import CrossEncoder

    parts = tokenizer_of(False), causal()
    plain = CrossEncoder(*parts, TEMPLATE, 24, instruction="do")
    told = plain.with_instruction("w1 w2")
    expected = CrossEncoder(*parts, TEMPLATE, 24, instruction="w1 w2")
    assert told.pair("w3", "w4") == expected.pair("w3", "w4")
    assert told.score("w3", DOCUMENTS).tolist() == expected.score("w3", DOCUMENTS).tolist()
    assert plain.pair("w3", "w4") != told.pair("w3", "w4")
    without = CrossEncoder(*parts, TEMPLATE.replace("{instruction} ", ""), 24)
    assert without.with_instruction("w1") is None


def test_no_more_pairs_are_read_at_a_time_than_may_be_in_flight(monkeypatch):
    from saber_assets.retrieval.cross_encoder import CrossEncoder

    encoder = CrossEncoder(tokenizer_of(False), causal(), TEMPLATE, 24)
    expected = encoder.score("w3", DOCUMENTS * 3)
    sizes = []
    forward = encoder._forward
    monkeypatch.setattr(
        encoder, "_forward", lambda pairs: sizes.append(len(pairs)) or forward(pairs)
    )
    encoder.in_flight = 2
    assert np.allclose(encoder.score("w3", DOCUMENTS * 3), expected, atol=1e-6)
    assert max(sizes) == 2
    assert sum(sizes) == len(DOCUMENTS) * 3
