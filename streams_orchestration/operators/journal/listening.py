"""Explains errors of listening on a network address."""

from __future__ import annotations

import errno
import socket
from typing import Any

from streams_orchestration import world
from streams_orchestration.operators.errors.errors import RefusedError

TAKEN_SECONDS = 10.0
"""Seconds for which a port may still be in use, for example by a host that is ending, before that is an error."""
_REFUSED = {
    errno.EACCES: "this process may not listen there; ports below 1024 need a special permission",
    errno.EADDRNOTAVAIL: "this machine has no such address; name one of its own, or 0.0.0.0 for all",
}


class Listening:
    """An address to listen on, with its errors explained."""

    def __init__(self, address: str, port: int) -> None:
        self.address = address
        self.port = port
        self._taken_since: float | None = None

    def explain(self, error: OSError) -> Exception:
        """Explain in the returned error why listening fails: RefusedError if a retry cannot help, else ConnectionError.

        A port that is in use is refused from `TAKEN_SECONDS` after the first such error on.
        """
        place = f"{self.address}, port {self.port}"
        if isinstance(error, socket.gaierror):
            return RefusedError(f"address {place}: the name is unknown")
        if error.errno in _REFUSED:
            return RefusedError(f"address {place}: {_REFUSED[error.errno]}")
        if error.errno == errno.EADDRINUSE:
            now = world.monotonic()
            self._taken_since = self._taken_since or now
            message = f"address {place}: another process uses the port; end that process, or name another port"
            return RefusedError(message) if now - self._taken_since >= TAKEN_SECONDS else ConnectionError(message)
        return ConnectionError(f"address {place}: {error.strerror or error}")

    def begun(self) -> None:
        """Record that listening has begun, and forget since when the port was in use."""
        self._taken_since = None


def shown_peer(peer: Any) -> str:
    """Return the address of a peer as `host:port`; another peer as text, empty for None."""
    if not isinstance(peer, tuple) or len(peer) < 2:
        return str(peer or "")
    host, port = peer[0], peer[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
