"""Listening sockets with a limited number of connections, where idle connections make way for new ones."""

from __future__ import annotations

import enum
import socket
import weakref
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from ipaddress import IPv6Address, ip_address
from typing import Any

from streams_orchestration import world

BACKLOG = 64
"""The system's queue length for new connections. Up to this many may exceed the places while replaced connections
close."""
NETWORK_BITS = 64
"""IPv6 addresses with the same leading bits count as one address, since one peer may own all of them."""


class Activity(enum.IntEnum):
    """The activity of a connection. When room is needed, lower values are closed first."""

    WAITING = 0
    """The peer has to send something."""
    STREAMING = 1
    """The peer receives an endless response."""
    WORKING = 2
    """A request is being answered; the connection is not closed for another one."""


class ClientConnection(socket.socket):
    """An accepted connection of a `Listener`."""

    places: Places
    address: str
    """The peer's address, or its IPv6 network, by which connections are counted."""
    activity: Activity
    since: float
    """The time when the activity began, by `world.monotonic`."""
    is_cut: bool

    def note(self, activity: Activity) -> None:
        """Record that an activity begins now."""
        self.activity, self.since = activity, world.monotonic()

    def cut(self) -> None:
        """Shut the connection down; its reader or writer then closes it. Any thread may call this."""
        self.is_cut = True
        with suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection and free its place."""
        self.places.leave(self)
        super().close()


class Places:
    """The places for the connections of one or more listeners.

    If all places are taken, a new connection replaces another one: the longest waiting connection of the address that
    has the most, else the longest streaming one. If all are working, or have waited for less than `patience`, the new
    connection is closed.

    Args:
        most: the largest number of connections.
        most_each: the largest number of connections of one address; None for no such limit.
        patience: seconds for which a waiting connection keeps its place.
        refused: called with the address of a peer whose connection is closed at once.
    """

    def __init__(
        self,
        most: int,
        most_each: int | None = None,
        patience: float = 0.0,
        refused: Callable[[Any], None] = lambda _peer: None,
    ) -> None:
        self._most, self._most_each = most, most if most_each is None else most_each
        self._patience = patience
        self.refused = refused
        self._lock = world.Lock()
        # weak, so that a connection that is dropped without being closed frees its place
        self._open: weakref.WeakValueDictionary[int, ClientConnection] = weakref.WeakValueDictionary()

    def __len__(self) -> int:
        """Return the number of connections that are not closed."""
        with self._lock:
            return len(self._open)

    def of(self, transport: Any) -> ClientConnection:
        """Return the connection of an asyncio transport. Raises KeyError if it is closed."""
        return self._open[transport.get_extra_info("socket").fileno()]

    def enter(self, connection: ClientConnection) -> bool:
        """Give a place to a connection, for which another one may be cut. Return False if there is no place.

        There is none, too, while `BACKLOG` connections that were cut are not closed yet.
        """
        others = self._connections()
        counts = Counter(each.address for each in others)
        if counts[connection.address] >= self._most_each:
            place = self._make_place([each for each in others if each.address == connection.address], counts)
        else:
            place = len(others) < self._most or self._make_place(others, counts)
        with self._lock:
            # connections that were cut but not yet closed still use a descriptor
            if place and (place := len(self._open) < self._most + BACKLOG):
                self._open[connection.fileno()] = connection
        return place

    def leave(self, connection: ClientConnection) -> None:
        """Free the place of a connection that is about to be closed; do nothing if it has none."""
        with self._lock:
            if self._open.get(number := connection.fileno()) is connection:
                del self._open[number]

    def cut_waiting(self, seconds: float) -> None:
        """Shut down the connections that have been waiting for longer than `seconds`."""
        until = world.monotonic() - seconds
        for each in self._connections():
            if each.activity is Activity.WAITING and each.since < until:
                each.cut()

    def _connections(self) -> list[ClientConnection]:
        with self._lock:
            return [each for each in self._open.values() if not each.is_cut]

    def _make_place(self, among: list[ClientConnection], counts: Counter[str]) -> bool:
        patient = world.monotonic() - self._patience
        yielding = [
            each
            for each in among
            if each.activity is Activity.STREAMING or (each.activity is Activity.WAITING and each.since <= patient)
        ]
        if not yielding:
            return False
        min(yielding, key=lambda each: (each.activity, -counts[each.address], each.since)).cut()
        return True


class Listener(socket.socket):
    """A listening TCP socket whose connections need places.

    Args:
        place: the address and port to listen on, as `socket.getaddrinfo` returns them.
        family: the family of the address.
        places: the places for its connections.

    Raises:
        OSError: the address cannot be used.
    """

    def __init__(self, place: Any, family: int, places: Places) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self.places = places
        try:
            self.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.bind(place)
            self.listen(BACKLOG)
            self.settimeout(0)
        except OSError:
            self.close()
            raise

    def accept(self) -> tuple[ClientConnection, Any]:
        """Accept the next connection, give it a place, and return it and its peer.

        Raises:
            BlockingIOError: no connection is waiting, or it was closed because there is no place for it. In the latter
                case `refused` of the places was called.
        """
        accepted, peer = super().accept()
        connection = ClientConnection(accepted.family, accepted.type, accepted.proto, accepted.detach())
        connection.places, connection.address, connection.is_cut = self.places, _counted_address(peer), False
        connection.note(Activity.WAITING)
        if not self.places.enter(connection):
            connection.close()
            self.places.refused(peer)
            raise BlockingIOError
        with suppress(OSError):  # the peer may be gone
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        return connection, peer


def listen(address: str, port: int, places: Places) -> Listener:
    """Listen on an address. For a name with several addresses, listen on the first one.

    Args:
        address: a name or an IP address.
        port: the TCP port; 0 for a free one.
        places: the places for connections.

    Raises:
        OSError: the address cannot be used.
    """
    family, _, _, _, place = socket.getaddrinfo(address, port, type=socket.SOCK_STREAM)[0]
    return Listener(place, family, places)


def listen_at_all(address: str, port: int, places: Places) -> list[Listener]:
    """Listen on all addresses of a host name; see `listen`. If one cannot be used, close the others."""
    listeners: list[Listener] = []
    try:
        for family, _, _, _, place in socket.getaddrinfo(address, port, type=socket.SOCK_STREAM):
            listeners.append(Listener(place, family, places))
    except OSError:
        for each in listeners:
            each.close()
        raise
    return listeners


def _counted_address(peer: Any) -> str:
    try:
        address = ip_address(str(peer[0]).partition("%")[0])
    except ValueError:
        return str(peer[0])
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Address(int(address) >> NETWORK_BITS << NETWORK_BITS))
    return str(address)
