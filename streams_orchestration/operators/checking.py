"""Checks what only the operators themselves know: their parameters, expressions, attributes and files."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.graph import LogicalOperator
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import arrow_schema
from streams_orchestration.operators.implementation import ImplementationError, implementation_name, load_operator
from streams_orchestration.operators.operator import Operator, OperatorContext


def check_operators(compilation: Compilation, *, deployable: bool = True) -> list[Diagnostic]:
    """Diagnostics of all operators that have an implementation.

    Args:
        compilation: the application.
        deployable: an operator without one is an error; False leaves it out, since it may be compiled only.
    """
    found: list[Diagnostic] = []
    places: dict[Path, LogicalOperator] = {}
    for operator in compilation.logical.operators:
        try:
            implementation_name(operator)
        except ImplementationError as error:
            if deployable:
                found.append(_diagnostic("SO5001", operator, str(error)))
            continue
        found += _check(compilation, operator, places)
    return found


def _check(
    compilation: Compilation, operator: LogicalOperator, places: dict[Path, LogicalOperator]
) -> list[Diagnostic]:
    """What is wrong with one operator; `places` are the directories that the ones before it publish into."""
    try:
        implementation = load_operator(operator)
    except ImplementationError as error:
        return [_diagnostic("SO5002", operator, str(error))]
    try:
        parameters = implementation.Parameters.model_validate(operator.parameters)
    except ValidationError as error:
        return [_diagnostic("SO5003", operator, text) for text in _parameter_errors(implementation, error)]
    context = _context(compilation, operator)
    if context is None:
        return []
    try:
        implementation.check(context, parameters)
        place = implementation.directory(context, parameters)
    except Exception as error:  # whatever the code of a user's operator raises
        text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        return [_diagnostic("SO5004", operator, text)]
    if place is None or places.setdefault(place, operator) is operator:
        return []
    text = f"{place}: {places[place].name} publishes into this directory, too; give each a directory of its own"
    return [_diagnostic("SO5004", operator, text)]


def _parameter_errors(implementation: type[Operator], error: ValidationError) -> list[str]:
    fields = implementation.Parameters.model_fields
    known = [field.alias or name for name, field in fields.items()]
    texts = []
    for item in error.errors():
        name = ".".join(str(part) for part in item["loc"])
        match item["type"]:
            case "extra_forbidden" if len(item["loc"]) == 1:
                texts.append(f"there is no parameter {name}{nearest(name, known)}")
            case "missing":
                texts.append(f"the parameter {name} is missing")
            case _:
                texts.append(f"the parameter {name}: {item['msg']}, not {item['input']!r}")
    return texts


def _context(compilation: Compilation, operator: LogicalOperator) -> OperatorContext | None:
    """The operator's surroundings, None when a stream has no schema, which other checks report."""
    inputs: list[str | None] = [None] * len(operator.inputs)
    for connection in compilation.logical.connections:
        if connection.target == operator.index:
            source = compilation.logical.operators[connection.source]
            inputs[connection.target_port] = source.outputs[connection.source_port].schema
    if any(ddl is None for ddl in inputs):
        return None
    base = Path(operator.location.file).absolute().parent if operator.location else Path.cwd()
    return OperatorContext(
        name=operator.name,
        inputs=tuple(arrow_schema(ddl) for ddl in inputs if ddl is not None),
        outputs=tuple(None if output.schema is None else arrow_schema(output.schema) for output in operator.outputs),
        base=base,
    )


def _diagnostic(code: str, operator: LogicalOperator, message: str) -> Diagnostic:
    return Diagnostic.of(code, message, operator=operator.name, location=operator.location)
