"""Finds the columns from which those of a stream or a sink are made, by the operators' expressions and by Spark."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.drawing.picture import short_kind
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.physical_graph import Connection
from streams_orchestration.model.schema import parse_schema


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a column."""

    columns: frozenset[tuple[str, str]]
    """(node of the lineage, column of it)."""
    whole_rows: bool = False
    """A function over whole rows is on the way, so these are all that it may be made from."""


Origins = Mapping[str, Origin]
"""Column -> its origin."""

PASSING = ("Filter", "Split", "Union", "Throttle", "DeDuplicate", "Punctor")
"""Operators that submit attributes as they come."""
ASSIGNING = ("Functor", "Aggregate")
"""Operators with an expression for each attribute that does not come through as it is."""
_WORDS = re.compile(r"'(?:[^']|'')*'|`((?:[^`]|``)+)`|\b([A-Za-z_]\w*)\b(?!\s*\()")


class ColumnOrigins:
    """The origins of the columns of every operator's output ports in a compiled application."""

    def __init__(self, compilation: Compilation) -> None:
        self._physical = compilation.physical
        self._pe_of = compilation.fusion.pe_of
        self._models = [compilation.logical.operators[each.logical] for each in compilation.physical.operators]
        self._queries = {each.operator: each.outputs for each in compilation.query_columns}
        self._incoming: dict[int, list[int]] = defaultdict(list)
        for number, connection in enumerate(compilation.physical.connections):
            self._incoming[connection.target].append(number)
        self._known: dict[tuple[int, int], Origins] = {}

    def of_output(self, operator: int, port: int) -> Origins:
        """Return the origins of an output port's columns; columns whose origin no expression shows are left out."""
        if (operator, port) not in self._known:
            self._known[operator, port] = {}  # what comes back to it by a loop adds nothing
            self._known[operator, port] = self._origins(operator, port)
        return self._known[operator, port]

    def of_inputs(self, operator: int, port: int | None = None) -> Origins:
        """Return the origins of the columns that an operator reads at one input port, or at all of them together."""
        by_column: dict[str, list[Origin]] = defaultdict(list)
        for number in self._incoming[operator]:
            connection = self._physical.connections[number]
            if port not in (None, connection.target_port):
                continue
            if self._pe_of[connection.source] == self._pe_of[operator]:
                origins = self.of_output(connection.source, connection.source_port)
            else:
                origins = self._same(connection.source, connection.source_port, self._stream(connection))
            for column, origin in origins.items():
                by_column[column].append(origin)
        return {column: _union(origins) for column, origins in by_column.items()}

    def _origins(self, operator: int, port: int) -> Origins:
        model = self._models[operator]
        if not model.inputs:
            return self._same(operator, port, f"sources/{self._physical.operators[operator].name}")
        if model.name in self._queries:
            return self._of_query(operator, port)
        kind = short_kind(model.kind)
        if not model.standard or kind not in (*PASSING, *ASSIGNING):
            return {}
        inputs = self.of_inputs(operator)
        assigned = _assigned(model, port) if kind in ASSIGNING else {}
        by_column: dict[str, Origin] = {}
        for column in self._columns(operator, port):
            names = _mentioned(assigned[column], inputs) if column in assigned else {column}
            by_column[column] = _union(inputs[name] for name in names if name in inputs)
        return _known(by_column)

    def _of_query(self, operator: int, port: int) -> Origins:
        by_column: dict[str, Origin] = {}
        for column, origin in self._queries[self._models[operator].name][port].items():
            read = (self.of_inputs(operator, number).get(name) for number, name in origin.inputs)
            made = _union(each for each in read if each is not None)
            by_column[column] = Origin(made.columns, made.whole_rows or origin.whole_rows)
        return _known(by_column)

    def _same(self, operator: int, port: int, node: str) -> Origins:
        return {column: Origin(frozenset({(node, column)})) for column in self._columns(operator, port)}

    def _columns(self, operator: int, port: int) -> tuple[str, ...]:
        schema = self._models[operator].outputs[port].schema
        return parse_schema(schema).names if schema else ()

    def _stream(self, connection: Connection) -> str:
        return f"streams/{self._physical.operators[connection.source].streams[connection.source_port]}"


def _union(origins: Iterable[Origin]) -> Origin:
    columns: frozenset[tuple[str, str]] = frozenset()
    whole_rows = False
    for origin in origins:
        columns, whole_rows = columns | origin.columns, whole_rows or origin.whole_rows
    return Origin(columns, whole_rows)


def _known(origins: Origins) -> Origins:
    return {column: origin for column, origin in origins.items() if origin.columns}


def _assigned(model: LogicalOperator, port: int) -> dict[str, str]:
    """Attribute -> its expression, of one output port."""
    output = model.parameters.get("output") or {}
    if isinstance(output, list):
        output = output[port] if port < len(output) else {}
    return {str(name): str(text) for name, text in output.items()} if isinstance(output, Mapping) else {}


def _mentioned(expression: str, columns: Origins) -> set[str]:
    """The columns that an expression names."""
    words = ((quoted or word or "").replace("``", "`") for quoted, word in _WORDS.findall(expression))
    return {word for word in words if word in columns}
