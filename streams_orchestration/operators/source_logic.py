"""Logic of SPL in sources: variables that the expressions of `output` read and change, tuple by tuple.

A source has to give the same tuples again from an offset, so its offset holds the variables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.context import OperatorContext
from streams_orchestration.operators.contract import Offset
from streams_orchestration.operators.errors import UnknownAttributeError
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.spl_logic import LogicProgram, SplLogic
from streams_orchestration.operators.spl_text import program_of

VARIABLES = "variables"
"""The key of an offset with the variables."""


class SourceLogic:
    """The logic of a source: the assignments of its output, evaluated one tuple after the other."""

    def __init__(
        self, context: OperatorContext, logic: SplLogic, output: Mapping[str, str], source: pa.Schema, label: str
    ) -> None:
        """Compile the logic.

        Args:
            context: the context of the source.
            logic: the logic.
            output: the expression of each attribute that has one, over the columns of `source`. Other attributes are
                columns of `source`.
            source: the columns that the source makes.
            label: the name of the tuple with these columns.

        Raises:
            ValueError: something does not fit; the message names the parameter.
        """
        self._target = context.output_schema()
        for name in output:
            if name not in self._target.names:
                message = f"output: the output stream has no attribute {name}"
                raise UnknownAttributeError(message)
        self._names = [name for name in self._target.names if name in output]
        texts = [(program_of(output[name], f"output.{name}"), f"output.{name}", None) for name in self._names]
        inner = dataclasses.replace(context, inputs=(source,), ports=(label,))
        self.logic = LogicProgram(inner, logic, {0: texts})
        self._reached: Offset | None = None

    def begin(self, offset: Offset) -> None:
        """Set the variables to the values in an offset, unless the last call of `offset` returned it."""
        if offset != self._reached:
            self.logic.set_values(offset.get(VARIABLES, {}))

    def apply(self, source: pa.RecordBatch) -> TupleBatch:
        """Return the output tuples for the columns that the source has made."""
        _, values = self.logic.tuples(0, TupleBatch(source))
        made = dict(zip(self._names, values, strict=True))
        columns = {name: made[name] if name in made else source.column(name) for name in self._target.names}
        return TupleBatch.from_columns(columns, self._target)

    def offset(self, offset: dict[str, Any]) -> dict[str, Any]:
        """Return an offset with the variables."""
        self._reached = {**offset, VARIABLES: self.logic.values()}
        return self._reached
