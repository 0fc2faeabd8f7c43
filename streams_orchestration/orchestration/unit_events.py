"""Metadata about the units of recovery of a deployment: their states, and how they recovered (B34, B37)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import dagster as dg

from streams_orchestration.model.short_texts import first_names, shortened
from streams_orchestration.orchestration.metadata import Metadata, table
from streams_orchestration.runtime import api

LISTED_UNITS = 100
LISTED_RECOVERIES = 20
"""The most recoveries in a table, counted back from the last recovery."""
LONGEST_CAUSE = 120
"""The most characters of a cause in a table; the PE's page and the log have the whole text."""
PLOTTED_REGIONS = 8
"""The most regions that have numeric metadata of their own, which Dagster plots over time."""
NAMED_OPERATORS = 8
"""The most operators of a unit that are named in a table."""
RECOVERY_COLUMNS = {"to epoch": "int", "took (s)": "float"}


def unit_metadata(status: api.ApplicationStatus, now: float) -> Metadata:
    """Return tables of the units, of their resets and of their recoveries, and numbers of the first regions.

    The tables have the first `LISTED_UNITS` units and the last `LISTED_RECOVERIES` recoveries. The result is empty
    without units. Ages count up to `now`, in unix seconds.
    """
    if not status.units:
        return {}
    metadata: Metadata = {
        "streams/completed_epoch": min(unit.completed_epoch for unit in status.units),
        "streams/units": _table(
            [_standing(status, unit, now) for unit in status.units[:LISTED_UNITS]], {"epoch": "int"}
        ),
    }
    reset = [unit for unit in status.units if unit.row.reset_count or unit.row.cause or unit.lost][:LISTED_UNITS]
    if reset:
        metadata["streams/resets"] = _table([_resets(unit, now) for unit in reset], {"resets": "int"})
    unstable = [
        f"{unit.name} was {recent}"
        for unit in status.units
        if (recent := api.find_recent_resets(unit, now)) is not None
    ]
    if unstable:
        metadata["streams/unstable"] = "; ".join(unstable)
    past = sorted(
        ((each, unit) for unit in status.units for each in api.find_recoveries(unit.events)), key=lambda p: p[0].began
    )
    if past:
        rows = [{"unit": unit.name, **_recovery(each, now)} for each, unit in reversed(past[-LISTED_RECOVERIES:])]
        metadata["streams/recoveries"] = _table(rows, RECOVERY_COLUMNS)
    for unit in [each for each in status.units if each.row.region is not None][:PLOTTED_REGIONS]:
        metadata |= _numbers(unit)
    return metadata


def recovery_metadata(unit: api.UnitStatus, now: float) -> Metadata:
    """Return the number of resets, the last cause and the last recoveries of a unit; empty if it has never failed.

    `now` is in unix seconds.
    """
    if not (unit.row.reset_count or unit.row.cause or unit.lost):
        return {}
    cause = unit.lost or api.find_last_cause(unit) or ""
    metadata: Metadata = {
        "streams/resets": unit.row.reset_count,
        "streams/last_cause": cause,
    }
    if (recent := api.find_recent_resets(unit, now)) is not None:
        metadata["streams/unstable"] = f"{unit.name} was {recent}"
    past = api.find_recoveries(unit.events)[-LISTED_RECOVERIES:]
    if past:
        rows = [_recovery(each, now) for each in reversed(past)]
        metadata["streams/recoveries"] = _table(rows, RECOVERY_COLUMNS)
    return metadata


def _standing(status: api.ApplicationStatus, unit: api.UnitStatus, now: float) -> dict[str, str | int | float | None]:
    operators = [name for pe in status.pes if pe.id in unit.pes for name in pe.row.operators]
    age = None if unit.row.completed_at is None else f"{max(now - unit.row.completed_at, 0.0):.1f} s old"
    return {
        "unit": unit.name,
        "state": _both(status.state_of_unit(unit), " since ", _time(unit.row.since or None, now)),
        "epoch": unit.completed_epoch,
        "last cut (UTC)": _both(_time(unit.row.completed_at, now), ", ", age),
        "drain (s)": _lasted(unit.row.drains),
        "PEs": ", ".join(map(str, unit.pes)),
        "operators": first_names(operators, NAMED_OPERATORS),
    }


def _resets(unit: api.UnitStatus, now: float) -> dict[str, str | int | float | None]:
    times = unit.row.resets
    return {
        "unit": unit.name,
        "resets": unit.row.reset_count,
        "attempts": f"{unit.row.attempts} of {unit.row.max_attempts}",
        "last (UTC)": _both(_time(times.at, now), ", to epoch ", times.sequence),
        "took (s)": _lasted(times),
        "cause": shortened(unit.lost or api.find_last_cause(unit) or "", LONGEST_CAUSE),
    }


def _recovery(recovery: api.Recovery, now: float) -> dict[str, str | int | float | None]:
    outcome = "given up" if recovery.given_up else "works again" if recovery.ended is not None else "not done"
    return {
        "failed (UTC)": _time(recovery.began, now),
        "to epoch": recovery.epoch,
        "outcome": outcome,
        "took (s)": round(sum(recovery.phases.values()), 3),
        "of that (s)": ", ".join(f"{name} {seconds:.1f}" for name, seconds in recovery.phases.items()),
        "cause": shortened(recovery.cause or "it was requested", LONGEST_CAUSE),
    }


def _numbers(unit: api.UnitStatus) -> Metadata:
    """Return the numbers of one region that Dagster plots over time.

    They are its complete epoch, its resets, and the seconds of its last drain and last reset if there was one.
    """
    metadata: Metadata = {
        f"streams/{unit.name}/epoch": unit.completed_epoch,
        f"streams/{unit.name}/resets": unit.row.reset_count,
    }
    for name, times in (("drain_seconds", unit.row.drains), ("reset_seconds", unit.row.resets)):
        if times.seconds:
            metadata[f"streams/{unit.name}/{name}"] = round(times.seconds[-1], 3)
    return metadata


def _table(rows: Sequence[Mapping[str, str | int | float | None]], numbers: Mapping[str, str]) -> dg.TableMetadataValue:
    return table({name: numbers.get(name, "string") for name in rows[0]}, [[*row.values()] for row in rows])


def _time(at: float | None, now: float) -> str:
    """Return a time, with its date only if that is not today, since columns are narrow; an empty text for None."""
    if at is None:
        return ""
    then = datetime.fromtimestamp(at, UTC)
    return f"{then:%H:%M:%S}" if then.date() == datetime.fromtimestamp(now, UTC).date() else f"{then:%Y-%m-%d %H:%M:%S}"


def _lasted(times: api.ResetDurations) -> str:
    """Return the last duration and the mean duration in words; empty if there is none yet."""
    return "" if times.average is None else f"{times.seconds[-1]:.2f}, mean {times.average:.2f}"


def _both(first: str, between: str, second: object) -> str:
    """Join two facts in one column of a table, since an asset's page is narrow; the first alone if one is unknown."""
    return f"{first}{between}{second}" if first and second not in (None, "") else first
