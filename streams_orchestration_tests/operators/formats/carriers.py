"""The carriers that write and read tuples: a sink and a source, or an encoder and a decoder, of each format."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.messages.decoders import Decoded, MessageFormat, decode
from streams_orchestration.operators.messages.encoders import encode
from streams_orchestration.operators.messages.registered import RegisteredDecoder, RegisteredEncoder
from streams_orchestration.operators.messages.registry import Registry, RegistryParameters, SchemaKind
from streams_orchestration.operators.serving.bodies import messages_of
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, read_batches
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.network.http_sink import KINDS, BodyFormat, HttpSink, body
from streams_orchestration.operators.standard.systems.kafka_sink import KafkaSink
from streams_orchestration.operators.standard.systems.sql_sink import SqlSink
from streams_orchestration.operators.standard.systems.sql_source import SqlSource
from streams_orchestration.operators.tuples.arrow_types import schema_ddl
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.operators.formats.tuples import AVRO, NESTED, PROTOBUF, SIMPLE, parts
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.lakes.lakes import LAKES, delivery, read
from streams_orchestration_tests.servers.registry import small_registry

NUMBER = "row number"
"""The attribute by which rows of a database are in order."""


@dataclass(frozen=True)
class Carrier:
    """A format, what it holds, and how tuples go there and back."""

    compiled: Callable[[str], object]
    """Checks a tuple type as the compiler does; raises ValueError."""
    carried: Callable[[pa.RecordBatch, Path], pa.RecordBatch]
    """The tuples as they are read back."""
    types: st.SearchStrategy[str] = NESTED
    """Types that the format holds."""
    holds: Callable[[pa.DataType], bool] = lambda kind: True
    """Returns True if the format has the type, without what is within it."""
    plain_names: bool = False
    """Names have letters, digits and underscores only."""

    def holds_all(self, kind: pa.DataType) -> bool:
        """Return True if the format has a type and all that is within it."""
        return all(map(self.holds, parts(kind)))


def through_files(batch: pa.RecordBatch, directory: Path, **parameters: Any) -> pa.RecordBatch:
    """Return the tuples that a FileSource reads from the file of a FileSink with the same parameters."""
    ddl = schema_ddl(batch.schema)
    sink = Bench(FileSink, [ddl], results=directory, file="out", **parameters)
    files = sink.send(TupleBatch(batch)).commit()
    source = Bench(FileSource, [], [ddl], file=str(files[0].pending), **parameters)
    source.produce()
    return submitted(source, batch.schema)


def through_messages(batch: pa.RecordBatch, format: MessageFormat) -> pa.RecordBatch:
    """Return the tuples that are decoded from the messages of tuples."""
    return all_good(decode(encode(batch, format, CsvDialect()), batch.schema, format, CsvDialect()))


def through_bodies(batch: pa.RecordBatch, format: BodyFormat) -> pa.RecordBatch:
    """Return the tuples that an HttpSource decodes from the body of a request of an HttpSink."""
    inner: MessageFormat = "csv" if format == "csv" else "json"
    messages = messages_of(body(batch, format), KINDS[format], inner, batch.schema.names, ",")
    return all_good(decode(messages, batch.schema, inner))


def through_registry(batch: pa.RecordBatch, format: SchemaKind) -> pa.RecordBatch:
    """Return the tuples that are decoded from messages whose schema is made of the attributes."""
    with small_registry() as server, closing(Registry(RegistryParameters(url=server.address))) as registry:
        encoder = RegisteredEncoder(registry, format, batch.schema, "s", "clicks", register=True)
        messages = [message for message in encoder.encode(batch) if isinstance(message, bytes)]
        assert len(messages) == batch.num_rows
        return all_good(RegisteredDecoder(registry, format, batch.schema).decode(messages))


def through_lake(batch: pa.RecordBatch, directory: Path, format: str) -> pa.RecordBatch:
    """Return the tuples that the source of a lake table reads from the table that its sink has made."""
    lake, ddl = LAKES[format](directory), schema_ddl(batch.schema)
    sink = lake.sink(ddl)
    files = [file.pending for file in sink.send(TupleBatch(batch)).commit()]
    operator = sink.operator
    operator.open()
    try:
        operator.deliver_files(delivery(), files)
    finally:
        operator.close()
    source = lake.source(ddl)
    read(source)
    return submitted(source, batch.schema)


def through_database(batch: pa.RecordBatch, directory: Path, url: str) -> pa.RecordBatch:
    """Return the tuples that a SqlSource reads from the table that a SqlSink has made."""
    numbers = pa.array(range(batch.num_rows), pa.int64())
    numbered = batch.add_column(0, pa.field(NUMBER, pa.int64()), numbers)
    ddl, table = schema_ddl(numbered.schema), f"t{directory.name}"
    sink = Bench(SqlSink, [ddl], results=directory, url=url, table=table, createTable=True, key=[NUMBER])
    (file,) = sink.send(TupleBatch(numbered)).commit()
    operator = sink.operator
    assert isinstance(operator, EpochSink)
    operator.open()
    try:
        operator.deliver(delivery(life=table), read_batches(file.pending))
    finally:
        operator.close()
    source = Bench(SqlSource, [], [ddl], url=url, table=table, column=NUMBER, settle=0, until="latest")
    offset, exhausted = None, False
    while not exhausted:
        offset, exhausted = source.produce(offset)
    return submitted(source, numbered.schema).drop_columns([NUMBER])


def submitted(source: Bench, schema: pa.Schema) -> pa.RecordBatch:
    """Return all tuples of a source."""
    return TupleBatch.concat(source.batches(), schema).arrow


def all_good(decoded: Decoded) -> pa.RecordBatch:
    """Return decoded tuples, none of which is bad."""
    assert decoded.bad == ()
    return decoded.batch


def _sink(kind: type[Any], **parameters: Any) -> Callable[[str], object]:
    return lambda ddl: Bench(kind, [ddl], **parameters)


def _kafka(format: str, **parameters: Any) -> Callable[[str], object]:
    return _sink(KafkaSink, brokers="127.0.0.1:1", topic="clicks", format=format, **parameters)


def _named_by_text(kind: pa.DataType) -> bool:
    """Return True of all types but maps whose keys cannot name the members of an object."""
    return not pa.types.is_map(kind) or not pa.types.is_nested(kind.key_type)


def _is_flat(kind: pa.DataType) -> bool:
    return not pa.types.is_nested(kind)


def _is_of_avro(kind: pa.DataType) -> bool:
    return not pa.types.is_map(kind) or pa.types.is_string(kind.key_type)


def _is_of_protobuf(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_map(kind):
        keys = types.is_string(kind.key_type) or types.is_integer(kind.key_type)
        return keys and not _is_repeated(kind.item_type)
    if _is_repeated(kind):
        return not _is_repeated(kind.value_type)
    return not (types.is_decimal(kind) or types.is_date(kind) or (types.is_timestamp(kind) and not kind.tz))


def _is_repeated(kind: pa.DataType) -> bool:
    return pa.types.is_list(kind) or pa.types.is_map(kind)


def _file(format: str, holds: Callable[[pa.DataType], bool] = lambda kind: True) -> Carrier:
    return Carrier(
        _sink(FileSink, file="out", format=format),
        lambda batch, directory: through_files(batch, directory, format=format),
        SIMPLE if holds is _is_flat else NESTED,
        holds,
    )


def _message(format: MessageFormat, holds: Callable[[pa.DataType], bool]) -> Carrier:
    types = SIMPLE if holds is _is_flat else NESTED
    return Carrier(_kafka(format), lambda batch, _: through_messages(batch, format), types, holds)


def _body(format: BodyFormat, holds: Callable[[pa.DataType], bool]) -> Carrier:
    compiled = _sink(HttpSink, url="http://127.0.0.1:1/", format=format)
    types = SIMPLE if holds is _is_flat else NESTED
    return Carrier(compiled, lambda batch, _: through_bodies(batch, format), types, holds)


def _registered(format: SchemaKind, types: st.SearchStrategy[str], holds: Callable[[pa.DataType], bool]) -> Carrier:
    compiled = _kafka(format, registry={"url": "http://127.0.0.1:1"})
    return Carrier(compiled, lambda batch, _: through_registry(batch, format), types, holds, plain_names=True)


def _lake(format: str) -> Carrier:
    def compiled(ddl: str) -> object:
        return LAKES[format](Path("/nowhere")).sink(ddl)

    return Carrier(compiled, lambda batch, directory: through_lake(batch, directory, format))


CARRIERS: dict[str, Carrier] = {
    "parquet file": _file("parquet"),
    "arrow file": _file("arrow"),
    "jsonl file": _file("jsonl", _named_by_text),
    "csv file": _file("csv", _is_flat),
    "json message": _message("json", _named_by_text),
    "csv message": _message("csv", _is_flat),
    "jsonl body": _body("jsonl", _named_by_text),
    "json body": _body("json", _named_by_text),
    "csv body": _body("csv", _is_flat),
    "avro message": _registered("avro", AVRO, _is_of_avro),
    "protobuf message": _registered("protobuf", PROTOBUF, _is_of_protobuf),
    "delta table": _lake("delta"),
    "iceberg table": _lake("iceberg"),
}
"""All but databases, which need a server."""


def database(url: str) -> Carrier:
    """Return the carrier of a database."""
    compiled = _sink(SqlSink, url=url, table="t")
    return Carrier(compiled, lambda batch, directory: through_database(batch, directory, url), SIMPLE, _is_flat)


def as_protobuf(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return tuples as Protobuf has them: no list or map is null or has one, and entries of a map are in no order."""
    rows = [
        {field.name: _as_protobuf(row[field.name], field.type) for field in batch.schema} for row in batch.to_pylist()
    ]
    return pa.RecordBatch.from_pylist(rows, schema=batch.schema)


def _as_protobuf(value: Any, kind: pa.DataType) -> Any:
    if pa.types.is_map(kind):
        pairs = [(key, _as_protobuf(each, kind.item_type)) for key, each in value or () if each is not None]
        return sorted(pairs, key=lambda pair: repr(pair[0]))
    if pa.types.is_list(kind):
        return [_as_protobuf(each, kind.value_type) for each in value or () if each is not None]
    if pa.types.is_struct(kind) and value is not None:
        return {part.name: _as_protobuf(value[part.name], part.type) for part in kind}
    return value
