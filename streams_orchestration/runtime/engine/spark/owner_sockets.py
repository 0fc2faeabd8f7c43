"""Sockets of the owners of tasks: Unix sockets on one machine, TCP in the executors of a cluster.

Both ends of a connection prove that they know the owner's key. Nothing is encrypted.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import secrets
import socket
import struct
import tempfile
import time
from collections.abc import Iterable
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge, wait
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from streams_orchestration.runtime.processes.forks import keep_from_forks
from streams_orchestration.runtime.processes.processes import is_here, process_started

DRIVER = "STREAMS_DRIVER"
"""Environment variable of executors: the address of the driver.

Owners in executors listen on the address from which they reach the driver, so only on loopback if the driver is on this
machine.
"""
TCP = "tcp"
BACKLOG = 64
ACCEPT_RETRY_SECONDS = 0.1
"""Seconds until the next try to accept a connection while this process has no free file descriptor."""
HANDSHAKE_SECONDS = 5
"""Seconds within which both ends of a connection must prove that they know the key."""
SILENT_SECONDS = 20
"""Seconds of silence after which a machine that data are sent to counts as gone."""
FAILURES = (OSError, EOFError, AssertionError, AuthenticationError)
"""Types of errors with which a connection cannot be made."""


def listen() -> tuple[str, socket.socket]:
    """Listen on a new address of this process; return the address, and the socket that accepts connections.

    Accepted connections may come from anyone; see `admit`.

    Raises:
        OSError: the socket cannot be opened, or no IPv4 network leads to the driver.
    """
    name = f"streams-{os.getpid()}-{secrets.token_hex(8)}"
    if driver := os.environ.get(DRIVER):
        listener = socket.create_server((_own_address(driver), 0), backlog=BACKLOG)
        host, port = listener.getsockname()
        address = f"{TCP}://{host}:{port}/{name}"
    else:
        # in Linux' own name space nothing is left behind; elsewhere it goes with the private directory of the session
        place = os.environ.get("PYTHON_WORKER_FACTORY_SOCK_DIR") or tempfile.gettempdir()
        address = f"\0{name}" if platform.system() == "Linux" else str(Path(place) / name)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen(BACKLOG)
    keep_from_forks(listener)
    return address, listener


def accepted(listener: socket.socket) -> Connection:
    """Wait for the next connection to a listening socket, and return it; its peer has not proved that it knows the key.

    While this process has no free file descriptor, it tries again every `ACCEPT_RETRY_SECONDS`.

    Raises:
        OSError: the peer has gone.
    """
    while True:
        try:
            connection = Connection(listener.accept()[0].detach())
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            time.sleep(ACCEPT_RETRY_SECONDS)
            continue
        keep_from_forks(connection)
        return connection


def pid_of(address: str) -> int | None:
    """Return the pid in an owner's address; None if the text is not an address."""
    name = address.rpartition("streams-")[2].partition("-")[0]
    return int(name) if name.isdecimal() else None


class OwnerConnection:
    """A connection to an owner, which also ends with the owner's process.

    The socket alone would not show that end, since a child that an operator has forked may keep it open. The peer of
    the connection must have proved that it knows the key.
    """

    def __init__(self, connection: Connection, address: str) -> None:
        keep_from_forks(connection)
        self._connection = connection
        self._process = _process_of(address)
        """A descriptor that becomes readable when the owner's process has ended.

        None for a process of another machine, and on a system without such descriptors.
        """

    def __del__(self) -> None:
        if self._process is not None:
            os.close(self._process)

    @property
    def ended(self) -> bool:
        """True if the owner has closed the connection or has ended; ask only while the owner owes no answer."""
        return bool(wait(self.waits_for, 0))

    @property
    def waits_for(self) -> list[Connection | int]:
        """The objects that become readable when the owner answers or ends."""
        return [self._connection] if self._process is None else [self._connection, self._process]

    def send(self, request: Any) -> None:
        """Send a request.

        Raises:
            OSError: the owner has ended.
        """
        self._connection.send(request)

    def receive(self) -> Any:
        """Wait for the next answer, and return it.

        Raises:
            OSError, EOFError: the owner has ended.
        """
        wait(self.waits_for)
        if not self._connection.poll():
            raise EOFError
        return self._connection.recv()

    def close(self) -> None:
        """Close the connection; the owner keeps running."""
        self._connection.close()


def answered(connections: Iterable[OwnerConnection]) -> list[OwnerConnection]:
    """Wait until one of some owners has answered or has ended, and return the connections of all that have."""
    waits = {each: connection for connection in connections for each in connection.waits_for}
    return list({waits[each] for each in wait(list(waits))})  # type: ignore[index]


def _process_of(address: str) -> int | None:
    pid = pid_of(address)
    if pid is None or address.startswith(f"{TCP}://") or not hasattr(os, "pidfd_open"):
        return None
    with contextlib.suppress(OSError):
        return os.pidfd_open(pid)
    return None


def reachable(address: str, space: str) -> bool:
    """Return True if it is worth connecting to an address.

    A TCP address always is; another one if its process lives in this process space.
    """
    if address.startswith(f"{TCP}://"):
        return True
    pid = pid_of(address)
    return is_here(space) and pid is not None and process_started(pid) is not None


def connect(address: str, key: bytes) -> OwnerConnection | None:
    """Return a connection to an owner; None if it cannot be reached.

    None also if its peer does not prove within `HANDSHAKE_SECONDS` that it knows the key.
    """
    with contextlib.suppress(*FAILURES):
        connection = Connection(_connected(address).detach())
        try:
            _be_patient(connection, HANDSHAKE_SECONDS)
            answer_challenge(connection, key)
            deliver_challenge(connection, key)
            _be_patient(connection, 0)
        except FAILURES:
            connection.close()
            raise
        return OwnerConnection(connection, address)
    return None


def _connected(address: str) -> socket.socket:
    if address.startswith(f"{TCP}://"):
        place = urlsplit(address)
        connected = socket.create_connection((place.hostname, place.port), HANDSHAKE_SECONDS)
    else:
        connected = socket.socket(socket.AF_UNIX)
        try:
            connected.settimeout(HANDSHAKE_SECONDS)
            connected.connect(address)
        except OSError:
            connected.close()
            raise
    connected.settimeout(None)
    return connected


def admit(connection: Connection, key: bytes) -> bool:
    """Return True if the peer of a new connection proves that it knows the key; otherwise close the connection.

    It must do so within `HANDSHAKE_SECONDS`.
    """
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
    """Return this machine's IPv4 address on the network that leads to the driver."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((driver, 9))  # sends nothing
        return probe.getsockname()[0]


def _be_patient(connection: Connection, seconds: int) -> None:
    """Limit the wait for data to `seconds`, with 0 for no limit; the loss of the other machine ends any wait."""
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
