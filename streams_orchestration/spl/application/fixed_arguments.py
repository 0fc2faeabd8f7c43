"""Arguments of calls whose values are part of the application, such as the name of a submission-time value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from streams_orchestration.spl.application.values import SUBMISSION, SUBMISSION_LIST
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.types.types import UNKNOWN, Collection, Type
from streams_orchestration.spl.types.types import Tuple as TupleType
from streams_orchestration.spl.typing.spans import Mistake
from streams_orchestration.spl.typing.typed import (
    Call,
    Constant,
    Expression,
    ListOf,
    OutputCall,
    PortAttribute,
    PortTuple,
    Typed,
    Variable,
)

_FIXED = (SUBMISSION, SUBMISSION_LIST, "getCompileTimeValue", "getCompileTimeListValue")
"""Functions whose arguments are literals, or computed from literals alone."""


def with_fixed_arguments(call: Call, mistakes: list[Mistake]) -> Call:
    """Return a call with constants in place of its arguments, if it is one whose arguments must be constants.

    Any other call is returned unchanged. An argument that is reported, or of unknown type, stays.

    Args:
        call: the call.
        mistakes: the list that gets a mistake for each argument that is not a constant, or fails to be computed.
    """
    if call.signature.name not in _FIXED or not call.signature.is_standard:
        return call
    return replace(call, arguments=tuple(_fixed(each, call.signature.name, mistakes) for each in call.arguments))


def _fixed(argument: Expression, function: str, mistakes: list[Mistake]) -> Expression:
    parts = list(nodes_in(argument, Typed))
    elements = argument.elements if isinstance(argument, ListOf) else (argument,)
    if all(isinstance(each, Constant) for each in elements) or any(each.type == UNKNOWN for each in parts):
        return argument
    if not all(map(_is_fixed, parts)):
        message = f"{function} needs a constant here, but this value is known only at run time"
        mistakes.append(Mistake("CDISP0238E", message, argument.span))
        return argument
    from streams_orchestration.spl.programs.errors import ProgramError
    from streams_orchestration.spl.programs.expression import compiled
    from streams_orchestration.spl.programs.outcome import FailedError

    try:
        *_, evaluate = compiled(argument, ("", TupleType(())))
        value = evaluate({}, 1)[0].as_py()
    except (ProgramError, FailedError) as error:
        mistakes.append(Mistake("CDISP0143E", f"this constant cannot be computed: {error}", argument.span))
        return argument
    return _literal(argument, argument.type, value)


def _is_fixed(part: Typed) -> bool:
    if isinstance(part, Call):
        return part.signature.is_determined
    return not isinstance(part, Variable | PortAttribute | PortTuple | OutputCall)


def _literal(argument: Expression, type_: Type, value: Any) -> Expression:
    """Return the tree of a text, or of a list of texts."""
    if isinstance(type_, Collection):
        return ListOf(argument.span, type_, tuple(_literal(argument, type_.elements[0], each) for each in value))
    return Constant(argument.span, type_, value)
