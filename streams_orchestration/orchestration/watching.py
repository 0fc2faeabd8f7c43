"""The decision after each check of an application: the runs to request for its resets, and the progress to record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from streams_orchestration.model.printable import printable
from streams_orchestration.orchestration.cut_checks import FAILED, Judgement, evaluate_checks, late_at
from streams_orchestration.runtime import api

REPORT_INTERVAL = 60.0
"""Seconds between two records of progress; Dagster keeps events for ever."""
SUSPECTED_SECONDS, AMISS_SECONDS = 1.0, 5.0
"""Seconds between two checks of an application with suspected units, whose reset may be due, and of an application with
a failed check.
"""
FAILING = "FAILING"
"""The value of `Memory.state` for an application that has lost a host, or with a unit that needs or undergoes a reset.
"""
SLOW_INTERVAL, SETTLED_SECONDS = 600.0, 3600.0
"""Seconds between two records of PEs, streams and sinks, once the state has not changed for `SETTLED_SECONDS`."""


@dataclass(frozen=True, slots=True)
class Memory:
    """The results of the last check of an application that the next check needs. Times are unix seconds."""

    known: dict[str, api.KnownFailure] = field(default_factory=dict[str, api.KnownFailure])
    """Unit -> the failure that was last seen."""
    pending: dict[str, api.KnownFailure] = field(default_factory=dict[str, api.KnownFailure])
    """Unit -> the failure for whose last reset a run is still to be requested.

    It is requested as soon as no other run that resets the unit is queued or under way.
    """
    mark: str = ""
    """The mark of the application's summary at the last check; another mark means that the summary has changed."""
    checked_at: float = 0.0
    remark: str = ""
    """The reason why no reset is due; empty if nothing has failed."""
    state: str = ""
    """The state of the application, followed by the failed units without an attempt left."""
    changed_at: float = 0.0
    """The unix time of the last change of `state`."""
    epochs: dict[str, int] = field(default_factory=dict[str, int])
    recorded: dict[str, str] = field(default_factory=dict[str, str])
    """PE or sink -> its state and rows when it was last recorded."""
    recorded_at: float = 0.0
    reported_at: float = 0.0
    checks: dict[str, str] = field(default_factory=dict[str, str])
    """Check -> its outcome at the last check."""
    checked_run: str = ""
    """The id of the last run that materialized the deployment and after which the checks were recorded."""
    late_at: float = 0.0
    """The unix time at which the next cut becomes late unless it completes; 0 if none can."""

    def with_resets(self, decisions: api.ResetDecisions) -> Memory:
        """Return the memory with the failures that a check has found, and the runs to request for its resets."""
        pending = {failure.unit: decisions.known[failure.unit] for failure in decisions.resets}
        return replace(self, known=decisions.known, pending=self.pending | pending)

    def is_urgent(self, summary: api.StatusSummary, now: float) -> bool:
        """Return True if a check cannot wait: the summary has changed since the last check, or names suspected units.

        An application with suspected units waits until `SUSPECTED_SECONDS` after the last check.
        """
        changed = bool(self.mark) and summary.mark != self.mark
        return changed or (bool(summary.suspected) and now - self.checked_at >= SUSPECTED_SECONDS)

    def is_due(self, now: float) -> bool:
        """Return True if a check is due without a change: to record progress, for a failed check, or for a late cut."""
        interval = AMISS_SECONDS if FAILED in self.checks.values() else REPORT_INTERVAL
        late = 0 < self.late_at <= now - AMISS_SECONDS  # most regions have a later cut by the next check
        record = self.checked_at < self.reported_at + REPORT_INTERVAL <= now
        return now - self.checked_at >= interval or late or record


@dataclass(frozen=True, slots=True)
class SensorActions:
    """The actions after one check of an application: the progress to record, and the next memory."""

    report: bool
    """True if the state or an epoch has changed and is to be recorded."""
    pes: tuple[api.PeStatus, ...]
    """PEs that have changed since they were last recorded."""
    sinks: tuple[api.SinkStatus, ...]
    """Sinks that have published since they were last recorded."""
    checks: tuple[Judgement, ...]
    """Checks whose outcome has changed."""
    judged: tuple[Judgement, ...]
    """The results of all checks."""
    memory: Memory


def decide_actions(
    status: api.ApplicationStatus,
    exhausted: tuple[api.UnitFailure, ...],
    now: float,
    memory: Memory,
    machines: Sequence[api.MachineStatus] = (),
) -> SensorActions:
    """Decide which events of an application to record, and the next memory.

    Progress is to be recorded if the state has changed, unless a reset has just made the application run again; and if
    epochs, PEs or sinks have changed, at most every `REPORT_INTERVAL`. The function itself has no effects.
    """
    judged = evaluate_checks(status, now, machines)
    checks = tuple(check for check in judged if memory.checks.get(check.name) != check.outcome)
    state = _state(status, exhausted)
    epochs = {unit.name: unit.completed_epoch for unit in status.units}
    pes, sinks = _changed(status, memory)
    changed = state != memory.state
    # The run that has reset it records that, with the timeline.
    back = memory.state.startswith(FAILING) and state == "RUNNING"
    changed_at = now if changed else memory.changed_at
    due = now - memory.reported_at >= REPORT_INTERVAL
    ends_due = changed or now - memory.recorded_at >= _interval(now - changed_at)
    report = (changed and not back) or (due and (epochs != memory.epochs or bool(pes or sinks)))
    kept = replace(
        memory,
        checked_at=now,
        remark=printable(_remark(status, exhausted)),
        checks={check.name: check.outcome for check in judged},
        late_at=late_at(status, now),
    )
    kept = replace(kept, state=state, changed_at=changed_at)
    if report:
        kept = replace(kept, epochs=epochs, reported_at=now)
    if not report or not ends_due:
        return SensorActions(report, (), (), checks, judged, kept)
    shown = {_pe_name(pe): _pe_facts(status, pe) for pe in pes} | {sink.operator: str(sink.rows) for sink in sinks}
    kept = replace(kept, recorded=memory.recorded | shown, recorded_at=now)
    return SensorActions(report, pes, sinks, checks, judged, kept)


def _state(status: api.ApplicationStatus, exhausted: tuple[api.UnitFailure, ...]) -> str:
    shown = FAILING if status.shown_state in (api.LOST, api.UNHEALTHY) else status.shown_state
    return " ".join([shown, *(failure.unit for failure in exhausted)])


def _interval(quiet: float) -> float:
    return REPORT_INTERVAL if quiet < SETTLED_SECONDS else SLOW_INTERVAL


def _changed(
    status: api.ApplicationStatus, memory: Memory
) -> tuple[tuple[api.PeStatus, ...], tuple[api.SinkStatus, ...]]:
    return (
        tuple(pe for pe in status.pes if memory.recorded.get(_pe_name(pe)) != _pe_facts(status, pe)),
        tuple(sink for sink in status.sinks if memory.recorded.get(sink.operator, "0") != str(sink.rows)),
    )


def _pe_name(pe: api.PeStatus) -> str:
    return f"pe_{pe.id}"


def _pe_facts(status: api.ApplicationStatus, pe: api.PeStatus) -> str:
    return f"{status.state_of(pe)} {pe.generation} {pe.row.rows_in} {pe.row.rows_out}"


def _remark(status: api.ApplicationStatus, exhausted: tuple[api.UnitFailure, ...]) -> str:
    """Return the reason why no reset is due, cut if it is long.

    The text is empty if the application runs, and no unit waits or is being reset.
    """
    if exhausted:
        return " ".join(f"{failure.unit}: {failure.explanation}. {failure.remedy}" for failure in exhausted)[:600]
    if status.state != "RUNNING":
        return f"{status.application} is {status.state}"
    states = {unit.name: status.state_of_unit(unit) for unit in status.units}
    waiting = [
        f"{unit.name} is {states[unit.name]}"
        for unit in status.units
        if unit.row.waits or states[unit.name] in ("RESETTING", api.LOST)
    ]
    return f"{status.application} is on the way back to its last cut: {', '.join(waiting)}" if waiting else ""


def applications_to_check(
    memories: Mapping[str, Memory], summaries: Mapping[str, api.StatusSummary], now: float
) -> list[str]:
    """Return the applications to check now: all urgent ones, or else the due one that was checked longest ago.

    Of the due ones only one is returned, because many checks in a row would delay urgent ones.
    """
    known = [name for name in memories if name in summaries]
    urgent = [name for name in known if memories[name].is_urgent(summaries[name], now)]
    due = sorted((name for name in known if memories[name].is_due(now)), key=lambda name: memories[name].checked_at)
    return urgent or due[:1]


@dataclass(slots=True)
class Cursor:
    """The state that a tick of the sensor passes to the next one."""

    applications: dict[str, Memory] = field(default_factory=dict[str, Memory])
    away: bool = False
    """True if the catalog could not be used at the last tick."""

    @classmethod
    def load(cls, text: str | None) -> Cursor:
        """Read the state from a sensor's cursor; a cursor that cannot be read counts as none."""
        try:
            fields = json.loads(text or "{}")
            memories = {name: _memory(memory) for name, memory in fields.get("applications", {}).items()}
            return cls(memories, bool(fields.get("away", False)))
        except (ValueError, TypeError, AttributeError, KeyError):
            return cls()

    def dump(self) -> str:
        """Return the text for a sensor's cursor."""
        return json.dumps(asdict(self), separators=(",", ":"))


def _memory(fields: dict[str, Any]) -> Memory:
    failures = {key: {unit: _known(each) for unit, each in fields[key].items()} for key in ("known", "pending")}
    values: dict[str, Any] = fields | failures
    return Memory(**values)


def _known(fields: dict[str, Any]) -> api.KnownFailure:
    known = api.KnownFailure(**fields)
    return replace(known, gone=tuple((host, launched) for host, launched in known.gone))
