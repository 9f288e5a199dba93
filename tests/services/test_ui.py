"""The user interface can be stopped, also when a script has started it in the background."""

import os
import signal

from click.testing import CliRunner

from saber_services.cli import ui


def test_an_inherited_ignored_interrupt_is_not_handed_on(tmp_path, monkeypatch):
    handed_on = []
    monkeypatch.setattr(os, "execve", lambda *_: handed_on.append(signal.getsignal(signal.SIGINT)))
    monkeypatch.setattr(ui, "prepare_environment", lambda _: {})
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        result = CliRunner().invoke(ui.command, ["--workdir", str(tmp_path)])
    finally:
        signal.signal(signal.SIGINT, before)
    assert result.exit_code == 0, result.output
    assert handed_on == [signal.default_int_handler]
