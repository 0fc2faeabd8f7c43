"""Results that an operator computes tuple by tuple, beside attributes that it copies from its input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.toolkits.typed_ports import column_values, output_columns
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.types.types import Tuple


class TypedResults:
    """The first output port of an operator whose results are SPL values.

    An attribute without a result comes from the input attribute of the same name and type, or is its default.
    """

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.given = operator.parameters.input_type(operator.context)
        self.made = operator.parameters.output_type(operator.context)
        self.copied = operator.parameters.copied(operator.context)

    def submit(self, batch: TupleBatch, found: Sequence[dict[str, Any]]) -> None:
        """Submit a tuple for each tuple of the input, with the attributes that were found for it.

        Raises RunError if a value cannot be stored in its column.
        """
        set_names = {name for values in found for name in values}
        others = {name: column_values(batch, self.given, name) for name in self.copied & set_names}
        unchanged = self.copied - set_names
        made = Tuple(tuple(each for each in self.made.attributes if each.name not in unchanged))
        columns = {name: batch.arrow.column(name) for name in unchanged} | output_columns(found, made, others)
        self.operator.submit(TupleBatch.from_columns(columns, self.operator.context.output_schema()))
