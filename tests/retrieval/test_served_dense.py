"""A bi-encoder behind an endpoint reads what the contract says, whoever knows its tokens."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from saber_assets.errors import InputError
from saber_assets.retrieval.dense import RefusedTextError
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.drivers.served_dense import encoder_of, make
from saber_assets.retrieval.encoding.contract import averaged
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.registry import no_chat
from saber_assets.retrieval.remote.json_endpoint import JsonEndpoint
from saber_assets.retrieval.remote.served_windows import ServedWindows, served_tokens
from saber_assets.retrieval.requirements import lacking
from saber_assets.retrieval.scoring import score_pools
from saber_assets.retrieval.systems import EXPECTED, System, shipped_systems

WORDS = [f"w{number}" for number in range(40)]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[EOS]", "query:", "told:"]
VOCABULARY = {token: number for number, token in enumerate([*SPECIAL, *WORDS])}
TEXTS = ["w1", "w2 w3 w4 w5 w6 w7", "w8 w9", "", " ".join(WORDS[5:16]), " ".join(WORDS * 2)]
DIMENSION = 16
TABLE = np.random.default_rng(3).normal(size=(len(VOCABULARY), DIMENSION))
LACKS = any(importlib.util.find_spec(name) is None for name in ("torch", "transformers"))


def tokenizer_of(single: str) -> Tokenizer:
    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokens = [(token, VOCABULARY[token]) for token in ("[CLS]", "[SEP]", "[EOS]")]
    made.post_processor = processors.TemplateProcessing(single=single, special_tokens=tokens)
    made.add_special_tokens(["[EOS]"])
    made.enable_truncation(5)  # as files of tokenizers sometimes ask for; the contract doesn't
    return made


def embed(ids):
    """Return a vector that depends on each token and its place."""
    return TABLE[ids].T @ np.cos(np.arange(len(ids)))


class Vllm:
    """Answers as vLLM does, by a tokenizer and a function from token numbers to a vector."""

    def __init__(self, tokenizer, embed=embed, *, tokenizes=True, longest=10_000):
        self.tokenizer, self.embed = tokenizer, embed
        self.tokenizer.no_truncation()
        self.tokenizes, self.longest = tokenizes, longest

    def ids(self, text, special=True):
        return self.tokenizer.encode(text, add_special_tokens=special).ids

    def __call__(self, path, body):
        if path == "/tokenize":
            if not self.tokenizes:
                return 404, {"detail": "Not Found"}
            ids = self.ids(body["prompt"], body["add_special_tokens"])
            return 200, {"count": len(ids), "max_model_len": 99, "tokens": ids}
        assert path == "/v1/embeddings"
        read = [self.ids(one) if isinstance(one, str) else one for one in body["input"]]
        if max(map(len, read)) > self.longest:
            told = f"This model's maximum context length is {self.longest} tokens."
            return 400, {"error": {"message": told}}
        rows = [
            {"index": n, "embedding": [float(x) for x in self.embed(ids)]}
            for n, ids in enumerate(read)
        ]
        return 200, {"object": "list", "model": body["model"], "data": rows[::-1]}


def system_of(url, **more):
    values = {
        "name": "mine",
        "title": "Mine",
        "family": "bi-encoder",
        "type_code": "B",
        "backends": ("vllm",),
        "model": "me/mine",
        "served": f"{url}/v1",
        "dimension": DIMENSION,
        "query_template": "query: {query}",
        "document_template": "{document}",
        "pooling": "last",
        "eos": "[EOS]",
        "normalise": True,
        "window": 12,
        "precision": "float32",
    }
    stated = {**values, **more}

    unknown = tuple(n for n in EXPECTED["bi-encoder"] if n not in stated)
    return System.model_validate({**stated, "unconfirmed": unknown})


def around_of(tmp_path, **variables):
    machine = Machine(0, lambda name: False, variables, tmp_path / "hub")
    return Surroundings(machine, {}, tmp_path / "work", no_chat)


def save(tokenizer, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def by_hand(text, side, single, window=12):
    """Return a text's vector by the words of the contract."""
    head = [VOCABULARY["[CLS]"]] if "CLS" in single else []
    tail = [VOCABULARY["[SEP]"]] if "SEP" in single else []
    tail += [VOCABULARY["[EOS]"]]
    head = head + ([VOCABULARY["query:"]] if side == "query" else [])
    bare = [VOCABULARY[word] for word in text.split()]
    room = window - len(head) - len(tail)
    pieces = [bare[start : start + room] for start in range(0, max(len(bare), 1), room)]
    vectors = np.array([embed([*head, *piece, *tail]) for piece in pieces])
    return averaged(vectors, [0] * len(pieces), 1, True)[0]


@pytest.mark.parametrize("single", ["$A", "$A [EOS]", "[CLS] $A [SEP]"])
@pytest.mark.parametrize("window", [12, 60])
@pytest.mark.parametrize("knows", ["file", "server"])
def test_vectors_are_those_of_the_contract(fake_server, tmp_path, single, window, knows):
    more = {"window": window}
    if knows == "file":
        more["weights"] = str(save(tokenizer_of(single), tmp_path / "folder"))
    with fake_server(Vllm(tokenizer_of(single))) as server:
        encoder = encoder_of(system_of(server.url, **more), around_of(tmp_path))
        for side, encode in (("document", encoder.encode), ("query", encoder.encode_queries)):
            expected = [by_hand(text, side, single, window) for text in TEXTS]
            np.testing.assert_allclose(encode(TEXTS), expected, atol=1e-5)
    sent = [one for body in server.bodies("/embeddings") for one in body["input"]]
    if knows == "file":
        assert all(isinstance(one, list) and len(one) <= window for one in sent)
    elif window == 60 and "SEP" not in single:
        end = "" if "EOS" in single else "[EOS]"
        assert {"w1" + end, "query: w1" + end} <= {one for one in sent if isinstance(one, str)}


def test_what_surely_fits_is_sent_as_text_without_asking(fake_server, tmp_path):
    system = {"window": 400}
    with fake_server(Vllm(tokenizer_of("$A"))) as server:
        encoder_of(system_of(server.url, **system), around_of(tmp_path)).encode(WORDS)
        asked = len(server.bodies("/tokenize"))
        encoder_of(system_of(server.url, **system), around_of(tmp_path)).encode(["w1 " * 150])
    assert asked <= 7  # what its special tokens are, whatever the number of texts
    assert {"prompt": "w1 " * 150, "model": "me/mine", "add_special_tokens": True} in server.bodies(
        "/tokenize"
    )


def test_llama_cpp_is_asked_in_its_own_words(fake_server, tmp_path):
    vllm = Vllm(tokenizer_of("$A"))

    def answer(path, body):
        if path == "/tokenize":
            text = body.get("content", "")
            return 200, {"tokens": vllm.ids(text, body.get("add_special", False))}
        return vllm(path, body)

    with fake_server(answer) as server:
        found = encoder_of(system_of(server.url), around_of(tmp_path)).encode(TEXTS)
    np.testing.assert_allclose(found, [by_hand(t, "document", "$A") for t in TEXTS], atol=1e-5)


def test_an_endpoint_without_a_tokenizer_halves_what_it_finds_too_long(fake_server, tmp_path):
    system = {"eos": "", "query_template": "{query}"}
    with fake_server(Vllm(tokenizer_of("$A"), tokenizes=False, longest=12)) as server:
        encoder = encoder_of(system_of(server.url, **system), around_of(tmp_path))
        found = encoder.encode(["w1", "w3 w4 " * 10, ""])
        with pytest.raises(InputError, match=r"has no /tokenize.*\[EOS\].*tokenizer.json"):
            encoder_of(system_of(server.url), around_of(tmp_path)).encode(["w1"])
    half = embed([VOCABULARY["w3"], VOCABULARY["w4"]] * 5)
    np.testing.assert_allclose(found[1], half / np.linalg.norm(half), atol=1e-6)
    assert not found[2].any()


def test_a_server_that_cuts_silently_is_refused_before_anything_is_kept(fake_server, tmp_path):
    """Such as text-embeddings-inference with --auto-truncate."""

    def head_only(ids):
        return embed(ids[:12])

    system = {"eos": "", "query_template": "{query}"}
    with fake_server(Vllm(tokenizer_of("$A"), head_only, tokenizes=False)) as server:
        retriever = make(system_of(server.url, **system), around_of(tmp_path))
        with pytest.raises(InputError, match=r"only the head of .* 12 tokens.*/tokenize.*json"):
            retriever.prepare(["w1", " ".join(WORDS)])
        sent = [text for body in server.bodies("/embeddings") for text in body["input"]]
        assert len(sent) == 2  # the probe
    with fake_server(Vllm(tokenizer_of("$A"), head_only)) as server:  # its tokens can be cut here
        make(system_of(server.url, **system), around_of(tmp_path)).prepare(["w1", " ".join(WORDS)])


def test_one_that_reads_more_than_the_window_is_not_refused(fake_server, tmp_path):
    system = {"eos": "", "query_template": "{query}"}
    with fake_server(Vllm(tokenizer_of("$A"), tokenizes=False)) as server:
        encoder = encoder_of(system_of(server.url, **system), around_of(tmp_path))
        assert np.isfinite(encoder.encode(["w1", " ".join(WORDS)])).all()


def test_vectors_by_halves_are_not_taken_for_those_by_windows(fake_server, tmp_path):
    text, card = " ".join(WORDS), {"eos": "", "query_template": "{query}"}
    with fake_server(Vllm(tokenizer_of("$A"), tokenizes=False, longest=12)) as server:
        make(system_of(server.url, **card), around_of(tmp_path)).prepare([text])
    with fake_server(Vllm(tokenizer_of("$A"), longest=12)) as server:
        retriever = make(system_of(server.url, **card), around_of(tmp_path))
        retriever.prepare([text])
        fresh = make(system_of(server.url, **card), around_of(tmp_path / "fresh"))
        assert retriever.score("w1", [text]) == fresh.score("w1", [text])
        assert any(
            isinstance(one, list) for body in server.bodies("/embeddings") for one in body["input"]
        )


def test_another_tokenizer_than_the_servers_is_noticed(fake_server, tmp_path):
    folder = save(tokenizer_of("[CLS] $A [SEP]"), tmp_path / "folder")
    with fake_server(Vllm(tokenizer_of("$A"))) as server:
        system = system_of(server.url, weights=str(folder))
        with pytest.raises(InputError, match=r"other tokens than .*tokenizer\.json"):
            encoder_of(system, around_of(tmp_path)).encode(["w1"])


def test_the_hubs_cache_serves_for_the_tokenizer(fake_server, tmp_path):
    save(tokenizer_of("$A"), tmp_path / "hub" / "models--me--mine" / "snapshots" / "abc")
    with fake_server(Vllm(tokenizer_of("$A"))) as server:
        encoder_of(system_of(server.url), around_of(tmp_path)).encode(["w1"])
    assert server.bodies("/embeddings")[0]["input"] == [[VOCABULARY["w1"], VOCABULARY["[EOS]"]]]


def test_a_server_with_a_smaller_window_is_told_apart(fake_server, tmp_path):
    with fake_server(Vllm(tokenizer_of("$A"), longest=8)) as server:
        encoder = encoder_of(system_of(server.url), around_of(tmp_path))
        with pytest.raises(InputError, match="--max-model-len 12, or state a smaller window"):
            encoder.encode(TEXTS)


def test_the_key_is_sent_and_the_name_that_is_served(fake_server, tmp_path):
    with fake_server(Vllm(tokenizer_of("$A"))) as server:
        system = system_of(server.url, key_variable="MY_KEY", served_model="short")
        encoder_of(system, around_of(tmp_path, MY_KEY="sesame")).encode(TEXTS)
    assert {headers["authorization"] for _, headers, _ in server.asked} == {"Bearer sesame"}
    assert {body["model"] for _, _, body in server.asked} == {"short"}


def test_vectors_of_any_length_are_asked_for_where_the_contract_keeps_them(fake_server, tmp_path):
    with fake_server(Vllm(tokenizer_of("$A"))) as server:
        for normalise in (True, False):
            system = system_of(server.url, normalise=normalise, eos="")
            encoder_of(system, around_of(tmp_path)).encode(["w1"])
    asked = [body.get("use_activation") for body in server.bodies("/embeddings")]
    assert asked == [None, False]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_told_once_and_not_shown(fake_server, tmp_path, status):
    refusal = {"error": {"message": "Incorrect key sesame-open, sesa****open"}}

    def guarded(path, body):  # as vLLM is: only what is below /v1
        return (status, refusal) if path.startswith("/v1") else (404, {})

    with fake_server(guarded) as server:
        system = system_of(server.url, key_variable="MY_KEY", eos="")
        encoder = encoder_of(system, around_of(tmp_path, MY_KEY="sesame-open"))
        with pytest.raises(InputError) as caught:
            encoder.encode(["w1"] * 200)
    assert "refuses the key: set MY_KEY to a valid one" in str(caught.value)
    assert "sesa" not in repr(caught.value)
    assert len(server.bodies("/embeddings")) <= 8


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_for_its_tokenizer_is_told_too(fake_server, tmp_path, status):
    with fake_server(lambda path, body: (status, {})) as server:
        with pytest.raises(InputError, match="refuses the key: check key_variable"):
            encoder_of(system_of(server.url), around_of(tmp_path)).encode(["w1"])
        assert server.bodies("/embeddings") == []


def test_a_server_that_is_not_there_is_told_once_not_by_each_request(fake_server, tmp_path):
    with fake_server(Vllm(tokenizer_of("$A"))) as server:
        gone = server.url
    waited = []
    contract = system_of(gone).contract()
    root = JsonEndpoint(gone, sleep=waited.append)
    windows = ServedWindows(contract, None, root, "mine", None, "the endpoint")
    for _ in range(8):
        with pytest.raises(InputError, match="doesn't answer"):
            windows.of("w1", "document")
    assert len(waited) == 2


def test_a_refused_document_fails_the_queries_that_have_it_in_their_pool(fake_server, tmp_path):
    vllm = Vllm(tokenizer_of("$A"))

    def choosy(path, body):
        if path == "/v1/embeddings" and any(VOCABULARY["w9"] in ids for ids in body["input"]):
            return 400, {"error": {"message": "no nines"}}
        return vllm(path, body)

    pools = pl.DataFrame({"query_id": ["a", "a", "b", "b"], "candidate_id": ["c", "d", "d", "e"]})
    ids = ["a", "b", "c", "d", "e"]
    corpus = pl.DataFrame(
        {"problem_id": ids, "problem": ["w1", "w2", "w9", "w4", "w5"], "solution": ["w3"] * 5}
    )
    folder = save(tokenizer_of("$A"), tmp_path / "folder")
    with fake_server(choosy) as server:
        retriever = make(system_of(server.url, weights=str(folder)), around_of(tmp_path))
        scores, failures = score_pools("mine", "1", retriever, pools, corpus)
    assert set(scores["query_id"]) == {"b"}
    assert scores.height == 6
    assert set(failures["query_id"]) == {"a"}
    assert all("no nines" in reason for reason in failures["reason"])


def test_a_model_that_is_not_there(fake_server, tmp_path):
    with fake_server(lambda path, body: (404, {"message": "no model"})) as server:
        encoder = encoder_of(system_of(server.url, eos=""), around_of(tmp_path))
        with pytest.raises(InputError, match="no model 'me/mine'.*usually ends in /v1"):
            encoder.encode(["w1"])


@pytest.mark.parametrize(
    "content",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": ["x"]}]},
        {"data": [{"index": 0, "embedding": None}]},
        {"choices": []},
        b"<html>hello</html>",
        b'{"data": [',
    ],
)
def test_what_is_no_embeddings_is_told(fake_server, tmp_path, content):
    with fake_server(lambda path, body: (200, content) if "emb" in path else (404, {})) as server:
        encoder = encoder_of(system_of(server.url, eos=""), around_of(tmp_path))
        with pytest.raises(InputError, match="check that it is an endpoint for embeddings"):
            encoder.encode(["w1"])


def test_numbers_that_are_none_fail_their_own_text(fake_server, tmp_path):
    def broken(ids):
        return np.full(DIMENSION, np.nan) if VOCABULARY["w9"] in ids else embed(ids)

    with fake_server(Vllm(tokenizer_of("$A"), broken)) as server:
        retriever = make(system_of(server.url), around_of(tmp_path))
        retriever.prepare(TEXTS)
        with pytest.raises(RefusedTextError, match="'w8 w9' can't be embedded.*aren't finite"):
            retriever.score("w1", ["w1", "w8 w9"])
        assert np.isfinite(retriever.score("w1", [t for t in TEXTS if "w9" not in t])).all()


def test_a_killed_run_asks_only_for_the_rest(fake_server, tmp_path):
    documents = [f"w{a} w{b}" for a in range(20) for b in range(20)]
    left = [6]
    vllm = Vllm(tokenizer_of("$A"))

    def dying(path, body):
        left[0] -= path.endswith("embeddings")
        return vllm(path, body) if left[0] >= 0 else (401, {})

    with fake_server(dying) as server, pytest.raises(InputError):
        make(system_of(server.url), around_of(tmp_path)).prepare(documents)
    answered = sum(len(body["input"]) for body in server.bodies("/embeddings")[:6])
    with fake_server(vllm) as server:  # another port: what is kept goes by the model
        retriever = make(system_of(server.url), around_of(tmp_path))
        retriever.prepare(documents)
        retriever.prepare_queries(["w1", "w2 w3"])
    asked = [len(body["input"]) for body in server.bodies("/embeddings")]
    assert sum(asked) == len(documents) - answered + 2
    again = make(system_of(server.url), around_of(tmp_path))  # nobody serves any more
    again.prepare(documents)
    again.prepare_queries(["w1", "w2 w3"])
    expected = retriever.score("w2 w3", documents)
    assert again.score("w2 w3", documents).tolist() == expected.tolist()


def test_an_instruction_goes_where_the_card_says(fake_server, tmp_path):
    with fake_server(Vllm(tokenizer_of("$A"))) as server:
        system = system_of(server.url, instruction_slot="told: {instruction} query: {query}")
        retriever = make(system, around_of(tmp_path))
        retriever.prepare(["w1"])
        before = len(server.bodies("/embeddings"))
        retriever.with_instruction("w7").score("w2", ["w1"])
        sent = [one for body in server.bodies("/embeddings")[before:] for one in body["input"]]
    assert sent == [[VOCABULARY[word] for word in ("told:", "w7", "query:", "w2", "[EOS]")]]


def test_what_a_row_lacks(tmp_path):
    systems = shipped_systems()

    def told(name, **changes):
        system = systems[name].model_copy(update=changes)
        return [need.sentence for need in lacking(system, systems, around_of(tmp_path).machine)]

    assert told("octen-8b") == [
        "an endpoint: vllm serve Octen/Octen-Embedding-8B, then served = its URL in systems.toml"
    ]
    served = "http://127.0.0.1:8000/v1"
    assert told("octen-8b", served=served) == []
    assert told("qwen3-embedding-8b", served=served) == []
    assert told("octen-8b", served=served, key_variable="MINE") == ["a key: set MINE"]


@pytest.mark.models
@pytest.mark.skipif(LACKS, reason="the extra `models` (torch) is not installed")
@pytest.mark.parametrize("knows", ["file", "server"])
def test_an_endpoint_agrees_with_transformers(fake_server, tmp_path, knows):
    import torch
    import transformers as t

    from saber_assets.retrieval.encoding.parity import check_parity
    from saber_assets.retrieval.encoding.transformers_encoder import TransformersEncoder

    torch.manual_seed(7)
    config = t.Qwen3Config(
        vocab_size=len(VOCABULARY), hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    model = t.Qwen3Model(config).double().eval()
    plain = tokenizer_of("$A")
    plain.no_truncation()
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="[PAD]", unk_token="[UNK]", eos_token="[EOS]"
    )

    def last(ids):
        with torch.inference_mode():
            return model(input_ids=torch.tensor([ids])).last_hidden_state[0, -1].numpy()

    more = {"weights": str(save(tokenizer_of("$A"), tmp_path / "f"))} if knows == "file" else {}
    with fake_server(Vllm(tokenizer_of("$A"), last)) as server:
        system = system_of(server.url, **more)
        serving = encoder_of(system, around_of(tmp_path))
        reference = TransformersEncoder(tokenizer, model, system.contract())
        np.testing.assert_allclose(serving.encode(TEXTS), reference.encode(TEXTS), atol=2e-6)
        documents = [f"{first} {second}" for first in WORDS[:8] for second in WORDS[8:13]]
        assert check_parity("mine", serving, reference, WORDS[:6], documents).fault == ""
        wrong = encoder_of(
            system.model_copy(update={"query_template": "{query}"}), around_of(tmp_path)
        )
        found = check_parity("mine", wrong, reference, WORDS[:6], documents)
        assert "mine is blocked" in found.fault


CLIENT = """
import sys
from pathlib import Path
from saber_assets.retrieval.drivers.served_dense import make
from saber_assets.retrieval.drivers.driver import Surroundings
from saber_assets.retrieval.machine import Machine
from saber_assets.retrieval.systems import System

machine = Machine(0, lambda name: False, {}, Path("hub"))
system = System.model_validate_json(Path(sys.argv[1]).read_text())
documents = [f"w{a} w{b}" for a in range(20) for b in range(20)]
make(system, Surroundings(machine, {}, Path(sys.argv[2]), None)).prepare(documents)
print("done")
"""


def test_sigkill_loses_no_more_than_what_is_in_flight(fake_server, tmp_path):
    running = []
    vllm = Vllm(tokenizer_of("$A"))
    seen = [0]

    def answer(path, body):
        seen[0] += path.endswith("embeddings")
        if seen[0] == 12 and running:
            running.pop().kill()
        return vllm(path, body)

    def run(url):
        card = tmp_path / "card.json"
        card.write_text(system_of(url).model_dump_json(), encoding="utf-8")
        command = [sys.executable, "-c", CLIENT, str(card), str(tmp_path / "work")]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
        )

    with fake_server(answer) as server:
        child = run(server.url)
        running.append(child)
        assert child.wait(60) == -9
        first = sum(len(body["input"]) for body in server.bodies("/embeddings"))
        asked = len(server.asked)
        assert run(server.url).communicate(timeout=60)[0] == "done\n"
        second = sum(len(body["input"]) for _, _, body in server.asked[asked:] if "input" in body)
    assert second < 400
    assert first + second <= 400 + 9 * 32  # eight in flight, one that was being kept


def test_a_tokenizer_that_tells_infinite_numbers_is_none(fake_server):
    with fake_server(lambda path, body: (200, b'{"tokens": [1e999]}')) as server:
        assert served_tokens(JsonEndpoint(server.url), "m", "the endpoint") is None
