"""The field's systems: what each is, how it must be fed, and what it takes to run it.

The shipped rows are the systems of the published tables, one TOML table each, in `cards/`. A value
that could not be confirmed from a model card, a checkpoint's files or the authors' code is absent,
and its field is listed under `unconfirmed`: nothing is guessed. A person adds rows, or lays values
over shipped ones, by a TOML file of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from saber_assets.errors import InputError
from saber_assets.retrieval.addresses import address_fault
from saber_assets.retrieval.encoding.contract import DOCUMENT_SLOT, QUERY_SLOT, Contract
from saber_assets.retrieval.entry import NAME, NAME_RULE
from saber_assets.retrieval.key_names import key_name_fault
from saber_assets.retrieval.system_rows import placed_weights, read_rows

CARDS = Path(__file__).parent / "cards"

Family = Literal[
    "bi-encoder",
    "learned-sparse",
    "late-interaction",
    "cross-encoder",
    "generative-pointwise",
    "generative-groupwise",
    "query-rewriter",
    "api",
    "lexical",
    "formula-search",
]
Backend = Literal[
    "transformers",
    "sentence-transformers",
    "vllm",
    "pylate",
    "splade",
    "gritlm",
    "api:openai",
    "api:gemini",
    "lexical",
    "pya0",
]
Pooling = Literal["cls", "mean", "last"]
Precision = Literal["float32", "float16", "bfloat16"]

BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
TYPE_CODE = re.compile(r"A?S?R?T?W?[BLC]")
SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)([MB])")
LARGEST = 2**63
UNITS = {"M": 10**6, "B": 10**9}

_WEIGHTS = ("model", "parameters", "licence", "released", "window", "precision", "gated")
DENSE_FIELDS = ("pooling", "eos", "normalise", "query_template", "document_template")
EXPECTED: dict[str, tuple[str, ...]] = {
    "bi-encoder": (*_WEIGHTS, *DENSE_FIELDS),
    "learned-sparse": (*_WEIGHTS, "query_template", "document_template"),
    "late-interaction": (*_WEIGHTS, "query_template", "document_template"),
    "cross-encoder": (*_WEIGHTS, "pair_template"),
    "generative-pointwise": (*_WEIGHTS, "pair_template", "sampling"),
    "generative-groupwise": (
        *_WEIGHTS,
        "group_template",
        "sampling",
        "group_size",
        "highest_score",
    ),
    "query-rewriter": ("rewriter", "base", "rewrite_template", "sampling"),
    "api": ("model", "released", "window", "key_variable"),
    "lexical": ("model",),
    "formula-search": ("model",),
}
"""Fields that a row of a family states, or lists as unconfirmed."""


class System(BaseModel):
    """A system of the field; a field that is None doesn't apply or is in `unconfirmed`.

    Attributes:
        name: name in the registry.
        title: name in the first published table that has it.
        aliases: its other names in published tables.
        tables: the published tables that have it, such as "saber-7".
        family: what kind of system it is.
        type_code: SPEC section 1, "Type code".
        backends: what can serve it, the one of the published numbers first.
        model: id on the hub, at the API, or of a built-in retriever.
        revision: commit of the weights.
        weights: a person's folder with the weights.
        served: a person's URL of an OpenAI-compatible endpoint that serves it, such as
            http://127.0.0.1:8000/v1; of a rewriter, the rewriting model.
        served_model: its name there, where it isn't that of the model.
        rewriter: hub id of the model that rewrites queries.
        base: name of the system behind the rewriter.
        size: as its name states it, such as "8B".
        parameters: their exact or documented number.
        licence: SPDX identifier, or "LicenseRef-" with a name.
        released: day of release.
        query_template: text with one {query}; may hold special tokens.
        document_template: text with one {document}.
        pair_template: text with one {query} and one {document}.
        group_template: text with one {query} and one {documents}; {count} is their number.
        rewrite_template: what a rewriter is asked: text with one {query}.
        system_prompt: what a model is told before it is asked.
        raw_prompt: whether the model reads the text as it is, without the server's chat template.
        answers: the two words that it may answer, the wanted one first; its score is the
            probability of that one.
        highest_score: of those that it writes: in a <score> tag, or for each document of a group.
        group_size: documents that are judged together.
        samples: answers that are averaged: of a pair, of a query's groups, or of its rewrites.
        document_characters: of a document that are shown at most.
        sampling: temperature, max_tokens and the like, as the endpoint takes them.
        instruction_slot: how an instruction enters the query: text with one {instruction} and
            one {query}.
        instruction: the documented default instruction; the published main runs use none.
        query_task: task type of an API for queries; likewise `document_task`. Of a model that
            has adapters, the name of the adapter, for both sides.
        bidirectional: whether tokens must see what stands behind them, though the architecture
            doesn't by itself: tried when the model is loaded.
        pooling: how token vectors become one vector.
        pool_instruction: whether the tokens of the instruction count in the pool.
        eos: token that must end each window, "" for what the tokenizer adds by itself.
        normalise: whether window vectors have length 1 before they are averaged.
        window: tokens that the model reads at a time, special ones included.
        query_window: tokens of a query by late interaction: a longer one is cut, a shorter one
            filled up; None for what the checkpoint states.
        query_terms: most terms of a query by learned sparse retrieval, None for all; likewise
            `document_terms`.
        precision: of the weights when the published numbers were made.
        dimension: length of the vectors.
        gated: whether a licence must be accepted at the hub.
        trust_remote_code: whether it runs code from its repository.
        accepted_code: whether the person who runs it has agreed to that.
        key_variable: environment variable with the API key.
        caveats: what is known to go wrong, one sentence each.
        unconfirmed: fields that are absent because nobody could confirm them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    title: str
    aliases: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    family: Family
    type_code: str
    backends: tuple[Backend, ...]
    model: str | None = None
    revision: str | None = None
    weights: str | None = None
    served: str | None = None
    served_model: str | None = None
    rewriter: str | None = None
    base: str | None = None
    size: str | None = None
    parameters: int | None = None
    licence: str | None = None
    released: date | None = None
    query_template: str | None = None
    document_template: str | None = None
    pair_template: str | None = None
    group_template: str | None = None
    rewrite_template: str | None = None
    system_prompt: str | None = None
    raw_prompt: bool = False
    answers: tuple[str, str] | None = None
    highest_score: int | None = None
    group_size: int | None = None
    samples: int = 1
    document_characters: int | None = None
    sampling: dict[str, Any] | None = None
    instruction_slot: str | None = None
    instruction: str | None = None
    query_task: str | None = None
    document_task: str | None = None
    bidirectional: bool = False
    pooling: Pooling | None = None
    pool_instruction: bool = True
    eos: str | None = None
    normalise: bool | None = None
    window: int | None = None
    query_window: int | None = None
    query_terms: int | None = None
    document_terms: int | None = None
    precision: Precision | None = None
    dimension: int | None = None
    gated: bool | None = None
    trust_remote_code: bool = False
    accepted_code: bool = False
    key_variable: str | None = None
    caveats: tuple[str, ...] = ()
    unconfirmed: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> System:
        checks = (
            self._check_names,
            self._check_reach,
            self._check_templates,
            self._check_judgment,
            self._check_unconfirmed,
        )
        for check in checks:
            fault = check()
            if fault:
                raise ValueError(fault)
        return self

    def _check_names(self) -> str:
        if not NAME.fullmatch(self.name):
            return f"its name isn't {NAME_RULE}"
        if not TYPE_CODE.fullmatch(self.type_code):
            return f"the type code '{self.type_code}' isn't letters of ASRTW and then B, L or C"
        if not self.backends:
            return "it has no backend"
        if self.size is not None and not SIZE.fullmatch(self.size):
            return f"the size '{self.size}' isn't a number and M or B"
        counts = (
            "query_window",
            "query_terms",
            "document_terms",
            "group_size",
            "samples",
            "highest_score",
            "document_characters",
        )
        for name in ("parameters", "window", "dimension", *counts):
            value = getattr(self, name)
            if value is not None and not 0 < value < LARGEST:
                return f"{name} isn't a positive number below 2^63"
        return ""

    def _check_reach(self) -> str:
        """Return what is wrong with its endpoint or the variable of its key, repeating neither."""
        fault = "" if self.served is None else address_fault(self.served)
        if fault:
            return f"served: {fault}"
        fault = "" if self.key_variable is None else key_name_fault(self.key_variable)
        return f"key_variable: {fault}" if fault else ""

    def _check_templates(self) -> str:
        slots = {
            "query_template": (QUERY_SLOT,),
            "document_template": (DOCUMENT_SLOT,),
            "pair_template": (QUERY_SLOT, DOCUMENT_SLOT),
            "group_template": (QUERY_SLOT, "{documents}"),
            "rewrite_template": (QUERY_SLOT,),
            "instruction_slot": ("{instruction}", QUERY_SLOT),
        }
        for field, wanted in slots.items():
            template = getattr(self, field)
            for slot in wanted:
                if template is not None and template.count(slot) != 1:
                    return f"{field} doesn't hold {slot} once"
        return ""

    def _check_judgment(self) -> str:
        """Return what is wrong with how a model that judges pairs says its judgment."""
        ways = (self.answers is not None) + (self.highest_score is not None)
        if self.family == "generative-pointwise" and ways != 1:
            return "it states not just one of answers and highest_score"
        words = [word.strip().casefold() for word in self.answers or ("a", "b")]
        if not all(words) or words[0] == words[1]:
            return "answers aren't two words that differ, whatever their case and blanks"
        return ""

    def _check_unconfirmed(self) -> str:
        expected = EXPECTED[self.family]
        for field in self.unconfirmed:
            if field not in type(self).model_fields:
                return f"unconfirmed lists '{field}', which is no field"
            if getattr(self, field) is not None:
                return f"unconfirmed lists {field}, which has a value"
        for field in expected:
            if getattr(self, field) is None and field not in self.unconfirmed:
                return f"it states no {field} and doesn't list it as unconfirmed"
        return ""

    def approximate_parameters(self) -> int | None:
        """Return the number of parameters: stated, or else what the size in its name says."""
        if self.parameters is not None or self.size is None:
            return self.parameters
        found = SIZE.fullmatch(self.size)
        return None if found is None else round(float(found[1]) * UNITS[found[2]])

    def weights_gib(self) -> float | None:
        """Return the GiB that its weights take in memory, without what a batch takes.

        None where it has none of its own (APIs, lexical ones, rewriters), or nobody knows.
        """
        parameters = self.approximate_parameters()
        if parameters is None or "model" not in EXPECTED[self.family]:
            return None
        return parameters * BYTES[self.precision or "float32"] / 2**30

    def contract(self) -> Contract | None:
        """Return how texts are encoded; None where it is no dense encoder, or not confirmed.

        Where the precision isn't confirmed it is float32, which holds whatever the weights do.
        """
        unstated = any(getattr(self, field) is None for field in DENSE_FIELDS)
        if self.family != "bi-encoder" or unstated:
            return None
        if self.window is None:
            return None
        return Contract(
            query_template=str(self.query_template),
            document_template=str(self.document_template),
            pooling=str(self.pooling),
            eos=str(self.eos),
            normalise=bool(self.normalise),
            window=self.window,
            precision=self.precision or "float32",
            pool_template=self.pool_instruction,
        )


@cache
def shipped_systems() -> dict[str, System]:
    """Return the shipped systems by name, in the order of their files."""
    rows: dict[str, dict[str, Any]] = {}
    for path in sorted(CARDS.glob("*.toml")):
        for name, row in read_rows(path).items():
            if name in rows:
                raise InputError(f"{path.name} repeats the system '{name}'", "remove one of them")
            rows[name] = row
    return {name: _system(name, row, "the shipped cards") for name, row in rows.items()}


def load_systems(own: Path | None = None) -> dict[str, System]:
    """Return all systems by name: the shipped ones, then a person's own.

    Args:
        own: a TOML file with a table for each system, such as `[my-model]`; a table with the name
            of a shipped one is laid over it. It may be absent; its relative paths begin at its
            folder.

    Raises:
        InputError: for a file that can't be read or a row that is wrong; says which, and why.
    """
    found = dict(shipped_systems())
    if own is None or not own.is_file():
        return found
    for name, row in read_rows(own).items():
        base = found.get(name)
        given = {} if base is None else base.model_dump(exclude_defaults=True)
        if isinstance(row.get("weights"), str):
            row["weights"] = placed_weights(name, row["weights"], own)
        if "unconfirmed" not in row:  # what a person states is no longer unconfirmed
            given["unconfirmed"] = tuple(
                field for field in given.get("unconfirmed", ()) if field not in row
            )
            if base is None and "served" in row:  # its driver says what it can't do without
                expected = EXPECTED.get(str(row.get("family")), ())
                given["unconfirmed"] = tuple(field for field in expected if field not in row)
        found[name] = _system(name, {**given, **row}, str(own))
    _check_bases(found, str(own))
    return found


def _check_bases(systems: Mapping[str, System], place: str) -> None:
    """Refuse a rewriter behind a rewriter, which might stand behind itself."""
    for system in systems.values():
        behind = systems.get(system.base or "")
        if behind is not None and behind.base is not None:
            raise InputError(
                f"the system '{system.name}' of {place} stands in front of '{behind.name}', which "
                "rewrites queries itself",
                f"write base = '{behind.base}', or another system that scores",
            )


def _system(name: str, row: Mapping[str, Any], place: str) -> System:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    try:
        return System.model_validate({"title": name, **values, "name": name})
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        reason = str(first["msg"]).removeprefix("Value error, ")
        at = f" in its field {field}" if field else ""
        raise InputError(
            f"the system '{name}' of {place} is wrong{at}: {reason}", "mend that row"
        ) from error
