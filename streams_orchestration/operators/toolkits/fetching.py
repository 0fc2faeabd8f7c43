"""The base of sources that fetch values by way of a journal, and end when a record says so."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, ClassVar

from streams_orchestration.operators.contract.operator import Offset, ProducedTo, Punctuation
from streams_orchestration.operators.journal.records import JournalMessage
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.toolkits.typed_ports import output_columns
from streams_orchestration.operators.tuples.batch import TupleBatch

ENDED = "ended"
"""The origin of the record that ends the source."""


class FetchingSource(JournalSource):
    """A source whose tuples have a fetched value in one attribute, and defaults in the others."""

    loaded_modules = ("requests",)
    value_origin: ClassVar[str]
    """The origin of a record with a value."""
    target: str
    """The attribute that gets the values; a subclass sets it in `setup`."""

    def setup(self) -> None:
        """Prepare the columns and the reading of the journal."""
        super().setup()
        self.made = self.parameters.output_type(self.context)

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next records. After the record of the end, the source is exhausted."""
        if offset.get("ended"):
            return ProducedTo(offset, exhausted=True)
        made = super().produce(offset, limit)
        if any(message.origin == ENDED for message in self.read):
            return ProducedTo({**made.offset, "ended": True}, exhausted=True)
        return made

    def _submit(self, messages: Sequence[JournalMessage]) -> None:
        for origin, records in itertools.groupby(messages, lambda each: each.origin):
            if origin == ENDED:
                return
            if origin == self.value_origin:
                found = [{self.target: self.value(each.value)} for each in records]
                self.submit(TupleBatch.from_columns(output_columns(found, self.made), self.schema))
                continue
            for each in records:
                self.on_event(origin, each.value)

    def value(self, data: bytes) -> Any:
        """Return the value in a record."""
        return data.decode(errors="replace")

    def on_event(self, origin: str, data: bytes) -> None:
        """Act on a record without a value; by default submit a window marker."""
        self.punctuate(Punctuation.WINDOW)
