"""The publisher of a host: a thread that makes outputs of sinks visible, and tries again where that fails."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from streams_orchestration.runtime.catalog import Catalog
from streams_orchestration.runtime.errors import CatalogUnavailableError, OutputError, StreamsRuntimeError
from streams_orchestration.runtime.publishing import publish_files
from streams_orchestration.runtime.sinks import record_failure, record_success, troubled

TURN_SECONDS = 0.1
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
"""Between two tries of a sink that fails: doubled from the first to the longest."""
END_SECONDS = 10.0
"""How long a stop waits for what is being published."""

log = logging.getLogger("streams.publisher")


@dataclass(slots=True)
class Trouble:
    """A sink whose outputs cannot become visible."""

    failures: int = 0
    next_try: float = 0.0


class Publisher:
    """Publishes for one application; what fails is written down and tried again, and holds nothing else up."""

    def __init__(self, catalog: Catalog, application: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.catalog = catalog
        self.application = application
        self.clock = clock
        self.troubles = {operator: Trouble() for operator in troubled(catalog, application)}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="publisher", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Publish what is there, as far as it can be done at once, and end."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(END_SECONDS)

    def turn(self) -> int:
        """Make visible what can be; returns how many outputs that were."""
        now = self.clock()
        resting = [operator for operator, trouble in self.troubles.items() if trouble.next_try > now]
        count, errors = publish_files(self.catalog, self.application, resting)
        for error in errors:
            self.failed(error)
        for operator in set(self.troubles) - {error.operator for error in errors} - set(resting):
            self.succeeded(operator)
        return count

    def failed(self, error: OutputError) -> None:
        """Write down what is wrong with a sink, and let it rest."""
        trouble = self.troubles.setdefault(error.operator, Trouble())
        trouble.next_try = self.clock() + min(FIRST_PAUSE * 2**trouble.failures, LONGEST_PAUSE)
        trouble.failures += 1
        log.error("%s", error)
        record_failure(self.catalog, self.application, error.operator, error)

    def succeeded(self, operator: str) -> None:
        """A sink that failed works again."""
        del self.troubles[operator]
        log.info("operator %s: its outputs become visible again", operator)
        record_success(self.catalog, self.application, operator)

    def _run(self) -> None:
        while True:
            last = self._stopped.is_set()
            try:
                self.turn()
            except CatalogUnavailableError:
                pass  # the host's main loop says so, and ends when that lasts
            except StreamsRuntimeError as error:
                log.error("%s", error)
            except Exception:
                log.exception("publishing failed; it is tried again")
            if last:
                return
            self._stopped.wait(TURN_SECONDS)
