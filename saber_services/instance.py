"""The Dagster instance of a workdir: the one that the user interface shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg
import yaml
from dagster._core.instance import InstanceRef

from saber_resources.atomic import write_text
from saber_resources.errors import SetupError
from saber_resources.settings import WORKDIR_VARIABLE, Workdir, writing

DAGSTER_YAML = """\
telemetry:
  enabled: false
run_monitoring:
  enabled: true
  free_slots_after_run_end_seconds: 60
concurrency:
  pools:
    default_limit: 1
  runs:
    max_concurrent_runs: 4
    tag_concurrency_limits:
      - key: saber/lane
        value: model
        limit: 1
      - key: saber/lane
        value: light
        limit: 2
"""

REASON_LENGTH = 200

OPEN_STATUSES = [
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.CANCELING,
]


def prepare_environment(workdir: Workdir) -> dict[str, str]:
    """Make the workdir's Dagster home and return the variables that point at both."""
    home = workdir.dagster_home
    with writing(workdir.root):
        home.mkdir(parents=True, exist_ok=True)
        if not (home / "dagster.yaml").is_file():
            write_text(home / "dagster.yaml", DAGSTER_YAML)
    return {"DAGSTER_HOME": str(home), WORKDIR_VARIABLE: str(workdir.root)}


@contextmanager
def open_instance(workdir: Workdir) -> Iterator[dg.DagsterInstance]:
    """Open the workdir's Dagster instance."""
    os.environ.update(prepare_environment(workdir))
    file = workdir.dagster_home / "dagster.yaml"
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
        # given as values: Dagster takes the file's path for a pattern, where "[x]" matches an x
        place = InstanceRef.from_dir(str(workdir.dagster_home), overrides=values)
    except (yaml.YAMLError, UnicodeDecodeError, dg.DagsterInvalidConfigError) as error:
        reason = " ".join(str(error).split())[:REASON_LENGTH]
        raise SetupError(f"{file} is faulty ({reason})", "mend it, or delete it") from error
    with dg.DagsterInstance.from_ref(place) as instance:
        yield instance


def close_dead_runs(instance: dg.DagsterInstance, tag: str) -> int:
    """Mark runs of `saber build` that were killed as failed, free their slots, return how many.

    Only to be called while holding the workdir: no such run can then be alive.
    """
    dead = instance.get_runs(dg.RunsFilter(statuses=OPEN_STATUSES, tags={tag: "build"}))
    for run in dead:
        instance.report_run_failed(run, message="The process that ran it was killed.")
        # its slot of a pool too: the daemon, which would free it, need not be running
        instance.event_log_storage.free_concurrency_slots_for_run(run.run_id)
    return len(dead)
