"""Outputs of sinks outside of the state directory, as their operators know them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.sinks.gathering import GatheringSink
from streams_orchestration.operators.storage.port import File
from streams_orchestration.runtime.catalog.sink_transitions import NewSink, insert_sink
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import operator_context


def unpublished_files(home: Home, program: PeProgram) -> list[Path]:
    """Return the files that the operators of a PE have written and not published; a commit may name some of them.

    Raises:
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
    """
    return [
        path
        for _, operator, context, parameters in operators_of(home, program)
        for path in operator.unpublished(context, parameters)
    ]


def newest_name(files: Collection[File]) -> str | None:
    """Return the name of the last file that a sink has published, by the numbers in the names, which only grow.

    None without files.
    """
    names = (path.name for path in files)
    return max(names, key=lambda name: [int(digits) for digits in re.findall(r"\d+", name)], default=None)


def operators_of(home: Home, program: PeProgram) -> Iterator[tuple[str, type[Operator], OperatorContext, BaseModel]]:
    """Yield name, class, context and parameters of each operator of a PE.

    Raises:
        ImplementationError: the class of an operator cannot be imported.
        ValidationError: the class has other parameters than at the compilation.
    """
    directories = directories_of(home, program.application, program.pe)
    for operator in program.operators.values():
        implementation = import_operator(operator.implementation)
        parameters = implementation.Parameters.model_validate(operator.parameters)
        yield operator.name, implementation, operator_context(operator, directories), parameters


def insert_sinks(connection: Connection, home: Home, program: PeProgram) -> None:
    """Insert the rows of a PE's sinks: the operators that have outputs with their commits.

    Raises:
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        Exception: the class of a sink cannot describe its target.
    """
    for name, implementation, context, parameters in operators_of(home, program):
        if implementation.prepare_commit is not Operator.prepare_commit:
            sink = NewSink(
                operator=name,
                pe=program.pe,
                kind=implementation.__name__,
                place=implementation.destination(context, parameters),
                format=_format(implementation.directory(context, parameters), parameters),
                read_with=implementation.read_with(context, parameters),
                visibility=implementation.visibility(parameters),
                marks=issubclass(implementation, GatheringSink) and implementation.marks(parameters),
            )
            insert_sink(connection, program.application, sink)


def _format(directory: Path | str | None, parameters: Any) -> str | None:
    return None if directory is None else str(getattr(parameters, "format", ""))
