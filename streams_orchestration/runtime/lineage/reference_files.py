"""Finds the files that operators read in addition to their streams, such as the table of a `Lookup`.

They are sources, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from streams_orchestration.compiler.implementations import implementation_name, is_standard
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.operators.implementations.implementation import import_operator


class ReferenceFile(NamedTuple):
    """A file, directory or pattern of files that a parameter names."""

    name: str
    """Name of the parameter, such as `table` of a `Lookup`; of a static table in a mapping, the table's name.

    It is `file` if no parameter names the file.
    """
    file: str
    facts: Mapping[str, Any]
    """The neighbouring values of the file in the spec, such as `format` and `schema`."""


def reference_files(operator: LogicalOperator, *, import_all: bool) -> list[ReferenceFile]:
    """Return the files that an operator with input ports reads; empty if its class or its parameters are invalid.

    A file that no parameter names is called `file`. If a name occurs again, a number is appended to it. Unless
    `import_all` is set, only standard operators are examined, and no module of the user is imported.
    """
    if not operator.inputs or not (import_all or is_standard(operator)):
        return []
    try:
        found = import_operator(implementation_name(operator))
        files = found.input_files(found.Parameters.model_validate(operator.parameters))
    except Exception:  # noqa: BLE001  checking the operator reports an error of its class or its parameters
        return []
    named: dict[str, ReferenceFile] = {}
    for file in dict.fromkeys(files):
        for each in [*_mentions(operator.parameters, file)] or [ReferenceFile("file", file, {})]:
            name = each.name if each.name not in named else f"{each.name}_{len(named) + 1}"
            named[name] = each._replace(name=name)
    return list(named.values())


def _mentions(parameters: Mapping[str, Any], file: str, within: str = "") -> Iterator[ReferenceFile]:
    """Find the parameters that name a file. A parameter within a mapping gets the outer mapping's name."""
    for name, value in parameters.items():
        if value == file:
            yield ReferenceFile(within or name, file, parameters if within else {})
        elif is_mapping(value):
            yield from _mentions(value, file, name)
