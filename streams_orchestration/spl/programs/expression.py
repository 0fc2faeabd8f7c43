"""Expressions as functions over Arrow columns: vectorised if the results are equal, otherwise a loop over tuples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from streams_orchestration.spl.programs.columns import array_of, is_carried, values_of
from streams_orchestration.spl.programs.errors import ProgramError, RunError
from streams_orchestration.spl.programs.loops.ports import Environment, ExpressionValue, PortProgram
from streams_orchestration.spl.programs.natives import NativeFunction
from streams_orchestration.spl.programs.outcome import FailedError
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.programs.vectorised import by_columns
from streams_orchestration.spl.types.types import Optional, Tuple, Type
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
    found = by_columns(expression)
    if found is not None:
        required = [name for name in found.names if not isinstance(port[1].type_of(name), Optional)]

        def evaluate(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
            _refuse_nulls(columns, required, expression)
            return found.evaluate(columns, count)

        return found.names, False, evaluate
    environment = Environment([port], functions=functions, natives=natives)
    program = PortProgram(environment, run or Run(), 0, None, [ExpressionValue(expression)])
    types = {name: port[1].type_of(name) for name in program.attributes}

    def in_a_loop(columns: Mapping[str, pa.Array], count: int) -> pa.Array:
        _refuse_nulls(columns, [name for name, type_ in types.items() if not isinstance(type_, Optional)], expression)
        lists = {name: values_of(columns[name], _known(type_)) for name, type_ in types.items()}
        values = program({}, lists, count)[0]
        try:
            return array_of(values, expression.type)
        except RunError as error:
            raise FailedError(str(error), str(expression.span), _first_wrong(values, expression.type)) from error

    return tuple(program.attributes), True, in_a_loop


def _known(type_: Type | None) -> Type:
    assert type_ is not None
    return type_


def _refuse_nulls(columns: Mapping[str, pa.Array], names: list[str], expression: typed.Expression) -> None:
    """Raise FailedError if an attribute is null although its SPL type is not optional."""
    for name in names:
        if columns[name].null_count:
            place = columns[name].is_null().index(True).as_py()
            message = f"{name} is null, but its type in SPL is not optional"
            raise FailedError(message, str(expression.span), place)


def _first_wrong(values: list[object], type_: Type) -> int:
    for place, value in enumerate(values):
        try:
            array_of([value], type_)
        except RunError:
            return place
    return 0
