"""Sources that receive, as a host has them, and those who send to them."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Iterator
from typing import Any, cast

from streams_orchestration.operators.journal.files import JournalFiles
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.runtime.hosts.receivers import Receiver, Receivers
from streams_orchestration_tests.waiting import until

TIMEOUT_SECONDS = 20.0


def files_of(source: JournalSource) -> JournalFiles:
    return JournalFiles(source.directory_of(source.context))


def reported(source: JournalSource, name: str, *parts: str) -> Any:
    """Return the report of the receiver under a name; wait until it has one, with one of the parts in it."""
    files = files_of(source)

    def fact() -> Any:
        given = files.reported().get(name)
        return given if given and (not parts or any(part in given for part in parts)) else None

    return until(fact, lambda: f"{name} is not reported: {files.reported()}")


def wait_for_messages(source: JournalSource, count: int) -> None:
    """Wait until so many messages are in the journal, for senders that get no answer."""
    files = files_of(source)
    until(lambda: files.durable() > count, lambda: f"{files.durable() - 1} of {count} messages are in the journal")


def port(source: JournalSource) -> int:
    """Return the port that it listens at."""
    return int(reported(source, "place").rpartition(":")[2])


class _Receivers(Receivers):
    """The receivers of no application, so that nothing is to be trimmed."""

    def trim(self) -> None:
        """There is no catalog."""


@contextlib.contextmanager
def receiving(*sources: JournalSource, owner: str = "") -> Iterator[Receivers]:
    """Yield a host's receivers for some sources, each as an object of its own."""
    receivers = _Receivers(cast("Any", None), "app")
    receivers.receive_for({source.context.name: another(source, owner) for source in sources})
    try:
        yield receivers
    finally:
        receivers.stop()


def another(source: JournalSource, owner: str = "") -> Receiver:
    made = Receiver(type(source)(source.context, source.parameters))
    made.owner = owner
    return made


def send(port: int, messages: Iterable[bytes]) -> int:
    """Send bytes over one connection, and wait until all are answered for; gives what the last answer said."""
    with (
        socket.create_connection(("127.0.0.1", port), TIMEOUT_SECONDS) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(b"".join(messages))
        connection.shutdown(socket.SHUT_WR)
        return max([int(line) for line in answers], default=0)


def lines(*messages: bytes) -> bytes:
    return b"".join(message + b"\n" for message in messages)


def lengths(*messages: bytes) -> bytes:
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)
