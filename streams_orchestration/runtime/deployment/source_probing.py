"""Asks the sources of a complete application if they have more input, by running them in this process."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import select

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.contract.operator import Offset, SourceOperator
from streams_orchestration.operators.implementations.implementation import make_operator
from streams_orchestration.operators.loading.import_path import import_from
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import PeRow
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.sinks.outputs import operators_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import application_row

PROBE_SECONDS = 10.0
"""Seconds to find out if a source has more input. After that, the source counts as having more."""
PROBE_PAUSE_SECONDS = 0.05
"""The most seconds between two calls of a source that is asked whether it has more input."""


def find_sources_with_input(catalog: Catalog, application: str) -> Sequence[str]:
    """Return the names of sources of a complete application that have more input than they had at its end.

    The sources run in this process, one after the other, and their tuples are discarded. A source that is still reading
    after `PROBE_SECONDS` counts, an endless one does not. The directory of the spec is added to the module search path.

    Raises:
        NotDeployedError: the catalog does not know the application.
        OtherVersionError: another version of the product wrote the deployed plan.
        Exception: a source fails in this process.
    """
    with catalog.read() as connection:
        base = application_row(connection, catalog.home, application).base
        rows = PeRow.all(connection, select(tables.pe).where(tables.pe.c.application == application))
    import_from(base)
    positions = {pe.id: pe.position for pe in rows}
    return [
        name
        for placed in deployed_pes(catalog, application)
        for name, offset in positions[placed.program.pe]["sources"].items()
        if name in positions[placed.program.pe]["exhausted"]
        and _probe(catalog.home, base, placed.program, name, offset)
    ]


def _probe(home: Home, base: str, program: PeProgram, name: str, offset: Offset) -> bool:
    """Run a source from an offset on; return True if it has tuples, or is still reading after `PROBE_SECONDS`.

    False if no operator of the program has this name, or if the source is endless. Errors of the source are raised,
    also those that keep its class from being imported or set up.
    """
    for each, kind, context, parameters in operators_of(home, program):
        if each != name or not issubclass(kind, SourceOperator) or kind.endless(parameters):
            continue
        tuples = 0

        def count(_: int, batch: Any) -> None:
            nonlocal tuples
            tuples += len(batch)

        context.base, context.submit = Path(base), count
        source = make_operator(kind, context, parameters)
        assert isinstance(source, SourceOperator)
        offset, until = kind.continued(offset), world.monotonic() + PROBE_SECONDS
        while not tuples:
            produced = source.produce(offset, 1)
            offset = produced.offset
            if produced.exhausted:
                return tuples > 0
            if world.monotonic() > until:
                break
            world.sleep(min(source.pause() or 0.0, PROBE_PAUSE_SECONDS))
        return True
    return False
