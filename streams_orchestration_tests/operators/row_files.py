"""Files with the same ten rows in every format, and sources that read them."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration_tests.operators.harness import Bench

SCHEMA = "n int, s string"
ROWS = [(i, f"row {i}") for i in range(10)]
CSV = "n,s\n" + "".join(f"{n},{s}\n" for n, s in ROWS)


def source(path: Path, schema: str = SCHEMA, **parameters: Any) -> Bench:
    return Bench(FileSource, outputs=[schema], base=path.parent, file=path.name, **parameters)


def gz(content: bytes) -> bytes:
    return gzip.compress(content)


def zipped(content: bytes) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("rows.csv", content)
    return archive.getvalue()


def parquet(content: bytes) -> bytes:
    lines = content.decode().splitlines()[1:]
    table = pa.table({"s": [line.split(",")[1] for line in lines], "n": [int(line.split(",")[0]) for line in lines]})
    sink = io.BytesIO()
    pq.write_table(table, sink, row_group_size=4)
    return sink.getvalue()


def arrow(content: bytes) -> bytes:
    table = pq.read_table(io.BytesIO(parquet(content)))
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=4)
    return sink.getvalue()


def jsonl(content: bytes) -> bytes:
    lines = content.decode().splitlines()[1:]
    objects = [{"more": [1], "s": line.split(",")[1], "n": int(line.split(",")[0])} for line in lines]
    return "\n\n".join(json.dumps(each) for each in objects).encode()


FORMATS: dict[str, tuple[str, Callable[[bytes], bytes], dict[str, Any]]] = {
    "csv": ("rows.csv", bytes, {}),
    "csv.gz": ("rows.csv.gz", gz, {}),
    "csv.zip": ("rows.csv.zip", zipped, {}),
    "parquet": ("rows.parquet", parquet, {"format": "parquet"}),
    "arrow": ("rows.arrow", arrow, {"format": "arrow"}),
    "jsonl": ("rows.jsonl", jsonl, {"format": "jsonl"}),
    "jsonl.gz": ("rows.jsonl.gz", lambda content: gz(jsonl(content)), {"format": "jsonl"}),
}
