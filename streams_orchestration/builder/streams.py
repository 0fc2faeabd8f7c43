"""Streams of an application in Python; their methods add operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, Self, cast, overload

import streams_orchestration.builder.operators as op
from streams_orchestration.builder.annotations import consistent, plain_keys
from streams_orchestration.builder.columns import Column, Summary
from streams_orchestration.builder.event_time import event_time, event_time_of
from streams_orchestration.builder.inference import selected, summarised
from streams_orchestration.builder.nodes import (
    BuildError,
    DraftNode,
    DraftOutput,
    DraftPort,
    DraftSource,
    Json,
    schema_of,
)
from streams_orchestration.builder.places import calling_place
from streams_orchestration.builder.schemas import SchemaLike
from streams_orchestration.builder.values import Use, use

Function = Callable[..., Any]
Expressions = Mapping[str, str | float | bool | Column]
"""Attribute -> expression."""


class Builds(Protocol):
    """The part of an application that its streams use: the methods that add operators."""

    def stream(
        self, operator: Use, *inputs: Input, schema: SchemaLike | None = None, name: str | None = None,
        uid: str | None = None, rate: float | None = None,
    ) -> Stream:  # fmt: skip
        """Add an operator with one output, and return the stream."""
        ...

    def streams(
        self, operator: Use, *inputs: Input, outputs: Outputs, name: str | None = None, uid: str | None = None
    ) -> tuple[Stream, ...]:
        """Add an operator with several outputs."""
        ...

    def sink(self, operator: Use, *inputs: Input, name: str | None = None, uid: str | None = None) -> Invoked:
        """Add an operator without outputs."""
        ...

    def tuple_type(self, stream: DraftSource) -> str | None:
        """Return the tuple type of a stream in DDL, or None if it is not known here."""
        ...


class Invoked:
    """An operator of a graph, which its methods configure and return; they raise BuildError at a composite's port."""

    def __init__(self, app: Builds, node: DraftNode | None) -> None:
        self._app = app
        self._node = node

    @property
    def node(self) -> DraftNode:
        """The invocation.

        Raises:
            BuildError: the stream enters through a composite's port, so no operator of this graph makes it.
        """
        if self._node is None:
            message = "this is an input port of a composite; annotate the operator that makes the stream instead"
            raise BuildError(message, calling_place())
        return self._node

    def annotate(self, **annotations: Any) -> Self:
        """Set annotations by their spec keys: `parallel`, `consistent`, `autonomous`, `event_time` and so on."""
        self.node.annotations.update(plain_keys(annotations))
        return self

    def configure(self, **config: Any) -> Self:
        """Set configs by their spec keys: `restartable`, `checkpoint`, `visibility`, `complete_within` and so on."""
        self.node.config.update(plain_keys(config))
        return self

    def place(self, **placement: Any) -> Self:
        """Set placement by its spec keys: `partition_colocation`, `host_pool` and so on."""
        self.node.config["placement"] = self.node.config.get("placement", {}) | plain_keys(placement)
        return self

    def in_pe(self, *tags: str) -> Self:
        """Run in one processing element with all operators that have the same tag."""
        return self.place(partition_colocation=_single_or_list(tags))

    def apart(self, *tags: str) -> Self:
        """Run in a different processing element from every operator that has the same tag."""
        return self.place(partition_exlocation=_single_or_list(tags))

    def isolate(self) -> Self:
        """Run in a processing element of its own."""
        return self.place(partition_isolation=True)

    def on_host(self, host: str | None = None, *, pool: str | None = None) -> Self:
        """Run on the named host, or on a host of the pool; without either, nothing changes."""
        return self.place(**({"host": host} if host is not None else {}), **({"host_pool": pool} if pool else {}))

    def threaded(
        self,
        queue: int | str = 1000,
        *,
        port: int = 0,
        congestion: Literal["Sys.Wait", "Sys.DropFirst", "Sys.DropLast"] = "Sys.Wait",
    ) -> Self:
        """Make a port threaded: an exchange between tasks. `queue`, in tuples, and `congestion` are only in plans."""
        ports = [*self.node.config.get("threadedPort", ())]
        ports.append({"port": port, "congestionPolicy": congestion, "queueSize": queue})
        self.node.config["threadedPort"] = ports
        return self

    def consistent(self, period: float | str | None = None, **more: Any) -> Self:
        """Start a consistent region here; the module function `consistent` describes the arguments."""
        return self.annotate(consistent=consistent(period, **more))

    def event_time(self, attribute: str, **more: Any) -> Self:
        """Begin event time here; the module function `event_time` describes the arguments."""
        return self.annotate(eventTime=event_time(attribute, **more))

    def autonomous(self) -> Self:
        """Stay outside of the consistent region (`autonomous`)."""
        return self.annotate(autonomous=True)

    def parallel(self, width: int | str, **more: Any) -> Self:
        """Run as replicas; the module function `parallel` describes the arguments."""
        return self.annotate(parallel=parallel(width, **more))


class Stream(Invoked):
    """A stream: its methods add operators that read it."""

    def __init__(self, app: Builds, output: DraftOutput) -> None:
        super().__init__(app, output.node)
        self.origin = output

    def apply(
        self, operator: Use, *others: Input, schema: SchemaLike | None = None, name: str | None = None,
        uid: str | None = None, rate: float | None = None,
    ) -> Stream:  # fmt: skip
        """Add an operator that reads this stream on its first port and `others` on further ports. Return its output."""
        return self._app.stream(operator, self, *others, schema=schema, name=name, uid=uid, rate=rate)

    def sink(self, operator: Use, *others: Input, name: str | None = None, uid: str | None = None) -> Invoked:
        """Add an operator without outputs that reads this stream on its first port and `others` on further ports."""
        return self._app.sink(operator, self, *others, name=name, uid=uid)

    def filter(self, condition: str | Column, *, name: str | None = None) -> Stream:
        """Return the tuples for which a condition is true: `delays.filter(col("delay") > 15)`."""
        return self.apply(op.Filter(filter=condition), name=name)

    def select(self, *columns: str | Column, **named: str | float | bool | Column) -> Stream:
        """Return a stream of these attributes: `delays.select("carrier", late=col("delay") > 15)`.

        The tuple type follows from the types of the expressions. The operator is a `Functor`, which takes its name from
        the variable.

        Args:
            columns: names of attributes, and expressions that have a name: `(col("delay") / 60).alias("hours")`.
            named: attribute -> expression.

        Raises:
            BuildError: an expression does not fit, or the tuple type of this stream is not known here.
        """
        ddl = self._app.tuple_type(self.origin)
        if ddl is None:
            message = "the tuple type of the stream is not known here; give the output's schema: map({...}, schema)"
            raise BuildError(message, calling_place())
        output, schema = selected(columns, named, ddl)
        return self.apply(op.Functor(output=output), schema=schema)

    def map(
        self, function: Function | Expressions, schema: SchemaLike | None = None, *, name: str | None = None,
        uid: str | None = None, **parameters: Any,
    ) -> Stream:  # fmt: skip
        """Return the stream of the results that a function or expressions give for the tuples of this stream.

        Args:
            function: an operator's class, a function decorated with `@operator`, a mapping of attributes to
                expressions, or a plain function, which `Custom` calls: once for each tuple if it has an argument
                `values`, else once for each batch.
            schema: the schema of the result; None for the schema of this stream, or BuildError if that is unknown.
            name: the operator's name.
            uid: the operator's identity across redeploys.
            parameters: the parameters of the operator or `Functor`; of a plain function, `arguments` and `state`.

        Raises BuildError for an unfit expression or an unknown schema, and ValueError for a local class or function.
        """
        if isinstance(function, Mapping):
            operator = op.Functor(output=dict(cast("Expressions", function)), **parameters)
        elif isinstance(function, type):
            operator = use(function, **parameters)
        else:
            of = "onTuple" if "values" in function.__code__.co_varnames[: function.__code__.co_argcount] else "function"
            operator = use("Custom", **{of: function}, **parameters)
        return self.apply(operator, schema=self._like() if schema is None else schema, name=name, uid=uid)

    def _like(self) -> str:
        """Return the schema of this stream. Raise BuildError if it is unknown, as no operator before declares one."""
        schema = schema_of(self.origin)
        if schema is None:
            message = "the schema of the mapped stream is not known here; give the output's schema: map(..., schema)"
            raise BuildError(message, calling_place())
        return schema

    @overload
    def aggregate(
        self, window: str = "tumbling, punct()", *, schema: SchemaLike | None = None, name: str | None = None,
        uid: str | None = None, group_by: Sequence[str] | None = None, partition_by: Sequence[str] | None = None,
        time_attribute: str | None = None, refinement: Refinement | None = None, late: None = None,
        **output: str | Summary,
    ) -> Stream: ...  # fmt: skip

    @overload
    def aggregate(
        self, window: str = "tumbling, punct()", *, schema: SchemaLike | None = None, name: str | None = None,
        uid: str | None = None, group_by: Sequence[str] | None = None, partition_by: Sequence[str] | None = None,
        time_attribute: str | None = None, refinement: Refinement | None = None, late: str, **output: str | Summary,
    ) -> tuple[Stream, Stream]: ...  # fmt: skip

    def aggregate(
        self, window: str = "tumbling, punct()", *, schema: SchemaLike | None = None, name: str | None = None,
        uid: str | None = None, group_by: Sequence[str] | None = None, partition_by: Sequence[str] | None = None,
        time_attribute: str | None = None, refinement: Refinement | None = None, late: str | None = None,
        **output: str | Summary,
    ) -> Stream | tuple[Stream, Stream]:  # fmt: skip
        """Return a stream with a tuple for each group of each window, and the stream of late tuples if it has a name.

        Args:
            window: the window clause of a spec, or what `time_interval`, `session` and `calendar` return; by default,
                window markers close a window, as does the stream's end.
            schema: the schema of the result. None infers it, if the tuple type of this stream is known.
            name: the operator's name.
            uid: the operator's identity across redeploys.
            group_by: attributes; each combination of their values is a group.
            partition_by: attributes; each combination of their values has a window of its own.
            time_attribute: the timestamp attribute of windows over time.
            refinement: the content of a firing of a pane that has fired before, in a window of event time.
            late: the name of a second stream, with the tuples that are too late for a window of event time.
            output: output functions by attribute: `"Sum(n)"`, or `functions.sum(col("n"))`. One that does not fit, or a
                key that the stream lacks, is a BuildError.
        """
        ddl = self._app.tuple_type(self.origin) if schema is None else None
        if ddl is not None:
            schema = summarised(output, [*(group_by or ()), *(partition_by or ())], ddl, event_time_of(self.origin))
        operator = op.Aggregate(
            window=window, group_by=group_by, partition_by=partition_by, time_attribute=time_attribute,
            refinement=refinement, output=output,
        )  # fmt: skip
        if late is None:
            return self.apply(operator, schema=schema, name=name, uid=uid)
        outputs = [(name, schema), (late, schema_of(self.origin))]
        results = self._app.streams(operator, self, outputs=outputs, name=name, uid=uid)
        return results[0], results[1]

    def join(
        self, other: Stream, window: str | Sequence[str] | None = None, *, schema: SchemaLike | None = None,
        name: str | None = None, uid: str | None = None, **parameters: Any,
    ) -> Stream:  # fmt: skip
        """Return pairs of a tuple of either stream and an earlier one that is still in the other stream's window.

        With `within`, the tuples of a pair are at most that many seconds of event time apart. `operators.Join` has the
        parameters.
        """
        return self.apply(op.Join(window=window, **parameters), other, schema=schema, name=name, uid=uid)

    def sql(
        self, query: str, schema: SchemaLike, *, name: str | None = None, uid: str | None = None,
        watermarks: Mapping[str, Any] | None = None, output_mode: Literal["append", "update"] | None = None,
        flush: bool | None = None, output_delay: float | None = None, **others: Stream,
    ) -> Stream:  # fmt: skip
        """Return the rows of a Spark query: `flights.sql("SELECT carrier FROM self", "carrier string")`.

        Args:
            query: a SELECT statement, as of `operators.Sql`, in which this stream is `self`.
            schema: the schema of the result.
            name: the operator's name.
            uid: the operator's identity across redeploys.
            watermarks: the watermark of each stream, by its name in the query: `{attribute, delay}`, or `"eventTime"`
                for the watermark of its event-time graph.
            output_mode: `append` emits a row once, when it is final; `update` emits it whenever it changes. The default
                is `append`.
            flush: whether all windows and joins are closed at the end of the input; the default is True.
            output_delay: the seconds of event time by which results may be behind the watermark of the input. The
                default is computed from the windows and joins of the query.
            others: further streams, by their names in the query.
        """
        operator = op.Sql(
            query=query, watermarks=watermarks, output_mode=output_mode, flush=flush, output_delay=output_delay
        )
        views = [port(stream, name=view) for view, stream in {"self": self, **others}.items()]
        return self._app.stream(operator, *views, schema=schema, name=name, uid=uid)

    def split(self, index: str | Column | Sequence[str | Column], outputs: int | Sequence[str]) -> tuple[Stream, ...]:
        """Split the stream: a tuple goes to the output whose number is `index` modulo the number of outputs."""
        return self._app.streams(op.Split(index=index), self, outputs=outputs)

    def union(self, *others: Stream, name: str | None = None) -> Stream:
        """Return the tuples of this stream and the others as one stream."""
        return self._app.stream(op.Union(), [self, *others], name=name)

    def deduplicate(
        self, *key: str | Column, name: str | None = None, uid: str | None = None, **parameters: Any
    ) -> Stream:
        """Return the tuples whose key, by default all attributes, is not remembered; see `operators.DeDuplicate`."""
        return self.apply(op.DeDuplicate(key=list(key), **parameters), name=name, uid=uid)

    def to_files(self, file: str, *, name: str | None = None, **parameters: Any) -> Invoked:
        """Write the tuples into files of a directory; `operators.FileSink` has the parameters."""
        return self.sink(op.FileSink(file=file, **parameters), name=name)

    def to_kafka(self, topic: str, brokers: str, *, name: str | None = None, **parameters: Any) -> Invoked:
        """Send the tuples to a topic; `operators.KafkaSink` has the parameters."""
        return self.sink(op.KafkaSink(topic=topic, brokers=brokers, **parameters), name=name)

    def export(self, *, name: str | None = None, **parameters: Any) -> Invoked:
        """Export the stream by `streamId` or `properties`. Raises ValueError for a local class or function."""
        return self.sink(use("Export", **parameters), name=name)

    def written(self, *, visibility: Literal["read_committed", "read_uncommitted"]) -> Self:
        """Set when operators outside of the region see the stream: after each epoch, or after each batch."""
        return self.configure(visibility=visibility)


Outputs = int | Sequence[str | tuple[str | None, SchemaLike | None]]
"""The number of output streams, or a list with the name, or name and schema, of each."""
Refinement = Literal["accumulating", "discarding", "retracting"]
"""The tuples that a pane of event time gives when it fires again."""
Input = Stream | str | DraftPort | Sequence[Stream | str]
"""The input of one port: a stream, the name of a stream that is added later, several of these, or a `port`."""


def port(
    *streams: Stream | str, name: str | None = None, control: bool = False, mutates: Sequence[str] | None = None
) -> DraftPort:
    """Return an input port with properties; a port without any can be written as the streams alone.

    Args:
        streams: the streams that the port reads.
        name: the port's name.
        control: True for a control port.
        mutates: the attributes that a `Custom` changes in this port's tuples.
    """
    return DraftPort([source(stream) for stream in streams], name, control, mutates)


def source(stream: Stream | str) -> DraftSource:
    """Return the origin of a stream; a name is returned unchanged."""
    return stream.origin if isinstance(stream, Stream) else stream


def ports_of(inputs: Sequence[Input]) -> list[DraftPort]:
    """Make an input port for each input; the streams of a list share one port, and a `port` is kept."""
    ports: list[DraftPort] = []
    for each in inputs:
        if isinstance(each, DraftPort):
            ports.append(each)
        else:
            ports.append(DraftPort([source(part) for part in ([each] if isinstance(each, Stream | str) else each)]))
    return ports


def parallel(
    width: int | str,
    *,
    partition_by: Sequence[str] | Mapping[Any, Sequence[str]] | None = None,
    broadcast: Sequence[Stream | str] = (),
    replicate_host_tags: Sequence[str] = (),
) -> Json:
    """Return the annotation of a parallel region.

    Args:
        width: the number of replicas; `spark` lets Spark partition an `Sql` or `DataFrame` operator.
        partition_by: the attributes whose hash chooses the replica, for all ports or by stream or port. Tuples of other
            ports go round robin.
        broadcast: the streams or ports whose tuples go to every replica.
        replicate_host_tags: host tags that get a copy of their own for each replica.
    """
    annotation: Json = {"width": width}
    if isinstance(partition_by, Mapping):
        partition_by = {source(key): list(names) for key, names in partition_by.items()}
    if partition_by:
        annotation["partitionBy"] = partition_by
    if broadcast:
        annotation["broadcast"] = [source(each) for each in broadcast]
    if replicate_host_tags:
        annotation["replicateHostTags"] = list(replicate_host_tags)
    return annotation


def _single_or_list(tags: Sequence[str]) -> str | list[str]:
    return tags[0] if len(tags) == 1 else list(tags)
