"""The base of sources that fetch values by way of a journal, and end when a record says so."""

from __future__ import annotations

from typing import Any

from streams_orchestration.operators.contract.operator import Offset, ProducedTo
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.toolkits.typed_ports import default_values, output_column
from streams_orchestration.operators.tuples.batch import TupleBatch

ENDED = "ended"
"""The origin of the record that ends the source."""


class FetchingSource(JournalSource):
    """A source whose tuples have a fetched value in one attribute, and defaults in the others."""

    modules = ("requests",)

    def setup(self) -> None:
        """Prepare the columns and the reading of the journal."""
        super().setup()
        self.made = self.parameters.output_type(self.context)

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next records. After the record of the end, the source is exhausted.

        Raises:
            DataError: records in the journal are lost, or receiving is permanently refused.
        """
        if offset.get("ended"):
            return ProducedTo(offset, exhausted=True)
        made = super().produce(offset, limit)
        if any(message.origin == ENDED for message in self.read):
            return ProducedTo({**made.offset, "ended": True}, exhausted=True)
        return made

    def submit_values(self, values: list[Any], target: str) -> None:
        """Submit a tuple for each value of the attribute `target`, with default values of the other attributes.

        Raises RunError if a value cannot be stored in a column.
        """
        if values:
            columns = {
                each.name: output_column(
                    values if each.name == target else default_values(each.type, len(values)), self.made, each.name
                )
                for each in self.made.attributes
            }
            self.submit(TupleBatch.from_columns(columns, self.schema))
