"""A receiver of requests: it keeps what comes, and answers as the test wants."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Receiver:
    """The requests received, and the next of `answers`, then 200; None drops the connection without an answer."""

    address: str = ""
    answers: list[int | None] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    """The headers of the answers."""
    refuses: Callable[[bytes], bool] = lambda _: False
    """Return True if a body is answered with 422."""
    requests: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    """All that came, also what was refused."""
    taken: dict[str, bytes] = field(default_factory=dict)
    """By idempotency key, as a receiver has it that knows them."""


@contextlib.contextmanager
def receiver() -> Iterator[Receiver]:
    """Yield a receiver on a free port of this machine."""
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.requests.append((dict(self.headers), body))
            status = state.answers.pop(0) if state.answers else 422 if state.refuses(body) else 200
            if status is None or 200 <= status < 300:  # an answer that gets lost was a yes
                state.taken[self.headers["Idempotency-Key"]] = body
            if status is None:
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {"Content-Length": "0", **state.headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    with serving(Handler) as state.address:
        yield state


@contextlib.contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve requests on a free port of this machine. Gives the address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
