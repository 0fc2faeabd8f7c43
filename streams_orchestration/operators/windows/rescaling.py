"""Divides the windows of old replicas among new ones.

A window moves to the channel of its partition. Windows that punctuation closes are merged into one per new replica.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.keys.comparison import distinct
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import Route, divide_keyed, keyed, renamed
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.windows.pane_numbers import state_values

Merge = Callable[["np.ndarray", "np.ndarray", "np.ndarray", "np.ndarray", "np.ndarray"], None]
"""A function that merges further values into groups.

Its arguments are the counts and values of all groups, then the group, the count and the value of each addition.
"""


class WindowShape(NamedTuple):
    """The properties of windows that determine how they are divided."""

    partition: tuple[str, ...]
    """The attributes of a partition; empty if there is only one."""
    keys: tuple[str, ...]
    """The attributes of a group, beginning with the attributes of the partition."""
    tumbling: bool
    marked: bool
    """True if a mark or the clock closes the windows of all partitions."""
    given_up: bool
    """True if partitions may be evicted, and so have numbers."""
    merges: Mapping[str, Merge]
    """Maps each output attribute of a group to its merge function."""

    def divide(self, states: Sequence[State], route: Route) -> list[dict[str, Any]]:
        """Divide the states of the old replicas, at least one, among the new ones.

        Raises RescaleError if two of them have the same key.
        """
        if self.marked:
            channels = [self._group_channels(state, number, route) for number, state in enumerate(states)]
            return merge_marked(states, channels, len(self.partition), self.merges, route.width)
        keys = [self._keys(state, "windows" if self.tumbling else "partitions") for state in states]
        known, moved = [dict[str, Any]()] * route.width, None
        if self.given_up:
            known, moved = divide_partitions(states, self.partition, route)
            at = [numbers.find(each.column("0").to_numpy()) for numbers, each in zip(moved, keys, strict=True)]
            channels = [numbers.channels[places] for numbers, places in zip(moved, at, strict=True)]
        else:
            channels = [route.channels(renamed(each, self.partition)) for each in keys]
        divide = divide_tumbling if self.tumbling else divide_sliding
        divided = divide(states, channels, route, moved)
        return [windows | partitions for windows, partitions in zip(divided, known, strict=True)]

    def partition_keys(self, state: State) -> pa.RecordBatch | None:
        """Return the partition keys in a state; None if windows have no partition, so any replica may hold them."""
        if self.marked or not self.partition:
            return None
        part = "known" if self.given_up else "windows" if self.tumbling else "partitions"
        return renamed(self._keys(state, part), self.partition)

    @staticmethod
    def _keys(state: State, part: str) -> pa.Table:
        return state[part].keys_table()

    def _group_channels(self, state: State, replica: int, route: Route) -> np.ndarray:
        """Return the channel of every group by its key; if keys do not decide, one channel for the whole replica."""
        keys, attributes = self._keys(state, "groups"), route.attributes()
        if attributes is None or not set(attributes) <= set(self.keys):
            return np.full(keys.num_rows, replica % route.width)
        return route.channels(renamed(keys.select(keys.column_names[1:]), self.keys))


class Numbers(NamedTuple):
    """The map from the partition numbers of one old replica to new channels and new numbers."""

    before: np.ndarray
    channels: np.ndarray
    after: np.ndarray

    def find(self, numbers: np.ndarray) -> np.ndarray:
        """Return the positions of partition numbers in `before`, which has all of them; none if it is empty."""
        order = np.argsort(self.before, kind="stable")
        return order[np.searchsorted(self.before[order], numbers)] if len(order) else np.zeros(0, np.int64)


def renumbered(
    numbers: Sequence[np.ndarray], channels: Sequence[np.ndarray], order: Sequence[np.ndarray], width: int
) -> list[Numbers]:
    """Assign new numbers from 0 on in every channel.

    Args:
        numbers: the old numbers, by replica.
        channels: the new channel of each number.
        order: the sort keys for the new numbers; equal keys are ordered by replica.
        width: the number of channels.
    """
    all_channels, keys = np.concatenate(channels), np.concatenate(order)
    sequence = np.argsort(keys, kind="stable")
    after = np.empty(len(keys), np.int64)
    for channel in range(width):
        own = sequence[all_channels[sequence] == channel]
        after[own] = np.arange(len(own))
    bounds = np.cumsum([len(each) for each in numbers])[:-1]
    return [Numbers(*each) for each in zip(numbers, channels, np.split(after, bounds), strict=True)]


def divide_partitions(states: Sequence[State], names: Sequence[str], route: Route) -> tuple[list[dict], list[Numbers]]:
    """Divide numbered partitions, which may be evicted; see `PartitionEviction`.

    Partitions keep their order of use, from the least recently used one on, by the time of use.

    Returns:
        The parts of the new states, and the new numbers of the partitions.

    Raises:
        RescaleError: two old replicas have the same partition.
    """
    parts: list[KeyedState] = [state["known"] for state in states]
    tables = [part.table() for part in parts]
    channels = [route.channels(renamed(table.select(parts[0].keys_schema.names), names)) for table in tables]
    numbers, used, times = ([table.column(name).to_numpy() for table in tables] for name in ("number", "used", "time"))
    # if two partitions have the same time, the one that its replica used earlier is older
    rank = np.empty(sum(map(len, used)), np.int64)
    rank[np.lexsort((np.concatenate(used), np.concatenate(times)))] = np.arange(len(rank))
    bounds = np.cumsum([len(each) for each in used])[:-1]
    moved = renumbered(numbers, channels, np.split(rank, bounds), route.width)
    changed = [
        _replaced(_replaced(table, "number", each.after), "used", each.after)
        for table, each in zip(tables, moved, strict=True)
    ]
    clocks = [state["known.now"] for state in states if state["known.now"] is not None]
    divided: list[dict[str, Any]] = []
    for part in _divided(parts[0], changed, moved, route.width):
        divided.append(
            {"known": part, "known.next": len(part), "known.clock": len(part), "known.now": max(clocks, default=None)}
        )
    return divided, moved


def divide_tumbling(
    states: Sequence[State], channels: Sequence[np.ndarray], route: Route, partitions: Sequence[Numbers] | None
) -> list[dict[str, Any]]:
    """Divide the open windows of partitions, with their groups.

    Args:
        states: the states of the old replicas.
        channels: for each state, the new channel of every open window, in order.
        route: the route of the tuples.
        partitions: the new numbers of the partitions, if they have numbers.

    Raises:
        RescaleError: two old replicas have the same partition, and partitions have no numbers.
    """
    width = route.width
    parts: list[KeyedState] = [state["windows"] for state in states]
    windows = [part.table() for part in parts]
    numbers = [table.column("number").to_numpy() for table in windows]
    moved = renumbered(numbers, channels, numbers, width)
    changed = [_replaced(table, "number", each.after) for table, each in zip(windows, moved, strict=True)]
    if partitions is not None:
        changed = [_moved_keys(table, each) for table, each in zip(changed, partitions, strict=True)]
    groups: list[pa.Table] = [state["groups"].table() for state in states]
    owners = [each.find(table.column("0").to_numpy()) for each, table in zip(moved, groups, strict=True)]
    group_moves = [Numbers(at, each.channels[at], each.after[at]) for each, at in zip(moved, owners, strict=True)]
    groups = [_replaced(table, "0", each.after) for table, each in zip(groups, group_moves, strict=True)]
    return [
        {"windows": open_, "groups": inside, "next": len(open_)}
        for open_, inside in zip(
            _divided(parts[0], changed, moved, width),
            _divided(states[0]["groups"], groups, group_moves, width),
            strict=True,
        )
    ]


def merge_marked(
    states: Sequence[State], channels: Sequence[np.ndarray], partition: int, merges: Mapping[str, Merge], width: int
) -> list[dict[str, Any]]:
    """Divide open windows that a mark closes, merging equal groups.

    Args:
        states: the states of the old replicas.
        channels: for each state, the new channel of every group, in order.
        partition: the number of parts of a group's key that form its partition.
        merges: the merge function of each output attribute.
        width: the number of new replicas.
    """
    windows: KeyedState = states[0]["windows"]
    groups: KeyedState = states[0]["groups"]
    together = pa.concat_tables([state["groups"].table() for state in states])
    where = np.concatenate(channels)
    divided: list[dict[str, Any]] = []
    for channel in range(width):
        table = together.take(pa.array(np.flatnonzero(where == channel)))
        columns = [table.column(str(1 + i)).combine_chunks() for i in range(partition)]
        heads, numbers = distinct(columns, table.num_rows)
        merged, opened = (KeyedState(each.keys_schema, each.values_schema) for each in (groups, windows))
        if table.num_rows:
            rows = merged.rows_of(_replaced(table, "0", numbers).select(groups.keys_schema.names))
            for name, merge in merges.items():
                further = (state_values(table.column(f"{what} {name}")) for what in ("count", "value"))
                merge(merged.column(f"count {name}"), merged.column(f"value {name}"), rows, *further)
            keys = [column.take(pa.array(heads)) for column in columns] or [pa.array(np.zeros(len(heads), np.int8))]
            opened.put_many(
                pa.RecordBatch.from_arrays(keys, schema=windows.keys_schema),
                {"number": np.arange(len(heads)), "count": np.ones(len(heads), np.int64)},
            )
        divided.append({"windows": opened, "groups": merged, "next": len(heads)})
    return divided


def divide_sliding(
    states: Sequence[State],
    channels: Sequence[np.ndarray],
    route: Route,
    partitions: Sequence[Numbers] | None,
) -> list[dict[str, Any]]:
    """Divide the tuples in the sliding windows of partitions, and the states of triggers.

    Args:
        states: the states of the old replicas.
        channels: for each state, the new channel of every partition, in order.
        route: the route of the tuples.
        partitions: the new numbers of the partitions; None if they have no numbers.

    Raises:
        RescaleError: two old replicas have the same partition, and partitions have no numbers.
    """
    parts: list[KeyedState] = [state["partitions"] for state in states]
    logs = [divide_log(state["tuples"], route, 0) for state in states]
    if partitions is None:
        triggers = divide_keyed(parts, channels, route.width)
    else:
        tables = [_moved_keys(part.table(), each) for part, each in zip(parts, partitions, strict=True)]
        moves = [Numbers(own, own, own) for own in channels]
        triggers = _divided(parts[0], tables, moves, route.width)
    divided: list[dict[str, Any]] = []
    for channel, held in enumerate(triggers):
        log = TupleLog(states[0]["tuples"].schema)
        for each in logs:
            log.append(each[channel].tuples)
        divided.append({"tuples": log, "partitions": held})
    return divided


class Logged(NamedTuple):
    """The tuples of a log that move to one replica."""

    tuples: pa.RecordBatch
    flags: np.ndarray


def divide_log(log: TupleLog, route: Route, port: int) -> list[Logged]:
    """Divide the tuples of a log by their new replica, keeping their order."""
    places = log.places()
    tuples, flags = log.take(places), log.flags[places]
    channels = route.channels(tuples, port)
    chosen = [np.flatnonzero(channels == channel) for channel in range(route.width)]
    return [Logged(tuples.take(pa.array(rows)), flags[rows]) for rows in chosen]


def divided_logs(logs: Sequence[TupleLog], route: Route) -> list[TupleLog]:
    """Divide the tuples of logs among new replicas, in the order of the logs, without their flags and notes.

    If tuples do not determine their channel, the tuples of a former replica stay together.
    """
    divided = [TupleLog(logs[0].schema) for _ in range(route.width)]
    for replica, log in enumerate(logs):
        if route.attributes() is None:
            divided[replica % route.width].append(log.take(log.places()))
            continue
        for own, part in zip(divided, divide_log(log, route, 0), strict=True):
            own.append(part.tuples)
    return divided


def _divided(like: KeyedState, tables: Sequence[pa.Table], moved: Sequence[Numbers], width: int) -> list[KeyedState]:
    return [
        keyed(
            like,
            [
                table.take(pa.array(np.flatnonzero(each.channels == channel)))
                for table, each in zip(tables, moved, strict=True)
            ],
        )
        for channel in range(width)
    ]


def _moved_keys(table: pa.Table, partitions: Numbers) -> pa.Table:
    """Replace the old partition numbers in the key column of a table by the new ones."""
    return _replaced(table, "0", partitions.after[partitions.find(table.column("0").to_numpy())])


def _replaced(table: pa.Table, name: str, values: np.ndarray) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, table.schema.field(at).type))
