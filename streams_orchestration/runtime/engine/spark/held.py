"""Payloads between tasks that need not be on one machine: the process that made one holds it until its reader takes it.

So tuples go from one Python process to another, by the sockets of owners, and not through two JVMs and a shuffle; a row
only says who holds them. A holder that ends under way is a lost owner to its readers.
"""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

import pyarrow as pa

from streams_orchestration.runtime.engine.spark.owners import LOST, Owners, receive, send
from streams_orchestration.runtime.errors import StreamsRuntimeError

HELD = b"held:"
"""Begins what a row carries in place of a payload; no Arrow IPC stream begins like this."""


@dataclass(frozen=True)
class Taking:
    """The request for a payload, to the process that holds it."""

    token: str


class HeldPayloads:
    """The payloads that this process holds: for each task only those of its last batch, as no others are read.

    Args:
        address: of this process as an owner.
    """

    def __init__(self, address: Callable[[], str]) -> None:
        self._address = address
        self._payloads: dict[str, pa.Buffer] = {}
        self._tokens: dict[Hashable, list[str]] = defaultdict(list)
        self._of_thread = threading.local()
        """Connections of one thread to other holders."""

    def begin(self, task: Hashable) -> None:
        """Begin a batch of a task, and forget what was not taken of an earlier one."""
        for token in self._tokens.pop(task, ()):
            self._payloads.pop(token, None)

    def hold(self, task: Hashable, data: pa.Buffer) -> bytes:
        """Hold a payload of a task; returns what its reader takes it by."""
        token = uuid.uuid4().hex
        self._tokens[task].append(token)
        self._payloads[token] = data
        return HELD + f"{token}\n{self._address()}".encode()

    def give(self, taking: Taking) -> pa.Buffer:
        """Hand a payload over, to be called once.

        Raises:
            StreamsRuntimeError: it is not held; a newer batch of its task has begun.
        """
        if taking.token not in self._payloads:
            message = "the tuples that one task had for another are gone; a newer batch has begun"
            raise StreamsRuntimeError(message)
        return self._payloads.pop(taking.token)

    def take(self, payload: bytes) -> pa.Buffer:
        """Take a payload by what `hold` has returned, here or in another process.

        Raises:
            StreamsRuntimeError: its holder has ended, or does not hold it.
        """
        token, _, owner = payload.removeprefix(HELD).decode().partition("\n")
        if owner == self._address():
            return self.give(Taking(token))
        if not hasattr(self._of_thread, "owners"):
            self._of_thread.owners = Owners()
        connection = self._of_thread.owners.connection(owner)
        if connection is None:
            raise StreamsRuntimeError(LOST)
        send(connection, Taking(token))
        return receive(connection)
