"""Which of Dagster's executors runs the steps of runs that Dagster starts; `saber build` has none.

The definitions are the same under each: steps hand tables on as files in the workdir, which every
machine of a Ray cluster must therefore see at the same path.
"""

from __future__ import annotations

import importlib.util

import dagster as dg

from saber_resources.errors import SetupError
from saber_resources.settings import WORKDIR_VARIABLE, Settings


def executor_of(settings: Settings) -> dg.ExecutorDefinition:
    """Return the executor that the profile names.

    Raises:
        SetupError: for `ray` without dagster-ray.
    """
    chosen = settings.profile.dagster.executor
    if chosen == "multiprocess":
        return dg.multiprocess_executor
    if chosen == "ray":
        return _ray_executor(settings)
    # a process a step takes seconds to start, and most steps are checks of milliseconds
    return dg.in_process_executor


def _ray_executor(settings: Settings) -> dg.ExecutorDefinition:
    if importlib.util.find_spec("dagster_ray") is None:
        raise SetupError(
            "dagster.executor is 'ray', but dagster-ray isn't installed",
            "install it with pip install 'saber-platform[ray]', or choose multiprocess",
        )
    from dagster_ray.core.executor import ray_executor

    workdir = f"{WORKDIR_VARIABLE}={settings.workdir.root}"
    configured: dg.ExecutorDefinition = ray_executor.configured({"ray": {"env_vars": [workdir]}})
    return configured
