"""An application whose results are parts in an object store."""

from __future__ import annotations

import io
import os
import uuid
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.servers.s3 import BUCKET, S3

COUNT = 20


class Application:
    """Twenty rows to a directory of its own in the bucket."""

    def __init__(self, s3: S3, tmp_path: Path, **parameters: Any) -> None:
        self.s3 = s3
        self.directory = uuid.uuid4().hex
        file = write_rows(tmp_path / "rows.parquet", COUNT)
        settings = {"file": f"s3://{BUCKET}/{self.directory}", "storage": s3.storage} | parameters
        graph = [source("Rows", file), sink("Out", "Rows", parameters=settings)]
        self.compilation = compiled(graph, fusion="manual", pes=1)
        self.home = Home(tmp_path / "home")
        self.local = LocalApplication(self.home, self.compilation, 5)

    def names(self) -> list[str]:
        return self.s3.names(self.directory)

    def visible(self) -> list[tuple[Any, ...]]:
        tables = [pq.read_table(io.BytesIO(self.s3.content(name))) for name in self.names()]
        return sorted(tuple(row.values()) for table in tables for row in table.to_pylist())

    def waiting(self) -> list[str]:
        return [name for _, _, names in os.walk(self.home.data(self.local.name) / "outputs") for name in names]
