"""The rows that a file sink has published, to be read."""

from __future__ import annotations

import itertools
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from streams_orchestration.operators.standard.partitions import NULL
from streams_orchestration.runtime.sinks.sinks import SinkStatus


def published_rows(sink: SinkStatus) -> pl.LazyFrame | None:
    """Return the rows of a sink's visible files; None when there are none. They are read when the frame is collected.

    Args:
        sink: as the status knows it.

    Raises:
        PolarsError, OSError: a file cannot be read; also when the frame is collected.
    """
    if sink.path is None:
        return None
    files = sink.path.rglob(f"*.{sink.format}")
    parts = sorted(path for path in files if not any(n.startswith("_") for n in path.relative_to(sink.path).parts))
    return _scan_partitions(sink.format, sink.path, parts) if parts else None


def first_rows(sink: SinkStatus, limit: int) -> pl.DataFrame | None:
    """The first rows of the first files; None when there are none, or when they cannot be read."""
    try:
        frame = published_rows(sink)
        return None if frame is None else frame.head(limit).collect()
    except (pl.exceptions.PolarsError, OSError):
        return None


def _scan_partitions(format: str, place: Path, parts: list[Path]) -> pl.LazyFrame:
    """The rows of all parts, with the attributes that name directories."""
    directories = itertools.groupby(parts, key=lambda path: path.parent)
    scans = [
        _scan(format, list(files)).with_columns(**_attributes(directory, place)) for directory, files in directories
    ]
    return pl.concat(scans, how="vertical_relaxed")  # a type that is made out by the values may differ


def _attributes(directory: Path, place: Path) -> dict[str, pl.Expr]:
    """Attributes by the names of directories, as texts."""
    pairs = (name.partition("=") for name in directory.relative_to(place).parts)
    return {name: pl.lit(None if value == NULL else unquote(value), pl.String) for name, _, value in pairs}


def _scan(format: str, parts: list[Path]) -> pl.LazyFrame:
    match format:
        case "parquet":
            return pl.scan_parquet(parts)
        case "jsonl":
            return pl.scan_ndjson(parts)
        case "arrow":
            return pl.scan_ipc(parts)
        case _:
            return pl.scan_csv(parts, try_parse_dates=True)
