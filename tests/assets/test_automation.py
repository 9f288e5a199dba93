"""The sensors and the schedule: what they request, and what they leave alone."""

from __future__ import annotations

import dagster as dg
import polars as pl
import pytest

from saber_assets.automation import SLOTS, board_sensor, re_evaluation, retriever_sensor
from saber_assets.definitions import build_definitions
from saber_assets.kept_scores import DATA_TAG, INPUT_TAG
from saber_assets.retrieval.assets import POOL, RETRIEVERS
from saber_assets.retrieval.registry import VERSION_KEY, inputs_of
from saber_assets.retrievers import retrievers_of
from saber_assets.run_tags import BOARD_TAG, KEY_TAG, LANE_TAG
from saber_resources.lock import hold
from saber_resources.settings import save_settings

PLUG_IN = "class Mine:\n    version = {version!r}\n    def score(self, q, d):\n        return []\n"


class Place:
    """A workdir with an instance, in which things happen without running anything."""

    def __init__(self, root, instance):
        self.settings = save_settings(
            root, "sample", {"retrieval": {"retrievers": ["bm25", "random"]}}
        )
        self.instance = instance
        self.now = 1_000_000.0
        self.cursors = {}
        self.definitions = build_definitions(self.settings)

    def tick(self, made, name):
        context = dg.build_sensor_context(
            instance=self.instance, definitions=self.definitions, cursor=self.cursors.get(name)
        )
        result = made(self.settings, clock=lambda: self.now)(context)
        if isinstance(result, dg.SkipReason):
            return [], result.skip_message
        if result.cursor is not None:
            self.cursors[name] = result.cursor
        for request in result.dynamic_partitions_requests or []:
            change = (
                self.instance.add_dynamic_partitions
                if isinstance(request, dg.AddDynamicPartitionsRequest)
                else lambda name, keys: [
                    self.instance.delete_dynamic_partition(name, key) for key in keys
                ]
            )
            change(str(RETRIEVERS.name), list(request.partition_keys))
        skipped = "" if result.skip_reason is None else result.skip_reason.skip_message
        return list(result.run_requests or []), skipped

    def scorings(self):
        requests, skipped = self.tick(retriever_sensor, "scores")
        self.requests = requests
        return [request.partition_key for request in requests], skipped

    def board(self):
        requests, skipped = self.tick(board_sensor, "board")
        return [request.tags[BOARD_TAG] for request in requests], skipped

    def rate(self):
        self.settings.workdir.tables.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"rating": [1.0]}).write_parquet(
            self.settings.workdir.tables / "relevance_ratings.parquet"
        )

    def make(self, name, version, **more):
        self.instance.report_runless_asset_event(
            dg.AssetMaterialization(name, tags={DATA_TAG: version, **more})
        )

    def made(self, name):
        records = self.instance.fetch_materializations(dg.AssetKey(name), limit=1).records
        return records[0].asset_materialization.tags[DATA_TAG] if records else ""

    def score(self, name, version="s1"):
        folder = self.settings.workdir.tables / "retriever_scores"
        folder.mkdir(parents=True, exist_ok=True)
        pl.DataFrame({"score": [1.0]}).write_parquet(folder / f"{name}.parquet")
        tags = {f"{INPUT_TAG}{table}": self.made(table) for table in inputs_of(name)}
        self.instance.report_runless_asset_event(
            dg.AssetMaterialization(
                "retriever_scores",
                partition=name,
                metadata={VERSION_KEY: retrievers_of(self.settings)[name].version},
                tags={DATA_TAG: version, **tags},
            )
        )

    def plug_in(self, version):
        folder = self.settings.workdir.root / "retrievers"
        folder.mkdir(exist_ok=True)
        (folder / "mine.py").write_text(PLUG_IN.format(version=version))

    def run(self, status, tags):
        run = dg.DagsterRun("job", status=status, tags=tags)
        return self.instance.add_run(run)


@pytest.fixture
def place(tmp_path):
    (tmp_path / "home").mkdir()
    with dg.DagsterInstance.local_temp(str(tmp_path / "home")) as instance:
        made = Place(tmp_path / "work", instance)
        for table in ("candidate_pools", "deduped_corpus"):
            made.make(table, "b1")
        yield made


def test_partitions_come_at_once_and_requests_with_the_ratings(place):
    assert place.scorings() == ([], "there are no ratings yet")
    assert place.instance.get_dynamic_partitions("retrievers") == ["bm25", "random"]
    limits = {
        limit.name: limit.limit for limit in place.instance.event_log_storage.get_pool_limits()
    }
    assert limits.get(POOL, SLOTS) == SLOTS
    place.rate()
    assert place.scorings()[0] == ["bm25", "random"]
    assert {request.tags[LANE_TAG] for request in place.requests} == {"light"}
    place.score("bm25")
    place.score("random")
    assert place.scorings() == ([], "all are current")
    assert place.cursors["scores"] == "{}"


def test_a_dropped_file_its_new_version_and_its_removal(place):
    place.rate()
    place.score("bm25")
    place.score("random")
    place.plug_in("1")
    assert place.scorings()[0] == ["mine"]
    assert place.requests[0].tags[LANE_TAG] == "model"
    place.score("mine")
    assert place.scorings()[0] == []
    place.plug_in("2")
    assert place.scorings()[0] == ["mine"]
    assert place.requests[0].tags["saber/reason"] == "its version changed"
    (place.settings.workdir.root / "retrievers" / "mine.py").unlink()
    assert place.scorings()[0] == []
    assert place.instance.get_dynamic_partitions("retrievers") == ["bm25", "random"]


def test_another_benchmark_makes_all_due_and_a_lost_file_its_own(place):
    place.rate()
    place.score("bm25")
    place.score("random")
    place.make("candidate_pools", "b2")
    assert place.scorings()[0] == ["bm25", "random"]
    assert place.requests[0].tags["saber/reason"] == "candidate_pools changed"
    place.score("bm25")
    place.score("random")
    assert place.scorings() == ([], "all are current")
    (place.settings.workdir.tables / "retriever_scores" / "bm25.parquet").unlink()
    assert place.scorings()[0] == ["bm25"]


def test_failures_back_off_are_shown_and_end(place):
    place.rate()
    place.score("bm25")
    assert place.scorings()[0] == ["random"]
    tags = {"dagster/partition": "random", KEY_TAG: place.requests[0].tags[KEY_TAG]}
    run = place.run(dg.DagsterRunStatus.STARTED, tags)
    place.now += 5_000
    assert place.scorings() == ([], "random is under way"), "never twice at once"
    place.instance.report_run_failed(run)
    place.now += 1
    found, skipped = place.scorings()
    assert found == []
    assert skipped.startswith("random failed 1 times, is tried again at")
    for wait in (2e9, 2e9, 2e9):
        place.now += wait
        assert place.scorings()[0] == ["random"]
    place.now += 2e9
    assert "given up after 4 attempts" in place.scorings()[1]
    place.make("deduped_corpus", "b2")
    assert place.scorings()[0] == ["bm25", "random"], "another benchmark, another chance"


def test_retrievers_of_one_version_do_not_share_their_waits(place):
    place.rate()
    assert place.scorings()[0] == ["bm25", "random"]
    place.plug_in("1")
    text = PLUG_IN.format(version="1").replace("Mine", "Theirs")
    (place.settings.workdir.root / "retrievers" / "theirs.py").write_text(text)
    assert place.scorings()[0] == ["mine", "theirs"]
    assert len({request.tags[KEY_TAG] for request in place.requests}) == 2


def test_a_run_of_a_killed_build_is_not_waited_for(place):
    place.rate()
    place.score("random")
    place.run(
        dg.DagsterRunStatus.STARTED, {"dagster/partition": "bm25", "saber/build": "0", "x": "y"}
    )
    with hold(place.settings.workdir.root):
        assert place.scorings() == ([], "a build is under way")
        assert place.board() == ([], "a build is under way")
    assert place.scorings()[0] == ["bm25"]


def test_a_malformed_list_is_told_and_removes_nothing(place):
    place.rate()
    place.scorings()
    place.settings.workdir.own_retrievers.write_text("[{")
    assert "is not JSON" in place.scorings()[1]
    assert "is not JSON" in place.board()[1]
    assert place.instance.get_dynamic_partitions("retrievers") == ["bm25", "random"]


def test_the_board_follows_once_when_it_is_quiet(place):
    place.rate()
    place.make("relevance_ratings", "r1")
    assert place.board() == ([], "the board is current"), "without scores there is none"
    place.score("bm25")
    assert "waiting" in place.board()[1]
    place.score("random")
    assert "waiting" in place.board()[1]
    requested, _ = place.board()
    assert len(requested) == 1
    run = place.run(dg.DagsterRunStatus.STARTED, {BOARD_TAG: requested[0]})
    assert place.board() == ([], "board is under way")
    place.instance.report_run_failed(run)
    assert "board failed 1 times" in place.board()[1]
    place.instance.report_runless_asset_event(
        dg.AssetMaterialization(
            "query_measures",
            metadata={"saber/partitions": dg.MetadataValue.json({"bm25": "s1", "random": "s1"})},
            tags={DATA_TAG: "m1", f"{INPUT_TAG}relevance_ratings": "r1"},
        )
    )
    assert "board" in place.board()[1], "the ranking is of other measures yet"
    place.make("leaderboard", "l1", **{f"{INPUT_TAG}query_measures": "m1"})
    assert place.board() == ([], "the board is current")
    place.make("relevance_ratings", "r2")
    place.board()
    assert len(place.board()[0]) == 1, "new ratings, another board"


def test_a_row_does_not_leave_the_board_while_its_new_version_is_scored(place):
    place.rate()
    place.make("relevance_ratings", "r1")
    place.plug_in("1")
    place.score("mine", "s1")
    place.instance.report_runless_asset_event(
        dg.AssetMaterialization(
            "query_measures",
            metadata={"saber/partitions": dg.MetadataValue.json({"mine": "s1"})},
            tags={DATA_TAG: "m1", f"{INPUT_TAG}relevance_ratings": "r1"},
        )
    )
    place.make("leaderboard", "l1", **{f"{INPUT_TAG}query_measures": "m1"})
    assert place.board() == ([], "the board is current")
    place.plug_in("2")
    place.score("bm25", "s1")
    for _ in range(3):
        assert place.board() == (
            [],
            "scores or ratings changed, waiting until mine has new scores",
        )
        place.now += 60
    place.score("mine", "s2")
    place.board()
    assert len(place.board()[0]) == 1


def test_the_board_does_not_wait_for_ever(place):
    place.rate()
    for number in range(20):
        place.score("bm25", f"s{number}")
        place.now += 60
        if place.board()[0]:
            break
    assert number == 11


def test_the_schedule_asks_for_all_that_is_due_also_what_was_given_up(place):
    place.rate()
    place.score("bm25")
    for _ in range(5):
        place.scorings()
        place.now += 2e9
    assert "given up" in place.scorings()[1]
    schedule = re_evaluation(place.settings)
    assert schedule.default_status == dg.DefaultScheduleStatus.STOPPED

    def requested():
        context = dg.build_schedule_context(
            instance=place.instance, repository_def=place.definitions.get_repository_def()
        )
        found = schedule(context)
        return found.skip_message if isinstance(found, dg.SkipReason) else found

    assert [request.partition_key for request in requested()] == ["random"]
    place.score("random")
    assert requested() == "all are current or under way"


def test_sensors_run_by_themselves(place):
    repository = place.definitions.get_repository_def()
    sensors = {sensor.name: sensor.default_status for sensor in repository.sensor_defs}
    assert {name for name in sensors if not name.startswith("default_")} == {
        "changed_sources",
        "new_retrievers",
        "stale_board",
    }
    assert set(sensors.values()) == {dg.DefaultSensorStatus.RUNNING}
