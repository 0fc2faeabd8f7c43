"""The status of an application as a JSON document, for `streams status` and the console."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.units.failures import UnitFailure, find_failures
from streams_orchestration.runtime.units.status import HostStatus, PeStatus, UnitsStatus
from streams_orchestration.runtime.units.unit_status import UnitStatus

_OF_HOST = (
    "id",
    "pid",
    "launched_at",
    "heartbeat_at",
    "start_up",
    "launches",
    "machine",
    "storage_error",
    "storage_failed_at",
)
_OF_PE = (
    *("id", "operators", "host", "unit", "batch", "epoch", "rows_in", "rows_out", "busy_seconds", "committed_at"),
    *("error", "permanent", "levels", "restartable", "running", "outside"),
)
_OF_UNIT = (
    *("name", "region", "generation", "completed_epoch", "current_epoch", "shown_epoch", "completed_at", "period"),
    *("drain_timeout", "reset_timeout", "since", "dirty", "timer", "deadline", "restarts", "outage"),
    *("attempts", "max_attempts", "cause", "give_up_at", "restart_pause"),
)
_OF_FAILURE = (
    *("application", "unit", "generation", "log", "permanent", "due_at", "restartable", "launches", "gone"),
    *("machine", "here", "used_up"),
)
_OF_EVENT = ("at", "kind", "generation", "epoch", "attempts", "seconds", "cause")


def build_status_document(status: ApplicationStatus, metrics: ApplicationMetrics, now: float) -> dict[str, Any]:
    """Return the status, failures and metrics for a JSON document, with the states that `streams status` shows.

    The paths of logs are `Path` objects, so `json.dumps` needs `default=str`.
    """
    return {
        **chosen(status, "application", "fingerprint", "life", "deployed_at", "logs", "bounded", "taken_at"),
        "state": status.shown_state,
        "hosts": [host_document(host) for host in status.hosts],
        "pes": [pe_document(status, pe) for pe in status.pes],
        "units": [
            unit_document(status, unit) | {"events": [chosen(event, *_OF_EVENT) for event in unit.events]}
            for unit in status.units
        ],
        "sinks": [asdict(sink) | {"delivery_age_seconds": _age(sink.delivered_at, now)} for sink in status.sinks],
        "imports": [asdict(each) for each in status.imports],
        "exports": [asdict(each) for each in status.exports],
        "failures": [_failure_fields(failure) for failure in find_failures(status, now)],
        "metrics": asdict(metrics),
    }


def host_document(host: HostStatus) -> dict[str, Any]:
    """Return the status of a host, with the state that `streams status` shows."""
    own = chosen(host, "alive", "error", "log", "here", "misplaced", "lost")
    return chosen(host.row, *_OF_HOST) | own | {"state": host.shown_state}


def pe_document(status: UnitsStatus, pe: PeStatus) -> dict[str, Any]:
    """Return the status of a PE, with the state that `streams status` shows."""
    own = chosen(pe, "generation", "log", "failed_times", "machine", "here")
    return chosen(pe.row, *_OF_PE) | own | {"kind": str(pe.row.kind), "state": status.state_of(pe)}


def unit_document(status: UnitsStatus, unit: UnitStatus) -> dict[str, Any]:
    """Return the status of a unit without its events, with the state that `streams status` shows."""
    row = unit.row
    return {
        **chosen(row, *_OF_UNIT),
        **chosen(unit, "pes", "open_epoch", "phases"),
        "state": status.state_of_unit(unit),
        "kind": str(row.kind),
        "tries": [(str(kind), *rest) for kind, *rest in row.tries],
        "asked": row.taken_up,
        "resets": row.reset_count,
        "drain_times": row.drains,
        "reset_times": row.resets,
        "average_drain_seconds": row.drains.average,
        "average_reset_seconds": row.resets.average,
    }


def chosen(value: object, *names: str) -> dict[str, Any]:
    """Return attributes of a value by their names."""
    return {name: getattr(value, name) for name in names}


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else max(now - at, 0.0)


def _failure_fields(failure: UnitFailure) -> dict[str, Any]:
    """Return a failure with the facts about its unit and its cause beside the others."""
    return {
        **chosen(failure, *_OF_FAILURE),
        **chosen(failure.status.row, "attempts", "max_attempts"),
        **chosen(failure.status, "lost", "stays"),
        "reason": failure.cause.reason,
        "outside": failure.cause.outside,
    }
