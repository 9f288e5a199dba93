"""The user interface can be stopped, also when a script has started it in the background."""

import os
import signal
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from click.testing import CliRunner

from saber_services.cli import ui
from saber_services.user_interface import tell_when_ready


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


class Webserver(BaseHTTPRequestHandler):
    def do_GET(self):
        found = b'{"dagster_version": "1"}' if self.path == "/server_info" else b"{}"
        self.send_response(200)
        self.send_header("Content-Length", str(len(found)))
        self.end_headers()
        self.wfile.write(found)

    def log_message(self, *_):
        pass


def test_the_address_is_told_once_it_answers():
    told = []
    server = HTTPServer(("127.0.0.1", 0), Webserver)
    address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    tell_when_ready(address, told.append)
    server.shutdown()
    server.server_close()
    assert told == [f"ready: {address} (Ctrl-C ends it)"]
    tell_when_ready(address, told.append, patience=0.1)
    assert len(told) == 1, "nobody answers any more"
