"""Faults of expressions, with line and column where the spec is a YAML file."""

from __future__ import annotations

from collections.abc import Callable

from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.location import Location
from streams_orchestration.model.text_places import place_of_parameter
from streams_orchestration.operators.errors.errors import FaultyExpressionError


def expression_fault(
    code: str,
    error: FaultyExpressionError,
    operator: str,
    location: Location | None,
    location_of: Callable[[str], Location | None],
) -> Diagnostic:
    """Return the diagnostic of a fault in an expression.

    The message names the character in the expression's text if the position in the file is unknown.
    """
    if location is not None:
        place = place_of_parameter(location, error.parameter, error.text, error.offset or 0)
        if place is not None:
            line = Location(location.file, place.line)
            return Diagnostic.of(code, error.reason, operator=operator, location=line, column=place.column)
    where = location_of(error.parameter.partition(".")[0])
    return Diagnostic.of(code, str(error), operator=operator, location=where)
