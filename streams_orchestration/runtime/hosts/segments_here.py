"""Segments that are kept on the machine of their host instead of the shared storage."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sqlalchemy import select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.programs.deployed_pes import PlacedPe
from streams_orchestration.runtime.storage.home import data_of
from streams_orchestration.runtime.storage.store import HERE, remove_files


def streams_here(program: PeProgram, pes: Iterable[PlacedPe]) -> frozenset[str]:
    """Return the streams of a PE that are read only by PEs of the same unit and host.

    If the host is moved to another machine, these segments are lost. The unit is then reset to its cut, at which all
    of their tuples had been read. Exported streams are left out. So are streams that the PE reads itself, which may
    have unread tuples at a cut.
    """
    places = {pe.program.pe: (pe.program.unit, pe.host) for pe in pes}
    own = places.get(program.pe)
    return frozenset(
        stream
        for stream, readers in program.consumers.items()
        if readers
        and stream not in program.exports
        and stream not in program.returning
        and all(places.get(reader) == own for reader in readers)
    )


class GarbageHere:
    """The removal of segments on this machine that the catalog no longer names.

    The host that triggers the unit's epochs removes their names from the catalog. It may run on another machine, so it
    cannot remove the files.

    Args:
        catalog: the catalog.
        application: name of the application.
        pes: numbers of the host's PEs.
    """

    def __init__(self, catalog: Catalog, application: str, pes: Collection[int]) -> None:
        self._catalog = catalog
        self._application = application
        self._pes = pes
        self._seen: dict[str, int] = {}
        """Segment that no commit names -> the last committed batch of its PE when the segment was first seen."""

    def collect(self) -> int:
        """Remove unnamed segments if their PE has committed since an earlier call found them.

        A younger segment may belong to the batch under way, which will name it in its commit. Nothing is done if the
        shared storage is the state directory.

        Returns:
            The number of removed files.

        Raises:
            OSError: the directory of the segments cannot be listed.
        """
        store, data = self._catalog.store, data_of(self._application)
        if not store.address:
            return 0
        # listed before the catalog is read, so that segments committed meanwhile count as named
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
