"""The output of a task: items for tasks of later levels, and tuples for other PEs. It makes and counts copies."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import pyarrow as pa

from streams_orchestration.compiler.pe_program import Direct, Exchange, PeProgram, Remote
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.storage.store import HERE
from streams_orchestration.runtime.tasks.meter import Meter, NoMeter
from streams_orchestration.runtime.transport.segments import Item, write_segment


class Sender(Protocol):
    """Sends the items of one task to one input port of a later level in one batch; the engine transports them."""

    def send(self, item: Item) -> None:
        """Add an item to the payload."""
        ...

    def payload(self) -> tuple[bytes, int]:
        """Return the payload of all items, and the size of the items in bytes; nothing can be sent afterwards."""
        ...


NewSender = Callable[[pa.Schema], Sender]


class Outbox:
    """The output of one task in one batch; `new_sender` makes the senders to later levels."""

    def __init__(
        self, program: PeProgram, directories: Directories, new_sender: NewSender, meter: Meter | NoMeter
    ) -> None:
        self.copies: Counter[int] = Counter()
        """Connection -> batches copied by the sender."""
        self.enqueued: Counter[int] = Counter()
        """Connection -> batches copied into a queue."""
        self._remote: dict[str, list[Item]] = defaultdict(list)
        self._schemas: dict[str, str] = {}
        self._senders: dict[tuple[int, int], Sender] = {}
        self._program = program
        self._directories = directories
        self._new_sender = new_sender
        self._meter = meter

    def passed(self, delivery: Direct, item: Item) -> Item:
        """Return the item for a direct call: a copy if the copy plan has one, which is counted, else the data itself.

        A batch is read-only unless it is a copy, or the receiver may write to it.
        """
        if not isinstance(item, TupleBatch):
            return item
        if delivery.copies:
            self.copies[delivery.connection] += 1
            return item.copy(delivery.attributes)
        return item.own() if delivery.mutable else item.const()

    def enqueue(self, delivery: Exchange, item: Item, origin: str, connection: str) -> None:
        """Add an item to the exchange in front of an operator of this PE; count a batch that is copied into a queue.

        `origin` is the place from which its tuples were read. `connection` is the name of the event-time connection; it
        is empty for another one, to which no watermarks are sent.
        """
        item = frozen(item)
        if isinstance(item, TupleBatch):
            item = item.with_watermarks(item.watermarks) if connection else item.without_watermarks()
        self.forward(delivery.operator, delivery.port, item, origin, connection)
        if isinstance(item, TupleBatch) and delivery.queue:
            self.enqueued[delivery.connection] += 1

    def forward(self, operator: int, port: int, item: Item, origin: str, connection: str) -> None:
        """Add an item to an exchange; a batch of tuples gets its origin and the name of its connection."""
        self._meter.enqueues(operator, port)
        if isinstance(item, TupleBatch):
            item.origin, item.connection = origin, connection
        sender = self._senders.get((operator, port))
        if sender is None:
            schema = arrow_schema(self._program.operators[operator].inputs[port])
            sender = self._senders[operator, port] = self._new_sender(schema)
        self._meter.sending(operator, port, item, partial(sender.send, item))

    def send(self, delivery: Remote, ddl: str | None, item: Item) -> None:
        """Add an item, made read-only, to a stream that other PEs read; `segments` writes it."""
        self._schemas[delivery.stream] = ddl or ""
        self._remote[delivery.stream].append(frozen(item))

    def exchanged(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield (operator, port, payload) for each exchange; call this when nothing more is sent."""
        for (operator, port), sender in self._senders.items():
            yield operator, port, self._meter.sent_all(operator, port, sender.payload)

    def segments(self) -> Iterator[Segment]:
        """Write the items of each stream as one segment, and yield the segments; nothing for a stream without items.

        A segment is written only when it is taken from the iterator.

        Raises:
            OSError: a segment cannot be written.
        """
        for stream, items in self._remote.items():
            store, directory = self._directories.store, self._directories.streams
            if stream in self._directories.here:
                directory = HERE + directory
            schema = arrow_schema(self._schemas[stream])
            yield self._meter.writing(
                stream, partial(write_segment, store, directory, stream, schema, items, self._directories.compression)
            )


def frozen(item: Item) -> Item:
    """Return a batch of tuples as one that its receivers cannot write to, and another item unchanged."""
    return item.const() if isinstance(item, TupleBatch) else item
