"""HTTP whose timeout is for a whole answer, not for each piece of it: one that drips has an end."""

from __future__ import annotations

import http.client
import io
import socket
import time
import urllib.request
from typing import Any

from saber_assets.retrieval.remote.patience import SameHost


class _Timed(io.RawIOBase):
    """Reads from a socket until a moment.

    Args:
        raw: what reads from the socket.
        sock: the socket; its timeout is the time that is left.
        seconds: from now to that moment.
    """

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, seconds: float) -> None:
        self._raw, self._sock, self._seconds = raw, sock, seconds
        self._end = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError(f"the answer isn't whole after {self._seconds:g} s")
        self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """Headers and body by a deadline: the timeout that the connection has, from the request on."""

    def __init__(self, sock: socket.socket, *args: Any, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        seconds = sock.gettimeout()
        if seconds is not None:
            self.fp: Any = io.BufferedReader(_Timed(self.fp.detach(), sock, seconds))


class _Connection(http.client.HTTPConnection):
    response_class = _Response


class _SafeConnection(http.client.HTTPSConnection):
    response_class = _Response


class _Plain(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)


class _Safe(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SafeConnection, req)


def opener(*handlers: urllib.request.BaseHandler) -> urllib.request.OpenerDirector:
    """Return what opens requests; their timeout is for the whole answer, and they keep their host.

    Args:
        handlers: others, such as those of proxies.
    """
    return urllib.request.build_opener(SameHost, _Plain, _Safe, *handlers)
