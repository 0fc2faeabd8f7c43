"""The receivers of a host: its sources that write incoming messages to a journal, on one thread for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.clients.backoff import PAUSES
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.implementations.implementation import load
from streams_orchestration.operators.journal.files import JournalFiles
from streams_orchestration.operators.journal.intake import Intake
from streams_orchestration.operators.journal.source import JournalSource, former_journal
from streams_orchestration.operators.journal.writing import Journal, JournalHeldError
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.place_of_files import installation_of
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.hosts.confirmer import Confirmer, cut_offsets, make_confirming_sources
from streams_orchestration.runtime.sinks.outputs import operators_of
from streams_orchestration.runtime.storage.home import Home

SHUTDOWN_SECONDS = 5.0
"""The most seconds that a stop waits for receivers to end."""
TRIM_SECONDS = 5.0
"""Seconds between two trims of the journals."""
log = logging.getLogger("streams.receiver")


@dataclass(frozen=True, slots=True)
class Needed:
    """The first message of a journal that may be read again from a cut."""

    journal: str
    number: int


class Receiver:
    """The receiver of one source. It restarts with back-off after any error, until it is stopped."""

    def __init__(self, source: JournalSource) -> None:
        self.source = source
        self.name = source.context.name
        self.owner = ""
        """Id of the catalog's installation and name of the application, as `installation/application`."""
        self.former: str | None = None
        """Id of the journal that the source's offset at its last cut refers to; None without one."""
        self.journal: Journal | None = None
        self._task: asyncio.Task[None] | None = None
        self._lock = world.Lock()
        self._stopping = False
        self._ended = False
        self._errors = LoopErrors(log)

    @property
    def directory(self) -> Path:
        """The directory of the receiver's journal."""
        return self.source.directory_of(self.source.context)

    def receives_as(self, other: Receiver) -> bool:
        """Return True if the other receiver has the same class, parameters and journal."""
        mine, others = self.source, other.source
        return type(mine) is type(others) and mine.parameters == others.parameters and self.directory == other.directory

    def start(self) -> None:
        """Start the task; call this on the event loop."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Cancel the task, and wait until it has ended and closed the journal."""
        self._stopping = True
        while self._task is not None and not self._task.done():
            self._task.cancel()  # a library may have swallowed an earlier cancellation
            await asyncio.wait([self._task], timeout=1.0)

    def trim(self, needed: Needed) -> None:
        """Remove the messages before the first needed one, if the journal is open and `needed` names it.

        Only whole segments of the journal are removed. Raises OSError if one cannot be.
        """
        journal = self.journal
        if journal is not None and journal.files.id == needed.journal:
            journal.trim(needed.number)

    async def _run(self) -> None:
        failures, intake = 0, None
        try:
            while not self._stopping:
                try:
                    if intake is None:
                        intake = await asyncio.to_thread(self.open_journal)
                    await self.source.receive(intake)
                    error: Exception = ConnectionError("it ended without an error")
                except (OSError, JournalHeldError, RefusedError) as raised:
                    error = raised
                except asyncio.CancelledError:
                    if self._stopping:
                        raise
                    error = ConnectionError("a library has cancelled it")
                except (Exception, SystemExit) as raised:
                    log.exception("operator %s: receiving failed", self.name)
                    error = raised if isinstance(raised, Exception) else RuntimeError("its code has called sys.exit")
                failures = 0 if intake is not None and intake.took_up_receiving() else failures
                failures += 1
                pause = PAUSES.after(failures)
                log.error("operator %s: %s; tried again in %.1f s", self.name, error, pause)
                with self._errors.survived(f"operator {self.name}: its error is not reported"):
                    self._tell(intake, error)
                await asyncio.sleep(pause)
        finally:
            with self._lock:
                self._ended = True
                if self.journal is not None:
                    self.journal.close()

    def _tell(self, intake: Intake | None, error: Exception) -> None:
        """Report in the journal the error that prevents receiving, unless another process holds the journal.

        If the journal is not open, an error of writing the report is ignored.
        """
        refused = isinstance(error, RefusedError)
        if intake is not None:
            intake.failed(str(error), refused=refused)
        elif not isinstance(error, JournalHeldError):  # the process that holds the journal reports itself
            with contextlib.suppress(OSError):
                JournalFiles(self.directory).report({"error": str(error), "refused": refused})

    def open_journal(self) -> Intake:
        """Open the journal of the source, and return the intake that writes to it; its last error is cleared.

        The journal is closed again if the receiver was stopped meanwhile, or if an error is raised.

        Raises:
            DamagedError, JournalHeldError: the journal is damaged, or another process has it open.
            OSError: the journal cannot be read or written.
        """
        journal = Journal(self.directory, self.source.parameters.journal_limit)
        try:
            with self._lock:
                if self._ended:  # the receiver was stopped while the journal was opened
                    journal.close()
                else:
                    journal.files.report({})
                    self._continue(journal.files)
                self.journal = journal
        except BaseException:
            journal.close()  # the lock of an open journal would refuse the next attempt to open it
            raise
        return Intake(journal, self.name, self.owner)

    def _continue(self, files: JournalFiles) -> None:
        """Copy the position at the remote system from the journal that this one replaces, if that journal exists.

        A position that this journal has already is kept. Raises OSError if a journal cannot be read or written.
        """
        if self.former is not None and self.former != files.id:
            former = former_journal(self.source.context, self.former)
            if former is not None:
                files.take_over(JournalFiles(former))


class Receivers:
    """The receivers of the PEs of one host. They survive failures of queries and resets.

    From the first receiver on, a thread runs them, and trims their journals every `TRIM_SECONDS`, until `stop`.
    """

    def __init__(self, catalog: Catalog, application: str) -> None:
        self._catalog = catalog
        self._application = application
        self._receivers: dict[str, Receiver] = {}
        self._confirmer = Confirmer(catalog, application)
        self._loop: asyncio.AbstractEventLoop | None = None

    def serve(self, home: Home, programs: Collection[PeProgram]) -> None:
        """Take over a plan's PEs on this host: replace the receivers, and the sources whose offsets are confirmed.

        Raises:
            ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
            Exception: the constructor or `setup` of a source fails.
        """
        made = make_receivers(home, programs)
        if made:
            with self._catalog.read() as connection:
                owner = f"{installation_of(connection)}/{self._application}"
            offsets = cut_offsets(self._catalog, self._application)
            for name, receiver in made.items():
                receiver.owner, receiver.former = owner, offsets.get(name, {}).get("journal")
        self.receive_for(made)
        self._confirmer.confirm_for(make_confirming_sources(home, programs))

    def receive_for(self, wanted: Mapping[str, Receiver]) -> None:
        """Replace the receivers, and wait at most `SHUTDOWN_SECONDS` for those that stop; log if that is too short.

        A receiver with the same class, parameters and journal keeps running.
        """
        before, after = self._receivers, dict(wanted)
        for name, former in before.items():
            if name in after and former.receives_as(after[name]):
                after[name] = former
        gone = [former for name, former in before.items() if after.get(name) is not former]
        new = [receiver for name, receiver in after.items() if before.get(name) is not receiver]
        self._receivers = after
        for receiver in new:
            load(receiver.source)
        if gone or new:
            self._run_on_loop(_replace(gone, new))

    def trim(self) -> None:
        """Remove from the journals the messages that cuts no longer need. Raises OSError if one cannot be removed."""
        if self._receivers:
            for name, needed in needed_messages(self._catalog, self._application).items():
                if name in self._receivers:
                    self._receivers[name].trim(needed)

    async def _trim_again_and_again(self) -> None:
        while True:
            await asyncio.sleep(TRIM_SECONDS)
            try:
                await asyncio.to_thread(self.trim)
            except CatalogUnavailableError:
                pass  # the host's main loop reports this
            except Exception:
                log.exception("a journal was not trimmed; it is tried again")

    def stop(self) -> None:
        """Stop receiving and confirming, and end the event loop; wait at most `SHUTDOWN_SECONDS` for the receivers."""
        self._confirmer.stop()
        self.receive_for({})
        if self._loop is not None:
            self._run_on_loop(_end_tasks())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None

    def _run_on_loop(self, work: Coroutine[Any, Any, None]) -> None:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            world.Thread(target=_run, args=(self._loop,), name="receivers", daemon=True).start()
            asyncio.run_coroutine_threadsafe(self._trim_again_and_again(), self._loop)
        done = world.Event()
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        future.add_done_callback(lambda _: done.set())
        if done.wait(SHUTDOWN_SECONDS):
            future.result()
        else:
            log.error("receivers have not ended in time; the new receivers start when they have ended")


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run an event loop until it is stopped, and then close it."""
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _replace(gone: Iterable[Receiver], new: Iterable[Receiver]) -> None:
    await asyncio.gather(*(receiver.stop() for receiver in gone))
    for receiver in new:
        receiver.start()


async def _end_tasks() -> None:
    """Cancel all other tasks of this event loop, and wait up to one second for their end."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=1.0)


def make_receivers(home: Home, programs: Iterable[PeProgram]) -> dict[str, Receiver]:
    """Make a receiver for each source with a journal; return the receivers by the name of the source.

    Raises:
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        Exception: the constructor of a source fails.
    """
    return {
        name: Receiver(implementation(context, parameters))
        for program in programs
        for name, implementation, context, parameters in operators_of(home, program)
        if issubclass(implementation, JournalSource)
    }


def needed_messages(catalog: Catalog, application: str) -> dict[str, Needed]:
    """Map sources to the first message that a reset, or the revert of a redeploy, could read again.

    Sources without a journal or without a complete epoch are left out.
    """
    return {
        name: Needed(offset["journal"], offset["next"])
        for name, offset in cut_offsets(catalog, application).items()
        if "journal" in offset and "next" in offset
    }
