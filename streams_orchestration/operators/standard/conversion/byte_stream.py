"""The base of Compress and Decompress: the bytes of all tuples are one stream."""

from __future__ import annotations

from typing import ClassVar

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.conversion.byte_input import bytes_read
from streams_orchestration.operators.tuples.batch import TupleBatch


class ByteStream(Operator):
    """An operator that reads the bytes of its tuples as one stream, and submits tuples with one binary attribute."""

    stateful = True
    indivisible = "is the beginning of a compressed stream of one channel"
    passes_marks = False
    heeds_marks = True
    source: ClassVar[tuple[str, str]]
    """The field and the name of the parameter with the bytes."""

    @classmethod
    def check(cls, context: OperatorContext, parameters: Parameters) -> None:
        """Raise ValueError if the attribute or expression has no bytes, or the output is not one binary attribute."""
        field, name = cls.source
        bytes_read(getattr(parameters, field), name, context.inputs[0], context)
        schema = context.output_schema()
        if len(schema) != 1 or not pa.types.is_binary(schema.field(0).type):
            message = "the output stream must have exactly one binary attribute"
            raise ValueError(message)

    def setup(self) -> None:
        """Prepare the reading of the bytes."""
        field, name = self.source
        self.content = bytes_read(getattr(self.parameters, field), name, self.context.inputs[0], self.context)

    def submit_bytes(self, parts: list[bytes]) -> None:
        """Submit a tuple for each part that is not empty."""
        schema = self.context.output_schema()
        held = [part for part in parts if part]
        if held:
            self.submit(TupleBatch.from_columns({schema.names[0]: pa.array(held, pa.binary())}, schema))
