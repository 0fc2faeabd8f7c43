"""Ports of PEs: where streams enter and leave them (rules 62, 63)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from streams_orchestration.compiler.graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import PeInputPort, PeOutputPort

_Port = TypeVar("_Port", PeInputPort, PeOutputPort)


def pe_ports(
    physical: PhysicalGraph, pe_of: Sequence[int]
) -> tuple[dict[int, tuple[PeInputPort, ...]], dict[int, tuple[PeOutputPort, ...]]]:
    """Input and output ports by PE, each in the order of their numbers.

    An input port for every operator port that something outside feeds, an import too. An output port for all plain
    remote connections and exports of an operator port, and one for every splitter channel that leaves the PE.
    Ports are numbered by the smallest PE at their other end; those with nothing but an import or export come last.
    """
    nobody = len(pe_of)
    inputs: dict[PeInputPort, int] = {}
    outputs: dict[PeOutputPort, int] = {}
    for connection in physical.connections if max(pe_of, default=0) else ():
        source, target = pe_of[connection.source], pe_of[connection.target]
        if source != target:
            entry = PeInputPort(connection.target, connection.target_port)
            exit_ = PeOutputPort(connection.source, connection.source_port, connection.splitter, connection.channel)
            inputs[entry] = min(inputs.get(entry, nobody), source)
            outputs[exit_] = min(outputs.get(exit_, nobody), target)
    for link in physical.imports:
        inputs.setdefault(PeInputPort(link.operator, link.port), nobody)
    for link in physical.exports:
        outputs.setdefault(PeOutputPort(link.operator, link.port), nobody)
    return _by_pe(inputs.items(), pe_of), _by_pe(outputs.items(), pe_of)


def _by_pe(ports: Iterable[tuple[_Port, int]], pe_of: Sequence[int]) -> dict[int, tuple[_Port, ...]]:
    grouped: dict[int, list[tuple[int, _Port]]] = {}
    for port, peer in ports:
        grouped.setdefault(pe_of[port.operator], []).append((peer, port))
    return {pe: tuple(port for _, port in sorted(entries)) for pe, entries in grouped.items()}
