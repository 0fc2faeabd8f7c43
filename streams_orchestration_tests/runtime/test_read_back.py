"""Files of sinks are read back with their own parameters: by `streams run`, and by sources of another application."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streams_orchestration.cli.results import read_result
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.formats.texts import plain
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication

UTC = datetime.UTC
FLAT = (
    "id bigint, k string, i tinyint, e decimal(38, 18), s decimal(1, 1), x double, f float, b boolean, y binary, "
    "d date, t timestamp, z timestamp_ntz"
)
NESTED = "l array<struct<a: int, t: timestamp>>, m map<string, decimal(5, 2)>, r struct<`x y`: array<double>>"
TUPLES: list[tuple[Any, ...]] = [
    (9007199254740993, "NA", -128, Decimal("12345678901234567890.123456789012345678"), Decimal("0.1"), 0.1, 1.5, True,
     b"\x00\xff", datetime.date.min, datetime.datetime(1, 1, 1, tzinfo=UTC), datetime.datetime.max,
     [{"a": 1, "t": None}, None], [("k", Decimal("1.50"))], {"x y": [math.inf, None]}),
    (-1, "", 127, Decimal("1E-18"), Decimal("-0.9"), -0.0, -0.0, False, b"", datetime.date.max,
     datetime.datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime.datetime(2024, 1, 1), [], [], {"x y": None}),
    (0, 'a,"b";\r\n\t\U0001f600', None, None, None, math.nan, -math.inf, *[None] * 8),
    (1, None, 0, Decimal(0), Decimal(0), 1e300, 3.4028234663852886e38, True, b"~", datetime.date(1969, 12, 31),
     datetime.datetime(2024, 1, 1, 12, 0, 0, 500000, UTC), datetime.datetime(2024, 1, 1), None, [("", None)],
     {"x y": []}),
]  # fmt: skip
TEXTS = ["k", "y"]
PARTS = ["l", "m", "r"]
SINKS: dict[str, dict[str, Any]] = {
    "Parquet": {"format": "parquet"},
    "Arrow": {"format": "arrow"},
    "Lines": {"format": "jsonl"},
    "Csv": {"format": "csv", "suppress": PARTS},
    "Semicolons": {"format": "csv", "suppress": PARTS, "separator": ";", "nullTexts": ["~", "NaN"]},
    "Unquoted": {"format": "csv", "suppress": [*PARTS, *TEXTS], "separator": "\t", "quoteStrings": False},
    "Merged": {"format": "csv", "suppress": PARTS, "closeMode": "epochs", "epochsPerFile": 2},
    "ByText": {"format": "csv", "suppress": PARTS, "partitionBy": ["k"]},
}


def node(name: str, operator: str, parameters: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "operator": operator, "parameters": parameters, **more}


def run(directory: Path, name: str, graph: list[dict[str, Any]]) -> dict[str, SinkStatus]:
    """Run an application to its end in this process; returns its sinks."""
    document = {"specVersion": 1, "application": name, "graph": graph}
    compilation = compile_application(application_from_mapping(document))
    home = Home(directory / "home")
    with LocalApplication(home, compilation, 2) as application:
        application.run()
        assert application.advance_to_end()
    return {sink.operator: sink for sink in read_status(Catalog(home), name).sinks}


def shown(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(sorted(row.items())) for row in rows)


def with_pairs(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose map has pairs, as Arrow has it; Polars has entries, or a dict."""
    entries = row.get("m")
    if isinstance(entries, dict):
        return row | {"m": list(entries.items())}
    return row if entries is None else row | {"m": [tuple(entry.values()) for entry in entries]}


@pytest.mark.slow
def test_files_of_every_sink_are_read_back_with_its_own_parameters(tmp_path: Path):
    ddl = f"{FLAT}, {NESTED}"
    schema = arrow_schema(ddl)
    rows = [dict(zip(schema.names, each, strict=True)) for each in TUPLES]
    written = pa.Table.from_pylist(rows, schema=schema)
    pq.write_table(written, tmp_path / "rows.parquet")
    source = node(
        "Rows",
        "FileSource",
        {"file": str(tmp_path / "rows.parquet"), "format": "parquet"},
        outputs=[{"stream": "Rows", "schema": ddl}],
    )
    sinks = [node(name, "FileSink", {"file": name.lower(), **given}, inputs=["Rows"]) for name, given in SINKS.items()]
    made = run(tmp_path, "writing", [source, *sinks])
    again: list[dict[str, Any]] = []
    for name, sink in made.items():
        left_out = {*SINKS[name].get("suppress", ()), *SINKS[name].get("partitionBy", ())}
        expected = written.drop_columns(sorted(left_out)).to_pylist()
        result = read_result(sink, 100)
        assert result.total == len(TUPLES)
        kept = [{key: row[key] for key in row if key not in left_out} for row in result.rows.to_dicts()]
        assert shown(plain(list(map(with_pairs, kept)))) == shown(plain(expected))
        assert sink.read_with is not None
        assert sink.path is not None
        settings = dict(sink.read_with)
        pattern = "*/*" if "partitionBy" in SINKS[name] else "*"
        again += [
            node(f"Read{name}", "FileSource", {"file": f"{sink.path}/{pattern}.{sink.format}"} | {
                key: value for key, value in settings.items() if key != "schema"
            }, outputs=[{"stream": f"Read{name}", "schema": settings["schema"]}]),
            node(name, "FileSink", {"file": f"again{name}", "format": "parquet"}, inputs=[f"Read{name}"]),
        ]  # fmt: skip
    for name, sink in run(tmp_path, "reading", again).items():
        left_out = {*SINKS[name].get("suppress", ()), *SINKS[name].get("partitionBy", ())}
        assert sink.path is not None
        back = [row for path in sink.path.glob("*.parquet") for row in pq.read_table(path).to_pylist()]
        assert shown(back) == shown(written.drop_columns(sorted(left_out)).to_pylist()), name
