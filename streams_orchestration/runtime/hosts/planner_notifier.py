"""Wakes the planners of a host: one connection to the database listens for all of them.

A planner is woken by a change of its PE's unit, or of the unit of a related PE: one that it reads from, one that it
writes to, or one with a source that its own sources wait for (EV65). Changes of other applications are not
distinguished, so a PE that exports or imports is woken by every change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog.changes import ANYTHING, notify


class PlannerNotifier:
    """Notifies the planners. One thread does so, and another one sets which planners are served.

    Args:
        application: the host's application.
    """

    def __init__(self, application: str) -> None:
        self._application = application
        self._own: frozenset[str] = frozenset()
        self._files: dict[int, Path] = {}
        self._awaited: dict[int, frozenset[str] | None] = {}

    def know(self, programs: Mapping[int, PeProgram], own: Collection[str]) -> None:
        """Take over a new plan.

        Wake all planners once, and from then on wake a planner only for the units that its PE awaits.

        Args:
            programs: the programs of all PEs of the application, by number.
            own: the units that have a PE on the host.
        """
        self._own = frozenset(f"{self._application}/{unit}" for unit in own)
        self._awaited = {pe: units_awaited_by(program, programs) for pe, program in programs.items()}
        self.notify((ANYTHING,))

    def serve(self, pe: int, notified: Path) -> None:
        """Notify a PE from now on: `notified` is the file whose times are set."""
        self._files[pe] = notified

    def drop(self, pe: int) -> None:
        """Stop notifying a PE."""
        self._files.pop(pe, None)

    def notify(self, changed: Collection[str]) -> bool:
        """Wake the planners that await a changed unit; return True if a unit of this host changed, or `ANYTHING`."""
        anything, awaited = ANYTHING in changed, self._awaited
        for pe, file in tuple(self._files.items()):
            units = awaited.get(pe)
            if anything or units is None or not units.isdisjoint(changed):
                notify(file)
        return anything or not self._own.isdisjoint(changed)


def units_awaited_by(program: PeProgram, programs: Mapping[int, PeProgram]) -> frozenset[str] | None:
    """Return the units whose changes a PE awaits, as `application/unit`; None if it awaits any change.

    Args:
        program: the PE's program.
        programs: the programs of all PEs of the application, by number.
    """
    if program.imports or program.exports:
        return None
    others = {stream.producer for stream in program.inputs}
    others |= {pe for consumers in program.consumers.values() for pe in consumers}
    if awaited := program.awaited_sources:
        others |= {
            pe for pe, each in programs.items() if any(each.operators[index].name in awaited for index in each.sources)
        }
    units = {program.unit, *(programs[pe].unit for pe in others)}
    return frozenset(f"{program.application}/{unit}" for unit in units)
