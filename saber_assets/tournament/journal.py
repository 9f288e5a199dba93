"""An append-only journal of verdicts, so that a killed tournament loses at most one chunk."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from saber_assets.annotation.annotator import Failure, Verdict
from saber_assets.errors import InputError
from saber_assets.tournament.tournament import Known, Outcome, Pairing, Record

_KEY_BYTES = 16
_TAIL = 1 << 16


def verdict_key(
    judge: str, prompt: str, query_fingerprint: str, first_id: str, second_id: str
) -> str:
    """Return 32 hex digits that name a verdict.

    Args:
        judge: name and settings of who judges.
        prompt: fingerprint of the prompt with its version; an edited prompt finds no old verdict.
        query_fingerprint: hash of the query's text.
        first_id: content-derived id of the candidate shown first.
        second_id: content-derived id of the candidate shown second.
    """
    return _finish(_start(judge, prompt, query_fingerprint), first_id, second_id)


class Journal:
    """Verdicts by key, in one file of JSON lines; the last line of a key counts.

    A batch is appended with one write and synced to disk before `append` returns. A last line
    that a crash has cut short is removed on opening. The file is locked while it is open, and the
    lock ends with the process however that ends. A line without winner and reason takes back what
    was under its key.
    """

    def __init__(self, path: Path) -> None:
        """Open the journal, or start one, and load its verdicts.

        Raises:
            InputError: when another process has it open, or a complete line is not a verdict.
        """
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            self._lock()
            self._cut_torn_line()
            self._outcomes = self._load()
        except BaseException:
            os.close(self._file)
            raise

    def __len__(self) -> int:
        return len(self._outcomes)

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release its lock; closing twice does no harm."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def get(self, key: str) -> Outcome:
        """Return the verdict or the Failure under a key, None where there is none."""
        outcome = self._outcomes.get(bytes.fromhex(key))
        return Failure(outcome) if isinstance(outcome, str) else outcome

    def append(self, batch: Iterable[tuple[str, Outcome]]) -> None:
        """Write outcomes to disk and wait until they are there.

        Raises:
            ValueError: when the journal is closed.
        """
        entries = [(key, _plain(outcome)) for key, outcome in batch]
        self._write("".join(_line(key, plain) for key, plain in entries))
        self._outcomes.update((bytes.fromhex(key), plain) for key, plain in entries)

    def forget_failures(self) -> int:
        """Let what failed be asked again, by any judge; return how many failures there were.

        To be called when a tournament has come to its end. Until then failures are replayed, so
        that a run that was stopped goes on as it began. Kept for longer, an outage of the endpoint
        would decide all later tournaments.
        """
        failed = [key for key, plain in self._outcomes.items() if isinstance(plain, str)]
        if failed:
            self._write("".join(f'{{"key":"{key.hex()}","again":true}}\n' for key in failed))
        for key in failed:
            del self._outcomes[key]
        return len(failed)

    def _write(self, lines: str) -> None:
        """Append lines, all or none, and wait until they are on the disk."""
        if self._file < 0:
            raise ValueError(f"the journal {self.path} is closed")
        data = memoryview(lines.encode())
        end = os.fstat(self._file).st_size
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError:  # a full disk: leave no half batch for the next one to be glued to
            os.ftruncate(self._file, end)
            raise

    def bind(
        self,
        judge: str,
        prompt: str,
        query_fingerprints: Mapping[str, str],
        *,
        retry_failures: bool = False,
    ) -> tuple[Known, Record]:
        """Return the `known` and `record` of `run_tournaments` for one judge and prompt.

        Args:
            judge: name and settings of who judges.
            prompt: fingerprint of the prompt.
            query_fingerprints: hash of the text of each query.
            retry_failures: ask again for what failed before. By default a failure is replayed
                like a verdict, so that a rerun ends exactly as an undisturbed run; see also
                `forget_failures`.
        """
        starts: dict[str, hashlib.blake2b] = {}

        def key_of(pairing: Pairing) -> str:
            query_id = pairing.query_id
            start = starts.get(query_id)
            if start is None:
                start = starts[query_id] = _start(judge, prompt, query_fingerprints[query_id])
            return _finish(start, pairing.first_id, pairing.second_id)

        def known(pairing: Pairing) -> Outcome:
            outcome = self.get(key_of(pairing))
            return None if retry_failures and isinstance(outcome, Failure) else outcome

        def record(fresh: list[tuple[Pairing, Outcome]]) -> None:
            self.append((key_of(pairing), outcome) for pairing, outcome in fresh)

        return known, record

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(
                f"the verdict journal {self.path} is in use by another run",
                "wait until that run ends, or stop it",
            ) from error

    def _cut_torn_line(self) -> None:
        """Shorten the file to its last complete line."""
        end = os.fstat(self._file).st_size
        while end > 0:
            start = max(0, end - _TAIL)
            newline = os.pread(self._file, end - start, start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        os.ftruncate(self._file, end)

    def _load(self) -> dict[bytes, int | str | Verdict]:
        outcomes: dict[bytes, int | str | Verdict] = {}
        with self.path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    entry = json.loads(line)
                    key = bytes.fromhex(entry["key"])
                    if entry.get("again") is True:
                        outcomes.pop(key, None)
                        continue
                    plain = _read(entry)
                except (ValueError, TypeError, KeyError, AttributeError):
                    key, plain = b"", ""
                if len(key) != _KEY_BYTES:
                    raise InputError(
                        f"line {number} of the verdict journal {self.path} is damaged",
                        "delete that line; its pair will be judged again",
                    )
                outcomes[key] = plain
        return outcomes


def _start(judge: str, prompt: str, query_fingerprint: str) -> hashlib.blake2b:
    parts = json.dumps([judge, prompt, query_fingerprint])
    return hashlib.blake2b(parts.encode(), digest_size=_KEY_BYTES)


def _finish(start: hashlib.blake2b, first_id: str, second_id: str) -> str:
    digest = start.copy()
    digest.update(f"{len(first_id)}:{first_id}{second_id}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _plain(outcome: Outcome) -> int | str | Verdict:
    if isinstance(outcome, Failure):
        return outcome.reason
    winner = outcome.winner if isinstance(outcome, Verdict) else outcome
    if isinstance(winner, bool) or winner not in (0, 1, 2):
        raise ValueError(f"{outcome!r} is neither a verdict nor a Failure")
    return outcome if isinstance(outcome, Verdict) else int(winner)


def _line(key: str, plain: int | str | Verdict) -> str:
    if isinstance(plain, int):
        return f'{{"key":"{key}","winner":{plain}}}\n'
    if isinstance(plain, Verdict):
        sure = float(plain.confidence)
        return f'{{"key":"{key}","winner":{plain.winner},"confidence":{sure!r}}}\n'
    return json.dumps({"key": key, "reason": plain}, separators=(",", ":")) + "\n"


def _read(entry: Mapping[str, Any]) -> int | str | Verdict:
    """Return what a line holds; ValueError, TypeError or KeyError where it is damaged."""
    if "reason" in entry:
        return str(entry["reason"])
    winner = entry["winner"]
    if isinstance(winner, bool) or winner not in (0, 1, 2):
        raise ValueError("no verdict")
    if "confidence" not in entry:
        return int(winner)
    confidence = float(entry["confidence"])
    if not 0.5 <= confidence <= 1:
        raise ValueError("no confidence")
    return Verdict(int(winner), confidence)
