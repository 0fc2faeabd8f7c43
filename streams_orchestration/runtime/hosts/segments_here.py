"""Segments that stay on the machine of their host: which streams have such, and what becomes of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.hosts.pes import PlacedPe
from streams_orchestration.runtime.storage.home import data_of
from streams_orchestration.runtime.storage.store import HERE, remove_files


def streams_here(program: PeProgram, pes: Iterable[PlacedPe]) -> frozenset[str]:
    """The streams of a PE that only PEs of its unit and host read.

    Where the host comes to another machine with its state directory left behind, the unit goes back to its cut, at
    which all that they hold was read.

    Args:
        program: of the PE.
        pes: all that are deployed.
    """
    places = {pe.program.pe: (pe.program.unit, pe.host) for pe in pes}
    own = places.get(program.pe)
    return frozenset(
        stream
        for stream, readers in program.consumers.items()
        if readers and stream not in program.exports and all(places.get(reader) == own for reader in readers)
    )


class GarbageHere:
    """Removes segments of this machine that another machine, which times their unit, has forgotten.

    Args:
        catalog: of the application.
        application: its name.
        pes: of the host.
    """

    def __init__(self, catalog: Catalog, application: str, pes: Collection[int]) -> None:
        self._catalog = catalog
        self._application = application
        self._pes = pes
        self._seen: dict[str, int] = {}
        """Segment that no commit names -> the last committed batch of its PE when it was seen first."""

    def collect(self) -> int:
        """Remove what was there, unnamed, before the last commit of its PE: no batch under way has written it.

        Returns:
            How many files are gone.
        """
        store, data = self._catalog.store, data_of(self._application)
        if not store.address:
            return 0
        # looked for before the catalog is asked: what is committed meanwhile is named then
        files = {file: pe for pe in self._pes for file in store.below(f"{HERE}{data}/streams/pe-{pe}")}
        if not files:
            return 0
        s, p = tables.segment, tables.pe
        with self._catalog.read() as connection:
            mine = (s.c.application == self._application, s.c.pe.in_(self._pes))
            named = set(connection.scalars(select(s.c.path).where(*mine)))
            rows = connection.execute(select(p.c.id, p.c.batch).where(p.c.application == self._application))
            batches = {row.id: row.batch for row in rows}
        now = {file: batches.get(pe, -1) for file, pe in files.items() if file not in named}
        self._seen = {file: batch for file, batch in self._seen.items() if file in now}
        old = [file for file, batch in self._seen.items() if batch < now[file]]
        self._seen = now | self._seen
        return remove_files(store, old)
