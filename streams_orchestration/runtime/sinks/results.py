"""Reads the rows that a file sink has published."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
from polars.io.plugins import register_io_source

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.partitions import NULL
from streams_orchestration.operators.files.spl_lines import OWN_FORMATS
from streams_orchestration.operators.formats.texts import frame_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.files.file_rows import source_file
from streams_orchestration.operators.standard.files.file_sink import ending_of
from streams_orchestration.operators.standard.files.source_parameters import FileParameters
from streams_orchestration.operators.storage.local import files_below
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, required_attributes
from streams_orchestration.runtime.sinks.sinks import SinkStatus


def scan_published_rows(sink: SinkStatus) -> pl.LazyFrame | None:
    """Return the rows of a sink's visible files, which are read when the frame is collected; None without files.

    Raises:
        PolarsError, OSError, DataError: a file cannot be read; this may be raised when the frame is collected.
    """
    parts = _visible_files(sink)
    return _scan_partitions(sink, sink.path, parts) if sink.path is not None and parts else None


def read_first_rows(sink: SinkStatus, limit: int) -> pl.DataFrame | None:
    """Return the first `limit` rows of the newest file; None if there are no files, or it cannot be read.

    Older files may have other columns and values, since a redeploy does not change them.
    """
    try:
        newest = max(_visible_files(sink), key=lambda path: (path.stat().st_mtime_ns, path.name), default=None)
        if sink.path is None or newest is None:
            return None
        return _scan_partitions(sink, sink.path, [newest]).head(limit).collect()
    except (pl.exceptions.PolarsError, OSError, DataError):
        return None


def _visible_files(sink: SinkStatus) -> list[Path]:
    """Return the published files of a sink, ordered by directory and name; none if it writes no local files.

    Files are left out if their name, or the name of a directory on the way, begins with `_`. Raises OSError if a
    directory cannot be read, except for a missing or forbidden one, which is left out.
    """
    if sink.path is None:
        return []
    files = files_below(sink.path, f"*.{ending_of(sink.format)}")
    return sorted(path for path in files if not any(n.startswith("_") for n in path.relative_to(sink.path).parts))


def _scan_partitions(sink: SinkStatus, place: Path, parts: list[Path]) -> pl.LazyFrame:
    """Return the rows of all files, with the attributes that the names of directories give."""
    directories = itertools.groupby(parts, key=lambda path: path.parent)
    scans = [_scan(sink, list(files)).with_columns(**_attributes(directory, place)) for directory, files in directories]
    return pl.concat(scans, how="vertical_relaxed")  # types that are inferred from the values may differ


def _attributes(directory: Path, place: Path) -> dict[str, pl.Expr]:
    """Return the attributes in the names of directories, such as `day=5`, as texts, null for the name `NULL`.

    Other directories have none.
    """
    pairs = (name.partition("=") for name in directory.relative_to(place).parts if "=" in name)
    return {name: pl.lit(None if value == NULL else unquote(value), pl.String) for name, _, value in pairs}


def _scan(sink: SinkStatus, parts: list[Path]) -> pl.LazyFrame:
    if sink.read_with is not None and sink.format in ("csv", "jsonl", *OWN_FORMATS):
        return _scan_texts(sink.read_with, parts)
    match sink.format:
        case "parquet":
            return pl.scan_parquet(parts)
        case "jsonl":
            return pl.scan_ndjson(parts)
        case "arrow":
            return pl.scan_ipc(parts)
        case _:
            return pl.scan_csv(parts, try_parse_dates=True)


def _scan_texts(read_with: Mapping[str, Any], parts: list[Path]) -> pl.LazyFrame:
    """Return the rows of text files, as a FileSource with the sink's parameters reads them."""
    settings = dict(read_with)
    ddl = settings.pop("schema")
    schema = arrow_schema(ddl)
    context = OperatorContext("result", outputs=(schema,), required=(required_attributes(ddl),))
    parameters = FileParameters.model_validate(settings)

    def frames(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, _size: int | None
    ) -> Iterator[pl.DataFrame]:
        left = rows
        files = (source_file(part, parameters, schema, context) for part in parts)
        for batch in itertools.chain.from_iterable(file.batches() for file in files):
            frame = frame_of(batch)
            frame = frame if left is None else frame.head(left)
            left = None if left is None else left - len(frame)
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame if columns is None else frame.select(columns)
            if left == 0:
                return

    empty = frame_of(pa.RecordBatch.from_pylist([], schema=schema))
    return register_io_source(frames, schema=empty.schema)
