"""A small built workdir, and a language model that is a script, for the tests of the services."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from saber_assets import corpus
from saber_assets.corpus.document_rules import cut_by_rules
from saber_resources.settings import load_settings, save_settings
from saber_services.builder import build

SAMPLE = Path(corpus.__file__).parent / "sample"
TECHNIQUES = ("symmetry", "induction", "counting", "bounds")
SMALL = {
    "selection": {"queries": 6},
    "tournament": {"rounds": 4},
    "retrieval": {"retrievers": ["bm25", "random", "ratings"]},
}


@pytest.fixture(scope="session")
def small():
    return SMALL


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    root = tmp_path_factory.mktemp("built") / "work"
    build(save_settings(root, "sample", SMALL))
    return root


@pytest.fixture
def workdir(built, tmp_path):
    """A copy of the built workdir that a test may change."""
    copy = tmp_path / "work"
    shutil.copytree(built, copy)
    return copy


@pytest.fixture
def settings(workdir):
    return load_settings(workdir)


class ScriptedModel:
    """An OpenAI-compatible server that answers each kind of prompt from a hash of its text."""

    def __init__(self, seconds: float = 0.0):
        self.calls: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.seconds = seconds
        self.spoil = lambda kind, body: None
        """Returns another text than the usual one, or None."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(model.seconds)
                kind, text = answer(body)
                text = model.spoil(kind, body) or text
                with model.lock:
                    model.calls[kind] += 1
                data = completion(text).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with contextlib.suppress(OSError):  # some tests kill the client
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 128

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def total(self) -> int:
        with self.lock:
            return sum(self.calls.values())


def answer(body: dict) -> tuple[str, str]:
    text = "\n".join(message["content"] for message in body["messages"])
    number = hashlib.blake2b(text.encode(), digest_size=8).digest()
    schema = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {})
    properties = schema.get("properties", {})
    if "scores" in properties:
        names = offered(text)
        scores = {
            name: 1.0 if place == 1 + number[0] % 2 else 0.1 for place, name in enumerate(names)
        }
        return "topic_scores", json.dumps({"scores": scores})
    if "coreIdea" in properties:
        return "summary", json.dumps(
            {
                "noCoreIdea": False,
                "coreIdea": f"Use {TECHNIQUES[number[0] % 4]} and {TECHNIQUES[number[1] % 4]}",
                "supportingIdeas": [],
                "keywords": [],
                "confidence": 0.5,
            }
        )
    if "techniques" in properties:
        technique = {"name": TECHNIQUES[number[0] % 4], "role": "decisive", "why": "it works"}
        profile = {"techniques": [technique], "objects": [], "keySteps": ["set up", "finish"]}
        return "technique_profile", json.dumps(profile)
    return of_the_corpus(properties, body["messages"][0]["content"], text, number[0]) or (
        "pairwise_judge",
        f"Both use ideas. \\boxed{{{1 + number[1] % 2}}}",
    )


def of_the_corpus(properties: dict, system: str, text: str, draw: int) -> tuple[str, str] | None:
    """Answers about threads and documents."""
    if "selfContained" in properties:
        holds = "attached" not in text.split("Opening post:")[1]
        return "aops_self_contained", json.dumps({"selfContained": holds, "reason": "so it is"})
    if "comments" in properties:
        comments = re.split(r"\nComment \d+:\n", text)[1:]
        marks = [
            {"number": number, "substantive": len(comment.split("\nMark all")[0]) > 80}
            for number, comment in enumerate(comments, start=1)
        ]
        return "aops_solutions", json.dumps({"comments": marks})
    if "chosen" in properties:
        offer = int(text.rsplit("Choose among ", 1)[1].split()[0])
        choice = {"chosen": 1 + draw % offer, "answersProblem": True, "reason": "the longest"}
        return "aops_choose", json.dumps(choice)
    shown = text.split("\nDocument:\n" if "Document:" in text else "\nText:\n")[-1].strip()
    if "You translate" in system:
        return "translation", f"<translation>\n{shown}\n</translation>"
    if "so that a program can tell formulas" in system:
        dollars = re.sub(r"\\[\[\]]", "$$", re.sub(r"\\[()]", "$", shown))
        return "latex_normalisation", f"<text>\n{dollars}\n</text>"
    if "You cut it into problems" in system:
        return "document_segmentation", segmented(shown)
    return None


def segmented(document: str) -> str:
    """The document cut where the rules cut it, or what they find of it."""
    cut = cut_by_rules(document)
    found = []
    for problem in cut.problems:
        start = document.index(problem.solutions[0])
        last = document.index(problem.solutions[-1], start) + len(problem.solutions[-1])
        found += [("problem", problem.problem), ("solution", document[start:last])]
    found = found or [(piece.kind, piece.text) for piece in cut.pieces]
    return "".join(f"<{kind}>\n{text}\n</{kind}>\n" for kind, text in found) or "nothing here"


def offered(text: str) -> list[str]:
    """The names of the prompt: the current topic, then the list below "Subtopics:"."""
    current = text.split("Current topic: ", 1)[1].split("\n", 1)[0]
    listed = text.split("\nSubtopics:\n", 1)[1].split("\n\n", 1)[0]
    return [current, *(line.removeprefix("- ") for line in listed.splitlines())]


def completion(text: str) -> str:
    return json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text},
                }
            ],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
        }
    )


@pytest.fixture
def scripted_model():
    """Start scripted models; they end with the test."""
    started = []

    def start(seconds: float = 0.0) -> ScriptedModel:
        model = ScriptedModel(seconds)
        started.append(model)
        return model

    yield start
    for model in started:
        model.server.shutdown()
        model.server.server_close()


@pytest.fixture(scope="module")
def module_model():
    """A scripted model for all tests of a module."""
    model = ScriptedModel()
    yield model
    model.server.shutdown()
    model.server.server_close()


@pytest.fixture(scope="session")
def scripted_answer():
    """What a scripted model answers to a request's body: the kind of the prompt, and the text."""
    return answer


@pytest.fixture(scope="session")
def asked(tmp_path_factory):
    """A small workdir that a scripted model annotated and judged, and how often it was called."""
    root = tmp_path_factory.mktemp("asked") / "work"
    model = ScriptedModel()
    build(save_settings(root, "sample", asking(model.url)))
    model.server.shutdown()
    model.server.server_close()
    return root, dict(model.calls)


@pytest.fixture
def asked_workdir(asked, tmp_path):
    """A copy of it that a test may change."""
    copy = tmp_path / "asked"
    shutil.copytree(asked[0], copy)
    return copy


@pytest.fixture(scope="session")
def asking_overrides():
    """From the address of a scripted model to the settings of the small workdir."""
    return asking


def asking(url: str) -> dict:
    return {
        **SMALL,
        "corpus": {"files": [str(SAMPLE / "algebra.jsonl")]},
        "annotation": {"annotator": "llm"},
        "judging": {"annotator": "llm"},
        "thresholds": {"k": 1, "min_queries": 1},  # the scripted model's topics are arbitrary
        "llm": {"model": "scripted", "endpoints": [url]},
    }
