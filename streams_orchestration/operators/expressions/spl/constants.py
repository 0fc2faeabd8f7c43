"""Parameters of operators that are constants of a run, and in SPL expressions over submission-time values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, get_args

from pydantic import WrapValidator
from pydantic.fields import FieldInfo

from streams_orchestration.model.containers import is_list, is_mapping
from streams_orchestration.model.programs import CONSTANTS, LOGIC, is_program
from streams_orchestration.operators.expressions.spl.text import place_of, text_or_program


def with_constants(data: Any, fields: Mapping[str, FieldInfo]) -> Any:
    """Return parameters with a value in the place of each SPL program whose field takes values only.

    A program that reads more than submission-time values stays, so that its field refuses it.

    Args:
        data: the parameters.
        fields: the fields of the class of parameters.

    Raises:
        ValueError: a program over submission-time values has no value for them.
    """
    if not is_mapping(data) or not any(map(_has_programs, data.values())):
        return data
    known = {name: each for field, each in fields.items() for name in (field, each.alias) if name is not None}
    logic = data.get(LOGIC)
    shared: Mapping[str, Any] = logic.get(CONSTANTS, {}) if is_mapping(logic) else {}
    made = dict(data)
    for name, value in data.items():
        if _has_programs(value) and name in known and not _takes_programs(known[name]):
            made[name] = [_replaced(each, shared) for each in value] if is_list(value) else _replaced(value, shared)
    return made


def _has_programs(value: Any) -> bool:
    return is_program(value) or (is_list(value) and any(map(is_program, value)))


def _replaced(value: Any, shared: Mapping[str, Any]) -> Any:
    return next(_constant(value, shared), value) if is_program(value) else value


def value_of_program(program: Mapping[str, Any]) -> Any:
    """Return the value of a program over submission-time values.

    Raises:
        ValueError: the program reads more than these values, or has no value for them.
    """
    for value in _constant(program, {}):
        return value
    message = f"{program[LOGIC]!r:.80} reads more than submission-time values"
    raise ValueError(message)


def _takes_programs(field: FieldInfo) -> bool:
    """Return True if a field has a part of the type `ExpressionText`."""
    waiting: list[Any] = [field.annotation, *field.metadata]
    while waiting:
        each = waiting.pop()
        if isinstance(each, WrapValidator) and each.func is text_or_program:
            return True
        waiting += [*get_args(each), *getattr(each, "__metadata__", ())]
    return False


def _constant(program: Mapping[str, Any], shared: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the value of a program, unless it reads attributes or depends on more than submission-time values."""
    from streams_orchestration.operators.expressions.spl.program_environment import run_of_expression
    from streams_orchestration.spl.language.walking import nodes_in
    from streams_orchestration.spl.programs.expression import compiled
    from streams_orchestration.spl.programs.outcome import FailedError
    from streams_orchestration.spl.programs.reading import ProgramTextError, read_expression
    from streams_orchestration.spl.types.types import Tuple
    from streams_orchestration.spl.typing.typed import Call

    try:
        expression = read_expression(program[LOGIC], [], place_of(str(program.get("at", ""))))
    except ProgramTextError:
        return
    for each in nodes_in(expression, Call):
        if not each.signature.is_determined and "Submission" not in each.signature.name:
            return
    run = run_of_expression({**shared, **program.get(CONSTANTS, {})})
    _, _, evaluate = compiled(expression, ("", Tuple(())), run)
    try:
        [value] = evaluate({}, 1).to_pylist()
    except FailedError as error:
        raise ValueError(str(error)) from error
    yield value
