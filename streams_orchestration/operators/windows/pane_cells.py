"""The values of groups in slices of panes of event time, which are added once and combined when a pane fires."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.keys.comparison import distinct, key_batch, key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.windows.pane_numbers import (
    Renumbered,
    number_batch,
    number_schema,
    places_of,
    state_values,
)

ALL = -1
"""The number that denotes all partitions. Numbers of single partitions are at least 0."""


class Running(Protocol):
    """The part of an output function that handles running values. The state of a group is a count and such a value."""

    @property
    def state_type(self) -> pa.DataType:
        """The Arrow type of the running values."""
        ...

    def add(self, counts: np.ndarray, values: np.ndarray, groups: np.ndarray, batch: Evaluated) -> None:
        """Add a batch in which tuple i belongs to group `groups[i]`, in order of arrival.

        Args:
            counts: the number of tuples of every group so far, updated in place; negative once the group has failed.
            values: the running values, updated in place; 0 or None for a group without tuples.
            groups: the group of every tuple.
            batch: the tuples.

        Raises:
            DataError: an argument has no value for a tuple, or lists of a group differ in size.
        """
        ...

    def merge(
        self,
        counts: np.ndarray,
        values: np.ndarray,
        groups: np.ndarray,
        more_counts: np.ndarray,
        more_values: np.ndarray,
    ) -> None:
        """Add later parts of groups to `counts` and `values`, in place.

        Part i, with `more_counts[i]` and `more_values[i]`, belongs to group `groups[i]`. Raises DataError if lists of a
        group differ in size.
        """
        ...


class CellRanges(NamedTuple):
    """Ranges of slices from `first` to `last`, both included, each of one partition or of all."""

    partition: np.ndarray
    """The partition, or `ALL`."""
    first: np.ndarray
    last: np.ndarray
    rank: np.ndarray
    """The rank of each range in the order of firings; the partitions of a pane have one rank."""


class PaneGroups(NamedTuple):
    """The groups in several ranges of slices, ordered by range, then partition, then the group's first tuple."""

    range: np.ndarray
    """The range of each group."""
    partition: np.ndarray
    key: np.ndarray
    """The number that identifies each group's key."""
    running: Mapping[str, tuple[np.ndarray, np.ndarray]]
    """Maps each output attribute to the counts and values of the groups."""
    fresh: np.ndarray
    """True for each group that got tuples since its last firing."""
    rows: np.ndarray
    """The rows of all cells that were read."""

    def only(self, chosen: np.ndarray) -> PaneGroups:
        """Return the groups where the mask is true."""
        own = {name: getattr(self, name)[chosen] for name in ("range", "partition", "key", "fresh")}
        return self._replace(running={name: (n[chosen], v[chosen]) for name, (n, v) in self.running.items()}, **own)

    def firings(self) -> np.ndarray:
        """Return the first group of each partition in each range."""
        if not len(self.key):
            return self.key
        new = (self.range[1:] != self.range[:-1]) | (self.partition[1:] != self.partition[:-1])
        return np.r_[0, 1 + np.flatnonzero(new)]


class PaneCells:
    """The running values of all open groups: a cell for each slice and key."""

    def __init__(self, keys: pa.Schema, partition: Sequence[str], measures: Mapping[str, Running]) -> None:
        """Start with no groups.

        Args:
            keys: the attributes of a group's key, beginning with the attributes of its partition.
            partition: the names of the partition's attributes.
            measures: the output functions by output attribute.
        """
        self.names = keys.names
        self.measures = measures
        self.width = len(partition)
        running = {f"count {name}": pa.int64() for name in measures}
        running |= {f"value {name}": measure.state_type for name, measure in measures.items()}
        self.cells = KeyedState(number_schema("slice", "key"), pa.schema({"fresh": pa.bool_()} | running))
        """Maps (slice, number of the key) to the running values, and to True if tuples came since the last firing."""
        self.keys = KeyedState(key_schema(keys.types), number_schema("number", "partition"))
        """Maps each key to its number and to the number of its partition."""
        self.partitions = KeyedState(key_schema(keys.types[: self.width]), number_schema("number"))
        """Maps each partition to its number, if groups are divided within partitions."""
        self.next = 0

    @property
    def _divided(self) -> bool:
        """True if a partition may have several groups, since the key has more attributes than the partition."""
        return 0 < self.width < len(self.names)

    def clear(self) -> None:
        """Forget all groups."""
        self.cells.clear()
        self.keys.clear()
        self.partitions.clear()

    def number(self, source: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of every tuple's key, and of its partition. New keys and partitions get numbers."""
        return self._number([source.column(name) for name in self.names], source.num_rows)

    def _number(self, columns: Sequence[pa.Array], count: int) -> tuple[np.ndarray, np.ndarray]:
        before, (heads, codes) = len(self.keys), distinct(columns, count)
        rows = self.keys.rows_of(key_batch(columns, heads), touch=False) if columns or not before else self.keys.rows()
        numbers, partitions = self.keys.column("number"), self.keys.column("partition")
        if len(self.keys) > before:
            new = np.arange(len(numbers) - (len(self.keys) - before), len(numbers))
            numbers[new] = self.next + np.arange(len(new))
            self.next += len(new)
            if self._divided:
                partitions[rows] = self._partitions_of(columns[: self.width], heads)
            elif self.width:
                partitions[new] = numbers[new]
        if not self.names:
            return np.broadcast_to(numbers[rows], count), np.broadcast_to(partitions[rows], count)
        return numbers[rows][codes], partitions[rows][codes]

    def _partitions_of(self, columns: Sequence[pa.Array], heads: np.ndarray) -> np.ndarray:
        before = len(self.partitions)
        rows = self.partitions.rows_of(key_batch(columns, heads), touch=False)
        numbers = self.partitions.column("number")
        new = np.arange(len(numbers) - (len(self.partitions) - before), len(numbers))
        numbers[new] = self.next + np.arange(len(new))
        self.next += len(new)
        return numbers[rows]

    def add(
        self,
        slices: np.ndarray,
        keys: np.ndarray,
        tuples: Evaluated,
        pairs: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> None:
        """Add tuples, in order of arrival, to the cells of their slices and keys.

        Args:
            slices: the slices of the tuples.
            keys: the numbers of the tuples' keys.
            tuples: the tuples.
            pairs: the distinct pairs of partition and slice, if they are known; see `PaneEntries`.
        """
        if not len(slices):
            return
        if pairs is None or self._divided or not self.width:
            pairs = distinct([pa.array(each) for each in ((slices, keys) if self.names else (slices,))], len(slices))
        heads, codes = pairs
        rows = self.cells.rows_of(number_batch(slice=slices[heads], key=keys[heads]))
        self.cells.column("fresh")[rows] = True
        rows = rows[codes]
        for name, measure in self.measures.items():
            measure.add(*self._running(name), rows, tuples)

    def _running(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        return self.cells.column(f"count {name}"), self.cells.column(f"value {name}")

    def known_slices(self) -> np.ndarray:
        """Return the slices of all cells, ascending."""
        return np.unique(self.cells.key_column("slice")[self.cells.rows()])

    def partitions_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the partition of each row of cells; 0 without partitions."""
        keys = self.cells.key_column("key")[rows]
        if not self._divided:
            return keys if self.width else np.zeros(len(keys), np.int64)
        return self.keys.column("partition")[self._rows_of_numbers(keys)]

    def _rows_of_numbers(self, numbers: np.ndarray) -> np.ndarray:
        """Return the rows of `keys` with the given numbers. In `keys`, numbers ascend in the order of rows."""
        rows = self.keys.rows()
        return rows[np.searchsorted(self.keys.column("number")[rows], numbers)]

    def within(self, ranges: CellRanges) -> tuple[np.ndarray, np.ndarray]:
        """Return the cells of several ranges of slices: an array of range numbers, and one of the cells' rows.

        The result is ordered by range, then by slice.
        """
        rows = self.cells.rows()
        slices = self.cells.key_column("slice")[rows]
        low, high = ranges.first.min(initial=0), ranges.last.max(initial=0)
        if len(ranges.first) and len(rows) and (low > slices.min() or high < slices.max()):
            near = np.flatnonzero((slices >= ranges.first.min()) & (slices <= ranges.last.max()))
            rows, slices = rows[near], slices[near]
        partitions = None if (ranges.partition == ALL).all() else self.partitions_of(rows)
        chosen, places = within(slices, partitions, ranges)
        return chosen, rows[places]

    def read(self, ranges: CellRanges, only_fresh: np.ndarray | None = None) -> PaneGroups:
        """Return the groups in ranges of slices, with their values combined in order of slices.

        Args:
            ranges: the ranges in the order of their firings.
            only_fresh: a mask of the ranges that leave out groups without tuples since their last firing, or None.
        """
        chosen, rows = self.within(ranges)
        keys = self.cells.key_column("key")[rows]
        heads, codes = distinct([pa.array(chosen), pa.array(keys)], len(rows))
        running: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        single = len(heads) == len(rows)
        firsts = rows[heads]
        if not single:
            np.minimum.at(firsts, codes, rows)
        for name, measure in self.measures.items():
            counts, values = (column[rows] for column in self._running(name))
            if not single:
                more_counts, more_values = counts, values
                counts = np.zeros(len(heads), np.int64)
                values = (
                    np.full(len(heads), None, object) if values.dtype == object else np.zeros(len(heads), values.dtype)
                )
                measure.merge(counts, values, codes, more_counts, more_values)
            running[name] = counts, values
        chosen, keys, partitions = chosen[heads], keys[heads], self.partitions_of(firsts)
        order = self._in_order(ranges.rank[chosen], partitions, firsts)
        fresh = np.bincount(codes, self.cells.column("fresh")[rows], len(heads)) > 0
        if only_fresh is not None:
            order = order[fresh[order] | ~only_fresh[chosen[order]]]
        running = {name: (counts[order], values[order]) for name, (counts, values) in running.items()}
        return PaneGroups(chosen[order], partitions[order], keys[order], running, fresh[order], rows)

    def _in_order(self, ranks: np.ndarray, partitions: np.ndarray, firsts: np.ndarray) -> np.ndarray:
        """Return the order of groups by rank, first tuple of the partition and first tuple of the group (EV36)."""
        if not self._divided:
            return np.lexsort((firsts, ranks))
        heads, codes = distinct([pa.array(ranks), pa.array(partitions)], len(ranks))
        earliest = firsts[heads]
        np.minimum.at(earliest, codes, firsts)
        return np.lexsort((firsts, earliest[codes], ranks))

    def key_columns(self, numbers: np.ndarray) -> dict[str, pa.Array]:
        """Return the attributes of the keys with known numbers, by name; nothing if keys have no attributes."""
        if not self.names:
            return {}
        parts = self.keys.index.keys(self._rows_of_numbers(numbers)).columns
        return {name: part.combine_chunks() for name, part in zip(self.names, parts, strict=True)}

    def restart(self, rows: np.ndarray) -> None:
        """Reset cells to the initial running values, for panes that show only the tuples since their last firing."""
        rows = np.unique(rows)
        self.cells.write_rows(rows)
        self.cells.column("fresh")[rows] = False
        for name in self.measures:
            counts, values = self._running(name)
            counts[rows] = 0
            values[rows] = None if values.dtype == object else 0

    def delete(self, rows: np.ndarray) -> None:
        """Remove the cells in distinct rows. Their keys are kept until `forget_keys`."""
        if len(rows) == len(self.cells):
            self.cells.clear()
        else:
            self.cells.delete_rows(rows)

    def forget_keys(self) -> None:
        """Forget the keys and partitions that no cell has."""
        if not len(self.cells):
            self.keys.clear()
            self.partitions.clear()
            return
        rows = self.keys.rows()
        used = np.unique(self.cells.key_column("key")[self.cells.rows()])
        self.keys.delete_rows(rows[~np.isin(self.keys.column("number")[rows], used)])
        if self._divided:
            rows, living = self.partitions.rows(), self.keys.column("partition")[self.keys.rows()]
            self.partitions.delete_rows(rows[~np.isin(self.partitions.column("number")[rows], living)])

    def dump(self) -> dict[str, Any]:
        """Return the cells as parts of the operator's state."""
        own: dict[str, Any] = {"cells": self.cells, "keys": self.keys, "next": self.next}
        return own | {"partitions": self.partitions} if self._divided else own

    def load(self, state: Mapping[str, Any]) -> None:
        """Restore a state that `dump` returned."""
        self.cells, self.keys, self.next = state["cells"], state["keys"], state["next"]
        if self._divided:
            self.partitions = state["partitions"]

    def absorb(self, state: Mapping[str, Any], chosen: np.ndarray) -> Renumbered:
        """Merge the cells of some keys of another state into this one, and return the old and new numbers.

        Args:
            state: the other state, as `dump` returned it.
            chosen: a mask of the other state's keys.
        """
        keys = state["keys"].table().filter(pa.array(chosen)).combine_chunks()
        columns = [keys.column(str(part)).combine_chunks() for part in range(len(self.names))]
        after, partitions = self._number(columns, keys.num_rows)
        moved = Renumbered(keys.column("number").to_numpy(), after, keys.column("partition").to_numpy(), partitions)
        cells = state["cells"].table()
        places = places_of(cells.column("key").to_numpy(), moved.keys_before)
        cells, places = cells.filter(pa.array(places >= 0)).combine_chunks(), places[places >= 0]
        rows = self.cells.rows_of({"slice": cells.column("slice"), "key": after[places]})
        self.cells.column("fresh")[rows[cells.column("fresh").to_numpy(zero_copy_only=False)]] = True
        for name, measure in self.measures.items():
            further = (state_values(cells.column(f"{what} {name}")) for what in ("count", "value"))
            measure.merge(*self._running(name), rows, *further)
        return moved


def within(slices: np.ndarray, partitions: np.ndarray | None, ranges: CellRanges) -> tuple[np.ndarray, np.ndarray]:
    """Find the items whose slices lie in ranges, range by range in order of slices.

    Args:
        slices: the slices of the items.
        partitions: the partitions of the items; None if all ranges are of all partitions.
        ranges: the ranges.

    Returns:
        Pairs of a range and an item in it, as two arrays: numbers of ranges, and positions of items.
    """
    whole = ranges.partition == ALL
    found = [_within(slices, ranges, np.flatnonzero(whole))]
    if partitions is not None:
        which = np.flatnonzero(~whole)
        wanted, numbers = np.unique(ranges.partition[which], return_inverse=True)
        near = np.flatnonzero(np.isin(partitions, wanted))
        known, places = np.unique(slices[near], return_inverse=True)
        size = len(known) + 1
        first = numbers * size + np.searchsorted(known, ranges.first[which])
        last = numbers * size + np.searchsorted(known, ranges.last[which], side="right") - 1
        of_partitions = CellRanges(wanted, first, last, first)
        places += np.searchsorted(wanted, partitions[near]) * size
        chosen, places = _within(places, of_partitions, np.arange(len(which)))
        found.append((which[chosen], near[places]))
    chosen, places = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(chosen, kind="stable")
    return chosen[order], places[order]


def _within(slices: np.ndarray, ranges: CellRanges, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the items in some ranges, regardless of partition; return for each its range's number and its position."""
    order = np.argsort(slices, kind="stable")
    ordered = slices[order]
    starts = np.searchsorted(ordered, ranges.first[which])
    ends = np.searchsorted(ordered, ranges.last[which], side="right")
    chosen, places = expanded(starts, ends)
    return which[chosen], order[places]


def expanded(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all numbers of ranges, range by range, as pairs of range and number.

    >>> expanded(np.array([5, 7]), np.array([7, 8]))
    (array([0, 0, 1]), array([5, 6, 7]))
    """
    lengths = np.maximum(ends - starts, 0)
    chosen = np.repeat(np.arange(len(starts)), lengths)
    before = np.cumsum(lengths) - lengths
    return chosen, np.arange(len(chosen)) - np.repeat(before - starts, lengths)
