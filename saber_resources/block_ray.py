"""Blocks on a Ray cluster: the one that RAY_ADDRESS names, or that runs here, or one of its own.

Ray starts a block again when its worker or machine is lost. Every machine needs the same Python and
the same release of SABER; files are written on this machine only.
"""

from __future__ import annotations

import importlib.util
import logging
import pickle
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from saber_resources.errors import SetupError

Rows = NDArray[np.int64]
Kernel = Callable[[Rows, Callable[[int], None] | None], pl.DataFrame]

TRIES = 3
"""How often a block is started again."""
_PREPARED: dict[str, Kernel] = {}
"""The last pass that this worker took part in."""


def run_on_ray(
    fingerprint: str,
    prepare: Callable[[int], Kernel],
    blocks: Mapping[int, Rows],
    progress: Callable[[int], None],
) -> Iterator[tuple[int, pl.DataFrame]]:
    """Make blocks on a Ray cluster, one core each; see `saber_resources.blocks.Workers`.

    Raises:
        SetupError: without Ray, or when a block's worker was lost again and again.
    """
    with _cluster() as ray:
        shared = ray.put(pickle.dumps(prepare))  # as bytes: arrays of Ray's store are read-only
        task = ray.remote(num_cpus=1, max_retries=TRIES)(_make)
        tasks = {task.remote(fingerprint, shared, rows): n for n, rows in blocks.items()}
        while tasks:
            for done in ray.wait(list(tasks))[0]:
                number = tasks.pop(done)
                frame = _result(ray, done)
                progress(len(blocks[number]))
                yield number, frame


@contextmanager
def _cluster() -> Iterator[Any]:
    if importlib.util.find_spec("ray") is None:
        raise SetupError(
            "candidates.runner is 'ray', which isn't installed",
            "install it with pip install 'saber-platform[ray]', or choose threads or processes",
        )
    import ray

    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError) as error:
            raise SetupError(
                f"the Ray cluster can't be reached ({error})", "check RAY_ADDRESS and ray status"
            ) from error
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def _result(ray: Any, done: Any) -> pl.DataFrame:
    try:
        frame: pl.DataFrame = ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from error
    except ray.exceptions.RayError as error:
        raise SetupError(
            f"Ray lost the worker of a block {TRIES + 1} times ({type(error).__name__})",
            "look at the cluster's memory with ray status, or set a larger candidates.blocks",
        ) from error
    return frame


def _make(fingerprint: str, shared: bytes, rows: Rows) -> pl.DataFrame:
    if fingerprint not in _PREPARED:
        _PREPARED.clear()
        _PREPARED[fingerprint] = pickle.loads(shared)(1)  # noqa: S301 - our own bytes
    return _PREPARED[fingerprint](rows, None)
