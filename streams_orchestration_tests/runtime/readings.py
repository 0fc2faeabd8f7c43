"""Statuses of hosts, PEs, units and machines, which hold rows that no catalog has."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from streams_orchestration.runtime.catalog.columns import Default
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import HostRow, MachineRow, PeRow, UnitEventRow, UnitRow
from streams_orchestration.runtime.catalog.states import EventKind
from streams_orchestration.runtime.catalog.unit_columns import ResetDurations
from streams_orchestration.runtime.machines.register import MachineStatus
from streams_orchestration.runtime.units.status import HostStatus, PeStatus
from streams_orchestration.runtime.units.unit_status import UnitStatus

Row = TypeVar("Row", bound=CatalogRow)
Status = TypeVar("Status", HostStatus, PeStatus, UnitStatus)


def row_of(kind: type[Row], **facts: Any) -> Row:
    """Return a row with these columns; others have the value that an insert without them writes, else None."""
    columns: dict[str, Any] = {}
    for name, hint in get_type_hints(kind, include_extras=True).items():
        defaults = [part.value for part in getattr(hint, "__metadata__", ()) if isinstance(part, Default)]
        columns[name] = next(iter(defaults), None)
    return kind(**columns | facts)


def changed(status: Status, **facts: Any) -> Status:
    """Return the status with other facts, which are its own fields or columns of its row."""
    own = {each.name for each in fields(status)}
    row = replace(status.row, **{name: fact for name, fact in facts.items() if name not in own})
    return replace(status, row=row, **{name: fact for name, fact in facts.items() if name in own})


def host_status(**facts: Any) -> HostStatus:
    row = row_of(HostRow, application="app", id=0, pid=4711, state="RUNNING")
    return changed(HostStatus(row, alive=True, here=True, error=None, log=Path("host-0.log")), **facts)


def pe_status(number: int = 0, **facts: Any) -> PeStatus:
    columns = {"unit": "region-0", "host": 0, "operators": ["Op"], "levels": [], "state": "RUNNING"}
    row = row_of(PeRow, application="app", id=number, **columns)
    return changed(PeStatus(row, generation=1, log=Path(f"pe-{number}.log")), **facts)


def unit_status(**facts: Any) -> UnitStatus:
    columns = {"name": "region-0", "region": 0, "state": "PROCESSING", "drain_timeout": 180.0, "reset_timeout": 180.0}
    columns |= {"max_attempts": 5, "configured_attempts": 5, "tries": ()}
    columns |= {"drains": ResetDurations(), "resets": ResetDurations()}
    return changed(UnitStatus(row_of(UnitRow, application="app", **columns), pes=(0,), open_epoch=1), **facts)


def machine_status(name: str, state: str) -> MachineStatus:
    row = row_of(MachineRow, name=name, address="a.b", tags=[], cores=2)
    return MachineStatus(row, state, hosts=(), lease_seconds=1.0)


def unit_event(
    at: float,
    kind: EventKind,
    generation: int,
    epoch: int,
    attempts: int,
    seconds: float | None = None,
    cause: str | None = None,
) -> UnitEventRow:
    return UnitEventRow("app", "region-0", 1, at, kind, generation, epoch, attempts, seconds, cause)
