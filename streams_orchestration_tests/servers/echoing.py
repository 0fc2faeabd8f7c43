"""A server of HTTP that answers with the request it got."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextlib.contextmanager
def server() -> Iterator[tuple[str, list[tuple[str, str, dict[str, str], str]]]]:
    """Yield a server that answers with the request it got; `/bad` is not found. The requests are kept."""
    requests: list[tuple[str, str, dict[str, str], str]] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0"))).decode()
            requests.append((self.command, self.path, dict(self.headers), body))
            content = f"{self.command} {self.path}\n{body}".encode()
            self.send_response(404 if self.path.startswith("/bad") else 200)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = answer  # noqa: N815 - the names of the base class

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving.daemon_threads = True
    threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{serving.server_port}", requests
    finally:
        serving.shutdown()
        serving.server_close()
