"""A connection that is cut: what goes between a client and a server, until it does not."""

from __future__ import annotations

import contextlib
import socket
import threading


class Proxy:
    """Forwards to a port of this machine; closes everything, or passes nothing on, where it is told to.

    Args:
        target: where it forwards to.
        port: where it listens; any free one when 0.
    """

    def __init__(self, target: int, port: int = 0) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._pairs: set[socket.socket] = set()
        self._left: int | None = None
        """Bytes until everything is cut; None for no limit."""
        self._silent = False
        threading.Thread(target=self._accept, daemon=True).start()

    def open(self) -> None:
        """Forward again."""
        with self._lock:
            self._left = None
            self._silent = False

    def silence(self) -> None:
        """Keep all connections, take new ones, and pass nothing on, as a network does that is gone."""
        with self._lock:
            self._silent = True

    def cut(self, after: int = 0) -> None:
        """Close all connections, and every new one, once so many bytes have come from the server."""
        with self._lock:
            self._left = after
            if not after:
                self._close_all()

    def close(self) -> None:
        """End."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                cut = self._left is not None and self._left <= 0
            try:
                server = None if cut else socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                server = None
            if server is None:
                _close(client)
                continue
            with self._lock:
                self._pairs |= {client, server}
            threading.Thread(target=self._forward, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._forward, args=(server, client, True), daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                if self._silent:
                    continue
                target.sendall(self._allowed(data) if answers else data)
        _close(source)
        _close(target)

    def _allowed(self, data: bytes) -> bytes:
        with self._lock:
            if self._left is None:
                return data
            part = data[: max(self._left, 0)]
            self._left -= len(data)
            if self._left <= 0:
                self._close_all()
            return part

    def _close_all(self) -> None:
        for connection in self._pairs:
            _close(connection)
        self._pairs.clear()


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    with contextlib.suppress(OSError):
        connection.close()
