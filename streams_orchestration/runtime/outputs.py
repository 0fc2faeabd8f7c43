"""The files of sinks outside of the state directory, as the operators themselves know them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel

from streams_orchestration.operators.contract import Operator, OperatorContext
from streams_orchestration.operators.implementation import import_operator
from streams_orchestration.runtime.directories import directories_of
from streams_orchestration.runtime.home import Home
from streams_orchestration.runtime.instances import operator_context
from streams_orchestration.runtime.program import PeProgram


def published_files(home: Home, program: PeProgram) -> list[Path]:
    """What the operators of a PE seem to have published into their places."""
    return [
        path
        for _, operator, context, parameters in operators_of(home, program)
        for path in operator.published(context, parameters)
    ]


def unpublished_files(home: Home, program: PeProgram) -> list[Path]:
    """What the operators of a PE wrote and nothing has made visible."""
    return [
        path
        for _, operator, context, parameters in operators_of(home, program)
        for path in operator.unpublished(context, parameters)
    ]


def operators_of(home: Home, program: PeProgram) -> Iterator[tuple[str, type[Operator], OperatorContext, BaseModel]]:
    """The operators of a PE: name, class, surroundings and parameters."""
    directories = directories_of(home, program.application, program.pe)
    for operator in program.operators.values():
        implementation = import_operator(operator.implementation)
        parameters = implementation.Parameters.model_validate(operator.parameters)
        yield operator.name, implementation, operator_context(operator, directories), parameters
