"""The publisher of a host: a thread that makes outputs of sinks visible, and repeats failed attempts."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from streams_orchestration import world
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, OutputError, StreamsRuntimeError
from streams_orchestration.runtime.sinks.delivering import Deliverer
from streams_orchestration.runtime.sinks.gathering import Gatherer
from streams_orchestration.runtime.sinks.publishing import DueOutput, outstanding, publish_files
from streams_orchestration.runtime.sinks.sinks import failing_sinks, record_failure, record_success
from streams_orchestration.runtime.storage.unusable_files import FileFailure, is_of_files

MIN_INTERVAL_SECONDS = 0.02
"""The least time between two turns, however often the catalog changes."""
WAITING_SECONDS = 0.25
"""Seconds between two turns while outputs wait to be gathered, or a sink fails."""
MAX_INTERVAL_SECONDS = 5.0
"""Seconds between two turns while the catalog does not change, for safety."""
PAUSES = Pauses(first=0.5, longest=30.0)
"""Pauses between two attempts for a failing sink."""
RECURS_SECONDS = 2 * PAUSES.longest
"""Seconds within which a file that this machine cannot use is tried again, while other files of the sink fail, too."""
SHUTDOWN_SECONDS = 10.0
"""Seconds that a stop waits for outputs that are being published."""

log = logging.getLogger("streams.publisher")


@dataclass(slots=True)
class SinkFailure:
    """The failure of one sink, whose outputs cannot become visible."""

    failures: int = 0
    """The failures in a row."""
    next_try: float = 0.0
    """The time of the next attempt, by the publisher's clock."""
    reason: str = ""
    """The last error."""
    files: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Errors of files that this machine cannot use, or of the storage, which another one may reach: reason -> times.

    The times, by the publisher's clock, are of the first and the last error with this reason. A reason that has not
    come again for `RECURS_SECONDS` is left out: another host has published the file.
    """


def _writes_alike(one: Deliverer | Gatherer, other: Deliverer | Gatherer) -> bool:
    first, second = (
        (type(sink), sink.parameters, sink.context.channel, sink.context.inputs) for sink in (one.sink, other.sink)
    )
    return first == second


class Publisher:
    """The publisher of one application. A failing sink is recorded and tried again, without delaying the others.

    Several hosts may publish files at once. Only one host delivers outputs that are not files, on a thread for each
    sink, since a target may be slow.
    """

    def __init__(
        self,
        catalog: Catalog,
        application: str,
        deliverers: Mapping[str, Deliverer | Gatherer] | None = None,
        *,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.catalog = catalog
        self.deliverers = deliverers or {}
        self.deliveries: dict[str, world.Thread] = {}
        """The thread of the last delivery of each sink; ended ones are forgotten in the next turn."""
        self.lock = world.Lock()
        """Held while `failing` is read or changed, since threads of deliveries change it."""
        self.application = application
        self.clock = clock or world.monotonic
        self.failing = {operator: SinkFailure() for operator in failing_sinks(catalog, application)}
        self._waiting = False
        """True if the next turn comes soon, even if the catalog does not change."""
        self._stopped = world.Event()
        self._thread = world.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        """Start the publisher's thread."""
        self._thread.start()

    def stop(self) -> None:
        """Publish complete outputs as far as possible at once, and end the thread; wait at most `SHUTDOWN_SECONDS`."""
        self._stopped.set()
        self.catalog.changes.wake()
        if self._thread.is_alive():
            self._thread.join(SHUTDOWN_SECONDS)

    def deliver_to(self, deliverers: Mapping[str, Deliverer | Gatherer]) -> None:
        """Replace the delivering sinks: close the former ones, and load the modules of the new ones.

        A sink that writes the same as before keeps its connection and state. Errors of importing a module are raised.
        """
        before, after = self.deliverers, dict(deliverers)
        for name, former in before.items():
            if name in after and _writes_alike(former, after[name]):
                after[name] = former
            else:
                former.close()
        for name, deliverer in after.items():
            if before.get(name) is not deliverer:
                deliverer.load()  # here, before threads deliver
        self.deliverers = after

    def _publish_last(self) -> None:
        """Publish the last outputs before the publisher ends.

        Close the files that gather tuples, publish the outputs that are due, wait at most `SHUTDOWN_SECONDS` for
        deliveries, and mark complete directories.
        """
        until = world.monotonic() + SHUTDOWN_SECONDS
        for deliverer in self.deliverers.values():
            deliverer.flush()
        self.turn()
        for thread in list(self.deliveries.values()):
            thread.join(max(until - world.monotonic(), 0.0))
        publish_files(self.catalog, self.application)
        for operator, deliverer in self.deliverers.items():
            if deliverer.marks:
                self.deliver(operator, [])

    def turn(self) -> int:
        """Publish the files that are due, and return their number; start threads that deliver the other outputs.

        Retracted outputs are removed before files are published. Failures and recoveries of sinks are recorded. A sink
        that failed rests until its next attempt.

        Raises:
            InvariantError: a file would become visible before its epoch is complete.
            OSError: another file has a final name, and cannot be compared.
        """
        now = self.clock()
        resting = self._failing_sinks(lambda failure: failure.next_try > now)
        free = self._free(resting)
        seen = outstanding(self.catalog, self.application, deliveries=bool(free))
        self._waiting = bool(resting)
        for operator, outputs in self._ready(seen.deliveries, free) if free else ():
            self.deliveries[operator] = world.Thread(target=self.deliver, args=(operator, outputs), daemon=True)
            self.deliveries[operator].start()
        count, errors = publish_files(self.catalog, self.application, resting, seen)
        for error in errors:
            self.note_failure(error)
        for operator in self._failing_sinks() - {error.operator for error in errors} - resting - set(self.deliveries):
            self.note_success(operator)
        return count

    def deliver(self, operator: str, outputs: Sequence[DueOutput]) -> None:
        """Deliver outputs of one sink; record a failure, or the first success after one, and wake the publisher.

        Errors of the catalog are logged, and not raised.
        """
        try:
            try:
                self.deliverers[operator].deliver(outputs)
            except OutputError as error:
                self.note_failure(error)
            else:
                if operator in self._failing_sinks():
                    self.note_success(operator)
        except StreamsRuntimeError as error:  # the catalog failed: the delivery is repeated with the same key
            log.warning("%s", error)
        except Exception as error:
            log.exception("operator %s: delivering failed", operator)
            self._note_defect(operator, error)
        finally:
            self.catalog.changes.wake()

    def _note_defect(self, operator: str, error: Exception) -> None:
        """Record an unexpected error in the sink's status, and let the sink rest, since it would fail again at once.

        If the catalog cannot be used, log why.
        """
        try:
            self.note_failure(
                OutputError(operator, f"{type(error).__name__}: {error}; it is tried again, nothing is lost")
            )
        except StreamsRuntimeError as away:
            log.warning("%s", away)

    def _free(self, resting: Set[str]) -> set[str]:
        """Return the delivering sinks that neither rest nor deliver already."""
        self.deliveries = {operator: thread for operator, thread in self.deliveries.items() if thread.is_alive()}
        return set(self.deliverers) - resting - set(self.deliveries)

    def _ready(self, rows: Iterable[DueOutput], free: Set[str]) -> list[tuple[str, list[DueOutput]]]:
        """Return the free sinks that have work, with their outputs; note whether other sinks have outputs that wait."""
        sinks = {operator: list(outputs) for operator, outputs in itertools.groupby(rows, lambda row: row.operator)}
        marking = [operator for operator, deliverer in self.deliverers.items() if deliverer.marks]
        ready = [
            (operator, sinks.get(operator, []))
            for operator in (*sinks, *(each for each in marking if each not in sinks))
            if operator in free and self.deliverers[operator].ready(sinks.get(operator, []))
        ]
        self._waiting = bool(sinks.keys() - {operator for operator, _ in ready})
        return ready

    def _failing_sinks(self, which: Callable[[SinkFailure], bool] = lambda _: True) -> set[str]:
        """Return the names of failing sinks that meet a condition, by default of all.

        Threads of deliveries may change them meanwhile.
        """
        with self.lock:
            return {operator for operator, failure in self.failing.items() if which(failure)}

    def note_failure(self, error: OutputError) -> None:
        """Log the failure of a sink and record it in the catalog; let the sink rest for a pause that grows.

        If an output is lost or refused, the sink's PE fails (`record_failure`).
        """
        with self.lock:
            failure = self.failing.setdefault(error.operator, SinkFailure())
            now, reason = self.clock(), str(error)
            known = {each: times for each, times in failure.files.items() if now - times[1] <= RECURS_SECONDS}
            if is_of_files(error):
                known[reason] = (known.get(reason, (now, now))[0], now)
            failure.reason, failure.files = reason, known
            failure.failures += 1
            failure.next_try = now + PAUSES.after(failure.failures)
        log.error("%s", error)
        record_failure(self.catalog, self.application, error.operator, error)

    def unusable(self) -> FileFailure | None:
        """Return the longest failure of a sink with a file that this machine cannot use; None without one.

        A failure lasts from the first to the last error with its reason, and until now if no other error came after it.
        """
        now = self.clock()
        with self.lock:
            found = [
                FileFailure((now if reason == each.reason else last) - first, reason)
                for each in self.failing.values()
                for reason, (first, last) in each.files.items()
            ]
        return max(found, default=None)

    def note_success(self, operator: str) -> None:
        """Log that a failed sink works again, and clear its failure in the catalog."""
        with self.lock:
            self.failing.pop(operator, None)
        log.info("operator %s: its outputs become visible again", operator)
        record_success(self.catalog, self.application, operator)

    def _run(self) -> None:
        while True:
            last = self._stopped.is_set()
            mark = 0
            try:
                mark = self.catalog.changes.mark()
                self._publish_last() if last else self.turn()
            except CatalogUnavailableError:
                pass  # the host's main loop reports this, and ends the host if it lasts
            except StreamsRuntimeError as error:
                log.error("%s", error)
            except Exception:
                log.exception("publishing failed; it is tried again")
            if last:
                return
            self._stopped.wait(MIN_INTERVAL_SECONDS)
            waiting = self._waiting or bool(self.failing)
            self.catalog.changes.wait(mark, WAITING_SECONDS if waiting else MAX_INTERVAL_SECONDS)
