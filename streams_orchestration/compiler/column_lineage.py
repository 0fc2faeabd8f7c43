"""Finds the columns from which the columns of a stream or sink are computed, from expressions and Spark's analysis."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.column_influences import column_influences
from streams_orchestration.compiler.column_sources import Pair, Port, column_sources, port_of
from streams_orchestration.compiler.column_uses import IDENTITY, UNSPECIFIED, Uses, through, united
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.drawing.picture import short_kind
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.physical_graph import Connection
from streams_orchestration.model.schema import parse_schema


@dataclass(frozen=True, slots=True)
class Origin:
    """The columns from which one column is computed."""

    columns: Uses[tuple[str, str]]
    """(lineage node, name of a column of that node) -> the ways in which the column depends on it."""
    whole_rows: bool = False
    """True if a function of whole rows is involved; `columns` may then have columns that are not used."""


Origins = Mapping[str, Origin]
"""Column -> its origin."""
Influences = Uses[tuple[str, str]]
"""(lineage node, name of a column of that node) -> the ways in which that column decides which tuples exist."""


def reference_node(operator: str, name: str) -> str:
    """Return the lineage node for a file that an operator reads in addition to its streams.

    Args:
        operator: its logical name.
        name: the parameter that names the file.
    """
    return f"sources/{operator}.{name}"


class ColumnOrigins:
    """The origins of the columns of every operator's output ports in a compiled application.

    Args:
        compilation: the application.
        across_pes: follow streams between PEs back to the sources; without it, a column that a PE reads is an origin.
    """

    def __init__(self, compilation: Compilation, *, across_pes: bool = False) -> None:
        self._physical = compilation.physical
        self._pe_of = (0,) * len(self._physical.operators) if across_pes else compilation.fusion.pe_of
        self._models = [compilation.logical.operators[each.logical] for each in compilation.physical.operators]
        self._queries = {each.operator: each for each in compilation.query_columns}
        self._incoming: dict[int, list[int]] = defaultdict(list)
        for number, connection in enumerate(compilation.physical.connections):
            self._incoming[connection.target].append(number)
        self._known: dict[tuple[int, int], Origins] = {}
        self._influences: dict[int, Influences] = {}

    def of_output(self, operator: int, port: int) -> Origins:
        """Return the origin of each column of an output port; columns whose origin no expression shows are left out.

        A column of an operator without inputs is its own origin.
        """
        if (operator, port) not in self._known:
            self._known[operator, port] = {}  # a loop back to this port adds no origins
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
                origins = self._as_origins(connection.source, connection.source_port, self._stream(connection))
            for column, origin in origins.items():
                by_column[column].append(origin)
        return {column: _union(origins) for column, origins in by_column.items()}

    def influences_on_output(self, operator: int) -> Influences:
        """Return the columns that decide which tuples an operator submits, by conditions and keys within its PE.

        Decisions that user-written code makes are unknown, and left out.
        """
        if operator not in self._influences:
            self._influences[operator] = {}  # a loop back to this operator adds no influences
            self._influences[operator] = united([self.influences_on_inputs(operator), self._own_influences(operator)])
        return self._influences[operator]

    def influences_on_inputs(self, operator: int) -> Influences:
        """Return the columns that decide which tuples an operator receives, by conditions and keys within its PE."""
        sources = {self._physical.connections[number].source for number in self._incoming[operator]}
        inside = [each for each in sources if self._pe_of[each] == self._pe_of[operator]]
        return united(map(self.influences_on_output, inside))

    def _own_influences(self, operator: int) -> Influences:
        model = self._models[operator]
        if not model.inputs or not (model.standard or model.name in self._queries):
            return {}
        if model.name in self._queries:
            known = self._queries[model.name].influences
            found: Uses[Pair] = united({(port, name): frozenset({use})} for port, name, use in known)
        else:
            found = column_influences(short_kind(model.kind), model.parameters, self._port_types(operator))
        inputs = [self.of_inputs(operator, number) for number in range(len(model.inputs))]
        return united(
            through(inputs[port][name].columns, ways) for (port, name), ways in found.items() if name in inputs[port]
        )

    def _port_types(self, operator: int) -> list[Port]:
        return [self._port_type(operator, number) for number in range(len(self._models[operator].inputs))]

    def _origins(self, operator: int, port: int) -> Origins:
        model = self._models[operator]
        if not model.inputs:
            return self._as_origins(operator, port, f"sources/{self._physical.operators[operator].name}")
        if model.name in self._queries:
            return self._of_query(operator, port)
        if not model.standard:
            return {}
        ports = self._port_types(operator)
        columns = self._columns(operator, port)
        failed = model.parameters.get("onError") == "route" and port == len(model.outputs) - 1
        parameters = {} if failed else model.parameters
        sources = column_sources(short_kind(model.kind), parameters, ports, columns, port)
        inputs = [self.of_inputs(operator, number) for number in range(len(ports))]
        by_column = {
            column: _union(
                Origin(through(origin.columns, ways), origin.whole_rows)
                for (number, name), ways in uses.items()
                if (origin := inputs[number].get(name)) is not None
            )
            for column, uses in sources.items()
        }
        return _known({**by_column, **_looked_up(model, columns)})

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
        for column, origin in self._queries[self._models[operator].name].outputs[port].items():
            read = (self.of_inputs(operator, number).get(name) for number, name in origin.inputs)
            made = _union(each for each in read if each is not None)
            columns = through(made.columns, [UNSPECIFIED])
            by_column[column] = Origin(columns, made.whole_rows or origin.whole_rows)
        return _known(by_column)

    def _as_origins(self, operator: int, port: int, node: str) -> Origins:
        return {column: Origin({(node, column): frozenset({IDENTITY})}) for column in self._columns(operator, port)}

    def _columns(self, operator: int, port: int) -> tuple[str, ...]:
        schema = self._models[operator].outputs[port].schema
        return parse_schema(schema).names if schema else ()

    def _stream(self, connection: Connection) -> str:
        return f"streams/{self._physical.operators[connection.source].streams[connection.source_port]}"


def _looked_up(model: LogicalOperator, columns: Collection[str]) -> Origins:
    """Return the origins of the attributes that a Lookup takes from its table; other operators have none."""
    taken: Mapping[str, Any] = model.parameters.get("take") or {} if short_kind(model.kind) == "Lookup" else {}
    table = reference_node(model.name, "table")
    return {name: Origin({(table, str(taken[name])): frozenset({IDENTITY})}) for name in columns if name in taken}


def _union(origins: Iterable[Origin]) -> Origin:
    several = list(origins)
    return Origin(united(each.columns for each in several), any(each.whole_rows for each in several))


def _known(origins: Origins) -> Origins:
    return {column: origin for column, origin in origins.items() if origin.columns}
