"""Gathers the panes of several old replicas in a new one, without looking up their keys.

This works if no partition has panes in two of the replicas, as when a splitter distributes tuples by partition. The
numbers of a replica's keys and partitions are raised above the numbers of the replicas before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.key_index import hashes_of
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.windows.pane_numbers import places_of

_NUMBERS = {
    "keys": ("number", "partition"),
    "cells": ("key",),
    "partitions": ("number",),
    "panes": ("partition",),
    "sessions": ("partition",),
}
"""Maps each part of a state to its attributes that are numbers of keys or partitions."""


class PaneTables(NamedTuple):
    """The tables of one replica's state."""

    tables: Mapping[str, pa.Table]
    """The table of each part of the state."""
    owners: Mapping[str, np.ndarray]
    """Per part, the rows in the table of keys to which the part's rows belong; -1 if there is none."""
    following: int
    """The next free number: greater than all numbers of keys and partitions."""

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> PaneTables:
        """Return the tables of a state that an Aggregate has stored."""
        tables = {name: state[name].table() for name in _NUMBERS if name in state}
        numbers, partitions = (tables["keys"].column(name).to_numpy() for name in _NUMBERS["keys"])
        owners: dict[str, np.ndarray] = {"keys": np.arange(len(numbers))}
        for name, table in tables.items():
            if name != "keys":
                known = numbers if name == "cells" else partitions
                owners[name] = places_of(table.column(_NUMBERS[name][0]).to_numpy(), known)
        return cls(tables, owners, state["next"])

    def partition_hashes(self, chosen: np.ndarray, width: int) -> np.ndarray:
        """Return the distinct hashes of the partitions of chosen keys."""
        keys = self.tables["keys"]
        partitions = keys.select(keys.column_names[:width]).filter(pa.array(chosen)).combine_chunks()
        return np.unique(hashes_of(partitions.to_batches()[0])) if len(partitions) else np.zeros(0, np.uint64)

    def rows(self, name: str, chosen: np.ndarray, raised_by: int) -> pa.Table:
        """Return the rows of a part that belong to chosen keys.

        The numbers of keys and partitions are increased by `raised_by`.
        """
        table, owners = self.tables[name], self.owners[name]
        if not chosen.all() or (len(owners) and owners.min() < 0):
            kept = np.zeros(len(owners), bool) if not len(chosen) else chosen[owners] & (owners >= 0)
            table = table.filter(pa.array(kept))
        for number in _NUMBERS[name] if raised_by else ():
            at = table.column_names.index(number)
            table = table.set_column(at, table.schema.field(at), pc.add(table.column(number), raised_by))
        return table


def gathered_panes(
    states: Sequence[Mapping[str, Any]], tables: Sequence[PaneTables], chosen: Sequence[np.ndarray], width: int
) -> dict[str, Any] | None:
    """Return the parts of a state with the panes of chosen keys; None if a partition is in several states.

    Args:
        states: the states of the old replicas, at least one.
        tables: their tables.
        chosen: for each state a mask of its keys.
        width: the number of attributes of a partition; 0 if all groups are in one.
    """
    which = [number for number, mask in enumerate(chosen) if mask.any()] or [0]
    if len(which) > 1:
        hashes = [tables[number].partition_hashes(chosen[number], width) for number in which] if width else []
        if not hashes or len(np.unique(np.concatenate(hashes))) < sum(map(len, hashes)):
            return None
    raised = np.cumsum([0, *(tables[number].following for number in which)]).tolist()
    parts: dict[str, Any] = {"next": raised[-1]}
    for name in tables[0].tables:
        rows = [tables[each].rows(name, chosen[each], by) for each, by in zip(which, raised, strict=False)]
        former, table = states[0][name], pa.concat_tables(rows).combine_chunks()
        keys, values = (table.select(schema.names) for schema in (former.keys_schema, former.values_schema))
        parts[name] = KeyedState.load({"keys": keys, "values": values})
    return parts
