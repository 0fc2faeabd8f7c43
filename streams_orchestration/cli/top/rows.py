"""The rows of `streams top`: made from a snapshot, sorted and filtered, as a tree or as a list of operators."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from streams_orchestration.model.brief import count, duration, plural
from streams_orchestration.operators.contract.metrics import LAG_SECONDS, LAG_TUPLES
from streams_orchestration.runtime import api


@dataclass(frozen=True, slots=True)
class Row:
    """One application, region, PE or operator with its figures; a figure is None if it is unknown."""

    path: tuple[str, ...]
    """The names of the row's containers, from the application inwards, then its own name."""
    kind: Literal["application", "region", "pe", "operator"]
    state: str = ""
    problem: str = ""
    """Description of a problem; empty if there is none."""
    cores: float | None = None
    """Processors that are kept busy; None if unknown."""
    cpu_seconds: float | None = None
    rate: float | None = None
    """Tuples per second; None if unknown."""
    tuples: int | None = None
    lag: int | None = None
    """Tuples that wait to be read; None if the row reads nothing."""
    lag_seconds: float | None = None
    """Age of the oldest waiting tuple in seconds; None if it is unknown."""
    event_time_behind: float | None = None
    """Seconds from the watermark until now, the most of all operators in the row; None without a watermark."""
    state_bytes: int | None = None
    resets: int | None = None

    @property
    def name(self) -> str:
        """The last part of the row's path."""
        return self.path[-1]


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column of the table: its title, the value by which rows are sorted, and the text that is shown."""

    title: str
    value: Callable[[Row], float | str | None]
    text: Callable[[Row], str]


def _natural(name: str) -> str:
    """Return the sorting key of a name, in which numbers sort by their size."""
    return re.sub(r"\d+", lambda number: number.group().zfill(12), name.lower())


def _percent(row: Row) -> str:
    return "" if row.cores is None else f"{row.cores:.0%}"


def _seconds(row: Row) -> str:
    return "" if row.cpu_seconds is None else f"{row.cpu_seconds:,.1f}"


def _number(number: float | None) -> str:
    return "" if number is None else count(number)


COLUMNS = (
    ShownColumn("name", lambda row: _natural(row.name), lambda row: row.name),
    ShownColumn("state", lambda row: f"{0 if row.problem else 1} {row.state}", lambda row: row.state),
    ShownColumn("CPU", lambda row: row.cores, _percent),
    ShownColumn("CPU s", lambda row: row.cpu_seconds, _seconds),
    ShownColumn("tuples/s", lambda row: row.rate, lambda row: _number(row.rate)),
    ShownColumn("tuples", lambda row: row.tuples, lambda row: _number(row.tuples)),
    ShownColumn("behind", lambda row: row.lag, lambda row: _number(row.lag)),
    ShownColumn(
        "oldest", lambda row: row.lag_seconds, lambda row: duration(row.lag_seconds) if row.lag_seconds else ""
    ),
    ShownColumn(
        "event time behind",
        lambda row: row.event_time_behind,
        lambda row: "" if row.event_time_behind is None else duration(row.event_time_behind),
    ),
    ShownColumn(
        "state kB", lambda row: row.state_bytes, lambda row: f"{row.state_bytes / 1e3:,.1f}" if row.state_bytes else ""
    ),
    ShownColumn("resets", lambda row: row.resets, lambda row: _number(row.resets)),
)
ASCENDING = ("name", "state")
"""Columns that sort their smallest value first; all others sort their largest value first."""


@dataclass(frozen=True, slots=True)
class TableView:
    """The choice of rows that are shown, and their order."""

    column: str = "CPU"
    inverted: bool = False
    tree: bool = True
    words: str = ""
    """A text that a row must have in its path to be shown; empty for all rows."""

    def moved(self, by: int) -> TableView:
        """Return the view sorted by the column that is `by` columns further right, or left if negative.

        After the last column comes the first.
        """
        titles = [column.title for column in COLUMNS]
        return replace(self, column=titles[(titles.index(self.column) + by) % len(titles)])

    def of(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows to show, from the top: in a tree with the rows around each match, else only operators."""
        listed = [row for row in rows if self.tree or row.kind == "operator"]
        wanted = [row for row in listed if self.words.lower() in "/".join(row.path).lower()]
        above = {row.path[:depth] for row in wanted for depth in range(1, len(row.path) + 1)}
        shown = wanted if not self.tree else [row for row in listed if row.path in above]
        if not self.tree:
            return self._sorted(shown)
        children: dict[tuple[str, ...], list[Row]] = {}
        for row in shown:
            children.setdefault(row.path[:-1], []).append(row)
        return list(self._below((), children))

    def _below(self, path: tuple[str, ...], children: dict[tuple[str, ...], list[Row]]) -> Iterator[Row]:
        for row in self._sorted(children.get(path, [])):
            yield row
            yield from self._below(row.path, children)

    def _sorted(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows sorted by the view's column, then by name; rows without a value come last."""
        by = next(column.value for column in COLUMNS if column.title == self.column)
        rows = sorted(rows, key=lambda row: [_natural(part) for part in row.path])
        known = [row for row in rows if by(row) is not None]
        descending = (self.column not in ASCENDING) != self.inverted
        ordered = sorted(known, key=lambda row: by(row) or 0, reverse=descending)
        return [*ordered, *(row for row in rows if by(row) is None)]


def rows_of(snapshot: api.Snapshot) -> list[Row]:
    """Return a row for every application, region, PE and operator; a PE in no region is right below its application."""
    return [row for observed in snapshot.applications for row in _application(observed)]


def _application(observed: api.ObservedApplication) -> Iterator[Row]:
    status, failed = observed.status, {failure.unit: failure for failure in observed.failures}
    measured = _by_pe(observed.metrics)
    pes = [_pe(observed, pe, failed, measured[pe.id]) for pe in status.pes]
    whole = _sum(pes)
    problem = f"{len(failed)} of {plural(len(status.units), 'unit')} failed" if failed else ""
    resets = sum(unit.row.reset_count for unit in status.units)
    yield replace(
        whole, path=(observed.name,), kind="application", state=status.shown_state, problem=problem, resets=resets
    )
    for unit in status.units:
        if unit.row.region is None:
            continue
        mine = _sum(row for row, pe in zip(pes, status.pes, strict=True) if pe.unit == unit.name)
        yield replace(
            mine,
            path=(observed.name, unit.name),
            kind="region",
            state=status.state_of_unit(unit),
            resets=unit.row.reset_count,
            problem=_problem(failed.get(unit.name)),
        )
    yield from pes
    for row, pe in zip(pes, status.pes, strict=True):
        yield from _operators(row.path, pe.row.operators, measured[pe.id])


@dataclass(slots=True)
class _Measured:
    """The measurements of one PE."""

    at: float
    """The time of the reading in unix seconds."""
    watermarks: dict[str, float]
    """Operator -> its watermark in unix seconds."""
    operators: list[api.OperatorMetrics] = field(default_factory=list[api.OperatorMetrics])
    readers: list[api.ReaderMetrics] = field(default_factory=list[api.ReaderMetrics])
    rows_per_second: float | None = None

    def behind(self, operator: str) -> float | None:
        """Return the seconds from an operator's watermark until now; None without a watermark."""
        watermark = self.watermarks.get(operator)
        return None if watermark is None else self.at - watermark


def _by_pe(metrics: api.ApplicationMetrics) -> dict[int, _Measured]:
    watermarks = metrics.watermarks
    measured: dict[int, _Measured] = defaultdict(lambda: _Measured(metrics.at, watermarks))
    for operator in metrics.operators:
        measured[operator.pe].operators.append(operator)
    for reader in (reader for stream in metrics.streams for reader in stream.readers):
        measured[reader.pe].readers.append(reader)
    for pe in metrics.pes:
        measured[pe.pe].rows_per_second = pe.rows_per_second
    return measured


def _problem(failure: api.UnitFailure | None) -> str:
    return "" if failure is None else f"{failure.explanation}. {failure.remedy}"


def _pe(
    observed: api.ObservedApplication, pe: api.PeStatus, failed: dict[str, api.UnitFailure], measured: _Measured
) -> Row:
    unit = next(unit for unit in observed.status.units if unit.name == pe.unit)
    above = (observed.name,) if unit.row.region is None else (observed.name, unit.name)
    operators, behind = measured.operators, measured.readers
    alone = failed.get(unit.name) if unit.row.region is None else None
    known = [each.cores for each in operators if each.cores is not None]
    return Row(
        path=(*above, f"PE {pe.id}"),
        kind="pe",
        state=observed.status.state_of(pe),
        problem=_problem(alone) or (pe.row.error or "").strip(),
        cores=sum(known) if known else None,
        cpu_seconds=sum(each.cpu_ns for each in operators) / 1e9 if operators else None,
        rate=measured.rows_per_second,
        tuples=max(pe.row.rows_in, pe.row.rows_out),
        lag=sum(reader.lag_tuples for reader in behind) if behind else None,
        lag_seconds=max((reader.lag_seconds for reader in behind), default=None),
        event_time_behind=_most(measured.behind(each.name) for each in operators),
        state_bytes=sum(each.state_bytes for each in operators) if operators else None,
        resets=unit.row.reset_count if unit.row.region is None else None,
    )


def _operators(above: tuple[str, ...], names: Iterable[str], measured: _Measured) -> Iterator[Row]:
    known = {each.name: each for each in measured.operators}
    for name in dict.fromkeys((*names, *known)):
        path = (*above, name)
        yield _operator(path, known[name], measured.behind(name)) if name in known else Row(path, "operator")


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _operator(path: tuple[str, ...], measured: api.OperatorMetrics, behind: float | None) -> Row:
    own = {metric.name: metric.value for metric in measured.custom}
    lag = own.get(LAG_TUPLES)
    return Row(
        path=path,
        kind="operator",
        cores=measured.cores,
        cpu_seconds=measured.cpu_ns / 1e9,
        rate=measured.tuples_per_second,
        tuples=sum(port.tuples for port in measured.inputs or measured.outputs),
        lag=None if lag is None else int(lag),
        lag_seconds=own.get(LAG_SECONDS),
        event_time_behind=behind,
        state_bytes=measured.state_bytes if measured.checkpoints else None,
    )


def _sum(rows: Iterable[Row]) -> Row:
    """Return the sum of several PEs: sums of processors and amounts, and the greatest ages.

    The rate and the number of tuples stay unknown.
    """
    rows = list(rows)

    def total(values: Iterable[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) if known else None

    lag, size = total(row.lag for row in rows), total(row.state_bytes for row in rows)
    return Row(
        path=(),
        kind="application",
        cores=total(row.cores for row in rows),
        cpu_seconds=total(row.cpu_seconds for row in rows),
        lag=None if lag is None else int(lag),
        lag_seconds=_most(row.lag_seconds for row in rows),
        event_time_behind=_most(row.event_time_behind for row in rows),
        state_bytes=None if size is None else int(size),
    )
