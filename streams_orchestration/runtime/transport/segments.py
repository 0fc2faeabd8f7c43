"""The transport: a stream is a sequence of segments, which are immutable Arrow files that commits name."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pyarrow as pa

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.storage.store import Store, StoreError

REMEDY = (
    "A reset of the region that writes it writes it again, unless its epoch is complete: "
    "then restore the file from a copy, or start over with --fresh"
)
_MARK = b"streams.punctuation"
_ORIGIN = b"streams.origin"
_CONNECTION = b"streams.connection"
_WATERMARKS = b"streams.watermarks"

Item = TupleBatch | Punctuation
"""An item of a stream: tuples or a punctuation."""


class SegmentError(StreamsRuntimeError):
    """The file of a committed segment is gone, was altered, cannot be read, or has tuples of another type."""


def write_segment(
    store: Store, directory: str, stream: str, schema: pa.Schema, items: list[Item], compression: str | None = None
) -> Segment:
    """Write items to a new file, and return it as a segment.

    The file is durable after `Store.sync`, and garbage until a commit names it. `compression` is as for `encode`.

    Raises:
        OSError: the file cannot be written.
    """
    data = encode(items, schema, compression)
    rows = sum(len(item) for item in items if isinstance(item, TupleBatch))
    address = f"{directory}/{world.new_id()}.arrow"
    store.write(address, data)
    return Segment(stream, address, rows, len(data), zlib.crc32(data))


def read_segment(store: Store, segment: Segment) -> Iterator[Item]:
    """Read the file of a segment as a whole, check its size and checksum, and yield its items.

    Raises:
        SegmentError: the file is gone, truncated or altered, or cannot be read.
    """
    try:
        data = pa.py_buffer(store.read(segment.path))
    except OSError as error:
        where = f"stream {segment.stream}: the segment {store.title(segment.path)}"
        remedy = "" if isinstance(error, StoreError) else f". {REMEDY}"
        message = f"{where} cannot be read: {error.strerror}{remedy}"
        raise SegmentError(message) from error
    if len(data) != segment.size or zlib.crc32(data) != segment.checksum:
        where = f"stream {segment.stream}: the segment {store.title(segment.path)}"
        message = f"{where} is truncated or was altered. {REMEDY}"
        raise SegmentError(message)
    yield from decode(data)


def encode(items: list[Item], schema: pa.Schema, compression: str | None = None) -> pa.Buffer:
    """Encode items, with the watermarks, origins and connections of batches, as one Arrow IPC stream.

    The compression is `lz4` or `zstd`, or None for none.
    """
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema, options=writer_options(compression)) as writer:
        for item in items:
            write_item(writer, item, schema)
    return sink.getvalue()


def writer_options(compression: str | None = None) -> pa.ipc.IpcWriteOptions:
    """Return the options for writing items, with or without compression, in the calling thread."""
    return pa.ipc.IpcWriteOptions(compression=compression, use_threads=False)


def write_item(writer: pa.ipc.RecordBatchStreamWriter, item: Item, schema: pa.Schema) -> None:
    """Add an item to an Arrow IPC stream.

    A punctuation becomes an empty record batch with metadata. The watermarks, origin and connection of a batch of
    tuples become its metadata.
    """
    if isinstance(item, Punctuation):
        empty = pa.RecordBatch.from_pylist([], schema=schema)
        writer.write_batch(empty, custom_metadata={_MARK: item.value.encode()})
    else:
        writer.write_batch(item.arrow, _metadata(item))


def decode(data: pa.Buffer | bytes | pa.NativeFile) -> Iterator[Item]:
    """Yield the items that `write_item` has put into an Arrow IPC stream; a file is read only as items are taken."""
    with pa.ipc.open_stream(data) as reader:
        while True:
            try:
                batch, marks = reader.read_next_batch_with_custom_metadata()
            except StopIteration:
                return
            if marks is not None and _MARK in marks:
                yield Punctuation(marks[_MARK].decode())
            else:
                tuples = TupleBatch(batch)
                if marks is not None:
                    tuples.origin = marks.get(_ORIGIN, b"").decode()
                    tuples.connection = marks.get(_CONNECTION, b"").decode()
                    if _WATERMARKS in marks:
                        tuples.watermarks = Watermarks.decoded(marks[_WATERMARKS])
                yield tuples


def _metadata(item: TupleBatch) -> dict[bytes, bytes] | None:
    """Return origin, connection and watermarks of a batch as metadata; None if it has none of the three."""
    metadata: dict[bytes, bytes] = {}
    if item.origin:
        metadata[_ORIGIN] = item.origin.encode()
    if item.connection:
        metadata[_CONNECTION] = item.connection.encode()
    if item.watermarks is not None:
        metadata[_WATERMARKS] = item.watermarks.encoded()
    return metadata or None
