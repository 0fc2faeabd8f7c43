"""Modules that threads of a host need are imported on its main thread, before these threads are there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
PROGRAM = """
import json, sys, threading
from importlib.abc import MetaPathFinder
from pathlib import Path

from streams_orchestration.runtime.hosts.receivers import Receivers, make_receivers
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.servers.receiving import files_of
from streams_orchestration_tests.waiting import until


class Recorder(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is not threading.main_thread():
            late.add(name)


def parameters_of(directory):
    catalog = {"type": "sql", "name": "lake", "warehouse": f"file://{directory}/lake"}
    catalog |= {"uri": f"sqlite:///{directory}/lake.db"}
    yield "SqlSink", {"url": f"sqlite:///{directory}/t.db", "table": "t", "createTable": True}
    yield "DeltaSink", {"table": "delta", "createTable": True, "key": ["k"]}
    yield "IcebergSink", {"table": "lake.t", "catalog": catalog, "createTable": True, "key": ["k"]}
    yield "HttpSink", {"url": "http://127.0.0.1:9/"}
    yield "FileSink", {"file": "out", "format": "parquet", "closeMode": "epochs", "epochsPerFile": 1}


late, directory = set(), Path(sys.argv[1])
graph = [source("Rows", write_rows(directory / "rows.parquet", 20))]
graph += [
    {"name": kind, "operator": kind, "inputs": ["Rows"], "parameters": parameters}
    for kind, parameters in parameters_of(directory)
]
listening = {"name": "Posted", "operator": "HttpSource", "outputs": [{"stream": "Posted", "schema": "n bigint"}]}
posted = compiled([listening | {"parameters": {"port": 0}}], application="posted", fusion="manual", pes=1)
other = LocalApplication(Home(directory / "home"), posted, 10)
local = LocalApplication(Home(directory / "home"), compiled(graph, fusion="manual", pes=1), 10)
local.commit(boundary=True)
publisher, receiving = Publisher(local.catalog, local.name), Receivers(other.catalog, other.name)
publisher.deliver_to(make_deliverers(local.catalog, local.name, local.programs))
sys.meta_path.insert(0, Recorder())
receiving.serve(other.home, other.programs)
source = make_receivers(other.home, other.programs)["Posted"].source
until(lambda: files_of(source).reported().get("place"), "it does not listen")
publisher.turn()
busy = sorted(publisher.deliveries)
for thread in list(publisher.deliveries.values()):
    thread.join()
receiving.stop()
sys.meta_path.pop(0)
print(json.dumps([busy, sorted(late)]))
"""
LIBRARIES = frozenset(
    (
        *("deltalake", "nats", "numpy", "paho", "pandas", "polars", "psycopg", "pyarrow", "pydantic", "pyiceberg"),
        *("redis", "requests", "sqlalchemy", "starlette", "streams_orchestration", "urllib3", "uvicorn"),
    )
)


def test_threads_that_deliver_and_receive_are_the_first_to_import_no_module_of_a_library(tmp_path: Path):
    done = subprocess.run([sys.executable, "-c", PROGRAM, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    busy, late = json.loads(done.stdout.splitlines()[-1])
    assert {"DeltaSink", "HttpSink", "IcebergSink", "SqlSink"} <= set(busy)
    assert [name for name in late if name.partition(".")[0] in LIBRARIES] == []
