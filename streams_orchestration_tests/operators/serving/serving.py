"""HTTP servers of the product in a thread, and peers that hold connections to them."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators.serving.http_server import HttpServer
from streams_orchestration.operators.serving.listener import Places, listen

TIMEOUT_SECONDS = 20.0


@contextlib.contextmanager
def served(app: Any, most: int = 100, **options: Any) -> Iterator[Peers]:
    """Serve an application on the loopback address, for peers."""
    places = Places(most)
    listener = listen("127.0.0.1", 0, places)
    port = listener.getsockname()[1]
    server = HttpServer(app, listener, 0, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        with Peers(port, places) as peers:
            yield peers
    finally:
        server.should_exit = True
        thread.join()


class Peers(contextlib.ExitStack):
    """Connections to a port of this machine, which are closed at the end."""

    def __init__(self, port: int, places: Places) -> None:
        super().__init__()
        self.port = port
        self.places = places

    def connect(self, sent: bytes = b"") -> socket.socket:
        """Return a connection over which something was sent."""
        connection = self.enter_context(socket.create_connection(("127.0.0.1", self.port), TIMEOUT_SECONDS))
        connection.sendall(sent)
        return connection

    def ask(self, sent: bytes) -> bytes:
        """Return the status line of the answer to something that is sent over a connection of its own."""
        return self.connect(sent).recv(1000).partition(b"\r\n")[0]


def is_closed(connection: socket.socket) -> bool:
    """Read what comes until the other side closes; fails if it does not."""
    try:
        while connection.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return True
