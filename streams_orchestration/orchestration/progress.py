"""The progress of a running application, as events of its deployment, PEs, streams and sinks.

A materialization means one thing for each kind of asset:

- Deployment: another plan was put in place, and all of its units work. The data version has the plan's fingerprint.
- PE, stream or sink: a later epoch is complete and has made new data visible. The data version is that epoch.

Everything else is an observation, so that downstream automation runs for new data only.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import dagster as dg

from streams_orchestration.model.brief import plural
from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.formats.texts import plain
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.cut_checks import Judgement
from streams_orchestration.orchestration.epochs import (
    EPOCH,
    VERSION_TAG,
    Epoch,
    epoch_of,
    last_materialization,
)
from streams_orchestration.orchestration.metadata import Metadata, table
from streams_orchestration.orchestration.plan_events import plan_events
from streams_orchestration.orchestration.run_events import Event
from streams_orchestration.orchestration.unit_events import recovery_metadata, unit_metadata
from streams_orchestration.orchestration.watching import REPORT_INTERVAL, SensorActions
from streams_orchestration.runtime import api

Preview = Callable[[api.SinkStatus, int], Sequence[Mapping[str, Any]]]
"""A function that reads the first rows of a sink, at most as many as its second argument says."""
PREVIEWED_ROWS, PREVIEWED_COLUMNS, PREVIEWED_CHARACTERS = 5, 20, 80
_NOT_WORKING = tuple(map(dg.MetadataValue.text, ("FAILED", "LOST", "STOPPED", "UNHEALTHY", "WAITING")))
LISTED_OPERATORS = 20
"""The most operators in the table of an event, which lists those with the most processor time."""


_DATA = ("dagster/row_count", "streams/files", "streams/epochs", "streams/rows_in", "streams/rows_out")
"""Keys of the metadata by which a materialization with new data differs from the previous one."""


def deployment_events(
    keys: AssetKeys,
    instance: dg.DagsterInstance,
    status: api.ApplicationStatus,
    metrics: api.ApplicationMetrics,
    now: float,
    judgements: Iterable[Judgement],
    more: Metadata | None = None,
) -> Iterator[Event]:
    """Yield the events of a working plan unless they are recorded already, then an observation of the deployment."""
    yield from plan_events(keys, instance, status, metrics, judgements)
    yield deployment_event(keys, status, metrics, now, more)


def deployment_event(
    keys: AssetKeys,
    status: api.ApplicationStatus,
    metrics: api.ApplicationMetrics,
    now: float,
    more: Metadata | None = None,
) -> dg.AssetObservation:
    """Return an observation of the deployment: the application's state, its units, and its busiest operators."""
    metadata: Metadata = {
        "streams/state": status.shown_state,
        "streams/fingerprint": status.fingerprint,
        "streams/deployed_at": dg.MetadataValue.timestamp(datetime.fromtimestamp(status.deployed_at, UTC)),
        "streams/rows_in": sum(pe.row.rows_in for pe in status.pes),
        "streams/logs": dg.MetadataValue.path(status.log_places),
    }
    metadata |= unit_metadata(status, now)
    if metrics.operators:
        metadata["streams/operators"] = _operators(metrics)
    return dg.AssetObservation(
        keys.of(status.application, "deployment"),
        description=f"{status.application} is {status.shown_state}"
        + (", and is reset again and again" if "streams/unstable" in metadata else ""),
        metadata={**metadata, **(more or {})},
    )


def progress_events(
    keys: AssetKeys,
    status: api.ApplicationStatus,
    metrics: api.ApplicationMetrics,
    now: float,
    seen: SensorActions,
    preview: Preview,
    instance: dg.DagsterInstance,
) -> list[Event]:
    """Return the events that the sensor has to record after a check of an application.

    An observation that repeats one which a run recorded within the last minute is left out.
    """
    parts = part_events(keys, status, metrics, seen.pes, seen.sinks, preview)
    of_deployment = deployment_events(keys, instance, status, metrics, now, seen.judged)
    events = [*of_deployment, *(unless_repeated(instance, each) for each in parts)]
    return [event for event in events if not _was_recorded_by_run(instance, event, now)]


def _was_recorded_by_run(instance: dg.DagsterInstance, event: Event, now: float) -> bool:
    """Return True if the event repeats the asset's last observation, which a run recorded within the last minute."""
    if not isinstance(event, dg.AssetObservation):
        return False
    for record in instance.fetch_observations(event.asset_key, limit=1).records:
        entry = record.event_log_entry
        last = entry.asset_observation
        just = bool(entry.run_id) and now - record.timestamp < REPORT_INTERVAL
        return just and last is not None and last.description == event.description
    return False


def unless_repeated(
    instance: dg.DagsterInstance, event: dg.AssetMaterialization
) -> dg.AssetMaterialization | dg.AssetObservation:
    """Return the event of a PE, stream or sink unchanged if its data are new, else as an observation.

    Data are new if they have changed with a later epoch, or in the first complete epoch of a life. The event of a PE
    that does not work is always an observation.
    """
    epoch = epoch_of(event)
    if epoch is not None and epoch.number and event.metadata.get("streams/state") not in _NOT_WORKING:
        last = last_materialization(instance, event.asset_key)
        known = epoch_of(last)
        if last is None or known is None or known.life != epoch.life:
            return event
        if epoch.number > known.number and any(last.metadata.get(each) != event.metadata.get(each) for each in _DATA):
            return event
    return dg.AssetObservation(event.asset_key, description=event.description, metadata=event.metadata)


def _tags(number: int, metrics: api.ApplicationMetrics) -> dict[str, str]:
    return {VERSION_TAG: Epoch.of(number, metrics.life).version}


def _operators(metrics: api.ApplicationMetrics) -> dg.TableMetadataValue:
    busiest = sorted(metrics.operators, key=lambda operator: -operator.cpu_ns)[:LISTED_OPERATORS]
    return table(
        {"operator": "string", "PE": "int", "tuples in": "int", "tuples out": "int", "cpu seconds": "float"},
        [
            (
                operator.name,
                operator.pe,
                sum(port.tuples for port in operator.inputs),
                sum(port.tuples for port in operator.outputs),
                round(operator.cpu_ns / 1e9, 3),
            )
            for operator in busiest
        ],
    )


def part_events(
    keys: AssetKeys,
    status: api.ApplicationStatus,
    metrics: api.ApplicationMetrics,
    pes: Iterable[api.PeStatus],
    sinks: Iterable[api.SinkStatus],
    preview: Preview,
) -> Iterator[dg.AssetMaterialization]:
    """Yield a materialization for each PE, for each stream that the PEs write, and for each sink."""
    units = {unit.name: unit for unit in status.units}
    numbers = set[int]()
    for pe in pes:
        numbers.add(pe.id)
        yield pe_event(keys, status, pe, metrics, units.get(pe.unit))
    yield from _stream_events(keys, status, metrics, numbers)
    for sink in sinks:
        yield sink_event(keys, status.application, sink, metrics, preview(sink, PREVIEWED_ROWS))


def pe_event(
    keys: AssetKeys,
    status: api.ApplicationStatus,
    pe: api.PeStatus,
    metrics: api.ApplicationMetrics,
    unit: api.UnitStatus | None,
) -> dg.AssetMaterialization:
    """Return the materialization of one PE: its state, rows and processor time, and its unit's last recoveries."""
    state = status.state_of(pe)
    cpu = sum(each.cpu_ns for each in (*metrics.pes, *metrics.operators) if each.pe == pe.id)
    cpu += sum(stream.serialise_ns for stream in metrics.streams if stream.pe == pe.id)
    cpu += sum(reader.deserialise_ns for stream in metrics.streams for reader in stream.readers if reader.pe == pe.id)
    metadata: Metadata = {
        "streams/state": state,
        "streams/unit": pe.unit,
        "streams/generation": pe.generation,
        "streams/batch": pe.row.batch,
        "streams/open_epoch": pe.row.epoch,
        "streams/rows_in": pe.row.rows_in,
        "streams/rows_out": pe.row.rows_out,
        "streams/cpu_seconds": cpu / 1e9,
        "streams/log": dg.MetadataValue.path(pe.log_place),
    }
    if pe.row.error:
        metadata["streams/error"] = pe.row.error
    if unit is not None:
        metadata |= {EPOCH: unit.row.shown, **recovery_metadata(unit, metrics.at)}
    unstable = unit is not None and api.find_recent_resets(unit, metrics.at) is not None
    return dg.AssetMaterialization(
        keys.of(status.application, f"pes/pe_{pe.id}"),
        description=f"PE {pe.id} is {state}{', and is reset again and again' if unstable else ''}",
        metadata=metadata,
        tags={} if unit is None else _tags(unit.row.shown, metrics),
    )


def _stream_events(
    keys: AssetKeys, status: api.ApplicationStatus, metrics: api.ApplicationMetrics, pes: Collection[int]
) -> Iterator[dg.AssetMaterialization]:
    """Yield a materialization for each stream that these PEs write; the channels of a stream are added up.

    An exported stream that no PE of the application reads is left out. The watermark is left out unless all channels
    have one.
    """
    exported = {export.stream for export in status.exports}
    shown = {pe: unit.row.shown for unit in status.units for pe in unit.pes}
    producers = {stream: name for each in metrics.event_time for stream, name in each.producers.items()}
    watermarks = metrics.watermarks
    streams: dict[str, list[api.StreamMetrics]] = {}
    for stream in metrics.streams:
        if stream.pe in pes and (stream.readers or stream.name not in exported):
            streams.setdefault(stream.name.partition(">")[0], []).append(stream)
    for name, channels in streams.items():
        rows = sum(channel.tuples for channel in channels)
        waiting = max((reader.lag_tuples for channel in channels for reader in channel.readers), default=0)
        epoch = min(shown.get(channel.pe, 0) for channel in channels)
        timed = {producers[each.name] for each in channels if each.name in producers}
        reached = [watermarks[each] for each in timed if each in watermarks]
        yield dg.AssetMaterialization(
            keys.of(status.application, f"streams/{name}"),
            description=f"{plural(rows, 'row')}, {waiting} not read yet",
            metadata={
                "dagster/row_count": rows,
                "streams/waiting_rows": waiting,
                "streams/bytes": sum(channel.bytes for channel in channels),
                "streams/segments": sum(channel.segments for channel in channels),
                EPOCH: epoch,
                **_event_time(timed, min(reached) if len(reached) == len(timed) > 0 else None, metrics),
            },
            tags=_tags(epoch, metrics),
        )


def sink_event(
    keys: AssetKeys,
    application: str,
    sink: api.SinkStatus,
    metrics: api.ApplicationMetrics,
    rows: Sequence[Mapping[str, Any]],
) -> dg.AssetMaterialization:
    """Return the materialization of one sink: its published rows, its place, and a preview of rows if there are any."""
    metadata = {
        "dagster/row_count": sink.rows,
        "streams/visibility": sink.visibility,
        EPOCH: sink.epoch,
        **_place(sink),
    }
    timed = {each.operator for each in metrics.event_time} & {sink.operator}
    metadata |= _event_time(timed, sink.complete_until, metrics)
    if rows:
        metadata["streams/first_rows"] = _preview(rows)
    return dg.AssetMaterialization(
        keys.of(application, f"sinks/{sink.operator}"),
        description=f"{plural(sink.rows, 'row')} in {plural(sink.files, 'epoch' if sink.path is None else 'file')}",
        metadata=metadata,
        tags=_tags(sink.epoch, metrics),
    )


def _event_time(operators: Collection[str], watermark: float | None, metrics: api.ApplicationMetrics) -> Metadata:
    """Return the watermark, and the number of late tuples that these operators and their upstream operators dropped.

    The watermark is in unix seconds.
    """
    metadata: Metadata = {}
    if watermark is not None:
        metadata["streams/watermark"] = dg.MetadataValue.timestamp(watermark)
    if operators:
        among = {name for each in operators for name in api.find_upstream_operators(each, metrics.event_time)}
        dropped = (
            int(metric.value)
            for operator in metrics.operators
            for metric in operator.custom
            if operator.name in among and (metric.name, metric.kind) == ("late_dropped", "counter")
        )
        metadata["streams/late_dropped"] = sum(dropped)
    return metadata


def _preview(rows: Sequence[Mapping[str, Any]]) -> dg.TableMetadataValue:
    """Return a table of the rows, of which there is one or more, since Dagster keeps events for ever.

    It has the first `PREVIEWED_COLUMNS` columns, and cuts texts after `PREVIEWED_CHARACTERS`.
    """
    names = list(rows[0])[:PREVIEWED_COLUMNS]

    def cell(value: Any) -> str | int | float | bool | None:
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, float) and isfinite(value):
            return value
        return shortened(str(plain(value)), PREVIEWED_CHARACTERS)

    return table(dict.fromkeys(names, "any"), [[cell(row[name]) for name in names] for row in rows])


def _place(sink: api.SinkStatus) -> Metadata:
    if sink.path is None:
        return {"streams/epochs": sink.files, "streams/place": sink.place}
    return {
        "streams/files": sink.files,
        "streams/format": sink.format,
        "streams/path": dg.MetadataValue.path(sink.path),
    }
