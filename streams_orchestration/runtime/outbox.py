"""What a task gives away: items to tasks of later levels, and tuples to other PEs; copies are made and counted here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from streams_orchestration.operators.arrow_types import arrow_schema
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.runtime.directories import Directories
from streams_orchestration.runtime.meter import Meter, NoMeter
from streams_orchestration.runtime.program import Direct, Exchange, Remote
from streams_orchestration.runtime.segments import Item, Segment, write_segment


class Outbox:
    """Of one task in one micro-batch."""

    def __init__(self, pe: int, directories: Directories, meter: Meter | NoMeter) -> None:
        self.exchanged: dict[tuple[int, int], list[Item]] = defaultdict(list)
        """(operator, port) -> what goes through its exchange."""
        self.copies: Counter[int] = Counter()
        """Connection -> batches copied by the sender."""
        self.enqueued: Counter[int] = Counter()
        """Connection -> batches copied into a queue."""
        self._remote: dict[str, list[Item]] = defaultdict(list)
        self._schemas: dict[str, str] = {}
        self._pe = pe
        self._directories = directories
        self._meter = meter

    def passed(self, delivery: Direct, item: Item) -> Item:
        """What a direct call hands over: a copy where the copy plan says so, else the same, const or not."""
        if not isinstance(item, TupleBatch):
            return item
        if delivery.copies:
            self.copies[delivery.connection] += 1
            return item.copy(delivery.attributes)
        return item.own() if delivery.mutable else item.const()

    def enqueue(self, delivery: Exchange, item: Item, origin: str) -> None:
        """Give to the exchange in front of an operator of this PE."""
        self.forward(delivery.operator, delivery.port, frozen(item), origin)
        if isinstance(item, TupleBatch) and delivery.queue:
            self.enqueued[delivery.connection] += 1

    def forward(self, operator: int, port: int, item: Item, origin: str) -> None:
        """Give to an exchange as it is."""
        self._meter.enqueues(operator, port)
        if isinstance(item, TupleBatch):
            item.origin = origin
        self.exchanged[operator, port].append(item)

    def send(self, delivery: Remote, ddl: str | None, item: Item) -> None:
        """Give to a stream that other PEs read."""
        self._schemas[delivery.stream] = ddl or ""
        self._remote[delivery.stream].append(frozen(item))

    def segments(self) -> Iterator[Segment]:
        """Write what was sent, one segment a stream."""
        for stream, items in self._remote.items():
            directory = Path(self._directories.streams) / f"pe-{self._pe}"
            schema = arrow_schema(self._schemas[stream])
            yield self._meter.writing(
                stream, partial(write_segment, directory, stream, schema, items, self._directories.compression)
            )


def frozen(item: Item) -> Item:
    """An item that cannot be written to."""
    return item.const() if isinstance(item, TupleBatch) else item
