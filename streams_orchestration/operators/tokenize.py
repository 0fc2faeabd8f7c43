"""Tokenize: splits lines of text into words."""

from __future__ import annotations

import pyarrow as pa

from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.tuples.batch import TupleBatch


class Tokenize(Operator):
    """Submits one tuple per word of the input's only attribute, in lower case and without punctuation."""

    pure = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: object) -> None:
        """Raise ValueError if the input or output schema is not a single string attribute."""
        for schema in (*context.inputs[:1], *context.outputs[:1]):
            if schema is None or len(schema) != 1 or not pa.types.is_string(schema.field(0).type):
                message = "Tokenize needs streams with exactly one string attribute"
                raise ValueError(message)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the words of the lines of the batch; a null gives none."""
        lines = pc.utf8_lower(batch.arrow.column(0))
        words = pc.list_flatten(pc.split_pattern_regex(lines, pattern=r"[^\p{L}\p{N}']+"))
        words = pc.utf8_trim(words, characters="'")
        output = self.context.output_schema()
        self.submit(
            TupleBatch.from_columns({output.names[0]: words.filter(pc.greater(pc.utf8_length(words), 0))}, output)
        )
