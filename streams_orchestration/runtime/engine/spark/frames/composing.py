"""Composes the Spark query of a PE: views of its input ports, its operators' DataFrames, and the writing of results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (as everywhere)
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import StructType

from streams_orchestration.compiler.pe_program import Direct, OperatorProgram, PeProgram
from streams_orchestration.compiler.query_columns import OperatorColumns
from streams_orchestration.model.names import nearest
from streams_orchestration.model.schema import quoted
from streams_orchestration.operators.contract.frame_operator import (
    INNER_WATERMARK,
    FrameOperator,
    FrameParameters,
    StaticTable,
)
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.storage.input_files import resolve_inputs
from streams_orchestration.operators.tuples.arrow_types import (
    arrow_schema,
    ddl_without_unsigned,
    fits,
    without_unsigned,
)
from streams_orchestration.runtime.engine.spark.descriptor import MARKER
from streams_orchestration.runtime.engine.spark.frames.descriptors import BatchRecord
from streams_orchestration.runtime.engine.spark.frames.origins import INPUT_ALIAS, column_origins
from streams_orchestration.runtime.engine.spark.frames.output_delays import (
    UNKNOWN_DELAY,
    OutputDelay,
    UnknownDelayError,
    declared_delay,
    delays_results,
    output_delay,
)
from streams_orchestration.runtime.engine.spark.frames.programs import frame_parameters, port_watermark
from streams_orchestration.runtime.engine.spark.frames.progress import RETAINED
from streams_orchestration.runtime.engine.spark.frames.refusing import (
    refuse_own_watermarks,
    refuse_unrepeatable,
    refuse_unstreamable,
)
from streams_orchestration.runtime.engine.spark.frames.source import PortSource
from streams_orchestration.runtime.engine.spark.frames.writing import ANSWER_DDL, PORT, FrameWriter, QueryOutlet
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.tasks.instances import operator_context

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.streaming.stateStore.checkpointFormatVersion": "2",
    "spark.sql.streaming.stateStore.maintenanceInterval": "10s",
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
    "spark.sql.streaming.numRecentProgressUpdates": str(RETAINED),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""Settings of every session with a checkpoint: the layout of state and the time zone are not stored in a checkpoint.

Every batch of Spark is a batch of the catalog, so Spark must make no batches of its own. Maintenance also closes the
stores of queries that have ended, each of which takes 4 MiB of disk, and every reset makes new ones. Spark generates
code even on a host that had no queries when it started.
"""
TIME_ZONE = "spark.sql.session.timeZone"
NO_CLASS = "'JavaPackage' object is not callable"
"""The message of Py4J for a class that the JVM does not have."""

ONE_PARTITION = ("spark.sql.shuffle.partitions", "1")
"""The setting for queries in channels, whose tuples are partitioned already. A checkpoint's larger number has priority.
"""

Source = Callable[["SparkSession", OperatorProgram, int, str], "DataFrame"]
"""A function that returns the streaming DataFrame of an input port.

Its arguments are the session, the operator, the port, and the attribute of the port's watermark or an empty text.
"""


def segments_source(options: Mapping[str, str]) -> Source:
    """Return the source of input ports that read the segments of the transport.

    The source registers `PortSource` with the session that it is called with.
    """

    def source(spark: SparkSession, program: OperatorProgram, port: int, time: str) -> DataFrame:
        spark.dataSource.register(PortSource)
        own = {
            "operator": str(program.index),
            "port": str(port),
            "attributes": program.inputs[port],
            "time": time,
            "timezone": program.time_zone,
        }
        return spark.readStream.format(PortSource.name()).options(**options, **own).load()

    return source


class Composition:
    """The operators of a PE as DataFrames of one session.

    The creation changes the settings of the session, and raises ImplementationError; see `frame_parameters`. Nothing
    else may use the session. `source` is for the input ports that are fed from outside of the PE.
    """

    def __init__(self, spark: SparkSession, program: PeProgram, directories: Directories, source: Source) -> None:
        self.spark = spark
        self.program = program
        self._directories = directories
        self._source = source
        self._made: dict[tuple[int, int], DataFrame] = {}
        """(operator, output port) -> its DataFrame."""
        self._delays: dict[str, OutputDelay] = {}
        """`operator:port` of operators in event-time graphs -> the delay of the results."""
        parameters = [frame_parameters(each) for each in program.operators.values()]
        self._spark_time = any(not isinstance(time, str) for each in parameters for time in each.watermarks.values())
        """True if some input has a watermark of Spark's own."""
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        spark.conf.set(TIME_ZONE, next((each.time_zone for each in program.operators.values()), "UTC"))
        if any(operator.max_channels > 1 for operator in program.operators.values()):
            spark.conf.set(*ONE_PARTITION)

    @property
    def output_mode(self) -> str:
        """The output mode that all operators share.

        Raises:
            OperatorError: the operators have different output modes.
        """
        modes: dict[str, str] = {}
        for operator in self.program.operators.values():
            modes.setdefault(frame_parameters(operator).output_mode, operator.name)
        if len(modes) > 1:
            both = " and ".join(f"{name} has outputMode {mode}" for mode, name in modes.items())
            remedy = "give them the same outputMode, or do not colocate them"
            raise OperatorError(
                list(modes.values())[-1], f"the colocated operators are one query, but {both}; {remedy}"
            )
        return next(iter(modes))

    def compose(self) -> None:
        """Make the DataFrames of all operators, without running them; views of inputs and tables exist only meanwhile.

        A function of a `DataFrame` operator is called for that, and an error that it raises becomes an OperatorError.

        Raises:
            OperatorError: an operator's query cannot be composed or streamed, or its output does not fit its streams.
        """
        mode = self.output_mode
        for index in self.program.tasks[0].operators:
            self._compose(self.program.operators[index], mode)

    def columns(self) -> dict[int, OperatorColumns]:
        """Return the origins of the columns of the DataFrames that `compose` has made, by operator.

        Py4J's error is raised for a plan that cannot be followed.
        """
        return {
            index: OperatorColumns.of(
                column_origins(self._made[index, port]) for port in range(len(self.program.operators[index].outputs))
            )
            for index in self.program.tasks[0].operators
        }

    def query(self, scratch: Scratch) -> DataFrame:
        """Record the delays of the output ports, and return the DataFrame to run, which writes the rows to segments.

        Raises:
            OperatorError: a query cannot be composed or streamed, or its output does not fit its streams.
            OSError: the delays cannot be written.
        """
        self.compose()
        BatchRecord(scratch).set_delays(self._delays)
        outlets = self._outlets()
        frames = [self._made[outlet.operator, outlet.port] for outlet in outlets]
        writer = FrameWriter(scratch, tuple(outlets))
        if len(frames) == 1:
            return frames[0].mapInArrow(writer, ANSWER_DDL)
        tagged = [_tagged(frames, outlets, number) for number in range(len(frames))]
        return reduce(lambda one, other: one.unionByName(other), tagged).mapInArrow(writer, ANSWER_DDL)

    def _outlets(self) -> list[QueryOutlet]:
        """Return the output ports whose rows leave the PE; if none do, the last port, so that there is a query."""
        ports = [
            (index, port)
            for index in self.program.tasks[0].operators
            for port in range(len(self.program.operators[index].outputs))
        ]
        leaving = [
            QueryOutlet(*place)
            for place in ports
            if any(not isinstance(way, Direct) for way in self.program.operators[place[0]].deliveries[place[1]])
        ]
        return leaving or [QueryOutlet(*ports[-1])]

    def _compose(self, program: OperatorProgram, mode: str) -> None:
        implementation: type[Operator] = import_operator(program.implementation)
        assert issubclass(implementation, FrameOperator)
        parameters = frame_parameters(program)
        views = {name: self._view(program, port) for port, name in enumerate(program.ports)}
        context = operator_context(program, self._directories)
        operator = implementation(context, parameters)
        tables: dict[str, DataFrame] = {}
        try:
            tables |= {name: _read(self.spark, table, context.base) for name, table in parameters.static.items()}
            for name, frame in {**views, **tables}.items():
                frame.createOrReplaceTempView(quoted(name))
            frames = operator.compose(self.spark, views, tables)
            for port, frame in enumerate(frames):
                if not frame.isStreaming:
                    message = (
                        f"its DataFrame for output port {port} is not a stream, since it does not depend on the inputs"
                        "; derive it from one of them"
                    )
                    raise ValueError(message)
                refuse_own_watermarks(frame)
                refuse_unstreamable(frame, mode)
                if program.region is not None:
                    refuse_unrepeatable(frame)
                self._made[program.index, port] = _declared(frame, program.outputs[port] or "")
                if program.event_time is not None:
                    self._delays[f"{program.index}:{port}"] = self._delay(frame, port, program.event_time, parameters)
        except Exception as error:
            raise OperatorError(program.name, _in_words(error)) from error
        finally:
            for name in (*views, *tables):
                self.spark.catalog.dropTempView(quoted(name))

    def _delay(self, frame: DataFrame, port: int, role: EventTimeRole, parameters: FrameParameters) -> OutputDelay:
        """Return the delay of an output port: how far its results may be behind the watermark of the input (EV66).

        A declared delay has priority. If the delay is not known and not needed, it is `UNKNOWN_DELAY`.
        """
        waits = delays_results(frame)
        if parameters.output_delay is not None:
            return declared_delay(parameters.output_delay, waits=waits)
        if not waits:
            return output_delay(frame)
        try:
            if self._spark_time:
                message = "a watermark of its input is {attribute, delay}, not the watermark of the event-time graph"
                raise UnknownDelayError(message)
            return output_delay(frame)
        except UnknownDelayError as error:
            if not role.awaited or port not in role.outputs:
                return UNKNOWN_DELAY
            message = (
                f"the delay of its results against the watermark of its input is not known: {error}. "
                "An operator downstream uses their event time; declare outputDelay, in seconds"
            )
            raise UnknownDelayError(message) from error

    def _view(self, program: OperatorProgram, port: int) -> DataFrame:
        """Return the DataFrame of an input port, with the rows from outside and from operators of the PE."""
        inside = [
            self._made[index, number]
            for index, producer in self.program.operators.items()
            for number, ways in enumerate(producer.deliveries)
            if any(isinstance(way, Direct) and (way.operator, way.port) == (program.index, port) for way in ways)
        ]
        watermark = port_watermark(program, port)
        outside = any((stream.operator, stream.port) == (program.index, port) for stream in self.program.inputs)
        outside = outside or (program.index, port) in self.program.imports
        if inside and watermark is not None:
            raise OperatorError(program.name, INNER_WATERMARK.format(program.ports[port]))
        if outside or not inside:
            frame = self._source(self.spark, program, port, "" if watermark is None else watermark.attribute)
            if watermark is not None:
                frame = frame.withWatermark(watermark.attribute, watermark.delay)
                frame = frame.where(_is_no_marker()).drop(MARKER)
            inside.append(frame)
        return reduce(lambda one, other: one.unionByName(other), inside).alias(f"{INPUT_ALIAS}{port}")


def _read(spark: SparkSession, table: StaticTable, base: Path) -> DataFrame:
    """Return the DataFrame of a static table; a CSV file has a header, unless the table's options say otherwise."""
    reader = spark.read.format(table.format)
    if table.format == "csv":
        reader = reader.option("header", "true")
    if table.attributes:
        reader = reader.schema(table.attributes)
    files = [str(path.absolute()) for path in resolve_inputs(table.file, base)]
    return reader.options(**table.options).load(files)


def _is_no_marker() -> Column:
    """Return a condition that keeps only rows that are not markers; no condition of the query is moved before it.

    Spark's optimizer must take it for nondeterministic. Otherwise it would move conditions of the query before the
    watermark, which would then get no marker.
    """
    return (F.col(MARKER) == F.lit(0)) | (F.spark_partition_id() < F.lit(0))


def _tagged(frames: list[DataFrame], outlets: list[QueryOutlet], number: int) -> DataFrame:
    """Return the rows of one port with its number, and a struct column for every port; only its own is not null."""
    own = F.struct(*(quoted(name) for name in frames[number].columns))
    columns = [
        (own if place == number else F.lit(None).cast(frame.schema)).alias(outlet.column)
        for place, (frame, outlet) in enumerate(zip(frames, outlets, strict=True))
    ]
    return frames[number].select(F.lit(number).alias(PORT), *columns)


def _declared(frame: DataFrame, ddl: str) -> DataFrame:
    """Return a DataFrame with the columns of an output stream, cast to the declared types."""
    wanted = StructType.fromDDL(ddl_without_unsigned(ddl))
    assert isinstance(wanted, StructType)
    fields = {field.name: field for field in frame.schema}
    names = [field.name for field in wanted]
    if len(fields) != len(frame.columns) or set(fields) != set(names):
        lacking = [name for name in names if name not in fields]
        near = nearest(lacking[0], list(fields)) if lacking else ""
        returned = ", ".join(frame.columns)
        message = f"it returns the columns {returned}; its stream has {', '.join(names)}{near}; return these"
        raise ValueError(message)
    columns: list[Column] = []
    for field, target in zip(wanted, arrow_schema(ddl), strict=True):
        kind = fields[field.name].dataType
        if not fits(to_arrow_type(kind, timezone="UTC"), without_unsigned(target.type)):
            message = f"{field.name} is {kind.simpleString()}; its stream has {field.dataType.simpleString()}; cast it"
            raise ValueError(message)
        columns.append(F.col(quoted(field.name)).cast(field.dataType).alias(field.name))
    return frame.select(*columns)


def _in_words(error: Exception) -> str:
    """Return the message of Spark or of a user's function, without the query plan; the remedy for a missing class."""
    if str(error) == NO_CLASS:
        return (
            "the JVM lacks the class that it calls. A host that had no queries when it started lacks Spark's machine "
            "learning: end the application with `streams cancel`, and start it again"
        )
    if isinstance(error, (ValueError, TypeError)) and type(error).__module__ == "builtins":
        return str(error)
    text = str(error).partition("\nJVM stacktrace")[0].partition(";\n")[0].partition("== SQL")[0]
    text = " ".join(text.split())
    return text if text.startswith("[") else f"{type(error).__name__}: {text}"
