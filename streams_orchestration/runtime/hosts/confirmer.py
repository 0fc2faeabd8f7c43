"""Acknowledges offsets that no cut can need again to the systems behind sources, on a thread of the host."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from contextlib import suppress

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.contract.operator import Offset, SourceOperator
from streams_orchestration.operators.implementations.implementation import load
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.cuts import commits_at_shown_cuts
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.sinks.outputs import operators_of
from streams_orchestration.runtime.storage.home import Home

CONFIRM_SECONDS = 1.0
"""Seconds between two checks of the cuts."""
log = logging.getLogger("streams.confirming")


class Confirmer:
    """The acknowledgements for the sources of one host. Its thread starts only if a source wants them."""

    def __init__(self, catalog: Catalog, application: str) -> None:
        self._catalog = catalog
        self._application = application
        self.sources: dict[str, SourceOperator] = {}
        self._confirmed: dict[str, Offset] = {}
        self._stopped = world.Event()
        self._thread: world.Thread | None = None

    def confirm_for(self, sources: dict[str, SourceOperator]) -> None:
        """Replace the sources to confirm for; the first call with sources, also after a stop, starts the thread.

        An offset that was confirmed to a former source is confirmed to the new one again.
        """
        self.sources, self._confirmed = sources, {}
        if sources and self._thread is None:
            self._stopped = world.Event()
            self._thread = world.Thread(target=self._run, args=(self._stopped,), name="confirming", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop confirming, without waiting for a call in progress.

        Sources with `confirms_at_end` are first confirmed once more, if the catalog is available. Then there are no
        sources until the next `confirm_for`.
        """
        self._stopped.set()
        self.sources = {
            name: source for name, source in self.sources.items() if getattr(source, "confirms_at_end", False)
        }
        if self.sources:
            with suppress(CatalogUnavailableError):
                self.confirm()
        self.sources, self._thread = {}, None

    def confirm(self) -> None:
        """Confirm each source's offset at the current cuts, unless it is confirmed already; log failures of sources.

        Raises:
            CatalogError: the cuts cannot be read. Without sources, they are not read.
        """
        sources = self.sources
        for name, offset in cut_offsets(self._catalog, self._application).items() if sources else ():
            if name in sources and self._confirmed.get(name) != offset:
                try:
                    sources[name].confirm(offset)
                    self._confirmed[name] = offset
                except Exception as error:  # noqa: BLE001 - an operator of anybody's
                    log.warning("operator %s: %s; it is confirmed later", name, error)

    def _run(self, stopped: world.Event) -> None:
        while not stopped.wait(CONFIRM_SECONDS):
            try:
                self.confirm()
            except CatalogUnavailableError:
                pass  # the host's main loop reports this
            except Exception:
                log.exception("no offset was confirmed; it is tried again")


def make_confirming_sources(home: Home, programs: Iterable[PeProgram]) -> dict[str, SourceOperator]:
    """Make and set up the sources that override `SourceOperator.confirm`; return each by its name.

    Raises:
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        Exception: the constructor or `setup` of a source fails.
    """
    sources: dict[str, SourceOperator] = {}
    for program in programs:
        for name, implementation, context, parameters in operators_of(home, program):
            if issubclass(implementation, SourceOperator) and implementation.confirm is not SourceOperator.confirm:
                sources[name] = source = implementation(context, parameters)
                load(source)
                source.setup()
    return sources


def cut_offsets(catalog: Catalog, application: str) -> dict[str, Offset]:
    """Map sources to the lowest offset to which a reset, or the revert of a redeploy, can go back.

    Sources without a complete epoch are left out.
    """
    with catalog.read() as connection:
        cuts = connection.execute(commits_at_shown_cuts(application)).all()
    return {name: offset for row in cuts for name, offset in row.position["sources"].items()}
