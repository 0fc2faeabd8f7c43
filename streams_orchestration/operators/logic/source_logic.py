"""Logic of SPL in sources: variables that the expressions of `output` read and change, tuple by tuple.

A source has to give the same tuples again from an offset, so its offset holds the variables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.contract.offset import offset_without
from streams_orchestration.operators.contract.operator import Offset, ProducedTo
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.spl.text import SplText, call_as_name, program_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.logic.program import LogicProgram, SplLogic
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

VARIABLES = "variables"
"""The key of an offset with the variables."""


class SourceLogic:
    """The logic of a source: the assignments of its output, evaluated one tuple after the other."""

    def __init__(
        self,
        context: OperatorContext,
        logic: SplLogic | None,
        output: Mapping[str, str],
        source: pa.Schema,
        label: str,
        *,
        after_input: bool = False,
        read: SplText | None = None,
    ) -> None:
        """Compile the logic.

        Args:
            context: the context of the source.
            logic: the logic, if there is any beside the expressions.
            output: the expression of each attribute that has one, over the columns of `source`.
            source: the columns that the source makes.
            label: the name of the tuple with these columns.
            after_input: True if the logic also runs for the tuples of the operator's input port, port 0 of the program.
            read: an expression over the tuples of the input port, which is evaluated after their logic.

        Raises:
            ValueError: something does not fit; the message names the parameter.
        """
        self._target = context.output_schema()
        check_attributes("output", output, self._target.names, "the output stream")
        self._names = [name for name in self._target.names if name in output]
        texts = [(program_of(output[name], f"output.{name}"), f"output.{name}", None) for name in self._names]
        before = (context.inputs[:1], context.ports[:1]) if after_input else ((), ())
        self._port = len(before[0])
        inner = dataclasses.replace(context, inputs=(*before[0], source), ports=(*before[1], label))
        first = {} if read is None else {0: [(read, "parseInput", None)]}
        self.logic = LogicProgram(inner, _common(output) if logic is None else logic, {**first, self._port: texts})
        self._reached: Offset | None = None
        from streams_orchestration.spl.programs.columns import arrow_type

        for name, tree in zip(self._names, self.logic.program.expressions[self._port], strict=True):
            wanted, kind = self._target.field(name).type, arrow_type(tree.type)
            if kind != wanted:
                message = f"output.{name}: the value is {tree.type}, but the attribute is {type_name(wanted)}; cast it"
                raise ValueError(message)

    def begin(self, offset: Offset) -> None:
        """Set the variables to the values in an offset, and variables that it lacks to their initial values.

        Nothing changes if the method `offset` returned this offset last.

        Raises:
            DataError: the initialiser of a variable has no value.
        """
        if offset != self._reached:
            self.logic.set_values(offset.get(VARIABLES, {}))

    def apply(self, source: pa.RecordBatch, others: pa.RecordBatch | None = None) -> TupleBatch:
        """Run the logic for tuples, which changes its variables, and return the output tuples.

        Args:
            source: the columns that the expressions read.
            others: the columns of the attributes without expressions, if they are not in `source`.

        Raises:
            TupleError: an expression has no value for a tuple.
            DataError: the value of an expression cannot be stored in its column.
        """
        _, values = self.logic.tuples(self._port, TupleBatch(source))
        made = dict(zip(self._names, values, strict=True))
        kept = source if others is None else others
        columns = {name: made[name] if name in made else kept.column(name) for name in self._target.names}
        return TupleBatch.from_columns(columns, self._target)

    def offset(self, offset: dict[str, Any]) -> dict[str, Any]:
        """Return an offset with the variables, if there are any, and remember it for `begin`."""
        values = self.logic.values()
        self._reached = {**offset, VARIABLES: values} if values else offset
        return self._reached


def produced(logic: SourceLogic | None, offset: Offset, produce: Callable[[Offset], ProducedTo]) -> ProducedTo:
    """Let a source produce from an offset that may contain variables of logic.

    `produce` takes and returns offsets without them. The returned offset has the variables after the tuples, and
    `logic` keeps these. Raises DataError if the initialiser of a variable has no value; errors of `produce` pass
    unchanged.
    """
    if logic is None:
        return produce(offset)
    logic.begin(offset)
    made = produce(without_variables(offset))
    return ProducedTo(logic.offset(made.offset), made.exhausted)


def without_variables(offset: Offset) -> dict[str, Any]:
    """Return an offset without the variables of logic."""
    return offset_without(offset, VARIABLES)


def over_columns(text: str, functions: Iterable[str]) -> str:
    """Return an SPL expression in which calls of functions without arguments are replaced by columns of that name."""
    assert isinstance(text, SplText)
    written = text.text
    for name in functions:
        written = call_as_name(written, name)
    return text.with_text(written, {})


def _common(output: Mapping[str, str]) -> SplLogic:
    """Return SPL logic that has only the functions and submission-time values which the expressions of `output` use."""
    texts = [each for each in output.values() if isinstance(each, SplText)]
    functions = dict.fromkeys(function for each in texts for function in each.own_functions)
    constants = {name: value for each in texts for name, value in each.constants.items()}
    return SplLogic.model_validate({"functions": [*functions], "constants": constants})
