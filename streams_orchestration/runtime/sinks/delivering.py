"""Delivering: sinks hand outputs that are not files to their targets, in order, each under a key."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from sqlalchemy import select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.implementations.implementation import load
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, WaitingFileError
from streams_orchestration.operators.sinks.gathering import GatheringSink
from streams_orchestration.operators.sinks.undeliverable import count_set_aside
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.place_of_files import installation_of
from streams_orchestration.runtime.catalog.sink_transitions import count_output
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.sinks.gathering import Gatherer
from streams_orchestration.runtime.sinks.outputs import operators_of
from streams_orchestration.runtime.sinks.publishing import DueOutput, fetch_checked, waits
from streams_orchestration.runtime.sinks.sinks import watermark_of
from streams_orchestration.runtime.storage.pending_files import forget_file

log = logging.getLogger("streams.publisher")


class Deliverer:
    """The deliveries of one sink, whose connection stays open between deliveries."""

    def __init__(self, catalog: Catalog, application: str, sink: EpochSink) -> None:
        self.catalog = catalog
        self.application = application
        self.sink = sink
        self.name = sink.context.name
        self._open = False

    marks = False
    """False, since a delivering sink marks no complete directories, and so has nothing to do without outputs."""

    def ready(self, rows: Sequence[DueOutput]) -> bool:
        """Return True if one of the given outputs of the sink, which `outstanding` returned, can be delivered."""
        return bool(rows)

    def load(self) -> None:
        """Import the modules that the sink needs."""
        load(self.sink)

    def flush(self) -> None:
        """Do nothing, since no output is held back."""

    def deliver(self, rows: Sequence[DueOutput]) -> int:
        """Deliver outputs of the sink, which `outstanding` returns, count them, and delete their pending files.

        The call may be repeated after a crash at any point.

        Returns:
            The number of deliveries, also of those that another process has made meanwhile.

        Raises:
            OutputError: a delivery failed; later ones were not tried.
        """
        a, s = tables.application, tables.sink
        mine = (s.c.application == self.application, s.c.operator == self.name)
        with self.catalog.read() as connection:
            routed = connection.scalar(select(s.c.routed).where(*mine)) or 0
            life = connection.scalar(select(a.c.life).where(a.c.name == self.application))
            installation = installation_of(connection)
        first = DeliveryKey(str(life), self.name, self.sink.context.channel, 0, 0, 0, self.application, installation)
        count = 0
        for _, outputs in itertools.groupby(rows, key=lambda row: self._one_delivery(first, row)):
            waiting = list(outputs)
            self.sink.routed = waiting[-1].epoch <= routed
            self._deliver(first, waiting)
            count += 1
        return count

    def close(self) -> None:
        """Disconnect the sink, if it is connected; a failure is logged."""
        if self._open:
            self._open = False
            try:
                self.sink.close()
            except Exception:
                log.exception("operator %s: disconnecting failed", self.name)

    def _one_delivery(self, first: DeliveryKey, row: DueOutput) -> object:
        """Return the grouping key of an output: outputs in a row with equal keys form one delivery.

        A delivery is an epoch, or for a sink that shows uncommitted outputs a batch; all batches of a generation are
        one delivery if the sink joins batches.
        """
        key = _key(first, row)
        return key.generation if self.sink.joins_batches and row.visibility == "read_uncommitted" else key

    def _deliver(self, first: DeliveryKey, outputs: list[DueOutput]) -> None:
        store = self.catalog.store
        with self.catalog.read() as connection:
            whole_epoch = outputs[-1].visibility == "read_committed"
            watermark = watermark_of(connection, self.application, outputs[-1], whole_epoch=whole_epoch)
        key = _key(first, outputs[-1])._replace(watermark=watermark)
        files = self._checked(outputs)
        try:
            if not self._open:
                self._open = True
                self.sink.open()
            made = {row.pending for row in outputs if self.sink.is_made(_key(first, row))}
            self.sink.checksums = {file: row.checksum for file, row in zip(files, outputs, strict=True)}
            if left := [file for file, pending in files.items() if pending not in made]:
                self.sink.deliver_files(key, left)
        except WaitingFileError as error:
            self.close()
            if not waits(self.catalog, self.application, files.get(error.path, str(error.path))):
                return  # another process has delivered it, or a reset has taken it back
            self._checked(outputs)
            raise self._lost(error) from error
        except RefusedError as error:
            self.close()
            raise OutputError(self.name, str(error), refused=True) from error
        except (Exception, SystemExit) as error:
            log.debug("operator %s: delivery %s failed", self.name, key, exc_info=True)
            self.close()
            text = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
            raise OutputError(self.name, f"{text}; delivery {key} is tried again, nothing is lost") from error
        aside = count_set_aside(self.sink.context, key) if self.sink.sets_aside else 0
        with self.catalog.write_unit(self.application, outputs[0].unit) as connection:
            counted = False
            for row in outputs:
                left_out = 0 if counted else aside
                counted |= count_output(connection, self.application, row, 0 if counted else 1, left_out)
        for row in outputs:
            forget_file(store, row.pending)

    def _checked(self, outputs: Iterable[DueOutput]) -> dict[Path, str]:
        """Map the path of each output's file, whose checksum is right, to its pending name; a missing file passes."""
        try:
            return {fetch_checked(self.catalog.store, row): row.pending for row in outputs}
        except OSError as error:
            raise OutputError(self.name, f"{error.strerror or error}; it is tried again, nothing is lost") from error

    def _lost(self, error: WaitingFileError) -> OutputError:
        cause = error.__cause__
        gone = isinstance(cause, FileNotFoundError)
        reason = "is gone: start over with --fresh" if gone else f"cannot be read: {cause}; it is tried again"
        message = f"the file of rows {error.path}, which was to be delivered, {reason}"
        return OutputError(self.name, message, lost=gone)


def _key(first: DeliveryKey, row: DueOutput) -> DeliveryKey:
    generation, number = (0, row.epoch) if row.visibility == "read_committed" else (row.generation, row.batch)
    return first._replace(epoch=row.epoch, generation=generation, number=number)


def make_deliverers(
    catalog: Catalog, application: str, programs: Iterable[PeProgram], units: Iterable[str] | None = None
) -> dict[str, Deliverer | Gatherer]:
    """Make the delivering and gathering sinks of some units, by name; the sinks of all units if `units` is None.

    Raises:
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        Exception: the constructor of a sink fails.
    """
    wanted = None if units is None else set(units)
    senders: dict[str, Deliverer | Gatherer] = {}
    for program in programs:
        if wanted is None or program.unit in wanted:
            for name, implementation, context, parameters in operators_of(catalog.home, program):
                if issubclass(implementation, EpochSink):
                    senders[name] = Deliverer(catalog, application, implementation(context, parameters))
                elif issubclass(implementation, GatheringSink):
                    senders[name] = Gatherer(catalog, application, implementation(context, parameters))
    return senders
