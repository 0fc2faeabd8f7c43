"""One moment of a running application, as small as can be: what the catalog says, and which batches are in flight."""

from __future__ import annotations

from typing import NamedTuple

Items = tuple[int, ...]
"""Tuples, each with a number of its own."""


def put(values: tuple, index: int, value: object) -> tuple:
    """Return the values with another one at an index."""
    return (*values[:index], value, *values[index + 1 :])


class Pe(NamedTuple):
    """The catalog's row of a PE, with its operator state."""

    batch: int = -1
    epoch: int = 1
    exhausted: bool = False
    final: bool = False
    inputs: tuple[int, ...] = ()
    """Number of the next segment to read, of every stream."""
    offset: int = 0
    """Tuples that its source has made."""
    done: tuple[str, ...] = ()
    """Sources without more tuples, foreign streams that have ended."""
    written: int = 0
    """Number of the next segment to write."""
    state: Items = ()
    """All tuples that it has processed: nothing that is lost or comes twice can hide."""
    stored: int = -1
    """The batch of a query of Spark's whose commit names its state, which is its checkpoint."""
    closed: bool = False
    """True for a query in whose checkpoint all windows are closed."""
    flushed: bool = False
    """True for a query that has received the marker that closes its windows."""
    entries: tuple[int, ...] = ()
    """The watermark of every stream that it reads, 0 before the first one."""
    watermark: int = 0
    """Its own: of a source, the greatest time that it has made, else the least of the entries; it never falls."""
    late: Items = ()
    """The tuples that were below its watermark when they came."""


class Query(NamedTuple):
    """The checkpoint of a query of Spark's as it runs, which no commit need name."""

    batch: int = -1
    """The batch of the catalog that the query has reached."""
    state: Items = ()
    closed: bool = False


class Resets(NamedTuple):
    """The resets of a unit since its last complete epoch."""

    total: int = 0
    cause: str = ""
    """The cause of the last reset; a reset that is asked for by hand has the cause of the one before."""
    left: int = 5
    """The resets that this cause may still have, unless it is one outside of the application."""
    spent: tuple[tuple[str, int], ...] = ()
    """Cause -> its resets, since the last one that was forced."""


class Unit(NamedTuple):
    """The catalog's row of a unit of recovery."""

    generation: int = 1
    trigger: int = 0
    completed: int = 0
    last: int | None = None
    done: bool = False
    current: int = 1
    """The sequence id that the next drain has."""
    resets: Resets = Resets()


class Piece(NamedTuple):
    """A segment of a stream; its file exists."""

    number: int
    batch: int
    epoch: int
    items: Items
    watermark: int = 0
    """The one behind its tuples."""


class File(NamedTuple):
    """A file of a sink that no one has marked as published."""

    batch: int
    epoch: int
    items: Items
    moved: bool = False


class Boundary(NamedTuple):
    """A commit that ended an epoch: what a reset may go back to."""

    epoch: int
    pe: Pe


class Flight(NamedTuple):
    """A batch whose tasks have run and whose commit is on its way."""

    generation: int
    batch: int
    epoch: int
    boundary: bool
    final: bool
    inputs: tuple[int, ...]
    offset: int
    done: tuple[str, ...]
    written: int
    items: Items
    state: Items
    """After the batch."""
    closed: bool = False
    flushed: bool = False
    entries: tuple[int, ...] = ()
    watermark: int = 0
    late: Items = ()
    """As those of a PE."""
    current: bool = True
    """Its process is the one that works for the PE; False for one that was taken for dead and is not."""
    swept: bool = False
    """Its files are gone."""


class World(NamedTuple):
    """Everything; tuples are indexed by PE, `units` by unit."""

    pes: tuple[Pe, ...]
    units: tuple[Unit, ...]
    streams: tuple[tuple[Piece, ...], ...]
    """The segments that each PE has written, as far as they are kept."""
    files: tuple[tuple[File, ...], ...]
    visible: tuple[Items, ...]
    """The results that readers see, in the order in which they came."""
    boundaries: tuple[tuple[Boundary, ...], ...]
    flights: tuple[tuple[Flight, ...], ...]
    faults: int = 0
    """The faults that may still happen."""
    redeploys: int = 0
    """The redeploys that may still be begun."""
    plan: int = 0
    """Number of the deployed one."""
    last_epoch: int = 0
    """The epoch of the last switch: no later epoch of any unit is below."""
    last_batch: int = -1
    held: tuple[int, ...] = ()
    """Units that are drained for another plan."""
    carried: tuple[Pe, ...] = ()
    """The PEs of these units when their states were carried over."""
    carried_at: int = 0
    """The highest generation then."""
    tried: tuple[int, ...] = ()
    """Units that have begun with a plan which is on trial; nothing else is held meanwhile."""
    before: tuple[Pe, ...] = ()
    """The PEs of these units under the previous plan, at its cut."""
    queries: tuple[Query, ...] = ()
    """By PE; of one that is not a query nothing is kept."""

    def shown(self, unit: int) -> int:
        """Return the last complete epoch of a unit that is visible to others."""
        return self.last_epoch if unit in self.tried else self.units[unit].completed

    def with_unit(self, number: int, unit: Unit) -> World:
        """Return the world with another row of a unit."""
        return self._replace(units=put(self.units, number, unit))

    def with_flights(self, pe: int, flights: tuple[Flight, ...]) -> World:
        """Return the world with other batches of a PE in flight."""
        return self._replace(flights=put(self.flights, pe, flights))


class ViolationError(Exception):
    """The world is in a state that must not be."""
