"""Files of one JSON object a line as record batches, with errors that name the line."""

from __future__ import annotations

import json
from collections.abc import Iterator

from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.files import go_to, open_decompressed
from streams_orchestration.operators.libraries import pa, pa_json
from streams_orchestration.operators.misfits import json_misfit
from streams_orchestration.operators.standard.file_rows import Place, RawRow, Rows, sift
from streams_orchestration.operators.storage.port import File

BLOCK_BYTES = 4 << 20


def check_json_schema(schema: pa.Schema, format: str = "jsonl") -> None:
    """Raises ValueError when an attribute has a type that an object of JSON cannot hold."""
    for field in schema:
        if not _is_representable(field.type, outermost=True):
            message = (
                f"format {format}: the attribute {field.name} is {type_name(field.type)}, which {format} cannot hold"
            )
            raise ValueError(message)


def read_json_lines(path: File, schema: pa.Schema, start: Place, *, permissive: bool) -> Iterator[Rows]:
    """The objects as attributes of `schema`; members that are not there are null, others are ignored.

    Dates and times are texts as in ISO 8601.

    Args:
        path: of the file.
        schema: of the tuples.
        start: where some rows began.
        permissive: what does not fit is set aside.

    Raises:
        DataError: a line does not fit and is not to be set aside; names it.
    """
    with open_decompressed(path) as file:
        go_to(file, path, start.number)
        while lines := file.readlines(BLOCK_BYTES):
            yield _rows(path, lines, schema, start, permissive=permissive)._replace(start=start)
            start = Place(start.number + sum(map(len, lines)), start.line + len(lines))


def _rows(path: File, lines: list[bytes], schema: pa.Schema, start: Place, *, permissive: bool) -> Rows:
    full = [RawRow(number, line) for number, line in enumerate(lines, start.line) if line.strip()]
    if not full:
        return Rows(pa.RecordBatch.from_pylist([], schema=schema))
    try:
        return Rows(parse_objects([row.text for row in full], schema))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, DataError) as error:
        if not permissive:
            message = f"{path}, {_place(lines, start.line - 1, schema)}"
            raise DataError(message) from error
        suspects = [(i, False) for i, row in enumerate(full) if not is_object(row.text)]

        def explain(row: RawRow, error: Exception) -> tuple[str, str]:
            return misfit_of_object(row.text, schema, error)

        return sift(full, lambda part: parse_objects([row.text for row in part], schema), suspects, explain, schema)


def is_object(text: bytes) -> bool:
    """Whether a text is one JSON object."""
    return not _why_no_object(text)


def _why_no_object(text: bytes) -> str:
    """Why a text is not one JSON object; empty when it is."""
    try:
        return "" if isinstance(json.loads(text.rstrip()), dict) else "an object is wanted"
    except UnicodeDecodeError:
        return "it is not UTF-8 text"
    except json.JSONDecodeError as error:
        return f"it is no JSON at character {error.pos + 1}: {error.msg}"
    except RecursionError:
        return "it is nested too deeply"


def misfit_of_object(text: bytes, schema: pa.Schema, error: Exception) -> tuple[str, str]:
    """Return the column and the reason why a text was refused as an object with attributes of `schema`.

    Args:
        text: one JSON object, or none.
        schema: of the tuples.
        error: raised by `parse_objects`.
    """
    if reason := _why_no_object(text):
        return "", reason
    members = json.loads(text)
    for field in schema:
        value = members.get(field.name)
        try:
            parse_objects([json.dumps({field.name: value}).encode()], pa.schema([field]))
        except (ValueError, pa.ArrowNotImplementedError):
            return field.name, json_misfit(value, field.type)
    return "", f"its members do not fit the attributes: {' '.join(str(error).split())}"


def parse_objects(lines: list[bytes], schema: pa.Schema) -> pa.RecordBatch:
    """The objects of lines, one on each, as attributes of `schema`.

    Raises:
        pyarrow.ArrowInvalid, pyarrow.ArrowNotImplementedError, DataError: one does not fit.
    """
    return parse_content(b"\n".join(lines), len(lines), schema)


def parse_content(content: bytes, count: int, schema: pa.Schema) -> pa.RecordBatch:
    """The same of so many lines that are joined already."""
    read_as = pa.schema([field.with_type(pa.string()) if _is_time(field.type) else field for field in schema])
    options = pa_json.ReadOptions(use_threads=False, block_size=len(content) + 1)
    parse = pa_json.ParseOptions(explicit_schema=read_as, unexpected_field_behavior="ignore", newlines_in_values=False)
    table = pa_json.read_json(pa.BufferReader(content), read_options=options, parse_options=parse)
    if table.num_rows != count:
        message = f"{table.num_rows} objects in {count} lines"
        raise DataError(message)
    return TupleBatch.from_columns({name: table.column(name) for name in schema.names}, schema).arrow


def _place(lines: list[bytes], before: int, schema: pa.Schema) -> str:
    """The first line that does not fit, and why."""
    for number, line in enumerate(lines, before + 1):
        if not line.strip():
            continue
        try:
            parse_objects([line], schema)
        except (ValueError, pa.ArrowNotImplementedError) as error:
            column, reason = misfit_of_object(line, schema, error)
            return f"line {number}{f', column {column}' if column else ''}: {reason}"
    return f"lines {before + 1} to {before + len(lines)}: they do not fit together"


def _is_time(kind: pa.DataType) -> bool:
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def _is_representable(kind: pa.DataType, *, outermost: bool = False) -> bool:
    if pa.types.is_list(kind):
        return _is_representable(kind.value_type)
    if pa.types.is_struct(kind):
        return all(_is_representable(kind.field(i).type) for i in range(kind.num_fields))
    simple = (pa.types.is_boolean, pa.types.is_integer, pa.types.is_floating, pa.types.is_string)
    return any(check(kind) for check in simple) or (outermost and _is_time(kind))
