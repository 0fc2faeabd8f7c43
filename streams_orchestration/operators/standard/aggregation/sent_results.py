"""The results that retracting windows of event time have sent; they are retracted before new results (EV63)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.aggregation.number_measure import Measure
from streams_orchestration.operators.standard.aggregation.value_measures import Reached
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.windows.pane_cells import ALL, CellRanges, within
from streams_orchestration.operators.windows.pane_numbers import Renumbered, places_of

_PANE = {"partitions": "partition", "starts": "start", "ends": "end", "nth": "index", "timing": "timing"}
"""Maps a field of `PaneResults` to the value of the state that keeps it."""


class PaneResults(NamedTuple):
    """The results of groups in panes, in the order in which they are sent; all arrays have an item for each result.

    `nth` and `timing` mean the same as in `Fired`, and `reached` has the values of each output attribute.
    """

    keys: np.ndarray
    """The number that identifies the group key of each result."""
    partitions: np.ndarray
    panes: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    nth: np.ndarray
    timing: np.ndarray
    retracts: np.ndarray
    """A mask of the results that retract an earlier result."""
    firings: np.ndarray
    """The number of the firing that each result belongs to."""
    reached: Mapping[str, Reached]


class SentResults:
    """The last result of every group in every open pane."""

    def __init__(self, measures: Mapping[str, Measure]) -> None:
        results = {f"result {name}": measure.result_type for name, measure in measures.items()}
        whole = dict.fromkeys(_PANE.values(), pa.int64())
        self.sent = KeyedState(pa.schema([("pane", pa.int64()), ("key", pa.int64())]), pa.schema(whole | results))

    def retracting(self, new: PaneResults, last_panes: np.ndarray) -> PaneResults:
        """Return new results, each preceded by the retractions of the results that it replaces.

        The new results are remembered, and the replaced ones are forgotten.

        Args:
            new: the results of complete groups.
            last_panes: for each result, the highest number of the panes that were merged into its pane.
        """
        rows = self.sent.rows()
        ranges = CellRanges(new.keys, new.panes, last_panes, np.zeros(len(new.keys), np.int64))
        panes, keys = (self.sent.key_column(name)[rows] for name in ("pane", "key"))
        replacing, found = within(panes, keys, ranges)
        rows = rows[found]
        place = np.argsort(np.r_[replacing, np.arange(len(new.keys)) + 0.5], kind="stable")
        before = {field: self.sent.column(name)[rows] for field, name in _PANE.items()}
        before |= {"keys": new.keys[replacing], "panes": panes[found], "firings": new.firings[replacing]}
        mixed = {field: np.r_[each, getattr(new, field)][place] for field, each in before.items()}
        retracts = (np.arange(len(place)) < len(rows))[place]
        reached = {}
        for name, each in new.reached.items():
            earlier = self.sent.columns[f"result {name}"].take(rows)
            values = pa.concat_arrays([earlier, each.values.cast(earlier.type)]).take(pa.array(place))
            where = np.argsort(place)[len(rows) :]
            reached[name] = Reached(values, {int(where[group]): why for group, why in each.failures.items()})
        both = PaneResults(**mixed, retracts=retracts, reached=reached)
        self.sent.delete_rows(rows)
        values: dict[str, Any] = {name: getattr(new, field) for field, name in _PANE.items()}
        values |= {f"result {name}": each.values for name, each in new.reached.items()}
        self.sent.put_many({"pane": new.panes, "key": new.keys}, values)
        return both

    def absorb(self, state: KeyedState, moved: Renumbered) -> None:
        """Add the results from another state. Its groups get new numbers."""
        table = state.table()
        places = places_of(table.column("key").to_numpy(), moved.keys_before)
        table, places = table.filter(pa.array(places >= 0)), places[places >= 0]
        values = {name: table.column(name) for name in self.sent.values_schema.names}
        values["partition"] = moved.partitions[places]
        if len(places):
            self.sent.put_many({"pane": table.column("pane"), "key": moved.keys[places]}, values)

    def forget(self, closed: CellRanges) -> None:
        """Forget the results of closed panes."""
        rows = self.sent.rows()
        partitions = None if (closed.partition == ALL).all() else self.sent.column("partition")[rows]
        self.sent.delete_rows(rows[within(self.sent.key_column("pane")[rows], partitions, closed)[1]])
