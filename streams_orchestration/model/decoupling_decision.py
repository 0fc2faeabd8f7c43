"""A decision that parts a PE of an application, as a document: operators by their names, never by numbers."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class DecidedPart:
    """Operators that are to be one PE."""

    operators: tuple[str, ...]
    """Names of replicas, `Out[0].A`."""
    load: float = 0.0
    """Predicted, in percent of a processor, when the application takes as much as the busiest PE could before."""
    location: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class DecidedNetwork:
    """A stream that crosses because of the decision, from one part to one other."""

    operator: str
    """The producer."""
    port: int
    sender: int
    """Part, from 0."""
    receiver: int
    channel: str = ""
    """Of a splitter, `Region.In[1]`; empty for a whole port."""
    tuples_per_second: float = 0.0
    bytes_per_second: float = 0.0
    send: float = 0.0
    """Load of the sender, in percent of a processor."""
    receive: float = 0.0
    """Load of the receiver."""


@dataclass(frozen=True, slots=True)
class DecouplingDecision:
    """Which operators of one PE go to PEs of their own."""

    application: str
    pe: int
    parts: tuple[DecidedPart, ...]
    """All operators of the PE; streams go to later parts only. One part: nothing is moved."""
    fingerprint: str = ""
    """Of the compiled application that the decision is about."""
    networks: tuple[DecidedNetwork, ...] = ()
    loads: tuple[tuple[int, float], ...] = ()
    """(PE, its load before the decision), in the unit of the parts."""
    measured_load: float = 0.0
    """Of the busiest PE when it was measured, in percent of a processor."""
    predicted_speedup: float = 1.0
    bound: float = 0.0
    """No decision has a lower largest load of a part, the overhead of a PE aside."""
    gap: float = 0.0
    location: str = field(default="", compare=False)
