"""The status of an application as a JSON document, for `streams status` and the console."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from streams_orchestration.runtime.observing.metrics import ApplicationMetrics
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.units.failures import UnitFailure, find_failures


def build_status_document(status: ApplicationStatus, metrics: ApplicationMetrics, now: float) -> dict[str, Any]:
    """Return the status, failures and metrics for a JSON document, with the states that `streams status` shows.

    The paths of logs are `Path` objects, so `json.dumps` needs `default=str`.
    """
    failed = [_failure_fields(failure) for failure in find_failures(status, now)]
    described: dict[str, Any] = {**asdict(status), "failures": failed, "metrics": asdict(metrics)}
    for each, host in zip(described["hosts"], status.hosts, strict=True):
        each |= {"lost": host.lost, "state": host.shown_state}
    described["state"] = status.shown_state
    for each, pe in zip(described["pes"], status.pes, strict=True):
        each["state"] = status.state_of(pe)
    for each, unit in zip(described["units"], status.units, strict=True):
        each |= {
            "state": status.state_of_unit(unit),
            "phases": unit.phases,
            "average_drain_seconds": unit.drain_times.average,
            "average_reset_seconds": unit.reset_times.average,
        }
    for each, sink in zip(described["sinks"], status.sinks, strict=True):
        age = None if sink.delivered_at is None else max(now - sink.delivered_at, 0.0)
        each["delivery_age_seconds"] = age
    return described


def _failure_fields(failure: UnitFailure) -> dict[str, Any]:
    """Return a failure with the facts about its unit and its cause beside the others."""
    unit, cause = failure.status, failure.cause
    return {
        "application": failure.application,
        "unit": unit.name,
        "generation": unit.generation,
        "attempts": unit.attempts,
        "max_attempts": unit.max_attempts,
        "reason": cause.reason,
        "log": failure.log,
        "permanent": failure.permanent,
        "due_at": failure.due_at,
        "restartable": failure.restartable,
        "launches": failure.launches,
        "lost": unit.lost,
        "gone": failure.gone,
        "machine": failure.machine,
        "here": failure.here,
        "outside": cause.outside,
        "used_up": failure.used_up,
        "stays": unit.stays,
    }
