"""Tuples that are written in any format are read back unchanged with the same parameters."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.csv_dialect import NULL_TEXTS, CsvDialect
from streams_orchestration.operators.formats.json_reading import read_objects
from streams_orchestration.operators.formats.json_writing import json_objects, json_values, write_json_objects
from streams_orchestration.operators.formats.texts import texts, values_of
from streams_orchestration.operators.messages.decoders import decode
from streams_orchestration.operators.messages.encoders import encode
from streams_orchestration.operators.standard.files.file_sink import FileSink
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.tuples.arrow_types import schema_ddl
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.formats.tuples import NESTED, SIMPLE, batches, shown
from streams_orchestration_tests.operators.harness import Bench

DIALECTS = st.builds(
    CsvDialect,
    separator=st.sampled_from([",", ";", "\t", "|", "-", "1", ":", "T"]),
    null_texts=st.sampled_from([NULL_TEXTS, ("", "~"), ("\\N",), ("NaN", "")]),
)


@given(batch=batches(SIMPLE))
@examples(120)
def test_a_text_of_a_value_is_read_as_that_value(batch: pa.RecordBatch):
    for column in batch.columns:
        back = values_of(texts(column), column.type)
        assert repr(back.to_pylist()) == repr(column.to_pylist())


@given(batch=batches(NESTED))
@examples(200)
def test_an_object_of_json_is_read_as_the_tuple_that_it_was_written_of(batch: pa.RecordBatch):
    read = read_objects([text.encode() for text in json_objects(batch)], batch.schema)
    assert read.refused == ()
    assert shown(read.batch) == shown(batch)


@given(batch=batches(NESTED), data=st.data())
@examples(120)
def test_objects_are_read_the_same_together_and_one_by_one(batch: pa.RecordBatch, data: st.DataObject):
    written = [text.encode() for text in json_objects(batch)]
    wrong = b'{"a": tru'
    at = data.draw(st.integers(0, len(written)))
    read = read_objects([*written[:at], wrong, *written[at:]], batch.schema)
    assert [each.row for each in read.refused] == [at]
    assert shown(read.batch) == shown(batch)


@given(batch=batches(NESTED))
@examples(100)
def test_a_message_of_json_is_read_as_the_tuple_that_it_was_written_of(batch: pa.RecordBatch):
    decoded = decode(encode(batch, "json"), batch.schema, "json")
    assert (decoded.bad, shown(decoded.batch)) == ((), shown(batch))


@given(batch=batches(SIMPLE), dialect=DIALECTS)
@examples(200)
def test_a_message_of_csv_is_read_as_the_tuple_that_it_was_written_of(batch: pa.RecordBatch, dialect: CsvDialect):
    if batch.num_columns == 1 and not any(dialect.null_texts):
        return
    decoded = decode(encode(batch, "csv", dialect), batch.schema, "csv", dialect)
    assert (decoded.bad, shown(decoded.batch)) == ((), shown(batch))


def written_and_read(batch: pa.RecordBatch, parameters: dict[str, Any]) -> pa.RecordBatch:
    """Return the tuples that a FileSource reads from the file of a FileSink with the same parameters."""
    ddl = schema_ddl(batch.schema)
    with tempfile.TemporaryDirectory() as directory:
        sink = Bench(FileSink, [ddl], results=Path(directory), file="out", **parameters)
        sink.send(TupleBatch(batch))
        files = sink.commit()
        if not files:
            return batch.slice(0, 0)
        source = Bench(FileSource, [], [ddl], file=str(files[0].pending), **parameters)
        source.produce()
        return TupleBatch.concat(source.batches(), batch.schema).arrow


@pytest.mark.parametrize("format", ["parquet", "arrow", "jsonl"])
@given(data=st.data())
@examples(100)
def test_a_file_is_read_with_the_parameters_that_it_was_written_with(format: str, data: st.DataObject):
    batch = data.draw(batches(NESTED))
    assert shown(written_and_read(batch, {"format": format})) == shown(batch)


@given(batch=batches(SIMPLE), dialect=DIALECTS, quoted=st.booleans())
@examples(200)
def test_a_file_of_csv_is_read_with_the_parameters_that_it_was_written_with(
    batch: pa.RecordBatch, dialect: CsvDialect, quoted: bool
):
    parameters = {
        "format": "csv", "separator": dialect.separator, "nullTexts": dialect.null_texts, "quoteStrings": quoted
    }  # fmt: skip
    try:
        read = written_and_read(batch, parameters)
    except DataError as error:
        assert not quoted, error
        assert "needs quotes" in str(error)
    else:
        assert shown(read) == shown(batch)


@pytest.mark.slow
@given(batch=batches(NESTED))
@examples(200)
def test_json_that_polars_writes_equals_json_written_value_by_value(batch: pa.RecordBatch):
    value_by_value = json_values(pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))).to_list()
    file = io.BytesIO()
    write_json_objects(file, batch)
    assert json_objects(batch).to_list() == value_by_value
    assert file.getvalue().decode() == "".join(f"{text}\n" for text in value_by_value)
