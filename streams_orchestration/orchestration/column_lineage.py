"""From which columns those of a stream or of a sink come, as far as the operators' expressions tell."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.drawing.picture import short_kind
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.physical_graph import Connection
from streams_orchestration.model.schema import parse_schema

Origins = Mapping[str, frozenset[tuple[str, str]]]
"""Column -> the (node of the lineage, column of it) that it is made from."""

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
        self._incoming: dict[int, list[int]] = defaultdict(list)
        for number, connection in enumerate(compilation.physical.connections):
            self._incoming[connection.target].append(number)
        self._known: dict[tuple[int, int], Origins] = {}

    def of_output(self, operator: int, port: int) -> Origins:
        """Of an output port; columns whose origin no expression tells are left out."""
        if (operator, port) not in self._known:
            self._known[operator, port] = {}  # what comes back to it by a loop adds nothing
            self._known[operator, port] = self._origins(operator, port)
        return self._known[operator, port]

    def of_inputs(self, operator: int) -> Origins:
        """Of what an operator reads, all its input ports together."""
        by_column: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for number in self._incoming[operator]:
            connection = self._physical.connections[number]
            if self._pe_of[connection.source] == self._pe_of[operator]:
                origins = self.of_output(connection.source, connection.source_port)
            else:
                origins = self._same(connection.source, connection.source_port, self._stream(connection))
            for column, sources in origins.items():
                by_column[column] |= sources
        return {column: frozenset(sources) for column, sources in by_column.items()}

    def _origins(self, operator: int, port: int) -> Origins:
        model = self._models[operator]
        if not model.inputs:
            return self._same(operator, port, f"sources/{self._physical.operators[operator].name}")
        kind = short_kind(model.kind)
        if not model.standard or kind not in (*PASSING, *ASSIGNING):
            return {}
        inputs = self.of_inputs(operator)
        assigned = _assigned(model, port) if kind in ASSIGNING else {}
        by_column: dict[str, frozenset[tuple[str, str]]] = {}
        for column in self._columns(operator, port):
            names = _mentioned(assigned[column], inputs) if column in assigned else {column}
            sources = frozenset(source for name in names for source in inputs.get(name, ()))
            if sources:
                by_column[column] = sources
        return by_column

    def _same(self, operator: int, port: int, node: str) -> Origins:
        return {column: frozenset({(node, column)}) for column in self._columns(operator, port)}

    def _columns(self, operator: int, port: int) -> tuple[str, ...]:
        schema = self._models[operator].outputs[port].schema
        return parse_schema(schema).names if schema else ()

    def _stream(self, connection: Connection) -> str:
        return f"streams/{self._physical.operators[connection.source].streams[connection.source_port]}"


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
