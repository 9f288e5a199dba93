"""A clock of benchmark steps: CPU and elapsed seconds, bytes written, and what workers use."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import polars as pl

from saber_assets.candidates.blocks import BlockRunner, Kernel, Prepare
from saber_assets.candidates.pairs import Progress, RowArray
from saber_resources.blocks import WORKERS, BlockFiles

Result = TypeVar("Result")


def cpu() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_mb() -> int:
    """Return the peak memory of this process in MB.

    Where there is /proc, from there: what `getrusage` says of a new process holds its parent too.
    """
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def forget_peak() -> None:
    """Begin to count peak memory anew, where the system allows it (Linux)."""
    switch = Path("/proc/self/clear_refs")
    if switch.exists():
        switch.write_text("5", encoding="utf-8")


class Step(NamedTuple):
    """What a step took; MB of block files are None where it writes none."""

    cpu: float
    elapsed: float
    written: float | None = None

    def text(self) -> str:
        """Return a cell of the table."""
        times = f"{self.cpu:,.1f} ({self.elapsed:,.1f})"
        return times if self.written is None else f"{times} {self.written:,.2f} MB"


class Clock:
    """Times named steps."""

    def __init__(self) -> None:
        self.steps: dict[str, Step | None] = {}
        self.worker_peak = 0

    def time(self, name: str, work: Callable[[], Result], scale: float = 1.0) -> Result:
        """Run one step; `scale` extrapolates a sample. What returns None isn't installed."""
        begin, begin_cpu = time.perf_counter(), cpu()
        result = work()
        used = Step((cpu() - begin_cpu) * scale, (time.perf_counter() - begin) * scale)
        self.steps[name] = None if result is None else used
        return result

    def add(self, name: str, work: Callable[[], Result]) -> Result:
        """Run a part of a step that is timed in several parts."""
        before = self.steps.get(name) or Step(0.0, 0.0)
        result = self.time(name, work)
        part = self.steps[name]
        assert part is not None
        self.steps[name] = Step(before.cpu + part.cpu, before.elapsed + part.elapsed)
        return result

    def blocks(self, name: str, kind: str, work: Callable[[BlockRunner], Result]) -> Result:
        """Run one step in blocks on one kind of workers, and weigh the files that they become."""
        with tempfile.TemporaryDirectory() as folder:
            metered = Metered(BlockFiles(Path(folder), WORKERS[kind]), kind != "threads")
            result = self.time(name, lambda: work(metered))
            used = self.steps[name]
            assert used is not None
            written = sum(file.stat().st_size for file in Path(folder).rglob("*.block"))
            self.steps[name] = Step(used.cpu + metered.cpu, used.elapsed, written / 1e6)
        self.worker_peak = metered.peak
        return result


@dataclass
class Metered:
    """A runner that asks its workers for their CPU seconds and memory.

    Attributes:
        runner: makes the blocks.
        elsewhere: whether it makes them in other processes.
        cpu: seconds of the workers.
        peak: memory of the largest worker in MB.
    """

    runner: BlockFiles
    elsewhere: bool
    cpu: float = 0.0
    peak: int = 0

    def run(
        self, fingerprint: str, prepare: Prepare, rows: RowArray, progress: Progress | None
    ) -> Iterator[pl.DataFrame]:
        """Make the blocks; see `BlockRunner.run`."""
        if not self.elsewhere:
            yield from self.runner.run(fingerprint, prepare, rows, progress)
            return
        for frame in self.runner.run(fingerprint, MeteredPass(prepare), rows, progress):
            self.cpu += frame["worker_cpu"][0]
            self.peak = max(self.peak, frame["worker_peak"][0])
            yield frame.drop("worker_cpu", "worker_peak")


@dataclass(frozen=True)
class MeteredPass:
    """A pass whose frames tell, in two more columns, what the worker used since the last one."""

    prepare: Prepare

    def __call__(self, threads: int) -> Kernel:
        """Build the indexes; the first block bears their cost."""
        last = [cpu()]
        kernel = self.prepare(threads)

        def metered(rows: RowArray, progress: Progress | None) -> pl.DataFrame:
            frame = kernel(rows, progress)
            used, last[0] = cpu() - last[0], cpu()
            return frame.with_columns(
                worker_cpu=pl.lit(used), worker_peak=pl.lit(peak_mb(), dtype=pl.Int64)
            )

        return metered
