"""Tags by which runs of Dagster are told apart."""

from __future__ import annotations

from collections.abc import Mapping

KEY_TAG = "saber/key"
"""Of a run that a sensor or the schedule requested: what for, see `request_policy.Due.key`."""
LANE_TAG = "saber/lane"
"""Of a run: "model" or "light"; the instance limits how many of each go on at once."""
BOARD_TAG = "saber/board"
"""Of a run that makes the board: what it was requested for."""
REASON_TAG = "saber/reason"
"""Of a run that was requested: why, in words."""
BUILD_TAG = "saber/build"
"""Of the runs of `saber build`."""
PARTITION_TAG = "dagster/partition"
RUNTIME_TAG = "dagster/max_runtime"
PARENT_TAG = "dagster/parent_run_id"
"""Of a run that a person has executed once more."""


def may_find_nothing_to_do(tags: Mapping[str, str]) -> bool:
    """Tell whether a run was requested because something was due, and not by a person.

    What was due may have been made while it waited, by a build or by another such run.
    """
    return KEY_TAG in tags and PARENT_TAG not in tags
