"""Reads the input of a view: segments of the transport as Arrow batches of the declared type."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.operators.tuples.arrow_types import (
    arrow_schema,
    batch_without_unsigned,
    schema_without_unsigned,
)
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.engine.spark.descriptor import MARKER
from streams_orchestration.runtime.engine.spark.frames.descriptors import READ, PortBatch, port_codec
from streams_orchestration.runtime.programs.batches import Segment, TaskResult
from streams_orchestration.runtime.programs.codecs import result_codec
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.tasks.selection import selected
from streams_orchestration.runtime.transport.segments import SegmentError, read_segment, write_segment

ROWS = 100_000
"""Approximate number of rows in the segments that one task reads."""
FEW_ROWS, FEW_BYTES = 2_000, 262_144
"""The most rows and bytes that the source itself reads, which takes less time than a task in a Python worker."""
_PLAIN = (
    pa.types.is_boolean,
    pa.types.is_integer,
    pa.types.is_floating,
    pa.types.is_decimal,
    pa.types.is_string,
    pa.types.is_binary,
    pa.types.is_date,
    pa.types.is_timestamp,
)


def is_small(planned: PortBatch, attributes: str) -> bool:
    """Return True if the source itself reads a port's batch.

    The batch has at most `FEW_ROWS` rows and at most `FEW_BYTES` bytes, and no attribute has a nested type.
    """
    segments = planned.segments
    few = sum(each.rows for each in segments) <= FEW_ROWS and sum(each.size for each in segments) <= FEW_BYTES
    return few and all(any(is_kind(field.type) for is_kind in _PLAIN) for field in arrow_schema(attributes))


def shares(planned: PortBatch, *, marked: bool, whole: bool) -> list[bytes]:
    """Divide a port's batch among tasks of about `ROWS` rows, and return the share of each task as JSON.

    There is none for a batch without segments and marker. A marker gets a task of its own, unless `whole` is set. With
    `whole`, one task gets the whole batch. `marked` says that the port has a watermark.
    """
    if whole and (planned.segments or planned.marker is not None):
        return [port_codec.dump_json(planned)]
    parts: list[list[Segment]] = []
    rows = ROWS
    for segment in planned.segments:
        if rows >= ROWS:
            parts.append([])
            rows = 0
        parts[-1].append(segment)
        rows += segment.rows
    result = [PortBatch(tuple(part), planned.filters) for part in parts]
    if marked and planned.marker is not None:
        result = [*result, PortBatch(marker=planned.marker)]
    return [port_codec.dump_json(each) for each in result]


def release_segments(store: Store, directory: str, port: str, batches: Sequence[pa.RecordBatch]) -> tuple[Segment, ...]:
    """Write the tuples of a port that have waited, and return the segments, each of at most `ROWS` tuples, or none.

    `directory` is a path of this machine, and messages name `port`.

    Raises:
        OSError: a segment cannot be written.
    """
    if not batches:
        return ()
    tuples = pa.Table.from_batches(batches)
    parts = (tuples.slice(begin, ROWS) for begin in range(0, tuples.num_rows, ROWS))
    return tuple(
        write_segment(store, directory, port, tuples.schema, [TupleBatch(batch) for batch in part.to_batches()])
        for part in parts
    )


def read_share(payload: bytes, options: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a share, with the column for markers if the port has a watermark.

    After the last row, report the latest event time of the rows to the planner, if the port has a watermark.

    Raises:
        SegmentError: a segment is gone or altered, or has other attributes.
        DataError: a filter cannot be evaluated for a tuple.
        OSError: the report cannot be written.
    """
    share = port_codec.validate_json(payload)
    store = Scratch(options["scratch"]).launched.directories.store
    time, schema = options["time"], arrow_schema(options["attributes"])
    latest: int | None = None
    for segment in share.segments:
        condition = share.filters.get(segment.stream)
        for tuples in tuples_of(store, segment, options["attributes"], condition, options.get("timezone", "")):
            batch = batch_without_unsigned(tuples.arrow)
            if not batch.num_rows:
                continue
            if time:
                newest = pc.max(batch.column(time)).cast(pa.int64()).as_py()
                latest = newest if latest is None or (newest is not None and newest > latest) else latest
                batch = batch.append_column(MARKER, pa.array([0] * batch.num_rows, pa.int32()))
            yield batch
    if share.marker is not None:
        yield _marker(schema_without_unsigned(schema), time, share.marker)
    if time and latest is not None:
        _report(Scratch(options["scratch"]), f"{options['operator']}:{options['port']}", latest)


def tuples_of(
    store: Store, segment: Segment, attributes: str, condition: str | None, time_zone: str
) -> Iterator[TupleBatch]:
    """Yield the batches of a segment with the tuples for which a condition is true, with their watermarks.

    A batch in which no tuple is left is yielded, too; punctuations are left out. `attributes` is the tuple type of the
    reading port. Without a condition, which is the filter of an Import, all tuples are yielded.

    Raises:
        SegmentError: the segment is gone or altered, or has other attributes.
        DataError: the filter cannot be evaluated for a tuple.
    """
    schema = arrow_schema(attributes)
    for item in read_segment(store, segment):
        if not isinstance(item, TupleBatch):
            continue
        if item.schema != schema:
            where = f"stream {segment.stream}: the segment {store.title(segment.path)}"
            message = f"{where} has other attributes than its reader takes; start over with --fresh"
            raise SegmentError(message)
        yield item if condition is None else selected(item, condition, attributes, time_zone)


def _marker(schema: pa.Schema, time: str, microseconds: int) -> pa.RecordBatch:
    columns = [
        pa.array([microseconds], pa.int64()).cast(field.type) if field.name == time else pa.nulls(1, field.type)
        for field in schema
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=schema)
    return batch.append_column(MARKER, pa.array([1], pa.int32()))


def _report(scratch: Scratch, key: str, latest: int) -> None:
    """Write the latest event time at a port into a new answer file; a view may be read at several places."""
    result = replace(TaskResult(READ, 0), sources={key: {"time": latest}})
    place = Path(scratch.answers) / f"{scratch.planned}-{READ}-{uuid.uuid4().hex}.json"
    write_whole(place, result_codec.dump_json(result), durably=False)
