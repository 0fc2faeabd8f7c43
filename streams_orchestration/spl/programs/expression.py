"""Expressions as functions over Arrow columns: vectorised if the results are equal, otherwise a loop over tuples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from streams_orchestration.spl.programs.columns import (
    array_of,
    attribute_values,
    first_failing,
    is_carried,
    refuse_nulls,
)
from streams_orchestration.spl.programs.errors import ProgramError, RunError
from streams_orchestration.spl.programs.loops.ports import Environment, ExpressionValue, PortProgram
from streams_orchestration.spl.programs.natives import NativeFunction
from streams_orchestration.spl.programs.outcome import FailedError
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.programs.vectorised import by_columns
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing import typed

Evaluation = Callable[[Mapping[str, pa.Array], int], pa.Array]


def compiled(
    expression: typed.Expression,
    port: tuple[str, Tuple],
    run: Run | None = None,
    natives: Sequence[NativeFunction] = (),
    functions: Sequence[typed.Function] = (),
) -> tuple[tuple[str, ...], bool, Evaluation]:
    """Compile an expression to a function over columns.

    Return the attributes that it reads, True if it may fail, and the function, which raises FailedError if it fails or
    if an attribute is null without being optional.

    Args:
        expression: the expression.
        port: the name and the type of the port.
        run: the runtime services of the operator, such as the clock.
        natives: the native functions that the expression calls.
        functions: the SPL functions of the application that the expression calls.

    Raises:
        ProgramError: the expression cannot be run here.
    """
    if not is_carried(expression.type):
        message = f"values of type {expression.type} compile but cannot run (SO0720)"
        raise ProgramError(message, expression.span)
    place, known = str(expression.span), {each.name: each.type for each in port[1].attributes}
    found = by_columns(expression)
    if found is not None:

        def evaluate(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
            for name in found.names:
                refuse_nulls(name, columns[name], known[name], place)
            return found.evaluate(columns, count)

        return found.names, False, evaluate
    environment = Environment([port], functions=functions, natives=natives)
    program = PortProgram(environment, run or Run(), 0, None, [ExpressionValue(expression)])

    def in_a_loop(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
        lists = {name: attribute_values(name, columns[name], known[name], place) for name in program.attributes}
        values = program({}, lists, count)[0]
        try:
            return array_of(values, expression.type)
        except RunError as error:
            index = first_failing(len(values), lambda at: array_of([values[at]], expression.type))
            raise FailedError(str(error), place, index) from error

    return tuple(program.attributes), True, in_a_loop
