"""What people do with the response store: look, retry, share, and ask by way of files."""

from __future__ import annotations

import json
from collections import Counter

import polars as pl
import pytest
from click.testing import CliRunner

from saber_assets.errors import InputError
from saber_assets.tournament.journal import Journal
from saber_resources.errors import SetupError
from saber_resources.response_store import Response, ResponseStore, Select
from saber_resources.settings import load_settings, preview_settings, save_settings
from saber_resources.warehouse import read_table
from saber_services.builder import build, open_board
from saber_services.cli.llm import command as llm
from saber_services.llm_admin import lost_items, report_prompts, retry_failures
from saber_services.offline_batches import read_batch, write_batch
from saber_services.planning.plan import plan_build
from saber_services.response_files import export_responses, import_responses

NOBODY = "http://127.0.0.1:9/v1"
TABLES = ("topic_sets", "solution_summaries", "candidate_pools", "pairwise_judgments")


def invoke(*arguments) -> str:
    result = CliRunner().invoke(llm, [str(one) for one in arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def states(settings) -> dict[str, tuple[str, ...]]:
    with open_board(settings) as board:
        return {
            state.name: state.reasons for state in board.survey().states if state.status != "fresh"
        }


def answered(number: int, **values) -> tuple[bytes, Response]:
    fields = {
        "model": "m",
        "text": f"answer {number}",
        "finish_reason": "stop",
        "tokens_in": 10,
        "tokens_out": 5,
        "latency": 0.1 * (number + 1),
        "attempts": 1,
        "prompt": "summary",
        "prompt_fingerprint": "f",
        "item": f"p{number}",
    }
    return number.to_bytes(32, "big"), Response(**{**fields, **values})


@pytest.fixture
def store(tmp_path):
    with ResponseStore(tmp_path / "responses.sqlite") as opened:
        yield opened


# --- looking ------------------------------------------------------------------------------------


def test_statistics_count_what_was_called_and_found(asked, asked_workdir):
    rows = json.loads(invoke("stats", "--workdir", asked_workdir, "--json"))
    assert {row["prompt"]: row["calls"] for row in rows} == asked[1]
    summary = next(row for row in rows if row["prompt"] == "summary")
    assert (summary["tokens_in"], summary["tokens_out"]) == (480, 240)
    assert (summary["failures"], summary["unusable"], summary["misses"]) == (0, 0, 48)
    assert 0 < summary["seconds"]["50"] <= summary["seconds"]["99"]
    only = json.loads(invoke("stats", "--workdir", asked_workdir, "--prompt", "summary", "--json"))
    assert only == [summary]
    assert "summary" in invoke("stats", "--workdir", asked_workdir)


def test_latency_percentiles_are_those_of_the_calls(store):
    store.put_many(answered(number) for number in range(100))
    [report] = report_prompts(store, Select())
    assert report.seconds[50] == pytest.approx(5.05)
    assert report.seconds[99] == pytest.approx(9.901)


def test_a_reask_that_helped_makes_up_for_a_useless_answer(store):
    store.put_many(
        [
            answered(0, fault="no JSON", item="a"),
            answered(1, item="a", sample=1),
            answered(2, fault="no JSON", item="b"),
            answered(3, fault="no summary", item="b", sample=1),
            answered(4, text=None, error="no answer within 5 s", item="c", attempts=3),
        ]
    )
    found = {item.item: item for item in lost_items(store, Select())}
    assert set(found) == {"b", "c"}
    assert (found["b"].attempts, found["b"].reason, found["b"].unusable) == (2, "no summary", True)
    assert (found["c"].attempts, found["c"].unusable) == (3, False)
    assert lost_items(store, Select(prompt="other")) == []


def test_without_any_response_a_sentence_says_so(tmp_path):
    with pytest.raises(SetupError, match="no language model was asked"):
        CliRunner().invoke(
            llm, ["stats", "--workdir", str(tmp_path / "new")], catch_exceptions=False
        )
    assert not (tmp_path / "new").exists()


# --- failures and their retry -------------------------------------------------------------------


def test_what_failed_is_asked_again_and_nothing_else(tmp_path, asking_overrides, scripted_model):
    model = scripted_model()
    settings = save_settings(
        tmp_path / "work",
        "sample",
        asking_overrides(model.url) | {"checks": {"max_failure_share": 1.0}},
    )
    spoilt: set[str] = set()

    def spoil(kind, body):
        """Two problems get no usable summary, and some pairs no verdict."""
        text = body["messages"][1]["content"]
        if kind == "summary" and (text in spoilt or len(spoilt) < 2):
            spoilt.add(text)
            return "I'd rather not."
        if kind == "pairwise_judge" and len(body["messages"][1]["content"]) % 3 == 0:
            return "Hard to say."
        return None

    model.spoil = spoil
    build(settings)
    tables = settings.workdir.tables
    pairs = read_table(tables, "judgment_failures").height
    assert read_table(tables, "summary_failures").height == 2
    assert pairs > 0
    listed = json.loads(invoke("failures", "--workdir", settings.workdir.root, "--json"))
    counts = Counter(item["prompt"] for item in listed)
    assert counts == {"summary": 2, "pairwise_judge": pairs}
    assert all(item["attempts"] == 3 and item["reason"] for item in listed)

    model.spoil = lambda kind, body: None
    before = Counter(model.calls)
    build(settings)
    assert model.calls == before, "without a retry, failures stay what they are"

    outcome = retry_failures(settings, "summary")
    assert outcome.assets == {"summary_failures": 2}
    assert (outcome.responses, outcome.verdicts) == (6, 0)
    due = states(settings)
    assert due["solution_summaries"] == due["summary_failures"] == ("2 failures to retry",)
    assert "topic_sets" not in due
    [planned] = [calls for calls in plan_build(settings).calls if calls.prompt == "summary"]
    assert (planned.missing, planned.cached) == (2, 46)

    outcome = retry_failures(settings)
    assert set(outcome.assets) == {"summary_failures", "judgment_failures"}
    assert outcome.verdicts == 0, "the journal forgot them when the tournament ended"
    build(settings)
    assert model.calls["summary"] - before["summary"] == 2
    assert model.calls["topic_scores"] == before["topic_scores"]
    assert read_table(tables, "summary_failures").is_empty()
    assert read_table(tables, "judgment_failures").is_empty()
    assert states(settings) == {}, "a retry that was granted is over"
    with ResponseStore(settings.workdir.responses) as store:
        calls = sum(stats.calls for stats in store.stats(Select(prompt="summary")))
    assert calls == model.calls["summary"], "what was removed stays counted"


def test_a_retry_without_failures_makes_nothing_due(asked_workdir):
    settings = load_settings(asked_workdir)
    assert retry_failures(settings).assets == {}
    assert states(settings) == {}


def test_a_retry_of_an_unknown_prompt_is_refused(asked_workdir):
    with pytest.raises(SetupError, match="no asset asks the prompt 'sumary'"):
        retry_failures(load_settings(asked_workdir), "sumary")


def test_the_journal_forgets_failures_for_good(tmp_path):
    path = tmp_path / "judgments.journal"
    with Journal(path) as journal:
        from saber_assets.annotation.annotator import Failure

        journal.append([("00" * 16, Failure("no")), ("11" * 16, 2)])
        assert journal.forget_failures() == 1
        assert journal.get("00" * 16) is None
    with Journal(path) as journal:
        assert journal.get("00" * 16) is None
        assert journal.get("11" * 16) == 2
        journal.append([("00" * 16, 1)])
    with Journal(path) as journal:
        assert journal.get("00" * 16) == 1
        assert journal.forget_failures() == 0


# --- sharing ------------------------------------------------------------------------------------


def test_imported_answers_are_hits(asked_workdir, tmp_path, asking_overrides):
    file = tmp_path / "answers.parquet"
    assert "answers written" in invoke("export", file, "--workdir", asked_workdir)
    settings = save_settings(tmp_path / "other", "sample", asking_overrides(NOBODY))
    told = json.loads(invoke("import", file, "--workdir", settings.workdir.root, "--json"))
    assert told["taken"] == told["rows"] > 200
    again = json.loads(invoke("import", file, "--workdir", settings.workdir.root, "--json"))
    assert (again["taken"], again["present"]) == (0, told["rows"])

    assert all(calls.missing == calls.estimated == 0 for calls in plan_build(settings).calls)
    build(settings)
    for name in TABLES:
        here = (settings.workdir.tables / f"{name}.parquet").read_bytes()
        assert here == (asked_workdir / "tables" / f"{name}.parquet").read_bytes(), name


def test_a_file_names_no_endpoint_and_can_hold_one_prompt(asked_workdir, tmp_path):
    file = tmp_path / "summaries.parquet"
    invoke("export", file, "--workdir", asked_workdir, "--prompt", "summary")
    frame = pl.read_parquet(file)
    assert frame.height == 48
    assert frame["prompt"].unique().to_list() == ["summary"]
    assert "endpoint" not in frame.columns and "127.0.0.1" not in frame.write_csv()


def test_a_good_answer_is_never_overwritten_and_a_failure_makes_way(store, tmp_path):
    with ResponseStore(tmp_path / "theirs.sqlite") as theirs:
        theirs.put_many([answered(0, text="theirs"), answered(1, text="theirs")])
        theirs.put_many([answered(2, text=None, error="no")])
        file = tmp_path / "theirs.parquet"
        assert export_responses(theirs, file, Select()) == 2, "failures are not shared"
    store.put_many([answered(0, text="ours"), answered(1, text=None, error="timeout")])
    found = import_responses(store, file)
    assert (found.rows, found.taken, found.present) == (2, 1, 1)
    texts = {key[-1]: response.text for key, response in store.get([b"\0" * 31 + b"\0"]).items()}
    assert texts == {0: "ours"}
    assert store.get([(1).to_bytes(32, "big")])[(1).to_bytes(32, "big")].text == "theirs"


@pytest.fixture
def shared(store, tmp_path):
    store.put_many([answered(0), answered(1)])
    file = tmp_path / "good.parquet"
    export_responses(store, file, Select())
    return pl.read_parquet(file)


HOSTILE = {
    "a missing column": (lambda f: f.drop("item"), "lacks the column 'item'"),
    "a wrong type": (lambda f: f.with_columns(pl.col("tokens_in").cast(pl.String)), "'tokens_in'"),
    "a nested column": (
        lambda f: f.with_columns(response=pl.concat_list("response")),
        "'response'",
    ),
    "a short key": (lambda f: f.with_columns(key=pl.lit("ab")), "64 hexadecimal digits"),
    "no key": (lambda f: f.with_columns(key=pl.lit(None, pl.String)), "no file of answers"),
    "an empty answer": (lambda f: f.with_columns(response=pl.lit("  ")), "'response' is empty"),
    "negative tokens": (lambda f: f.with_columns(tokens_out=pl.lit(-5)), "'tokens_out' is -5"),
    "huge tokens": (lambda f: f.with_columns(tokens_in=pl.lit(2**60)), "'tokens_in'"),
    "a NaN": (lambda f: f.with_columns(latency=pl.lit(float("nan"))), "'latency' is nan"),
    "no JSON": (lambda f: f.with_columns(parsed=pl.lit("{")), "'parsed' is no JSON"),
    "odd logprobs": (lambda f: f.with_columns(logprobs=pl.lit('{"a": 1}')), "list of tokens"),
    "no date": (lambda f: f.with_columns(created=pl.lit("yesterday")), "'created'"),
    "an unsigned number": (
        lambda f: f.with_columns(sample=pl.lit(2**64 - 1, pl.UInt64)),
        "no file of answers",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_in_one_sentence_and_nothing_is_taken(shared, tmp_path, name):
    change, reason = HOSTILE[name]
    file = tmp_path / "bad.parquet"
    good, bad = shared.head(1), change(shared.tail(1))
    mixed = pl.concat([good, bad]) if good.schema == bad.schema else bad
    mixed.write_parquet(file)
    with ResponseStore(tmp_path / "mine.sqlite") as mine:
        with pytest.raises(InputError, match=reason) as error:
            import_responses(mine, file)
        assert mine.totals().responses == 0
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"key,model\n", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_what_is_no_parquet_file_is_refused(tmp_path, content):
    file = tmp_path / "bad.parquet"
    file.write_bytes(content)
    with ResponseStore(tmp_path / "mine.sqlite") as mine, pytest.raises(InputError):
        import_responses(mine, file)
    with ResponseStore(tmp_path / "mine.sqlite") as mine, pytest.raises(InputError):
        import_responses(mine, tmp_path / "absent.parquet")


# --- offline batches ----------------------------------------------------------------------------


def reply(line: dict, scripted_answer) -> dict:
    text = scripted_answer(line["body"])[1]
    return {
        "custom_id": line["custom_id"],
        "response": {
            "status_code": 200,
            "body": {
                "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 10, "completion_tokens": 5},
            },
        },
        "error": None,
    }


def lines_of(written) -> list[dict]:
    return [json.loads(line) for path in written.files for line in path.read_text().splitlines()]


def put_lines(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_a_build_after_batches_calls_nobody(
    tmp_path, asked, asked_workdir, asking_overrides, scripted_answer
):
    settings = save_settings(tmp_path / "work", "sample", asking_overrides(NOBODY))
    folder, output = tmp_path / "batches", tmp_path / "output.jsonl"
    sent = Counter()
    for prompt in ("summary", "topic_scores", "pairwise_judge"):
        while (written := write_batch(settings, folder, prompt, most_requests=30)).requests:
            lines = lines_of(written)
            assert len(lines) == written.requests
            assert all(path.name.startswith(prompt) for path in written.files)
            sent[prompt] += len(lines)
            answers = [reply(line, scripted_answer) for line in lines]
            found = read_batch(settings, [put_lines(output, reversed(answers))])
            assert (found.answers, found.failures, found.unknown) == (len(lines), 0, 0)
    assert sent == Counter(asked[1]), "no question is written twice or in vain"
    build(settings)
    for name in TABLES:
        here = (settings.workdir.tables / f"{name}.parquet").read_bytes()
        assert here == (asked_workdir / "tables" / f"{name}.parquet").read_bytes(), name


def test_failures_strangers_and_repeats_are_counted(tmp_path, asking_overrides, scripted_answer):
    settings = save_settings(tmp_path / "work", "sample", asking_overrides(NOBODY))
    told = json.loads(
        invoke(
            *("batch-write", tmp_path / "batches", "--workdir", settings.workdir.root),
            *("--prompt", "summary", "--json"),
        )
    )
    assert told["requests"] == 48
    first = write_batch(settings, tmp_path / "batches", "summary")
    good, bad, *rest = lines_of(first)
    expired = {
        "custom_id": bad["custom_id"],
        "response": None,
        "error": {"code": "batch_expired", "message": "not done in time"},
    }
    answer = reply(good, scripted_answer)
    strangers = [answer | {"custom_id": "f" * 64}, answer | {"custom_id": "request-1"}]
    output = put_lines(tmp_path / "output.jsonl", [answer, *strangers])
    errors = put_lines(tmp_path / "errors.jsonl", [expired])
    where = ("--workdir", settings.workdir.root)
    shown = invoke("batch-read", output, errors, *where)
    assert "1 answers and 1 failures read" in shown
    assert "2 refused" in shown
    again = read_batch(settings, [output, errors])
    assert (again.answers, again.failures, again.repeated, again.unknown) == (0, 0, 2, 2)
    with ResponseStore(settings.workdir.responses) as store:
        [stats] = store.stats(Select(prompt="summary"))
        assert (stats.responses, stats.failures, stats.calls, stats.tokens_in) == (1, 1, 2, 10)
        [lost] = lost_items(store, Select())
        assert "not done in time" in lost.reason and lost.item
    # what failed is written again, what was answered isn't
    second = lines_of(write_batch(settings, tmp_path / "batches", "summary"))
    assert {line["custom_id"] for line in second} == {line["custom_id"] for line in (bad, *rest)}
    found = read_batch(
        settings, [put_lines(output, [reply(line, scripted_answer) for line in second])]
    )
    assert found.answers == 47


def test_a_batch_of_others_is_refused(tmp_path, asking_overrides, scripted_answer):
    settings = save_settings(tmp_path / "work", "sample", asking_overrides(NOBODY))
    stranger = {"custom_id": "f" * 64, "response": None, "error": {"message": "x"}}
    output = put_lines(tmp_path / "output.jsonl", [stranger])
    with pytest.raises(SetupError, match="no batch was written"):
        read_batch(settings, [output])
    write_batch(settings, tmp_path / "batches", "summary")
    with pytest.raises(InputError, match="none of the 1 answers"):
        read_batch(settings, [output])


def test_a_prompt_that_nothing_asks_is_refused(tmp_path, asking_overrides):
    settings = preview_settings(tmp_path / "work", "sample", asking_overrides(NOBODY))
    with pytest.raises(SetupError, match="use one of pairwise_judge, summary, topic_scores"):
        write_batch(settings, tmp_path / "batches", "sumary")
    assert list((tmp_path / "batches").iterdir()) == []
