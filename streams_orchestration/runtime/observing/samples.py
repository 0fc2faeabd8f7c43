"""Samples: a few recent tuples of a stream, read from its segments on the transport at no cost to hosts and tasks.

Only streams between PEs have samples. Within a PE, tuples are passed on in memory and cannot be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast

import pyarrow as pa
from sqlalchemy import Connection, select

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.pe_streams import stream_name
from streams_orchestration.model.secrets import HIDDEN, masked, names_secret
from streams_orchestration.operators.formats.texts import plain, shown
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import SegmentRow
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.settings.settings import SAMPLES, Settings
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.transport.segments import decode
from streams_orchestration.runtime.units.reading import application_row

LONGEST_TEXT = 200
"""The most characters of a value that are shown."""
MAX_TEXT_BYTES = 4 * 1024 * 1024
"""The most bytes of tuples that are converted to text. If the tuples are larger, fewer are shown."""


class NoSampleError(StreamsRuntimeError):
    """There are no tuples to show; the message gives the reason and the remedy."""


class NothingPassesError(NoSampleError):
    """The stream holds no tuples right now."""


@dataclass(frozen=True, slots=True)
class SampledAttribute:
    """An attribute of a sampled stream."""

    name: str
    type: str
    """The type in Arrow's notation."""
    masked: bool
    """True if all its values are hidden."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The first tuples of the last batch that wrote any."""

    stream: str
    attributes: tuple[SampledAttribute, ...]
    rows: tuple[tuple[str | None, ...], ...]
    """Texts of values, cut to `LONGEST_TEXT` characters; None for null."""
    tuples: int
    """Number of tuples in the sampled batch."""
    pe: int
    """PE that wrote the sampled batch."""
    batch: int
    epoch: int
    written_at: float
    """Unix seconds of the commit of the sampled batch."""


def read_sample(catalog: Catalog, application: str, compilation: Compilation, stream: str) -> Sample:
    """Read a sample of a stream, if its application was deployed with samples.

    The sample has at most as many tuples as that setting says, and fewer if they have more than `MAX_TEXT_BYTES`.

    Args:
        catalog: the catalog.
        application: name of the application.
        compilation: the deployed compilation.
        stream: physical or logical name of the stream. For a logical name, the replica that wrote last is sampled.

    Raises:
        NotDeployedError: the catalog does not know the application.
        NoSampleError: samples are off, there is no such stream, or it is not between PEs.
        NothingPassesError: the stream holds no tuples right now, or they were removed while they were read.
    """
    with catalog.read() as connection:
        settings = Settings(**application_row(connection, catalog.home, application).settings)
        if not settings.samples:
            message = (
                f"samples are off for {application}. Stop it and deploy it with {SAMPLES}=20: everyone who can see its "
                "status can then see tuples"
            )
            raise NoSampleError(message)
        segments = _newest(connection, application, _written(compilation, stream))
    if not segments:
        message = f"no tuple of {stream} is in transit: none was written yet, or all have been read. Try again"
        raise NothingPassesError(message)
    return _sample(catalog.store, stream, segments, settings.samples, Mask(tuple(settings.sample_mask.split())))


def _written(compilation: Compilation, stream: str) -> list[str]:
    """Return the names of the transport's streams that carry the tuples of one stream of the application."""
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
            f"{stream} stays within a PE, where tuples are passed in memory. Put its reader into a separate PE "
            "(partitionIsolation) to see them"
        )
        raise NoSampleError(message)
    message = f"there is no stream {stream}. Between PEs: {', '.join(between) or 'none'}"
    raise NoSampleError(message)


def _newest(connection: Connection, application: str, streams: Sequence[str]) -> list[SegmentRow]:
    """Return the non-empty segments of the last batch that wrote tuples to the streams; none if no segment is left."""
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
            while len(part) > 1 and part.nbytes > MAX_TEXT_BYTES:
                part = part.slice(0, len(part) // 2)
            columns = [
                [_text(mask.attribute(field.name, value)) for value in _values(column)]
                for field, column in zip(part.schema, part.columns, strict=True)
            ]
            rows += zip(*columns, strict=True)
            if len(rows) >= most or len(part) < min(len(batch), most):
                break
    except (OSError, pa.ArrowException) as error:  # all readers have consumed the segment, and it was removed
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
    """Yield the record batches with tuples. Of a local file, only the needed parts are read."""
    for segment in segments:
        path = store.path(segment.path)
        with pa.BufferReader(store.read(segment.path)) if path is None else pa.OSFile(str(path)) as file:
            for item in decode(file):
                if isinstance(item, TupleBatch) and len(item):
                    yield item.arrow


def _values(column: pa.Array) -> list[Any]:
    try:
        return column.to_pylist()
    except (ValueError, OverflowError, pa.ArrowException):  # a time that Python cannot represent
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
    # control characters, and those that change the direction of a text, are escaped
    seen = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text[:LONGEST_TEXT])
    return seen if len(text) <= LONGEST_TEXT else f"{seen}…"


@dataclass(frozen=True, slots=True)
class Mask:
    """The attributes whose values are hidden: the configured ones, and those whose names suggest credentials."""

    names: tuple[str, ...] = ()
    """Patterns for names of attributes at any depth, with `*` and `?`, case-insensitive."""

    def hides(self, name: str) -> bool:
        """Return True if values of attributes with a name are hidden, by `names` or since it suggests credentials."""
        wanted = name.lower()
        if any(fnmatchcase(wanted, each.lower()) for each in self.names):
            return True
        return names_secret(name)

    def attribute(self, name: str, value: Any) -> Any:
        """Mask the value of an attribute, including nested structs, lists and maps; None stays None.

        In a text that is not hidden, secrets are hidden.

        Args:
            name: name of the attribute.
            value: a Python value; a map is a list of pairs.
        """
        if value is None:
            return None
        return HIDDEN if self.hides(name) else self._within(value)

    def _within(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            fields = cast("Mapping[Any, Any]", value)
            return {str(name): self.attribute(str(name), each) for name, each in fields.items()}
        if isinstance(value, list | tuple):
            parts = cast("Sequence[Any]", value)
            if isinstance(value, tuple) and len(parts) == 2 and isinstance(parts[0], str):
                return parts[0], self.attribute(parts[0], parts[1])
            return [self._within(each) for each in parts]
        return masked(value) if isinstance(value, str) else value
