"""Text of a PDF by a command of the user: `["mytool", "{pdf}", "{out}"]`.

The command runs without a shell, with a time limit, and its text is kept by the content of the
PDF and the words of the command, so that a PDF is read once.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from saber_assets.errors import InputError
from saber_assets.text_file import write_text

LARGEST_TEXT = 64 * 2**20
"""Bytes that a command may write for one PDF."""
_LONGEST_REASON = 500


class OcrError(Exception):
    """The command gave no text; the message says why in one sentence."""


@dataclass(frozen=True, slots=True)
class Ocr:
    """A command that turns a PDF into text.

    Attributes:
        command: its words; `{pdf}` stands for the PDF and `{out}` for the file it has to write.
            Without `{out}` what it prints is the text.
        cache: folder for the texts, or None to run it each time.
        timeout: seconds that it may take for one PDF.
    """

    command: tuple[str, ...]
    cache: Path | None = None
    timeout: float = 600.0

    def __post_init__(self) -> None:
        if not self.command or not any("{pdf}" in word for word in self.command):
            raise InputError(
                f"ocr_command = {list(self.command)!r} does not say where the PDF goes",
                'write ocr_command = ["mytool", "{pdf}", "{out}"]',
            )

    def text(self, pdf: Path) -> str:
        """Return the text of a PDF, from the cache where it is there.

        Raises:
            OcrError: where the command fails, is too slow, or writes no text.
            OSError: where the PDF can't be read, or the cache can't be written.
        """
        kept = self.cache / self.key(pdf) if self.cache else None
        if kept is not None and kept.is_file():
            return kept.read_text(encoding="utf-8")
        text = self._run(pdf)
        if kept is not None:
            write_text(kept, text)
        return text

    def key(self, pdf: Path) -> str:
        """Return the name of a PDF's text in the cache."""
        digest = hashlib.blake2b(digest_size=16)
        with pdf.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
        digest.update("\0".join(("", *self.command)).encode())
        return digest.hexdigest() + ".md"

    def _run(self, pdf: Path) -> str:
        with tempfile.TemporaryDirectory(prefix="saber-ocr-") as folder:
            out = Path(folder) / "out.md"
            printed = Path(folder) / "printed"
            complaints = Path(folder) / "complaints"
            places = {"{pdf}": str(pdf.resolve()), "{out}": str(out)}
            words = [_filled(word, places) for word in self.command]
            status = self._wait(words, printed, complaints)
            if status:
                raise OcrError(f"{words[0]} ended with status {status}{_last_line(complaints)}")
            written = out if any("{out}" in word for word in self.command) else printed
            if not written.is_file():
                raise OcrError(f"{words[0]} wrote no file {{out}}{_last_line(complaints)}")
            if written.stat().st_size > LARGEST_TEXT:
                raise OcrError(f"{words[0]} wrote more than {LARGEST_TEXT // 2**20} MiB")
            text = written.read_bytes().decode("utf-8", errors="replace").replace("\r\n", "\n")
        if not text.strip():
            raise OcrError(f"{words[0]} wrote no text")
        return text

    def _wait(self, words: Sequence[str], printed: Path, complaints: Path) -> int:
        with printed.open("wb") as out, complaints.open("wb") as errors:
            try:
                process = subprocess.Popen(  # noqa: S603  (words of the user's settings, no shell)
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise OcrError(f"{words[0]} can't be run ({reason})") from error
            try:
                return process.wait(self.timeout)
            except subprocess.TimeoutExpired as error:
                raise OcrError(f"{words[0]} took more than {self.timeout:g} seconds") from error
            finally:
                _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, and what it has started."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()
        process.wait()


def _filled(word: str, places: dict[str, str]) -> str:
    for mark, value in places.items():
        word = word.replace(mark, value)
    return word


def _last_line(path: Path) -> str:
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 4096, 0))
        lines = file.read().decode("utf-8", errors="replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {last[:_LONGEST_REASON]}" if last else ""
