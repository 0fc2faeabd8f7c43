"""The ports of PEs, where streams enter and leave them (rules 62, 63)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from streams_orchestration.compiler.named_tuples import maker
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import PeInputPort, PeOutputPort

_Port = TypeVar("_Port", PeInputPort, PeOutputPort)


def pe_ports(
    physical: PhysicalGraph, pe_of: Sequence[int]
) -> tuple[dict[int, tuple[PeInputPort, ...]], dict[int, tuple[PeOutputPort, ...]]]:
    """Return the input and output ports of every PE, in the order of their numbers.

    Every operator port that is fed from outside of the PE or by an import has one PE input port. All plain remote
    connections and exports of an operator port share one PE output port; every splitter channel that leaves the PE has
    its own. Ports are numbered by the smallest PE at their other end; those with nothing but an import or export come
    last.
    """
    no_pe = len(pe_of)
    inputs: dict[tuple[int, int], int] = {}
    outputs: dict[tuple[int, int, int, int], int] = {}
    for source, port, target, target_port, splitter, channel in physical.connections if max(pe_of, default=0) else ():
        here, there = pe_of[source], pe_of[target]
        if here != there:
            entry, exit_ = (target, target_port), (source, port, splitter, channel)
            if here < inputs.get(entry, no_pe):
                inputs[entry] = here
            if there < outputs.get(exit_, no_pe):
                outputs[exit_] = there
    for link in physical.imports:
        inputs.setdefault((link.operator, link.port), no_pe)
    for link in physical.exports:
        outputs.setdefault((link.operator, link.port, -1, -1), no_pe)
    return _by_pe(inputs, pe_of, maker(PeInputPort)), _by_pe(outputs, pe_of, maker(PeOutputPort))


def _by_pe(
    peers: Mapping[tuple[int, ...], int], pe_of: Sequence[int], make: Callable[[tuple[int, ...]], _Port]
) -> dict[int, tuple[_Port, ...]]:
    grouped: dict[int, list[tuple[int, ...]]] = {}
    for port in peers:
        pe = pe_of[port[0]]
        if pe in grouped:
            grouped[pe].append(port)
        else:
            grouped[pe] = [port]
    for ports in grouped.values():
        if len(ports) > 1:
            ports.sort()
            ports.sort(key=peers.__getitem__)
    return {pe: tuple(map(make, ports)) for pe, ports in grouped.items()}
