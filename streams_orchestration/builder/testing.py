"""Trying an application with few tuples, in this process: for unit tests.

Only where operators are queries of Spark's a session runs them, which starts with the first such application and serves
all others of the process.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.diagnostics import ApplicationError, errors_of
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.model.standard import STANDARD
from streams_orchestration.operators.arrow_types import arrow_schema, schema_ddl
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.runtime.engine.port import EngineStart
from streams_orchestration.runtime.settings import EngineSettings
from streams_orchestration.runtime.stepping import SteppedApplication
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from streams_orchestration.runtime.engine.spark.engine import SparkEngine

Json = dict[str, Any]
Rows = pa.Table | Sequence[Mapping[str, Any]] | Sequence[Sequence[Any]]
"""Tuples: a table of Arrow, mappings by attribute, or rows with all values in order."""


def run_in_process(
    document: Json,
    inputs: Mapping[str, Rows],
    streams: Sequence[str] = (),
    options: Options | None = None,
    batch: int = 1000,
) -> dict[str, pa.Table]:
    """Run an application to its end.

    Args:
        document: the application as a spec; it is changed.
        inputs: stream -> the tuples that it has, instead of those of its source.
        streams: further streams of the main graph to give back.
        options: of the compiler.
        batch: tuples that a source gives in a micro-batch, about.

    Returns:
        What comes to every operator without outputs, by its full logical name, and the tuples of `streams`.

    Raises:
        ApplicationError: the application has errors.
        ValueError: a name in `inputs` is no stream of a source, or its tuples do not fit it.
        StepError: an operator raised.
    """
    with tempfile.TemporaryDirectory(prefix="streams-test-") as place:
        directory = Path(place)
        for stream, rows in inputs.items():
            _replace_source(document, stream, rows, directory)
        tables = _replace_sinks(document)
        tables |= {name: _watch(document, name) for name in streams}
        compilation = compile_application(application_from_mapping(document), options or Options(fusion="legacy"))
        if errors_of(diagnostics := check_operators(compilation)):
            raise ApplicationError(diagnostics)
        with SteppedApplication(Home(directory / "home"), compilation, batch, engine=spark_engine) as stepped:
            stepped.run()
        return {name: _table(stepped, file) for name, file in tables.items()}


@functools.cache
def spark_engine() -> SparkEngine:
    """What runs queries of Spark's in this process, once they are there; its JVM ends with the process."""
    from streams_orchestration.runtime.engine.spark.engine import SparkEngine

    directory = Path(tempfile.mkdtemp(prefix="streams-test-spark-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    engine = SparkEngine(EngineStart(Home(directory), "tests", 0, str(os.getpid()), EngineSettings()))
    engine.wait()
    return engine


def _replace_source(document: Json, stream: str, rows: Rows, directory: Path) -> None:
    """Let a file with these tuples be the source of a stream."""
    sources = {_names(node)[0]: node for node in document["graph"] if not node.get("inputs") and len(_names(node)) == 1}
    if stream not in sources:
        message = f"{stream} is no stream of a source of {document['application']}; such are {', '.join(sources)}"
        raise ValueError(message)
    node = sources[stream]
    output = (node.get("outputs") or [stream])[0]
    named = output.get("schema") if isinstance(output, Mapping) else None
    ddl = document.get("schemas", {}).get(named, named)
    table: pa.Table = rows if isinstance(rows, pa.Table) else _of_rows(stream, cast("Sequence[Any]", rows), ddl)
    file = directory / f"{stream}.parquet"
    if ddl is not None:
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        table = pa.Table.from_batches([TupleBatch.from_columns(columns, arrow_schema(ddl)).arrow])
    pq.write_table(table, file)
    node["operator"] = "FileSource"
    node["parameters"] = {"file": str(file), "format": "parquet"}
    if named is None:
        node["outputs"] = [{"stream": stream, "schema": schema_ddl(table.schema)}]


def _of_rows(stream: str, rows: Sequence[Any], ddl: str | None) -> pa.Table:
    if rows and isinstance(rows[0], Mapping):
        return pa.Table.from_pylist([dict(row) for row in rows])
    if ddl is None:
        message = f"{stream} has no schema, so its tuples are mappings by attribute, or a table of Arrow"
        raise ValueError(message)
    names = parse_schema(ddl).names
    return pa.table({name: [row[position] for row in rows] for position, name in enumerate(names)})


def _replace_sinks(document: Json) -> dict[str, str]:
    """Let files take what comes to the sinks; their names, with the directories."""
    files: dict[str, str] = {}
    graphs = {"": document["graph"]}
    graphs |= {f"{name}.": composite["graph"] for name, composite in document.get("composites", {}).items()}
    for prefix, graph in graphs.items():
        for node in graph:
            signature = STANDARD.get(node["operator"])
            declared = node["operator"] in document.get("operators", {})
            sink = signature is not None and not signature.least_outputs and node["operator"] != "Custom"
            if sink and not declared and node.get("inputs") and not node.get("outputs"):
                name = f"{prefix}{node['name']}"
                files[name] = name
                node["operator"], node["parameters"] = "FileSink", {"file": name, "format": "parquet"}
    return files


def _watch(document: Json, stream: str) -> str:
    """Let a file take the tuples of a stream, too; its directory."""
    file = f"{stream}.stream"
    sink = {"name": f"{stream}_watched", "operator": "FileSink", "inputs": [stream]}
    document["graph"].append(sink | {"parameters": {"file": file, "format": "parquet"}})
    return file


def _names(node: Json) -> list[str]:
    outputs = node.get("outputs")
    if outputs is None:
        return [node["name"]]
    return [each["stream"] if isinstance(each, Mapping) else each for each in outputs]


def _table(stepped: SteppedApplication, file: str) -> pa.Table:
    operators = (each for program in stepped.programs for each in program.operators.values())
    schema = next(each.inputs[0] for each in operators if each.parameters.get("file") == file)
    parts = [pq.read_table(path) for path in stepped.published(file)]
    return pa.concat_tables([arrow_schema(schema or "").empty_table(), *parts])
