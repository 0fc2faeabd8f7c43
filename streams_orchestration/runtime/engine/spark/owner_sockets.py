"""Sockets of the owners of tasks: Unix sockets of their machine; TCP in the executors of a cluster.

Who connects proves that it knows the owner's key, and so does the owner. Nothing is encrypted.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
import sys
import tempfile
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from pathlib import Path
from urllib.parse import urlsplit

from streams_orchestration.runtime.processes import is_here

DRIVER = "STREAMS_DRIVER"
"""Environment variable of executors: the address of the driver. Their owners listen where they would reach it from:
beyond loopback only if the driver is to be reached from beyond."""
TCP = "tcp"
HANDSHAKE_SECONDS = 5
"""Seconds within which both ends of a connection have proved that they know the key."""
SILENT_SECONDS = 20
"""A machine that is not heard for so long, although something is sent to it, is gone."""
FAILURES = (OSError, EOFError, AssertionError, AuthenticationError)
"""Errors of a connection that does not come about."""


def listen() -> tuple[str, Listener]:
    """A new address of this process, and what accepts connections to it, without asking for a key."""
    name = f"streams-{os.getpid()}-{secrets.token_hex(8)}"
    if driver := os.environ.get(DRIVER):
        listener = Listener((_own_address(driver), 0), "AF_INET", backlog=64)
        host, port = listener.address  # type: ignore[misc]
        return f"{TCP}://{host}:{port}/{name}", listener
    # in Linux' own name space, where nothing is left behind
    address = f"\0{name}" if sys.platform == "linux" else str(Path(tempfile.gettempdir()) / name)
    return address, Listener(address, "AF_UNIX")


def reachable(address: str, space: str) -> bool:
    """Whether that address means a process that can be connected to, in whatever process space it is."""
    return address.startswith(f"{TCP}://") or is_here(space)


def connect(address: str, key: bytes) -> Connection | None:
    """A connection to an owner; None when there is none that knows the key."""
    with contextlib.suppress(*FAILURES):
        if not address.startswith(f"{TCP}://"):
            return Client(address, "AF_UNIX", authkey=key)
        place = urlsplit(address)
        with socket.create_connection((place.hostname, place.port), HANDSHAKE_SECONDS) as connected:
            connected.settimeout(None)
            connection = Connection(connected.detach())
        try:
            _be_patient(connection, HANDSHAKE_SECONDS)
            answer_challenge(connection, key)
            deliver_challenge(connection, key)
            _be_patient(connection, 0)
        except FAILURES:
            connection.close()
            raise
        return connection
    return None


def admit(connection: Connection, key: bytes) -> bool:
    """Return whether the peer of a new connection knows the key; the connection is closed otherwise."""
    try:
        _be_patient(connection, HANDSHAKE_SECONDS)
        deliver_challenge(connection, key)
        answer_challenge(connection, key)
        _be_patient(connection, 0)
    except FAILURES:
        connection.close()
        return False
    return True


def _own_address(driver: str) -> str:
    """The address of this machine from which it would reach the driver."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((driver, 9))  # sends nothing
        return probe.getsockname()[0]


def _be_patient(connection: Connection, seconds: int) -> None:
    """Wait so long for what is due, for ever with 0; but never for a machine that has gone."""
    with socket.socket(fileno=os.dup(connection.fileno())) as each:
        limit = struct.pack("ll", seconds, 0)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        if each.family != socket.AF_INET:
            return
        each.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for name, value in (
            ("TCP_KEEPIDLE", SILENT_SECONDS // 4),
            ("TCP_KEEPINTVL", SILENT_SECONDS // 4),
            ("TCP_KEEPCNT", 3),
            ("TCP_USER_TIMEOUT", SILENT_SECONDS * 1000),
        ):
            if option := getattr(socket, name, None):
                each.setsockopt(socket.IPPROTO_TCP, option, value)
