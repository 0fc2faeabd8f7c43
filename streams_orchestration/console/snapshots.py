"""Snapshots of an application in the short form that every open page gets repeatedly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from streams_orchestration.operators.contract.metrics import LAG_SECONDS
from streams_orchestration.runtime import api

Document = dict[str, Any]
_OF_PE = (
    *("id", "unit", "host", "state", "generation", "batch", "epoch", "rows_in", "rows_out", "committed_at", "error"),
    "failed_times",
)
"""Keys of a PE's document that a snapshot shows, too."""
_OF_UNIT = (
    *("name", "region", "state", "since", "generation", "completed_epoch", "open_epoch", "completed_at", "period"),
    *("attempts", "max_attempts", "resets", "cause", "phases", "pes"),
)
"""Keys of a unit's document that a snapshot shows, too."""


def snapshot(
    status: api.ApplicationStatus, metrics: api.ApplicationMetrics, cuts: Mapping[str, Sequence[api.Cut]], now: float
) -> Document:
    """Return the snapshot of one application as a JSON document.

    Times are unix seconds of the catalog's clock. Rates are in tuples a second, and `cores` is the number of processors
    that are kept busy. Both figures are averages of the last minute, and None if the PE does not run.

    Args:
        status: the status of the application.
        metrics: the metrics of the application.
        cuts: unit -> its last complete epochs, the oldest first.
        now: the current time, in unix seconds.
    """
    failed = api.find_failures(status, now)
    return {
        "application": status.application,
        "at": now,
        "state": status.shown_state,
        "fingerprint": status.fingerprint,
        "deployed_at": status.deployed_at,
        "measured": metrics.measured,
        "hosts": [
            _part(api.host_document(host), "id", "alive", "error", "state") | {"process": host.process}
            for host in status.hosts
        ],
        "pes": list(_pes(status, metrics, now)),
        "units": [
            _unit(status, unit, cuts.get(unit.name, ()), now) | {"broken": _broken(status, unit, failed)}
            for unit in status.units
        ],
        "failures": [
            api.chosen(each, "unit", "remedy", "hopeless", "due_at") | {"reason": each.cause.reason} for each in failed
        ],
        "operators": {operator.name: _operator(operator) for operator in metrics.operators},
        "streams": [_stream(stream) for stream in metrics.streams],
        "sinks": [
            api.chosen(sink, "operator", "rows", "waiting", "error") | {"place": str(sink.path or sink.place)}
            for sink in status.sinks
        ],
        "connections": [asdict(each) for link in (*status.imports, *status.exports) for each in link.connections],
    }


def _part(document: Document, *keys: str) -> Document:
    return {key: document[key] for key in keys}


def _pes(status: api.ApplicationStatus, metrics: api.ApplicationMetrics, now: float) -> Iterator[Document]:
    busy: dict[int, float] = {}
    for operator in metrics.operators:
        busy[operator.pe] = busy.get(operator.pe, 0.0) + (operator.cores or 0.0)
    rates = {pe.pe: pe.rows_per_second for pe in metrics.pes}
    problems = _problems(status, now)
    for pe in status.pes:
        yield _part(api.pe_document(status, pe), *_OF_PE) | {
            "trouble": problems.get(pe.id),
            "rate": _rounded(rates.get(pe.id)),
            "cores": _rounded(busy.get(pe.id)),
        }


def _problems(status: api.ApplicationStatus, now: float) -> dict[int, str]:
    """Return PE -> why it does not work although it should: its own error, or the failure of its host.

    The result is empty if the application has ended.
    """
    if status.state in api.ENDED:
        return {}
    ended = {pe for unit in status.units if unit.state in api.ENDED for pe in unit.pes}
    dead = {host.id: reason for host in status.hosts if (reason := api.explain_host_failure(host, now))}
    return {
        pe.id: dead[pe.host] if pe.host in dead else api.explain_pe_failure(pe.id, pe.row.error)
        for pe in status.pes
        if pe.id not in ended and (pe.host in dead or pe.state == "FAILED" or pe.row.error is not None)
    }


def _broken(status: api.ApplicationStatus, unit: api.UnitStatus, failed: Sequence[api.UnitFailure]) -> Document | None:
    """Return since when a unit has not worked, and why; None if it needs no reset.

    If the unit's host is lost, the unit has not worked since the host's last heartbeat.
    """
    failure = next((each for each in failed if each.unit == unit.name), None)
    if failure is None:
        return None
    gone = {number for number, _ in failure.gone}
    if gone:
        since = min(host.heard_at for host in status.hosts if host.id in gone)
    elif unit.row.waits:
        since = unit.row.since
    else:
        since = max(unit.row.since, *(pe.row.committed_at or 0.0 for pe in status.pes if pe.id in unit.pes))
    return {"since": since, "cause": failure.cause.reason}


def _rounded(value: float | None) -> float | None:
    """Round to four digits, since more would make the snapshot of thousands of operators twice as long.

    None stays None.
    """
    return None if value is None else float(f"{value:.4g}")


def _operator(operator: api.OperatorMetrics) -> Document:
    own = {metric.name: metric.value for metric in operator.custom}
    return {
        "rate": _rounded(operator.tuples_per_second),
        "cores": _rounded(operator.cores),
        "state": operator.state_bytes,
        "lag": own.get(LAG_SECONDS),
        "out": [_rounded(port.tuples_per_second) for port in operator.outputs],
    }


def _stream(stream: api.StreamMetrics) -> Document:
    return {
        "name": stream.name,
        "pe": stream.pe,
        "rate": _rounded(stream.tuples_per_second),
        "readers": [
            {
                "pe": reader.pe,
                "segments": reader.lag_segments,
                "tuples": reader.lag_tuples,
                "seconds": reader.lag_seconds,
                "pressure": min(reader.lag_segments / api.OUTSTANDING_LIMIT, 1.0),
            }
            for reader in stream.readers
        ],
    }


def _unit(status: api.ApplicationStatus, unit: api.UnitStatus, cuts: Sequence[api.Cut], now: float) -> Document:
    recent = api.find_recent_resets(unit, now)
    return _part(api.unit_document(status, unit), *_OF_UNIT) | {
        "lost": unit.lost,
        "unstable": None if recent is None else str(recent),
        "cuts": [[cut.epoch, cut.completed_at, cut.seconds] for cut in cuts],
        "recoveries": [
            api.chosen(each, "began", "ended", "cause", "epoch", "given_up", "phases")
            for each in api.find_recoveries(unit.events)
        ],
    }
