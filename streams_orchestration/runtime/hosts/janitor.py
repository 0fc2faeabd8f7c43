"""The removal of rows, files and old lines of logs by one host."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.hosts.heartbeat import Heartbeat
from streams_orchestration.runtime.hosts.last_sweep import LastSweep
from streams_orchestration.runtime.hosts.segments_here import GarbageHere
from streams_orchestration.runtime.logs.log_rotation import rotate_log
from streams_orchestration.runtime.processes.processes import MACHINE
from streams_orchestration.runtime.programs.deployed_pes import PlacedPe, units_timed_by
from streams_orchestration.runtime.sinks.completing import clear_after_publishers, flush_removals
from streams_orchestration.runtime.units.cut_files import check_and_record_cuts
from streams_orchestration.runtime.units.garbage import Garbage, collect_garbage, end_holds_and_find_unknown_pes, sweep
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY

GARBAGE_SECONDS = 5.0
"""Least seconds between two collections of garbage."""
CUT_BEATS = 2
"""Number of collections of garbage between two checks of the files that the last cuts need."""

log = logging.getLogger("streams.host")


class Janitor:
    """Removes what the host's part of an application no longer needs.

    `tidy_if_due` acts every `GARBAGE_SECONDS` while the host runs. `last_sweep` acts when all units are finished,
    before the application counts as complete. `clear` acts once the host's own units are complete.

    Args:
        catalog: the catalog of the application.
        application: the name of the application.
        number: the number of the host.
        log_size: the size in bytes at which a log is rotated.
        heartbeat: the host's heartbeat. Each step of a removal counts as a turn, since it may wait for the storage.
    """

    def __init__(self, catalog: Catalog, application: str, number: int, log_size: int, heartbeat: Heartbeat) -> None:
        self.log_size = log_size
        self.last_sweep = LastSweep(self._clear_all)
        self._catalog = catalog
        self._application = application
        self._number = number
        self._heartbeat = heartbeat
        self._errors = LoopErrors(log)
        self._tidied = 0
        """The number of collections of garbage so far."""
        self._tidied_at = world.monotonic()
        """The monotonic time of the last collection, or of the last postponement."""

    def load(self, pes: Sequence[PlacedPe], plan: int) -> None:
        """Take over a new plan: its number, and all PEs of the application."""
        self._plan = plan
        self._programs: dict[int, PeProgram] = {pe.program.pe: pe.program for pe in pes}
        self._timed = units_timed_by(pes, self._number)
        here = [pe.program.pe for pe in pes if pe.host == self._number]
        self._garbage = Garbage(self._catalog, self._application, self._programs.values(), self._timed, plan)
        self._garbage_here = GarbageHere(self._catalog, self._application, here)

    def postpone(self) -> None:
        """Let `GARBAGE_SECONDS` pass before the next collection."""
        self._tidied_at = world.monotonic()

    def tidy_if_due(self, now: float) -> None:
        """Tidy if the last time was more than `GARBAGE_SECONDS` before a monotonic time. For errors see `tidy`."""
        if now - self._tidied_at > GARBAGE_SECONDS:
            self.tidy()
            self._tidied_at = now

    def tidy(self) -> None:
        """Rotate logs and collect garbage; at times also check the files of cuts.

        Raises:
            OSError: a disk fails.
        """
        self.rotate_logs()
        if self._timed:
            self._garbage.collect()
        self._tidied += 1
        if self._tidied % CUT_BEATS:
            return
        self._garbage_here.collect()
        if self._timed:
            lost = check_and_record_cuts(self._catalog, self._application, self._timed, turn=self._tidied)
            for message in lost.values():
                log.error("%s. %s; the application keeps running until something fails", message, LOST_REMEDY)

    def rotate_logs(self) -> None:
        """Rotate the host's log and, where an agent runs, the log of standbys, to which a JVM may still write."""
        home, machine = self._catalog.home, os.environ.get(MACHINE)
        standby = () if machine is None else (home.standby_log(machine),)
        for path in (home.host_log(self._application, self._number), *standby):
            with self._errors.survived(f"{path} is not rotated"):
                rotate_log(path, self.log_size)

    def clear(self) -> None:
        """Remove the garbage of the complete units whose epochs the host triggers, as far as that is possible now.

        For errors see `sweep`.
        """
        self._clear(self._timed)

    def _clear_all(self) -> bool:
        is_clear = clear_after_publishers(self._catalog, self._application)
        self._heartbeat.note_turn()
        is_clear &= self._clear({program.unit for program in self._programs.values()})
        return is_clear and flush_removals(self._catalog, self._application)

    def _clear(self, units: Collection[str]) -> bool:
        """Remove the garbage of complete units, whose queries start no more, and what killed processes have left.

        Return False if files are left, the storage could not be listed at once, or units are held.
        """
        collect_garbage(self._catalog, self._application, self._programs.values(), units, self._plan)
        self._heartbeat.note_turn()
        mine = {pe: program for pe, program in self._programs.items() if program.unit in units}
        unknown = end_holds_and_find_unknown_pes(self._catalog, self._application)
        self._heartbeat.note_turn()
        if unknown is None:
            return False
        return not sweep(self._catalog, self._application, (*mine, *unknown), mine.values()).left
