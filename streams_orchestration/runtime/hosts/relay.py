"""Wakes the planners of a host: one connection listens to the database for all of them.

A planner is woken when a unit has changed that its PE waits for: its own one, and those of the PEs that it reads from
or writes to. What another application does to the streams of a PE is not known here, so a PE that exports or imports is
woken at every change.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog.changes import ANYTHING, ring


class Relay:
    """Rings the bells of planners on one thread; another thread sets which planners are served.

    Args:
        application: of the host.
    """

    def __init__(self, application: str) -> None:
        self._application = application
        self._own: frozenset[str] = frozenset()
        self._bells: dict[int, Path] = {}
        self._awaited: dict[int, frozenset[str] | None] = {}

    def know(self, programs: Mapping[int, PeProgram], own: Collection[str]) -> None:
        """Another plan is deployed: wake all planners, and from now on by what its PEs wait for.

        Args:
            programs: of all PEs of the application, by number.
            own: the units that the host has PEs of.
        """
        self._own = frozenset(f"{self._application}/{unit}" for unit in own)
        self._awaited = {pe: units_awaited_by(program, programs) for pe, program in programs.items()}
        self.ring((ANYTHING,))

    def serve(self, pe: int, bell: Path) -> None:
        """Ring for a PE from now on, by setting the times of a file."""
        self._bells[pe] = bell

    def drop(self, pe: int) -> None:
        """Ring for a PE no longer, if it was served."""
        self._bells.pop(pe, None)

    def ring(self, changed: Collection[str]) -> bool:
        """Wake the planners that wait for one of these units; returns whether the host itself is concerned."""
        anything, awaited = ANYTHING in changed, self._awaited
        for pe, bell in tuple(self._bells.items()):
            units = awaited.get(pe)
            if anything or units is None or not units.isdisjoint(changed):
                ring(bell)
        return anything or not self._own.isdisjoint(changed)


def units_awaited_by(program: PeProgram, programs: Mapping[int, PeProgram]) -> frozenset[str] | None:
    """The units that a PE waits for, as `application/unit`; None when it may be any.

    Args:
        program: of the PE.
        programs: of all PEs of the application, by number.
    """
    if program.imports or program.exports:
        return None
    others = {stream.producer for stream in program.inputs}
    others |= {pe for consumers in program.consumers.values() for pe in consumers}
    units = {program.unit, *(programs[pe].unit for pe in others)}
    return frozenset(f"{program.application}/{unit}" for unit in units)
