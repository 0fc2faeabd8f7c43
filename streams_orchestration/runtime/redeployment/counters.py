"""Counters of operators and PEs, which continue under a new plan."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.pe_transitions import carry_counts
from streams_orchestration.runtime.catalog.rows import PeRow
from streams_orchestration.runtime.programs.counts import Counts, add
from streams_orchestration.runtime.queries.recording import begin_total, nothing_yet


@dataclass(frozen=True)
class Counters:
    """The counters of the old plan's PEs that a redeploy changes."""

    pes: Mapping[int, PeRow]
    totals: Mapping[int, tuple[float, Counts]]
    """PE -> the time since which it is measured, in unix seconds, and its counts."""

    def carry_on(
        self, connection: Connection, programs: Iterable[PeProgram], formers: Mapping[str, str], now: float
    ) -> None:
        """Write these counters of the old plan into the new rows of the new plan's PEs and of their first commits.

        A PE whose number the old plan did not have begins its own counts at 0, with the counts of its operators. If
        the old plan was not measured, only rows and busy seconds are written.

        Args:
            connection: a connection in a writing transaction.
            programs: the programs of the new PEs.
            formers: operator of the new plan -> its name in the old plan.
            now: unix seconds.
        """
        since = min((since for since, _ in self.totals.values()), default=now)
        for program in programs:
            if former := self.pes.get(program.pe):
                carry_counts(connection, program.application, program.pe, former)
            if self.totals:
                mine = self.totals.get(program.pe, (since, {}))
                begin_total(connection, program, self._total(program, mine[1], formers), mine[0], now)

    def _total(self, program: PeProgram, mine: Counts, formers: Mapping[str, str]) -> Counts:
        """Return the total with which a PE begins: the old counts of its number, and of its operators and streams.

        An operator's or a stream's counts are taken from whichever old PE had it.
        """
        total = add(nothing_yet(program), {name: mine[name] for name in ("batches", "tasks", "read") if name in mine})
        for operator in program.operators.values():
            former = formers.get(operator.name)
            for counts in self._counts_of("operators"):
                if former in counts:
                    add(total, {"operators": {operator.name: counts[former]}})
            for counts in self._counts_of("queues"):
                for name, queue in counts.items():
                    owner, _, port = name.rpartition(":")
                    if owner == former:
                        add(total, {"queues": {f"{operator.name}:{port}": queue}})
        for counts in self._counts_of("written"):
            add(total, {"written": {stream: counts[stream] for stream in program.consumers if stream in counts}})
        return total

    def _counts_of(self, kind: str) -> list[Counts]:
        return [counts.get(kind, {}) for _, counts in self.totals.values()]


def read_counters(connection: Connection, application: str, pes: Collection[int]) -> Counters:
    """Read the counters of some PEs, before a redeploy replaces them."""
    p, m = tables.pe, tables.pe_metrics
    rows = PeRow.all(connection, select(p).where(p.c.application == application, p.c.id.in_(pes)))
    totals = connection.execute(select(m).where(m.c.application == application, m.c.pe.in_(pes))).all()
    return Counters({row.id: row for row in rows}, {row.pe: (row.since, row.counts) for row in totals})
