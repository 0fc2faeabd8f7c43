"""The rules of event time after each commit of a simulation, judged by the segments that the commit names.

A watermark of a stream never falls, unless a reset has taken back what it came behind. No tuple of a stream in order is
behind a watermark. An operator is never ahead of the watermarks of the segments that its PE has read, so no pane counts
as complete before these have passed its end.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import IDLE
from streams_orchestration.runtime.transport.segments import decode

BEHIND: dict[str, tuple[str, ...]] = {"A": (), "B": (), "Kept": ("B",), "Panes": ("A", "B", "Kept")}
"""Operator of the shape `event_time` -> the operators whose watermarks it follows."""
IN_ORDER = ("A", "B", "Kept")
"""Operators whose tuples are in the order of their times."""
PANE, PANE_TICKS = "paneOnComplete", 50
"""The timing of a pane that is complete, and the length of a pane in ticks."""
SEGMENTS = (
    "SELECT a.plan, s.stream, s.number, s.pe, s.path, c.position FROM segment s "
    "JOIN application a ON a.name = s.application "
    "JOIN batch_commit c ON c.application = s.application AND c.pe = s.pe AND c.batch = s.batch "
    "WHERE NOT s.retracted ORDER BY s.stream, s.number"
)
GENERATIONS = "SELECT p.id, u.generation FROM pe p JOIN unit u ON u.application = p.application AND u.name = p.unit"


class Reached(NamedTuple):
    """A segment, and the watermark behind it."""

    number: int
    pe: int
    path: str
    watermark: int | None
    """In ticks; None before the first one."""


@dataclass
class EventTimes:
    """The watermarks that were seen.

    Args:
        rows: runs a statement.
        content: returns the content of a file that the catalog names.
    """

    rows: Callable[..., list[sqlite3.Row]]
    content: Callable[[str], bytes]
    judged: int = 0
    """The number of watermarks that were compared."""
    _streams: dict[tuple[int, str], list[Reached]] = field(default_factory=dict[tuple[int, str], list[Reached]])
    """Plan and stream -> its segments, without those that a reset has taken back."""
    _seen: set[str] = field(default_factory=set[str])
    _generations: dict[int, int] = field(default_factory=dict[int, int])
    """PE -> the generation of its unit."""

    def __call__(self) -> Iterator[str]:
        """Check the segments that are new after a commit."""
        rows = self.rows(SEGMENTS)
        generations: dict[int, int] = {row["id"]: row["generation"] for row in self.rows(GENERATIONS)}
        if generations != self._generations:
            self._take_back({row["path"] for row in rows}, generations)
        for row in rows:
            if row["path"] not in self._seen:
                self._seen.add(row["path"])
                yield from self._judge_segment(row)

    def _take_back(self, left: Set[str], generations: dict[int, int]) -> None:
        """Forget the segments behind the cuts of units that were reset."""
        before, self._generations = self._generations, generations
        for known in self._streams.values():
            while known and known[-1].path not in left and before.get(known[-1].pe) != generations.get(known[-1].pe):
                known.pop()

    def _judge_segment(self, row: sqlite3.Row) -> Iterator[str]:
        """Judge the watermarks and tuples of a new segment."""
        stream = row["stream"]
        known = self._streams.setdefault((row["plan"], stream), [])
        before = known[-1].watermark if known else None
        bound, operator = self._bound(row), operator_of(stream)
        for item in decode(self.content(row["path"])):
            if not isinstance(item, TupleBatch):
                continue
            if operator in IN_ORDER:
                yield from self._late(stream, item, before)
            for _, value in item.watermarks or ():
                if value == IDLE:
                    continue
                self.judged += 1
                if before is not None and value < before:
                    yield f"{stream}: the watermark {value} comes behind {before}"
                if bound is not None and value > bound:
                    yield f"{stream}: the watermark {value} is ahead of {bound}, up to which its PE has read"
                before = value
            if operator == "Panes" and bound is not None:
                ends = [each["number"] + PANE_TICKS for each in item.arrow.to_pylist() if each["k"] == PANE]
                self.judged += len(ends)
                yield from (
                    f"a pane up to {end} is complete, though its PE has read up to {bound} only"
                    for end in ends
                    if end > bound
                )
        known.append(Reached(row["number"], row["pe"], row["path"], before))

    def _late(self, stream: str, item: TupleBatch, before: int | None) -> Iterator[str]:
        """Yield the first tuple that is behind a watermark."""
        times = item.arrow.column(item.arrow.schema.get_field_index("n")).to_pylist()
        steps = [(0, before)] if before is not None else []
        for place, value in (*steps, *(item.watermarks or ())):
            self.judged += 1
            if value is not None and (late := next((each for each in times[place:] if each < value), None)) is not None:
                yield f"{stream}: a tuple of {late} comes behind the watermark {value}"
                return

    def _bound(self, row: sqlite3.Row) -> int | None:
        """Return the least watermark of what a PE has read for an operator; None if that is not known."""
        sources = BEHIND.get(operator_of(row["stream"]), ())
        found = [
            each.watermark
            for stream, following in json.loads(row["position"])["inputs"].items()
            if operator_of(stream) in sources
            for each in self._streams.get((row["plan"], stream), ())
            if each.number == following - 1 and each.watermark is not None
        ]
        return min(found, default=None)


def operator_of(stream: str) -> str:
    """Return the operator that sends a stream, without the number of its channel.

    >>> operator_of("Kept[1]:0")
    'Kept'
    """
    return re.split(r"\W", stream, maxsplit=1)[0]
