"""Reads the rows that a host compares at each turn: its PEs with their units, and the other hosts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import bindparam, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.units.watch import PeOfUnit

_a, _p, _u, _h = tables.application, tables.pe, tables.unit, tables.host
_PES = (
    select(
        *(_p.c.id, _p.c.final, _p.c.state, _u.c.generation, _u.c.dirty, _p.c.committed_at),
        *(_u.c.state.label("unit_state"), _u.c.timer, _u.c.deadline, _u.c.asked),
    )
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .join(_a, _a.c.name == _p.c.application)
    .where(_p.c.application == bindparam("of"), _p.c.host == bindparam("host"), _a.c.plan == bindparam("plan"))
)
_OTHERS = select(_h.c.pid, _h.c.process_started, _h.c.space).where(
    *(_h.c.application == bindparam("of"), _h.c.id != bindparam("host"), _h.c.pid.is_not(None))
)


@dataclass(frozen=True, slots=True)
class OtherHost(CatalogRow):
    """The process of another host of the application, as recorded in the catalog."""

    pid: int
    process_started: float | None
    """The start time of the process, as `process_started` returns it; None if that was not known."""
    space: str | None
    """The process space in which the pid is valid, for `is_here`; None if that was not recorded."""


class TurnRows(NamedTuple):
    """The rows of one turn."""

    pes: Sequence[PeOfUnit]
    """The PEs of the host, each with the state of its unit."""
    others: Sequence[OtherHost]
    """The processes of the other hosts."""


def read_turn_rows(catalog: Catalog, application: str, host: int, plan: int) -> TurnRows | None:
    """Return the rows that a host compares at a turn, read in one transaction; None if another plan is deployed.

    Generations of another plan belong to programs that the host has not loaded yet. Every host of the loaded plan has a
    PE, so no row means that another plan is deployed.
    """
    me = {"of": application, "host": host}
    with catalog.read() as connection:
        pes = PeOfUnit.all(connection, _PES, me | {"plan": plan})
        return TurnRows(pes, OtherHost.all(connection, _OTHERS, me)) if pes else None
