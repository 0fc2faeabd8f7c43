"""Finds the columns from which those of a stream or a sink are made, by the operators' expressions and by Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from streams_orchestration.compiler.column_sources import Port, column_sources, port_of
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.drawing.picture import short_kind
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
        if not model.standard:
            return {}
        ports = [self._port_type(operator, number) for number in range(len(model.inputs))]
        columns = self._columns(operator, port)
        sources = column_sources(short_kind(model.kind), model.parameters, ports, columns, port)
        inputs = [self.of_inputs(operator, number) for number in range(len(ports))]
        by_column = {
            column: _union(inputs[number][name] for number, name in sorted(of) if name in inputs[number])
            for column, of in sources.items()
        }
        return _known(by_column)

    def _port_type(self, operator: int, port: int) -> Port:
        """Return the tuple type of an input port; it has no attributes where no schema is known."""
        for number in self._incoming[operator]:
            connection = self._physical.connections[number]
            schema = self._models[connection.source].outputs[connection.source_port].schema
            if connection.target_port == port and schema:
                return port_of(schema)
        return {}

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
