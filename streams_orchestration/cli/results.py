"""The result of an application: the rows that a file sink has published."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import polars as pl
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.spl_results import FORMATS, spl_rows
from streams_orchestration.model.brief import plural
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.formats.texts import plain, shown
from streams_orchestration.runtime import api


class UnreadableResultError(api.StreamsRuntimeError):
    """The files of a sink cannot be read."""


@dataclass(frozen=True, slots=True)
class Result:
    """The first rows of a sink, sorted by all columns that are not nested, from left to right; nulls come last."""

    sink: api.SinkStatus
    rows: pl.DataFrame
    total: int

    @property
    def left_out(self) -> int:
        """The number of the sink's rows that are not in `rows`."""
        return self.total - self.rows.height


def read_result(sink: api.SinkStatus, max_rows: int) -> Result:
    """Read the first published rows of a sink in the order of `Result`; a sink that writes no files has none.

    Args:
        sink: the sink in the application's status.
        max_rows: the most rows to read.

    Raises:
        UnreadableResultError: the files are missing or damaged.
    """
    if sink.path is None:
        return Result(sink, pl.DataFrame(), sink.rows)
    try:
        scan = api.scan_published_rows(sink)
        if scan is None:
            return Result(sink, pl.DataFrame(), 0)
        total = scan.select(pl.len()).collect().item()
        sortable = [name for name, kind in scan.collect_schema().items() if not kind.is_nested()]
        rows = (
            scan.sort(sortable, nulls_last=True).head(max_rows).collect() if sortable else scan.head(max_rows).collect()
        )
    except (pl.exceptions.PolarsError, OSError, DataError) as error:
        message = (
            f"{sink.operator}: the result in {sink.path} cannot be read: {error}. "
            "Read the files there, or run the application with --fresh to write them again."
        )
        raise UnreadableResultError(message) from error
    return Result(sink, rows, total)


def result_table(result: Result) -> RenderableType:
    """Return the rows as a table under the sink's name, with the number of rows that are not shown.

    Without rows there is no table; the place of a sink that writes no files is shown instead.
    """
    heading = Text.assemble((result.sink.operator, "bold"), f": {plural(result.total, 'row')}")
    if not result.rows.height:
        return heading if result.sink.path is not None else Text.assemble(heading, f" in {result.sink.place}")
    table = Table(header_style="bold")
    for name, kind in result.rows.schema.items():
        table.add_column(name, justify="right" if kind.is_numeric() else "left", overflow="fold")
    cells = [_cells(column) for column in result.rows.iter_columns()]
    for row in zip(*cells, strict=True):
        table.add_row(*row)
    rest = [f"{plural(result.left_out, 'more row')} in {result.sink.path}"] if result.left_out else []
    return Group(heading, table, *rest)


def result_document(result: Result) -> dict[str, Any]:
    """Return the rows as JSON; `rows` is empty if a sink writes no files."""
    sink = result.sink
    types: dict[str, str] = {} if sink.read_with is None else sink.read_with.get("types", {})
    return {
        "operator": sink.operator,
        "path": sink.path,
        "place": sink.place,
        "format": sink.format,
        "total": result.total,
        "columns": list(result.rows.columns),
        "rows": spl_rows(result.rows, types) if sink.format in FORMATS else plain(result.rows.to_dicts()),
    }


def _cells(column: pl.Series) -> list[Text]:
    if column.dtype.is_float():
        whole = all(value.is_integer() for value in column.drop_nulls())
        return [_null() if value is None else Text(_number(value, whole=whole)) for value in column]
    text = _nested if column.dtype.is_nested() else shown
    return [_null() if value is None else Text(text(value)) for value in column.to_list()]


def _nested(value: Any) -> str:
    return json.dumps(plain(value), ensure_ascii=False)


def _number(value: float, *, whole: bool) -> str:
    if not 0.001 <= abs(value) < 1e15 and value != 0:
        return f"{value:.4g}"
    return f"{value:.{0 if whole else 3}f}"


def _null() -> Text:
    return Text("null", "dim")
