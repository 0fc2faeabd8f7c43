"""A few tuples of a stream as it passes, from what the transport holds of it: hosts and tasks do nothing for them.

Only streams between PEs have any: within a PE tuples are handed on in memory and are nowhere to be looked at.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from sqlalchemy import Connection, select

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.pe_streams import stream_name
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.formats.texts import plain, shown
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import SegmentRow
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.observing.masking import Mask
from streams_orchestration.runtime.settings import SAMPLES, Settings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.transport.segments import decode
from streams_orchestration.runtime.units.reading import application_row, opened_catalog

LONGEST_TEXT = 200
"""Characters of a value that are shown."""
MOST_BYTES = 4 * 1024 * 1024
"""Most bytes of tuples that are converted to text at once; larger tuples are fewer."""


class NoSampleError(StreamsRuntimeError):
    """There are no tuples to show; the message gives the reason and the remedy."""


class NothingPassesError(NoSampleError):
    """There are none right now."""


@dataclass(frozen=True, slots=True)
class SampledAttribute:
    """An attribute of a sampled stream."""

    name: str
    type: str
    """Type in Arrow's notation."""
    masked: bool
    """All its values are hidden."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The first tuples of the last batch that wrote any."""

    stream: str
    attributes: tuple[SampledAttribute, ...]
    rows: tuple[tuple[str | None, ...], ...]
    """Texts of values, cut to `LONGEST_TEXT` characters; None for null."""
    tuples: int
    """Number of tuples in that batch."""
    pe: int
    """PE that wrote it."""
    batch: int
    epoch: int
    written_at: float
    """Unix seconds of its commit."""


def read_sample(home: Home, application: str, compilation: Compilation, stream: str) -> Sample:
    """Tuples of a stream, if its application was deployed with samples.

    Args:
        home: state directory.
        application: its name.
        compilation: what it runs.
        stream: its name, physical or logical: of all replicas then, of the one that wrote last.

    Raises:
        NotDeployedError: the catalog does not know the application.
        NoSampleError: samples are off, the stream is none between PEs, or nothing of it is there.
    """
    with opened_catalog(home, application).read() as connection:
        settings = Settings(**application_row(connection, home, application).settings)
        if not settings.samples:
            message = (
                f"tuples of {application} may not be looked at. Stop it and deploy it with {SAMPLES}=20 to let all "
                "see tuples who may see its status"
            )
            raise NoSampleError(message)
        segments = _newest(connection, application, _written(compilation, stream))
    if not segments:
        message = f"no tuple of {stream} is on its way: none was written yet, or all have been read"
        raise NothingPassesError(message)
    return _sample(home.store, stream, segments, settings.samples, Mask(tuple(settings.sample_mask.split())))


def _written(compilation: Compilation, stream: str) -> list[str]:
    """The streams of the transport that carry a stream."""
    physical, logical = compilation.physical.operators, compilation.logical.operators
    names: list[str] = []
    between: dict[str, None] = {}
    for pe in compilation.fusion.pes:
        for output in pe.outputs:
            operator = physical[output.operator]
            own, written = operator.streams[output.port], logical[operator.logical].outputs[output.port].stream
            between[own] = None
            if stream in (own, written):
                names.append(stream_name(compilation, output))
    if names:
        return names
    known = {port.stream for each in logical for port in each.outputs} | {s for each in physical for s in each.streams}
    if stream in known:
        message = (
            f"{stream} stays within a PE, where tuples are handed on in memory. Give its reader a PE of its own "
            "(partitionIsolation) to see them"
        )
        raise NoSampleError(message)
    message = f"there is no stream {stream}. Between PEs: {', '.join(between) or 'none'}"
    raise NoSampleError(message)


def _newest(connection: Connection, application: str, streams: Sequence[str]) -> list[SegmentRow]:
    """The segments with tuples of the last batch that wrote any."""
    s = tables.segment
    mine = select(s).where(s.c.application == application, s.c.stream.in_(streams), ~s.c.retracted, s.c.rows > 0)
    last = SegmentRow.all(connection, mine.order_by(s.c.committed_at.desc(), s.c.batch.desc()).limit(1))
    if not last:
        return []
    batch = mine.where(s.c.pe == last[0].pe, s.c.batch == last[0].batch)
    return list(SegmentRow.all(connection, batch.order_by(s.c.stream, s.c.number)))


def _sample(store: Store, stream: str, segments: Sequence[SegmentRow], most: int, mask: Mask) -> Sample:
    rows: list[tuple[str | None, ...]] = []
    schema: pa.Schema | None = None
    try:
        for batch in _batches(store, segments):
            schema = batch.schema
            part = batch.slice(0, most - len(rows))
            while len(part) > 1 and part.nbytes > MOST_BYTES:
                part = part.slice(0, len(part) // 2)
            columns = [
                [_text(mask.attribute(field.name, value)) for value in _values(column)]
                for field, column in zip(part.schema, part.columns, strict=True)
            ]
            rows += zip(*columns, strict=True)
            if len(rows) >= most or len(part) < min(len(batch), most):
                break
    except (OSError, pa.ArrowException) as error:  # a reader has gone past it, and it was removed
        message = f"the last tuples of {stream} were removed while they were read. Try again"
        raise NothingPassesError(message) from error
    newest = segments[0]
    return Sample(
        stream,
        tuple(SampledAttribute(each.name, str(each.type), mask.hides(each.name)) for each in schema or ()),
        tuple(rows),
        sum(each.rows for each in segments),
        newest.pe,
        newest.batch,
        newest.epoch,
        newest.committed_at,
    )


def _batches(store: Store, segments: Sequence[SegmentRow]) -> Iterator[pa.RecordBatch]:
    """Yield record batches with tuples; reads only the needed parts of a file."""
    for segment in segments:
        path = store.path(segment.path)
        with pa.BufferReader(store.read(segment.path)) if path is None else pa.OSFile(str(path)) as file:
            for item in decode(file):
                if isinstance(item, TupleBatch) and len(item):
                    yield item.arrow


def _values(column: pa.Array) -> list[Any]:
    try:
        return column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):  # a time that Python has not
        return column.cast(pa.string()).to_pylist()


def _text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, bytes):
        text = shown(value[:LONGEST_TEXT])
    elif isinstance(value, dict | list | tuple):
        text = json.dumps(plain(value), ensure_ascii=False)
    else:
        text = shown(value)
    # what a terminal would act upon, or turns the direction of a text, is written as in a program
    seen = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text[:LONGEST_TEXT])
    return seen if len(text) <= LONGEST_TEXT else f"{seen}…"
