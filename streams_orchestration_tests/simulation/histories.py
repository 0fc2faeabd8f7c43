"""The history that a simulation must keep: numbers of segments, closed epochs, cuts, hosts and their heartbeats.

A reader who takes no part looks after each commit, as in `checks`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.runtime.catalog.chains import files_of
from streams_orchestration.runtime.settings.limits import AHEAD_SECONDS
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration_tests.simulation.catalogs import SharedFile, Tables
from streams_orchestration_tests.simulation.scheduler import GIVEN, SimulatedProcess
from streams_orchestration_tests.simulation.worlds import EPOCH

EVERY = 16
"""Commits from one check of all files that the catalog names to the next."""
AHEAD_BEATS = 2
"""Heartbeats in a row that are ahead of the clock of the server; a first reading of that clock may have been slow."""
NAMED = (
    "SELECT path, '' AS final FROM segment WHERE NOT retracted "
    "UNION ALL SELECT pending, final FROM sink_file WHERE NOT published AND NOT retracted"
)
STARTED = (
    "SELECT p.pid FROM host h JOIN host_process p ON p.incarnation = h.incarnation AND p.pid = h.pid "
    "WHERE h.id = ? AND h.machine = ? AND h.state = 'STARTING' AND h.incarnation != ?"
)
"""The process of a host that comes up on a machine."""
SEGMENTS = "SELECT a.plan, s.stream, s.number, s.path FROM segment s JOIN application a ON a.name = s.application"
UNITS = (
    "SELECT u.name, a.plan, u.generation, u.state, u.held_until, t.state AS trial "
    "FROM unit u JOIN application a ON a.name = u.application LEFT JOIN trial t ON t.application = a.name"
)
REVERTED = "SELECT 1 FROM trial WHERE state = 'REVERTED' AND plan = ?"
PHASES = {
    "resetting": {"RESETTING"},
    "unhealthy": {"UNHEALTHY", LIMIT},
    "starting": {"STARTED"},
    "draining": {"DRAINING"},
    "processing": {"PROCESSING"},
}
"""Phase -> the states of units that make it; the first one counts."""
WAITING = ("UNHEALTHY", "STARTED", LIMIT)
"""States of a unit from which a reset begins only when its hosts are there."""
CLOSED = "SELECT pe, epoch, generation, batch FROM batch_commit WHERE boundary"
BEHIND = {
    "commit": "batch_commit t WHERE 1",
    "state": "operator_state t WHERE 1",
    "segment": "segment t WHERE NOT retracted",
}
"""Rows of a unit that must not be behind its cut when a reset begins."""


@dataclass
class Histories:
    """The rows that were seen, and the processes that were started.

    Args:
        rows: runs a statement.
        exists: returns True if a file that the catalog names is there.
        shared: the catalog.
    """

    rows: Callable[..., list[sqlite3.Row]]
    exists: Callable[[str], bool]
    shared: SharedFile
    is_exact: Callable[[], bool] = lambda: True
    """Returns True if all processes know the clock of the server."""
    phase: str = "starting"
    """The phase of the application at the last commit."""
    wrong: list[str] = field(default_factory=list[str])
    _segments: dict[tuple[int, str, int], str] = field(default_factory=dict[tuple[int, str, int], str])
    """Line, stream and number -> the file; a redeploy may begin a stream anew."""
    _lines: dict[int, int] = field(default_factory=dict[int, int])
    """Plan -> its line: the plan itself; for a plan that a revert has restored, the line of the plan on trial."""
    _closed: dict[tuple[int, int, int], int] = field(default_factory=dict[tuple[int, int, int], int])
    """PE, epoch and generation -> the batch that closed it."""
    _units: dict[str, tuple[int, int, str]] = field(default_factory=dict[str, tuple[int, int, str]])
    """Plan, generation and state of each unit."""
    _beats: dict[int, float] = field(default_factory=dict[int, float])
    _ahead: dict[str, int] = field(default_factory=dict[str, int])
    """Heartbeats in a row that were ahead, by incarnation."""
    _starts: dict[tuple[SimulatedProcess | None, str], SimulatedProcess] = field(
        default_factory=dict[tuple[SimulatedProcess | None, str], SimulatedProcess]
    )
    _looks: int = 0
    _rows: list[sqlite3.Row] = field(default_factory=list[sqlite3.Row])
    """The units at the last check."""

    def __call__(self, written: Tables) -> Iterator[str]:
        """Check the catalog after a commit that has written some tables."""
        yield from self.wrong
        self.wrong.clear()
        self._looks += 1
        changed = False
        if not self._rows or not {"unit", "application", "trial"}.isdisjoint(written):
            for faults in self._check_units():
                changed = True
                yield from faults
        self.phase = self._phase(self._rows)
        if "segment" in written or "application" in written:
            yield from self._check_segments()
        if "batch_commit" in written:
            yield from self._check_epochs()
        if "host" in written:
            yield from self._check_hosts()
        if changed or self._looks % EVERY == 0:
            yield from self.look_at_files()

    def look_at_files(self) -> Iterator[str]:
        """Check that every file that the catalog names exists."""
        for path, final in self.rows(NAMED):
            if not self.exists(path) and not (final and self.exists(final)):
                yield f"{path} is gone, and the catalog names it"
        for (files,) in self.rows("SELECT files FROM operator_state"):
            gone = (path for path in sorted(files_of([json.loads(files)])) if not self.exists(path))
            yield from (f"{path} is gone, and a state names it" for path in gone)

    def started(self, process: SimulatedProcess, incarnation: str, starter: SimulatedProcess | None) -> None:
        """Note that a process becomes a host; nobody starts a host twice that lives."""
        process.state["incarnation"] = incarnation
        before = self._starts.get((starter, incarnation))
        if before is not None and before.alive and before is not process and starter is not None:
            self.wrong.append(f"{process.name} is started twice by {starter.pid} {starter.name}")
        self._starts[starter, incarnation] = process
        number, table = process.name.partition(" ")[2], process.machine.table
        given = process.state.setdefault(GIVEN, self.shared.scheduler.steps)
        for (pid,) in self.rows(STARTED, number, process.machine.name, incarnation):
            if (other := table.get(pid)) is not None and other.alive and other.state.get(GIVEN, given) < given:
                self.wrong.append(f"{process.name} is started on {process.machine.name}, where it comes up as {pid}")

    def killed(self, process: SimulatedProcess) -> None:
        """Note that the product kills a process; a host whose starter has still to record it must live."""
        incarnation = process.state.get("incarnation")
        waits = "SELECT id FROM host WHERE incarnation = ? AND state = 'STARTING' AND pid IS NULL"
        if incarnation is not None and process.alive and self.rows(waits, incarnation):
            self.wrong.append(f"{process.pid} {process.name} is killed while its starter records it")

    def _check_units(self) -> Iterator[list[str]]:
        """Yield what is wrong with each unit of which generation or state has changed."""
        self._rows = self.rows(UNITS)
        for name, plan, generation, state, *_ in self._rows:
            before = self._units.get(name)
            self._units[name] = plan, generation, state
            if before is None or before == (plan, generation, state):
                continue
            if before[0] == plan and generation > before[1] and state == "RESETTING" and before[2] in WAITING:
                yield [*self._absent(name), *self._behind(name)]
            elif before == (plan, generation, "RESETTING") and state in ("PROCESSING", "DRAINING"):
                yield [*self._not_running(name, generation)]
            elif generation != before[1]:
                yield []

    def _phase(self, rows: list[sqlite3.Row]) -> str:
        states = {row["state"] for row in rows}
        now = EPOCH + self.shared.scheduler.now + self.shared.ahead
        if any(row["trial"] == "OPEN" for row in rows):
            return "on trial"
        if any(row["held_until"] is not None and row["held_until"] > now for row in rows):
            return "held"
        return next((phase for phase, names in PHASES.items() if states & names), "complete")

    def _absent(self, unit: str) -> Iterator[str]:
        """Check that a reset begins when all hosts of the unit are present."""
        absent = (
            "SELECT DISTINCT h.id, h.state FROM host h JOIN pe p ON p.host = h.id AND p.application = h.application "
            "WHERE p.unit = ? AND NOT p.final AND h.state IN ('STARTING', 'WAITING')"
        )
        for host, state in self.rows(absent, unit):
            yield f"{unit} begins its reset while host {host} is {state}"

    def _behind(self, unit: str) -> Iterator[str]:
        """Check that a reset leaves nothing after the cut."""
        for kind, source in BEHIND.items():
            late = "AND EXISTS (SELECT 1 FROM pe p WHERE p.id = t.pe AND p.unit = ? AND p.batch < t.batch)"
            for pe, batch in self.rows(f"SELECT t.pe, t.batch FROM {source} {late}", unit):
                yield f"{unit}: a {kind} of PE {pe} is left of batch {batch}, behind the cut"

    def _not_running(self, unit: str, generation: int) -> Iterator[str]:
        """Check that a reset is done when all PEs run in the new generation."""
        for (pe,) in self.rows("SELECT id FROM pe WHERE unit = ? AND NOT final AND running != ?", unit, generation):
            yield f"{unit} works again, and PE {pe} has not begun in generation {generation}"

    def _check_segments(self) -> Iterator[str]:
        """Check that a number of a segment is used once, also after a revert."""
        for plan, stream, number, path in self.rows(SEGMENTS):
            if plan not in self._lines:
                tried = self._lines.get(plan - 1)
                self._lines[plan] = plan if tried is None or not self.rows(REVERTED, plan - 1) else tried
            place = self._lines[plan], stream, number
            if (known := self._segments.setdefault(place, path)) != path:
                yield f"segment {number} of {stream} was {known} and is {path}"
                self._segments[place] = path

    def _check_epochs(self) -> Iterator[str]:
        """Check that an epoch of a PE is closed once in a generation."""
        for pe, epoch, generation, batch in self.rows(CLOSED):
            if (known := self._closed.setdefault((pe, epoch, generation), batch)) != batch:
                yield f"PE {pe}: epoch {epoch} is closed by batch {known} and by batch {batch}"
                self._closed[pe, epoch, generation] = batch

    def _check_hosts(self) -> Iterator[str]:
        """Only the host itself writes its heartbeat, and by the clock of the server."""
        current = self.shared.scheduler.current
        mine: Any = None if current is None else current.process.state.get("incarnation")
        for host, incarnation, beat in self.rows("SELECT id, incarnation, heartbeat_at FROM host"):
            before, self._beats[host] = self._beats.get(host, 0.0), beat or 0.0
            if mine is None or beat is None or beat <= before:
                continue  # it is another plan, or a time in the future that was moved to now
            if mine != incarnation:
                yield f"host {host} has a heartbeat of a host that was replaced"
            now = EPOCH + self.shared.scheduler.now + self.shared.ahead
            is_ahead = self.shared.is_server and self.is_exact() and beat > now + AHEAD_SECONDS
            self._ahead[mine] = self._ahead.get(mine, 0) + 1 if is_ahead else 0
            if self._ahead[mine] >= AHEAD_BEATS:
                yield f"host {host} has heartbeats {beat - now:.0f} s ahead of the clock of the server"
