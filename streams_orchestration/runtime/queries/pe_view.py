"""A PE as its planner sees it: its streams, and the state of its unit."""

from __future__ import annotations

from dataclasses import dataclass, field

from streams_orchestration.compiler.pe_program import InputStream
from streams_orchestration.operators.contract.offset import Offsets
from streams_orchestration.runtime.programs.batches import Position, Segment, StoredState


@dataclass(frozen=True, slots=True)
class StreamView:
    """The part of the catalog that a consumer of one stream sees."""

    segments: tuple[tuple[int, int, Segment], ...]
    """The (number, epoch, segment) of each segment that it may read, from its position on, in order."""
    producer_epoch: int
    """The open epoch of the producer; all lower epochs are closed."""
    ended: bool
    """True if the producer has made its final commit, so that nothing comes after `segments`."""
    batches: tuple[int, ...] = ()
    """For an uncommitted stream, the number of the producer's batch of each segment; batches are read as a whole."""


@dataclass(frozen=True, slots=True)
class PeView:
    """The part of the catalog that a PE sees of itself and of its surroundings."""

    life: str
    wanted: bool
    """True if the application is wanted to run."""
    generation: int
    batch: int
    """The number of the last committed batch."""
    epoch: int
    final: bool
    position: Position
    states: dict[str, StoredState]
    trigger_epoch: int
    final_epoch: int | None
    streams: dict[str, StreamView] = field(default_factory=dict[str, StreamView])
    period: float | None = None
    """The period of the region in seconds; None for a region without a period, and outside of regions."""
    completed_epoch: int = 0
    imported: tuple[InputStream, ...] = ()
    """The exported streams to which the PE's Imports are connected now."""
    waits: bool = False
    """True if the unit is to return to its cut, so that work until then would be discarded."""
    draining: frozenset[str] | None = None
    """The streams from outside that the PE still reads while its unit is drained for another plan; None if it is not.

    They come from units that are drained, too. Sources produce nothing while the unit is drained. The value is also
    None while the unit is on its way to the end of an epoch that only its trigger operator can end.
    """
    bounded: str | None = None
    """The id of the bounded run, which reads only the input that existed when it began; None for an unbounded run."""
    bounds: Offsets = field(default_factory=Offsets)
    """Source operator -> the end of the bounded run, as far as it is known."""
    resets: int = 0
    """The number of resets of the PE's unit since the application was deployed."""
    readership: int = 1
    """The number of changes of the readers of the application's streams, as in `BatchPlan`."""
    clocks: dict[str, int] = field(default_factory=dict[str, int])
    """The watermarks of the sources of other PEs that the PE's own ones may have to wait for (EV65)."""
    outstanding: int = 0
    """The largest backlog behind the PE, for back-pressure.

    It is the number of segments that the slowest consumer of any stream still has to read, or of complete epochs that a
    sink could not make visible, or of batches of a sink that shows them uncommitted.
    """
