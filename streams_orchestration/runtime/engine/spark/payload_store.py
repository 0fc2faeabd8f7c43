"""Payloads between tasks that need not be on one machine: the process that made a payload holds it for its reader.

So tuples go directly from one Python process to another, over the sockets of owners, not through two JVMs and a
shuffle; a row only names the holder. If a holder ends before its payload is taken, it is a lost owner to the reader.
"""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import pyarrow as pa

from streams_orchestration.runtime.engine.spark.owners import LOST, Owners, receive, send
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError

HELD = b"held:"
"""Prefix of the text that a row carries in place of a held payload; no Arrow IPC stream begins with it."""


@dataclass(frozen=True)
class Taking:
    """A request for a payload, which a reader sends to the process that holds the payload."""

    token: str


class PayloadStore:
    """The payloads that this process holds.

    Only the payloads of each task's last batch are kept, since earlier ones are no longer read. `address` returns the
    address of this process as an owner.
    """

    def __init__(self, address: Callable[[], str]) -> None:
        self._address = address
        self._payloads: dict[str, pa.Buffer] = {}
        self._tokens: dict[Hashable, list[str]] = defaultdict(list)
        self._of_thread = threading.local()
        """The connections of one thread to other holders."""

    def begin_batch(self, task: Hashable) -> None:
        """Begin a batch of a task, and drop the payloads of earlier batches that nobody has taken."""
        for token in self._tokens.pop(task, ()):
            self._payloads.pop(token, None)

    def hold(self, task: Hashable, data: pa.Buffer) -> bytes:
        """Hold a payload of a task, and return a reference with which its reader can fetch it."""
        token = uuid.uuid4().hex
        self._tokens[task].append(token)
        self._payloads[token] = data
        return HELD + f"{token}\n{self._address()}".encode()

    def give(self, taking: Taking) -> pa.Buffer:
        """Return a payload and hold it no longer.

        Raises:
            StreamsRuntimeError: the payload is not held, since a newer batch of its task has begun.
        """
        if taking.token not in self._payloads:
            message = "the tuples that one task held for another are gone, since a newer batch has begun"
            raise StreamsRuntimeError(message)
        return self._payloads.pop(taking.token)

    def take(self, payload: bytes) -> pa.Buffer:
        """Fetch the payload for a reference from `hold`, in this process or another; it is then held no longer.

        Raises:
            StreamsRuntimeError: the holder has ended, or does not hold the payload.
        """
        token, _, owner = payload.removeprefix(HELD).decode().partition("\n")
        if owner == self._address():
            return self.give(Taking(token))
        if not hasattr(self._of_thread, "owners"):
            self._of_thread.owners = Owners()
        connection = self._of_thread.owners.connect_to(owner)
        if connection is None:
            raise StreamsRuntimeError(LOST)
        send(connection, Taking(token))
        return receive(connection)
