"""Running an application on a few tuples in this process, for unit tests.

Spark starts only for an application that has Spark queries. All applications of the process with Spark queries share
one session.
"""

from __future__ import annotations

import atexit
import bisect
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
import pyarrow.parquet as pq

from streams_orchestration.builder.timed_items import replay, split_marks, take_watermarks_of_test, without_event_time
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.document import LocatedMapping
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.model.standard import STANDARD
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, schema_ddl
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Idle, Watermark
from streams_orchestration.runtime.engine.port import EngineStart
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.stepping import SteppedApplication
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from streams_orchestration.runtime.engine.spark.engine import SparkEngine

Json = dict[str, Any]
TestTuples = pa.Table | Sequence[Mapping[str, Any] | Watermark | Idle] | Sequence[Sequence[Any] | Watermark | Idle]
"""Tuples as an Arrow table, as mappings by attribute, or as rows with all values in order.

`Watermark(value)` and `Idle()` may be among the mappings and rows of a source with the annotation `eventTime`. The
source then has only these watermarks, and at its end the greatest possible one. An Import with `eventTime` is such a
source.
"""


def run_in_process(
    document: Json,
    inputs: Mapping[str, TestTuples],
    streams: Sequence[str] = (),
    options: Options | None = None,
    batch: int = 1000,
) -> dict[str, pa.Table]:
    """Run an application to its end.

    Args:
        document: the application as a spec; it is changed.
        inputs: the tuples of a stream, by its name; they replace the tuples of its source.
        streams: further streams of the main graph whose tuples are returned.
        options: options of the compiler. By default the fusion is `legacy`, or `automatic` if operators form a loop.
        batch: the approximate number of tuples that a source reads in a micro-batch.

    Returns:
        The tuples that arrive at each standard sink, by its full logical name, and the tuples of `streams`. Sinks with
        output ports, and own classes of the application, run as they are, and are left out.

    Raises:
        ApplicationError: the application has errors.
        ValueError: a name in `inputs` is not a stream of a source, the schema of that stream is not a tuple type, its
            tuples do not fit it, or they have watermarks that its event time does not allow.
        StreamsRuntimeError: an operator raised an error; or the application needs Spark, and this process already has a
            session of its own.
    """
    with tempfile.TemporaryDirectory(prefix="streams-test-") as place:
        directory = Path(place)
        inputs = _divide_sources(document, inputs)
        for stream, rows in inputs.items():
            _replace_source(document, stream, rows, directory)
        tables = _replace_sinks(document)
        tables |= {name: _watch(document, name) for name in streams}
        application = application_from_mapping(document)
        compilation = compile_application(application, options or Options(fusion="legacy"))
        if options is None and _has_loop(compilation):  # a loop of several PEs never ends
            compilation = compile_application(application)
        with SteppedApplication(Home(directory / "home"), compilation, batch, engine=spark_engine) as stepped:
            stepped.run()
        return {name: _table(stepped, file) for name, file in tables.items()}


def _has_loop(compilation: Compilation) -> bool:
    """Return True if operators of an application form a loop."""
    following: list[list[int]] = [[] for _ in compilation.logical.operators]
    for connection in compilation.logical.connections:
        following[connection.source].append(connection.target)
    components = strong_components(following)
    return len(components) < len(following) or any(number in each for number, each in enumerate(following))


def spark_engine() -> SparkEngine:
    """Return this process's engine for Spark queries. Start it at the first call, and again if its session was stopped.

    Raises:
        StreamsRuntimeError: this process already has a Spark session that is not the engine's.
    """
    from pyspark import SparkContext

    context: SparkContext | None = SparkContext._active_spark_context  # pyright: ignore[reportPrivateUsage]
    if context is None:
        _engines.clear()
        _engines.append(_new_engine())
    elif not _engines or context is not _engines[0].session.sparkContext:
        message = (
            f"this process has a Spark session already ({context.appName}), and the queries of an application need one "
            "of their own. Stop that one first, or run these tests in another process"
        )
        raise StreamsRuntimeError(message)
    return _engines[0]


_engines: list[SparkEngine] = []
"""The engine of this process, if there is one."""


def _new_engine() -> SparkEngine:
    """Start an engine whose JVM ends with this process, as does its directory."""
    from pyspark import SparkContext

    from streams_orchestration.runtime.engine.spark.engine import SparkEngine

    # otherwise PySpark uses the JVM of a stopped session again
    SparkContext._gateway = SparkContext._jvm = None  # pyright: ignore[reportPrivateUsage] - there is no public way
    directory = Path(tempfile.mkdtemp(prefix="streams-test-spark-"))
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    output = directory / "spark.log"  # a test does not show Spark's log
    engine = SparkEngine(EngineStart(Home(directory), "tests", 0, str(os.getpid()), EngineSettings(), output))
    engine.wait()
    return engine


def _divide_sources(document: Json, inputs: Mapping[str, TestTuples]) -> Mapping[str, TestTuples]:
    """Replace each source that has several outputs by one source for each output, if `inputs` names one of them.

    An output whose schema lacks the event-time attribute loses the annotation `eventTime`.

    Returns:
        `inputs` with no tuples for the outputs of these sources that it does not name.
    """
    graph: list[Json] = []
    divided: dict[str, TestTuples] = {}
    for node in document["graph"]:
        streams = _names(node)
        if node.get("inputs") or len(streams) < 2 or not set(streams) & set(inputs):
            graph.append(node)
            continue
        for output, stream in zip(node["outputs"], streams, strict=True):
            graph.append(type(node)(node) if not isinstance(node, LocatedMapping) else _copied(node))
            graph[-1] |= {"name": stream, "outputs": [output]}
            without_event_time(graph[-1], _schema(document, output))
            divided[stream] = inputs.get(stream, ())
    document["graph"][:] = graph
    return {**divided, **inputs}


def _copied(node: LocatedMapping) -> LocatedMapping:
    copy = LocatedMapping(node.file, node.line)
    copy.update(node)
    copy.lines = dict(node.lines)
    return copy


def _replace_source(document: Json, stream: str, rows: TestTuples, directory: Path) -> None:
    """Write the tuples to a file, and make a FileSource that reads it the source of the stream.

    If there are watermarks among the tuples, the source is a replay (see `replay`). An output without a schema gets the
    schema of the tuples.
    """
    sources = {_names(node)[0]: node for node in document["graph"] if not node.get("inputs") and len(_names(node)) == 1}
    if stream not in sources:
        message = (
            f"{stream} is not the stream of a source in {document['application']}; the streams of its sources are "
            f"{', '.join(sources)}"
        )
        raise ValueError(message)
    node = sources[stream]
    output = (node.get("outputs") or [stream])[0]
    schema = _schema(document, output)
    rows, marks = (rows, []) if isinstance(rows, pa.Table) else split_marks(rows)
    table = _tuples(stream, rows, schema)
    take_watermarks_of_test(node)
    file = directory / f"{stream}.parquet"
    pq.write_table(table, file)
    if marks:
        replay(document, node, stream, str(file), marks, table.schema)
    else:
        node["operator"] = "FileSource"
        node["parameters"] = {"file": str(file), "format": "parquet"}
    if schema is None:
        node["outputs"] = [{"stream": stream, "schema": schema_ddl(table.schema)}]


def _schema(document: Json, output: Any) -> pa.Schema | None:
    """Return the schema of an output of a node; None if the node does not name any."""
    named = output.get("schema") if is_mapping(output) else None
    ddl = document.get("schemas", {}).get(named, named)
    return None if ddl is None else arrow_schema(ddl)


def _tuples(stream: str, rows: TestTuples, schema: pa.Schema | None) -> pa.Table:
    """Return the tuples of a stream as a table; without a schema, the types are inferred from the values."""
    if isinstance(rows, pa.Table):
        table: Any = rows
        columns = {name: table[name].combine_chunks() for name in table.column_names}
        return table if schema is None else _batch(stream, columns, schema)
    mappings = [_mapping(stream, number, row, schema) for number, row in enumerate(rows)]
    if schema is not None:
        return _of_schema(stream, mappings, schema)
    try:
        return pa.Table.from_pylist(mappings)
    except pa.ArrowException as error:
        message = (
            f"{stream}: its tuples have no common types: {error}; give the stream a schema, or pass an Arrow table"
        )
        raise ValueError(message) from error


def _mapping(stream: str, number: int, row: Any, schema: pa.Schema | None) -> Json:
    names = None if schema is None else schema.names
    if isinstance(row, Mapping):
        mapping = cast("Mapping[str, Any]", row)
        if names is not None and (unknown := [name for name in mapping if name not in names]):
            message = f"{stream}, tuple {number}: no attribute {unknown[0]}; the attributes are {', '.join(names)}"
            raise ValueError(message)
        return dict(mapping)
    if names is None:
        message = f"{stream} has no schema, so pass its tuples as mappings by attribute, or as an Arrow table"
        raise ValueError(message)
    if isinstance(row, str | bytes) or not isinstance(row, Sequence) or len(cast("Sequence[Any]", row)) != len(names):
        message = f"{stream}, tuple {number}: {row!r:.80} is not a row of {len(names)} values: {', '.join(names)}"
        raise ValueError(message)
    return dict(zip(names, cast("Sequence[Any]", row), strict=True))


def _of_schema(stream: str, mappings: Sequence[Json], schema: pa.Schema) -> pa.Table:
    def of_first(count: int, named: str) -> pa.Table:
        columns = {name: [mapping.get(name) for mapping in mappings[:count]] for name in schema.names}
        return _batch(named, columns, schema)

    def fails(number: int) -> bool:
        try:
            of_first(number + 1, stream)
        except ValueError:
            return True
        return False

    try:
        return of_first(len(mappings), stream)
    except ValueError:  # a value may fit its type but not the values before it
        first = bisect.bisect_left(range(len(mappings)), 1, key=fails)
        return of_first(first + 1, f"{stream}, tuple {first}")


def _batch(named: str, columns: Mapping[str, Any], schema: pa.Schema) -> pa.Table:
    try:
        return pa.Table.from_batches([TupleBatch.from_columns(columns, schema).arrow])
    except ValueError as error:
        message = f"{named}: {error}"
        raise ValueError(message) from error


def _replace_sinks(document: Json) -> dict[str, str]:
    """Replace every standard sink by a FileSink. Return the directory of each replaced sink, by its full name.

    Sinks with output ports, and own classes of the application, are kept, so they write to their targets.
    """
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
    """Add a FileSink that reads a stream, and return its directory."""
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
