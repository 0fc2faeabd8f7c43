"""Operators that run inside Spark: they transform DataFrames, and Spark keeps their state."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, field_validator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DELAY = re.compile(r"(\d+(\.\d+)?\s+(microsecond|millisecond|second|minute|hour|day|week)s?\s*)+")


class ViewWatermark(Parameters):
    """The event time attribute and the watermark delay of one input stream."""

    attribute: str = Field(description="Timestamp attribute that holds the event time.")
    delay: str = Field(description="Time by which a tuple may be older than the newest one, such as `10 minutes`.")

    @field_validator("delay")
    @classmethod
    def _is_interval(cls, value: str) -> str:
        if _DELAY.fullmatch(value.strip().lower()) is None:
            message = "a span of time is expected, as in 10 minutes or 1 hour 30 seconds"
            raise ValueError(message)
        return value


EVENT_TIME = "eventTime"
"""The value of `watermarks` for an input stream with the watermark of the event-time graph (EV66)."""
INNER_WATERMARK = (
    "{} comes from an operator of the same query, so its watermark comes from the query's inputs; leave it out, or "
    "remove the operator from the colocation"
)
"""Message about `watermarks` for a stream within a query. The placeholder is the name of the stream."""

_InputTime = Annotated[
    Annotated[ViewWatermark, Tag("model")] | Annotated[Literal["eventTime"], Tag("literal")],
    Discriminator(lambda value: "literal" if isinstance(value, str) else "model"),
]


class StaticTable(Parameters):
    """A static table: files that Spark reads for every batch."""

    file: str = Field(description="File, directory or pattern. A relative path starts at the spec's directory.")
    format: Literal["csv", "json", "orc", "parquet"] = Field(
        description="Format of the files. CSV files have a header."
    )
    attributes: str = Field(
        "", alias="schema", description="Columns such as `id int, name string`; required for csv and json."
    )
    options: dict[str, str] = Field(
        default_factory=dict, description="Options of Spark's reader, such as `sep` for csv."
    )

    def _faults(self) -> Iterator[str]:
        if self.format in ("csv", "json") and not self.attributes:
            yield f"{self.file}: {self.format} needs a schema: the columns with their types"


class FrameParameters(Parameters):
    """The parameters that `Sql` and `DataFrame` share."""

    watermarks: dict[str, _InputTime] = Field(
        default_factory=dict,
        description=(
            "Maps an input stream to its event time: {attribute, delay}, as in Spark, or eventTime for the watermark "
            "of its event-time graph."
        ),
    )
    output_delay: float | None = Field(
        None,
        alias="outputDelay",
        ge=0.0,
        allow_inf_nan=False,
        description=(
            "Seconds of event time by which results may be older than the input's watermark. The default is computed "
            "from "
            "the windows and joins of the query."
        ),
    )
    static: dict[str, StaticTable] = Field(
        default_factory=dict,
        description="Maps a name to a table that does not stream: {file, format, schema, options}.",
    )
    output_mode: Literal["append", "update"] = Field(
        "append",
        alias="outputMode",
        description=(
            "append: rows are submitted once they are final. update: they are submitted whenever they change."
        ),
    )
    flush: bool = Field(default=True, description="Close all windows and joins when the input has ended.")


class FrameOperator(Operator):
    """Base class of `Sql` and `DataFrame`: it composes a query instead of processing tuples."""

    stateful = True
    indivisible = "is Spark's, which cannot be divided among channels"
    free_parameters = frozenset({"flush", "output_delay"})

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Raise ValueError if an output has no schema, names of ports or tables clash, or a watermark does not fit."""
        for port in range(len(context.outputs)):
            context.output_schema(port)
        twice = [name for name, count in Counter(context.ports).items() if count > 1]
        if twice:
            message = f"two input ports are called {twice[0]}; give one a name: {{streams: [{twice[0]}], name: Other}}"
            raise ValueError(message)
        both = next((name for name in parameters.static if name in context.ports), None)
        if both is not None:
            message = f"static: {both} is the name of an input port, too; give the table another one"
            raise ValueError(message)
        for stream, watermark in parameters.watermarks.items():
            if stream not in context.ports:
                message = f"watermarks: there is no input stream {stream}{nearest(stream, context.ports)}"
                raise ValueError(message)
            schema = context.inputs[context.ports.index(stream)]
            if isinstance(watermark, str):
                _check_graph_time(context, stream, schema)
                continue
            if watermark.attribute not in schema.names:
                near = nearest(watermark.attribute, schema.names)
                message = f"watermarks: {stream} has no attribute {watermark.attribute}{near}"
                raise ValueError(message)
            if not pa.types.is_timestamp(schema.field(watermark.attribute).type):
                message = f"watermarks: {watermark.attribute} of {stream} is not a timestamp; event time is one"
                raise ValueError(message)

    @classmethod
    def has_state(cls, parameters: FrameParameters) -> bool:
        """Return True, since Spark may keep state for any query."""
        return True

    @classmethod
    def input_files(cls, parameters: FrameParameters) -> tuple[str, ...]:
        """Return the files of the static tables."""
        return tuple(table.file for table in parameters.static.values())

    def compose(
        self, spark: SparkSession, inputs: Mapping[str, DataFrame], tables: Mapping[str, DataFrame]
    ) -> list[DataFrame]:
        """Return the DataFrame of every output port.

        Args:
            spark: a session in which every input port and static table is a view of its name.
            inputs: the input streams by the names of their ports.
            tables: the static tables by name.
        """
        raise NotImplementedError


def _check_graph_time(context: OperatorContext, stream: str, schema: pa.Schema) -> None:
    """Check that the event-time attribute of a stream can be Spark's event time; accept it outside of such graphs.

    A missing attribute is accepted, too.
    """
    if context.event_time is None:
        return
    name = context.event_time.attribute
    if "." in name:
        message = (
            f"watermarks: the event time {name} of {stream} is a field of {name.partition('.')[0]}, and Spark needs an "
            "attribute of the tuple itself; add such an attribute with a Functor upstream, and annotate the Functor"
        )
        raise ValueError(message)
    kind = schema.field(name).type if name in schema.names else None
    if kind is not None and not (pa.types.is_timestamp(kind) and kind.tz and kind.unit == "us"):
        message = (
            f"watermarks: the event time {name} of {stream} is {type_name(kind)}, and Spark's event time is a "
            "timestamp; add such an attribute with a Functor upstream, and annotate the Functor"
        )
        raise ValueError(message)


def as_frames(result: Any, outputs: int) -> list[DataFrame]:
    """Return the DataFrames in a function's result, in the order of the output ports.

    Args:
        result: a DataFrame, or a mapping from port numbers to DataFrames.
        outputs: the number of output ports.

    Raises:
        TypeError: the result is something else, or does not have one DataFrame per port.
    """
    from pyspark.sql import DataFrame

    frames = dict(result) if isinstance(result, Mapping) else {0: result}
    wrong = [type(value).__name__ for value in frames.values() if not isinstance(value, DataFrame)]
    if wrong or set(frames) != set(range(outputs)):
        given = wrong[0] if wrong else f"ports {sorted(map(str, frames))}"
        wanted = "a DataFrame" if outputs == 1 else f"a mapping of the ports 0 to {outputs - 1} to DataFrames"
        message = f"it returned {given}; it must return {wanted}"
        raise TypeError(message)
    return [frames[port] for port in range(outputs)]
