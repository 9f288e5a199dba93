"""The sections of a profile: every value with its type, its range and what it means."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    field_validator,
    model_validator,
)

Judge = Literal["pairwise", "majority", "confidence", "ordinal", "profiled"]

USUAL_CRON = "0 4 * * *"


class Section(BaseModel):
    """A part of a profile; unknown keys are refused: they would have no effect."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Source(Section):
    """A source of problems that isn't simply a file of them."""

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")
    """Decides the priority, and names the table `source_NAME`."""
    kind: str
    """What reads it; `saber corpus kinds` lists them."""
    paths: tuple[Path, ...] = ()
    """Files or folders; relative to the workdir."""
    licence: str | None = None
    """SPDX identifier; None: that of the kind."""
    language: str | None = Field(default=None, pattern="^[a-z]{2}$")
    """ISO 639-1; None: what the source says, else what is detected."""
    for_training: bool | None = None
    """Whether models may be trained on its text; None: as the kind and the licence say."""
    options: dict[str, Any] = {}
    """Of the kind."""


class Corpus(Section):
    """Where problems come from, how they are cleaned and what counts as a duplicate."""

    files: tuple[Path, ...] = ()
    """Empty, and no sources: the sample that ships with the project."""
    sources: tuple[Source, ...] = ()
    """Collections of other kinds."""
    cleaning: bool
    """Whether texts are cleaned; docs/cleaning.md lists the steps."""
    annotator: Literal["rules", "llm"]
    """Who reads threads and documents."""
    translate: bool
    """Whether a language model translates documents that aren't in English."""
    max_document_characters: int = Field(ge=1000)
    """Longer documents are for a person to cut."""
    bad_rows: Literal["refuse", "set_aside"]
    source_priority: tuple[str, ...]
    dedup_threshold: float = Field(gt=0, le=1)
    dedup_permutations: int = Field(ge=16, le=1024)
    dedup_shingle: int = Field(ge=1, le=20)
    dedup_seed: int = Field(ge=0, lt=2**32)

    @field_validator("sources")
    @classmethod
    def _names_differ(cls, sources: tuple[Source, ...]) -> tuple[Source, ...]:
        names = [source.name for source in sources]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two sources have the name {name!r}")
        return sources


class Ontology(Section):
    """The topic DAG."""

    file: Path | None = None
    """None: the ontology that ships with the project."""
    max_nodes: int = Field(ge=1)


class Annotation(Section):
    """Topic sets and summaries."""

    annotator: Literal["lexical", "llm"]
    keep: float = Field(gt=0, le=1)
    normalise: bool


class Judging(Section):
    """Who compares candidates."""

    annotator: Literal["lexical", "llm"]
    judge: Judge
    """How a language model is asked; the lexical annotator can only be asked for pairs."""
    votes: int = Field(ge=2, le=99)
    """Samples of the majority judge."""
    vote_temperature: float = Field(gt=0, le=2)
    """Of these samples."""

    @field_validator("judge")
    @classmethod
    def _lexical_compares_pairs(cls, judge: Judge, info: ValidationInfo) -> Judge:
        if info.data.get("annotator") == "lexical" and judge != "pairwise":
            raise ValueError("'pairwise' where judging.annotator is 'lexical'")
        return judge


class Thresholds(Section):
    """The search for the two similarity thresholds."""

    k: int = Field(ge=1)
    min_queries: int = Field(ge=1)
    precision: Literal["float64", "float16"]
    empty_jaccard: Literal[0, 1]
    """Similarity of two summaries without tokens: 0, or 1 as in the released code."""
    joint_grid: bool
    """Plot the plane around the line of the search: one more pass, no other thresholds."""


class Candidates(Section):
    """Where the passes over all pairs run; no table depends on these values."""

    runner: Literal["threads", "processes", "ray"]
    blocks: int | None = Field(default=None, ge=1)
    """Into how many blocks of query rows a pass is split; None: one for each 20,000 rows."""


class Selection(Section):
    """Which problems become queries."""

    queries: int = Field(ge=1)
    seed: int = Field(ge=0, lt=2**63)
    quota: dict[str, int] | None = None
    """Queries per domain combination, such as "Algebra + Geometry"; None: as even as possible."""
    duplicates: Path | None = None
    """Pairs of problems that are never candidates of each other; None: no such list."""


class Tournament(Section):
    """Swiss rounds."""

    rounds: int = Field(ge=1)
    seed: int = Field(ge=0, lt=2**63)
    order: Literal["random", "id"]


class Ratings(Section):
    """The Bradley-Terry fit."""

    penalty: float = Field(ge=1e-6, le=1e6)
    position_term: bool


class Retrieval(Section):
    """Which retrievers of the registry are on the board."""

    retrievers: tuple[str, ...] = Field(min_length=1)
    parity: Literal["where_possible", "required"]
    """Whether a row is scored whose backend has a reference that isn't on this machine."""


class Evaluation(Section):
    """The measure and its intervals."""

    gain: Literal["exp2", "linear"]
    cutoff: int = Field(ge=1)
    resamples: int = Field(ge=1, le=1_000_000)
    seed: int = Field(ge=0, lt=2**63)


class Checks(Section):
    """Limits of the asset checks."""

    max_failure_share: float = Field(ge=0, le=1)


class Price(Section):
    """Prices of a model for a million tokens, in any currency."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(default=None, ge=0)
    """Of prompt tokens that were in the prefix cache; None: like the others."""


class Llm(Section):
    """The OpenAI-compatible endpoints and the model behind them."""

    model: str
    endpoints: tuple[str, ...]
    api_key_variable: str
    prompts: str
    """A folder of shipped prompts that goes before the others, such as `small`; empty: none."""
    concurrency: int = Field(ge=1)
    timeout_seconds: float = Field(gt=0)
    attempts: int = Field(ge=1)
    re_asks: int = Field(ge=0)
    connect_timeout_seconds: float = Field(gt=0)
    outage_seconds: float = Field(ge=0)
    """How long to wait for endpoints that are all down."""
    transport: Literal["aiohttp", "openai"]
    json_schema: bool
    """Whether a prompt's schema is sent along; some endpoints don't know them."""
    max_cost: float | None = Field(default=None, gt=0)
    """What a run may spend, in the currency of the prices; None: no limit."""
    price_per_million: Price | dict[str, Price] | None = None
    """Prices of the model, or of several by name."""
    gpu_tokens_in_per_second: float | None = Field(default=None, gt=0)
    """Prompt tokens that one GPU takes in, for `saber plan`; None: what throughput.toml says."""
    gpu_tokens_out_per_second: float | None = Field(default=None, gt=0)
    """Completion tokens that one GPU gives, likewise."""


class Workers(Section):
    """Language-model servers that a build starts itself; no table depends on these values."""

    kind: Literal["attach", "vllm", "llama"]
    """`attach`: none, llm.endpoints are there already; `llama`: our own llama.cpp server."""
    gpus: tuple[int | str, ...] = ()
    """Numbers or UUIDs, shared out in groups of tensor_parallel; empty: one worker, no choice."""
    tensor_parallel: int = Field(ge=1)
    port: int = Field(ge=1024, le=65535)
    """The first one; ports in use are passed over."""
    python: str
    """Interpreter that has the server; empty: our own (not for vLLM)."""
    model_path: str
    """What the server loads, a path or a name; empty: llm.model."""
    arguments: tuple[str, ...] = ()
    """Further arguments of the server's command line."""
    start_timeout_seconds: float = Field(gt=0)
    restarts: int = Field(ge=0)
    """How often one that died is started again."""


class Dagster(Section):
    """Runs that Dagster starts, not `saber build`; no table depends on these values."""

    executor: Literal["in_process", "multiprocess", "ray"]
    sensor_seconds: int = Field(ge=1, le=86_400)
    """Between two looks of a sensor."""
    re_evaluate: str
    """Cron expression, UTC, of the schedule of that name."""

    @field_validator("re_evaluate")
    @classmethod
    def _is_cron(cls, value: str) -> str:
        if value != USUAL_CRON:
            # only here: Dagster takes a second to import
            from dagster._utils.schedules import is_valid_cron_string

            if not is_valid_cron_string(value):
                raise ValueError('write a cron expression such as "0 4 * * *"')
        return value


class Imported(Section):
    """A released benchmark that stands in for the stages up to the ratings."""

    format: Literal["saber-release", "mteb", "beir", "trec"] | None = None
    folder: Path | None = None
    """None: nothing is imported; the benchmark is built."""
    content: str | None = None
    """Hash of the folder's files when it was imported."""
    split: str
    """That is read, where mteb and beir folders have several."""
    subset: str
    """That is read, where mteb folders have several; "all" for all; "" where they have none."""
    gain_scale: int = Field(ge=0)
    """Scale of relevances that are gains; 0: they are ratings from 0 to 5."""
    pools: Literal["given", "corpus"]
    made_by: dict[str, list[str]] | None = None
    """Annotators and judges by part, as the release states them."""

    @model_validator(mode="after")
    def _whole(self) -> Imported:
        if len({self.format is None, self.folder is None, self.content is None}) > 1:
            raise ValueError("written by `saber import`, format, folder and content together")
        return self


class Profile(Section):
    """Every value that the pipeline uses."""

    corpus: Corpus
    ontology: Ontology
    annotation: Annotation
    judging: Judging
    thresholds: Thresholds
    candidates: Candidates
    selection: Selection
    tournament: Tournament
    ratings: Ratings
    retrieval: Retrieval
    evaluation: Evaluation
    checks: Checks
    llm: Llm
    workers: Workers
    dagster: Dagster
    imported: Imported
