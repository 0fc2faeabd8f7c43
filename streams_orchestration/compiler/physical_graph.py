"""The physical graph, on which all stages after the parallel transformation work: replicas, connections, splitters.

Like the logical graph, to which its operators refer, it is numbered and immutable.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from streams_orchestration.compiler.logical_graph import HostPool
from streams_orchestration.model.location import Location


class PhysicalOperator(NamedTuple):
    """One replica of a logical operator (rules 5, 27-31)."""

    index: int  # pyright: ignore[reportIncompatibleMethodOverride]
    name: str
    """The physical name with global channels, `P1[1].H2[5]`."""
    logical: int
    channels: tuple[int, ...] = ()
    """The global channel at every enclosing region, outermost first; empty outside of regions."""
    local_channel: int = -1
    local_max_channels: int = 0
    max_channels: int = 0
    streams: tuple[str, ...] = ()
    """The physical stream name of every output port, with local channels (rule 31)."""
    host_pool: str | None = None
    widths: tuple[int, ...] = ()
    """The widths of the enclosing regions, outermost first."""

    @property
    def channel(self) -> int:
        """Global channel, -1 outside of regions (rule 29)."""
        return self.channels[-1] if self.channels else -1


class Connection(NamedTuple):
    """A connection from an output port of one physical operator to an input port of another (rule 12)."""

    source: int
    source_port: int
    target: int
    target_port: int
    splitter: int = -1
    """The index of the innermost splitter that the connection leaves, -1 for none."""
    channel: int = -1


@dataclass(frozen=True, slots=True)
class Splitter:
    """A splitter on a physical output port (rules 10, 12, 17-23). Broadcasts need none (rule 14)."""

    index: int
    id: str
    operator: int
    port: int
    region_port: str
    """The parallel region and its input port to which the splitter leads, as `Out.In`."""
    policy: Literal["roundRobin", "hash"]
    attributes: tuple[str, ...]
    width: int
    parent: int = -1
    """The index of the splitter to whose channel this one belongs, -1 for none."""
    parent_channel: int = -1
    start: int = 0
    """The first channel of a round robin (rule 21)."""
    drops_window_punctuation: bool = False

    @property
    def entrance(self) -> str:
        """The port of the region with its channels, since a nested splitter has a copy for each channel around it."""
        return self.id.partition(">")[2]


@dataclass(frozen=True, slots=True)
class PortLink:
    """An Import or Export of one replica, with channel functions replaced (rule 34)."""

    kind: Literal["import", "export"]
    name: str
    operator: int
    port: int
    parameters: dict[str, Any]
    schema: str | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class PhysicalGraph:
    """The application after the parallel transformation."""

    operators: tuple[PhysicalOperator, ...]
    connections: tuple[Connection, ...]
    """The connections, sorted by (source, source_port, position of the logical connection, splitter, channel, target,
    target_port)."""
    splitters: tuple[Splitter, ...] = ()
    """The splitters, sorted by operator and port, with parents before children."""
    imports: tuple[PortLink, ...] = ()
    exports: tuple[PortLink, ...] = ()
    host_pools: tuple[HostPool, ...] = ()
