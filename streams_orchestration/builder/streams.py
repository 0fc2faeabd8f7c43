"""Streams of an application in Python, and what can be done with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, Self

import streams_orchestration.builder.operators as op
from streams_orchestration.builder.columns import Column, Summary
from streams_orchestration.builder.inference import selected, summarised
from streams_orchestration.builder.nodes import BuildError, Json, Node, Output, Port, Source, schema_of
from streams_orchestration.builder.places import calling_place
from streams_orchestration.builder.schemas import Schema
from streams_orchestration.builder.values import Use, use

Function = Callable[..., Any]
Expressions = Mapping[str, str | float | bool | Column]
"""Attribute -> expression."""


class Builds(Protocol):
    """What streams need of their application: the addition of operators to it."""

    def stream(
        self, operator: Use, *inputs: Input, schema: Schema | None = None, name: str | None = None,
        uid: str | None = None, rate: float | None = None,
    ) -> Stream:  # fmt: skip
        """Add an operator with one output."""
        ...

    def streams(self, operator: Use, *inputs: Input, outputs: Outputs) -> tuple[Stream, ...]:
        """Add an operator with several outputs."""
        ...

    def sink(self, operator: Use, *inputs: Input, name: str | None = None, uid: str | None = None) -> Invoked:
        """Add an operator without outputs."""
        ...

    def tuple_type(self, stream: Source) -> str | None:
        """Return the tuple type of a stream in DDL, or None if it is not known here."""
        ...


class Invoked:
    """An operator in the graph of an application; its methods say where and how it runs, and give it back."""

    def __init__(self, app: Builds, node: Node | None) -> None:
        self._app = app
        self._node = node

    @property
    def node(self) -> Node:
        """The invocation.

        Raises:
            BuildError: the stream is what comes in through the port of a composite, which no operator makes.
        """
        if self._node is None:
            message = "this is an input port of a composite: say it of the operator that makes the stream"
            raise BuildError(message, calling_place())
        return self._node

    def annotate(self, **annotations: Any) -> Self:
        """Set annotations as a spec has them: `parallel`, `consistent`, `autonomous`, `threading`, `atomic`."""
        self.node.annotations.update(plain_keys(annotations))
        return self

    def configure(self, **config: Any) -> Self:
        """Set configs as a spec has them: `restartable`, `relocatable`, `checkpoint`, `visibility`, `threaded_port`."""
        self.node.config.update(plain_keys(config))
        return self

    def place(self, **placement: Any) -> Self:
        """Set placement as a spec has it: `partition_colocation`, `host_pool` and so on."""
        self.node.config["placement"] = self.node.config.get("placement", {}) | plain_keys(placement)
        return self

    def in_pe(self, *tags: str) -> Self:
        """Run in one processing element with all that have the same tag."""
        return self.place(partition_colocation=_one(tags))

    def apart(self, *tags: str) -> Self:
        """Run in another processing element than all others that have the same tag."""
        return self.place(partition_exlocation=_one(tags))

    def isolate(self) -> Self:
        """Run in a processing element of its own."""
        return self.place(partition_isolation=True)

    def on_host(self, host: str | None = None, *, pool: str | None = None) -> Self:
        """Run on a host, or on one of a pool."""
        return self.place(**({"host": host} if host is not None else {}), **({"host_pool": pool} if pool else {}))

    def threaded(
        self, queue: int | str = 1000, *, port: int = 0,
        congestion: Literal["Sys.Wait", "Sys.DropFirst", "Sys.DropLast"] = "Sys.Wait",
    ) -> Self:  # fmt: skip
        """Put a queue with a thread of its own in front of an input port."""
        ports = [*self.node.config.get("threadedPort", ())]
        ports.append({"port": port, "congestionPolicy": congestion, "queueSize": queue})
        self.node.config["threadedPort"] = ports
        return self

    def consistent(self, period: float | str | None = None, **more: Any) -> Self:
        """Start a consistent region here, see `consistent`."""
        return self.annotate(consistent=consistent(period, **more))

    def autonomous(self) -> Self:
        """Stay out of the consistent regions around."""
        return self.annotate(autonomous=True)

    def parallel(self, width: int | str, **more: Any) -> Self:
        """Run as replicas, see `parallel`."""
        return self.annotate(parallel=parallel(width, **more))


class Stream(Invoked):
    """A stream: its methods add operators that read it."""

    def __init__(self, app: Builds, output: Output) -> None:
        super().__init__(app, output.node)
        self._output = output

    def apply(
        self, operator: Use, *others: Input, schema: Schema | None = None, name: str | None = None,
        uid: str | None = None, rate: float | None = None,
    ) -> Stream:  # fmt: skip
        """Let an operator read the stream, and further ones by further ports; its output."""
        return self._app.stream(operator, self, *others, schema=schema, name=name, uid=uid, rate=rate)

    def sink(self, operator: Use, *others: Input, name: str | None = None, uid: str | None = None) -> Invoked:
        """Let an operator without outputs read the stream."""
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
        ddl = self._app.tuple_type(self._output)
        if ddl is None:
            message = "the tuple type of the stream is not known here; say what comes out: map({...}, schema)"
            raise BuildError(message, calling_place())
        output, schema = selected(columns, named, ddl)
        return self.apply(op.Functor(output=output), schema=schema)

    def map(
        self, function: Function | Expressions, schema: Schema | None = None, *, name: str | None = None,
        uid: str | None = None, **parameters: Any,
    ) -> Stream:  # fmt: skip
        """Return the results of a function, or of expressions, for the tuples of this stream.

        Args:
            function: an operator's class or a function under `@operator`; a function of `batch` or, if it has an
                argument `values`, of a tuple (see `Custom`); attribute -> expression.
            schema: of the result; that of this stream when None.
            name: of the operator.
            uid: what the operator is known by over redeploys.
            parameters: of the operator, or `arguments` and `state` of a function.
        """
        if isinstance(function, Mapping):
            operator = op.Functor(output=dict(function))
        elif isinstance(function, type):
            operator = use(function, **parameters)
        else:
            of = "onTuple" if "values" in function.__code__.co_varnames[: function.__code__.co_argcount] else "function"
            operator = use("Custom", **{of: function}, **parameters)
        return self.apply(operator, schema=self._like() if schema is None else schema, name=name, uid=uid)

    def _like(self) -> str:
        """The schema of this stream.

        Raises:
            BuildError: nothing here says what it is: it comes in through the port of a composite, or from an operator
                that declares none.
        """
        schema = schema_of(self._output)
        if schema is None:
            message = "the schema of the stream that is mapped is not known here; say what comes out: map(..., schema)"
            raise BuildError(message, calling_place())
        return schema

    def aggregate(
        self, window: str = "tumbling, punct()", *, schema: Schema | None = None, name: str | None = None,
        uid: str | None = None, group_by: Sequence[str] | None = None, partition_by: Sequence[str] | None = None,
        time_attribute: str | None = None, **output: str | Summary,
    ) -> Stream:  # fmt: skip
        """Return a stream with a tuple for each group of each window.

        Args:
            window: as in a spec; without one a window marker closes it, as at the end of the stream.
            schema: of the result; it follows from the functions when None and the tuple type of this stream is known.
            name: of the operator.
            uid: what it is known by over redeploys.
            group_by: attributes.
            partition_by: attributes, each combination of which has a window of its own.
            time_attribute: that delta and time windows look at.
            output: attribute -> an output function: `"Sum(n)"`, or `functions.sum(col("n"))`.
        """
        ddl = self._app.tuple_type(self._output) if schema is None else None
        if ddl is not None:
            schema = summarised(output, [*(group_by or ()), *(partition_by or ())], ddl)
        operator = op.Aggregate(
            window=window, group_by=group_by, partition_by=partition_by, time_attribute=time_attribute, output=output
        )
        return self.apply(operator, schema=schema, name=name, uid=uid)

    def join(
        self, other: Stream, window: str | Sequence[str], *, schema: Schema | None = None, name: str | None = None,
        uid: str | None = None, **parameters: Any,
    ) -> Stream:  # fmt: skip
        """Pairs of tuples of two streams that lie in the same windows; parameters as of `operators.Join`."""
        return self.apply(op.Join(window=window, **parameters), other, schema=schema, name=name, uid=uid)

    def sql(
        self, query: str, schema: Schema, *, name: str | None = None, uid: str | None = None,
        watermarks: Mapping[str, Any] | None = None, output_mode: Literal["append", "update"] | None = None,
        flush: bool | None = None, **others: Stream,
    ) -> Stream:  # fmt: skip
        """What a query of Spark's gives: `flights.sql("SELECT carrier FROM self", "carrier string")`.

        Args:
            query: SELECT statement of `operators.Sql`, in which this stream is `self`.
            schema: of what it gives.
            name: of the operator.
            uid: what it is known by over redeploys.
            watermarks: `self`, or the name of another stream in the query -> `{attribute, delay}`.
            output_mode: `update` for rows whenever they change; rows when they are final when None.
            flush: close all windows and joins when the input has ended, which is so when None.
            others: further streams, by their names in the query.
        """
        operator = op.Sql(query=query, watermarks=watermarks, output_mode=output_mode, flush=flush)
        views = [port(stream, name=view) for view, stream in {"self": self, **others}.items()]
        return self._app.stream(operator, *views, schema=schema, name=name, uid=uid)

    def split(self, index: str | Column | Sequence[str | Column], outputs: int | Sequence[str]) -> tuple[Stream, ...]:
        """As many streams as wanted: a tuple goes to that of the index, an expression, modulo their number."""
        return self._app.streams(op.Split(index=index), self, outputs=outputs)

    def union(self, *others: Stream, name: str | None = None) -> Stream:
        """The tuples of several streams."""
        return self._app.stream(op.Union(), [self, *others], name=name)

    def deduplicate(
        self, *key: str | Column, name: str | None = None, uid: str | None = None, **parameters: Any
    ) -> Stream:
        """The first tuple of every key; parameters as of `operators.DeDuplicate`."""
        return self.apply(op.DeDuplicate(key=list(key), **parameters), name=name, uid=uid)

    def to_files(self, file: str, *, name: str | None = None, **parameters: Any) -> Invoked:
        """Write the tuples into files of a directory; parameters as of `operators.FileSink`."""
        return self.sink(op.FileSink(file=file, **parameters), name=name)

    def to_kafka(self, topic: str, brokers: str, *, name: str | None = None, **parameters: Any) -> Invoked:
        """Send the tuples to a topic; parameters as of `operators.KafkaSink`."""
        return self.sink(op.KafkaSink(topic=topic, brokers=brokers, **parameters), name=name)

    def export(self, *, name: str | None = None, **parameters: Any) -> Invoked:
        """Export the stream to other applications: `streamId` or `properties`."""
        return self.sink(use("Export", **parameters), name=name)

    def written(self, *, visibility: Literal["read_committed", "read_uncommitted"]) -> Self:
        """When operators outside of its region see the stream: epoch by epoch, or batch by batch."""
        return self.configure(visibility=visibility)


Outputs = int | Sequence[str | tuple[str, Schema]]
"""How many streams there are, or what they are called, each with its schema where it has one."""
Input = Stream | str | Port | Sequence[Stream | str]
"""What one port reads: a stream, the name of one that is made later, several of these, or a `port`."""


def port(
    *streams: Stream | str, name: str | None = None, control: bool = False, mutates: Sequence[str] | None = None
) -> Port:
    """An input port about which there is more to say than what it reads.

    Args:
        streams: that it reads.
        name: of the port.
        control: it is a control port.
        mutates: the attributes that a `Custom` changes in the tuples of this port.
    """
    return Port([source(stream) for stream in streams], name, control, mutates)


def source(stream: Stream | str) -> Source:
    """A stream as invocations have it."""
    return stream._output if isinstance(stream, Stream) else stream


def ports_of(inputs: Sequence[Input]) -> list[Port]:
    """What every port of an invocation reads."""
    ports: list[Port] = []
    for each in inputs:
        if isinstance(each, Port):
            ports.append(each)
        else:
            ports.append(Port([source(part) for part in ([each] if isinstance(each, Stream | str) else each)]))
    return ports


def consistent(
    period: float | str | None = None, *, trigger: Literal["periodic", "operatorDriven"] = "periodic", **more: Any
) -> Json:
    """The annotation of the operator that starts a consistent region.

    Args:
        period: seconds between two cuts.
        trigger: `operatorDriven` when the operator says itself where an epoch ends.
        more: `drain_timeout`, `reset_timeout` in seconds, `max_consecutive_reset_attempts`, `restart` with the keys
            `pause` and `limit` in seconds.
    """
    return {"trigger": trigger} | ({} if period is None else {"period": period}) | plain_keys(more)


def parallel(
    width: int | str, *, partition_by: Sequence[str] | Mapping[Any, Sequence[str]] | None = None,
    broadcast: Sequence[Stream | str] = (), replicate_host_tags: Sequence[str] = (),
) -> Json:  # fmt: skip
    """The annotation of a parallel region.

    Args:
        width: replicas; `spark` for an `Sql` or `DataFrame` operator whose partitions are Spark's own.
        partition_by: attributes by which the tuples of all ports are divided, or those of each stream or port; tuples
            of other ports go round robin.
        broadcast: streams, or ports, whose tuples go to every replica.
        replicate_host_tags: tags of hosts that are different ones for each replica.
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


def threading(
    model: Literal["manual", "automatic", "dynamic", "dedicated"], *, threads: int | str | None = None,
    elastic: bool | str | None = None,
) -> Json:  # fmt: skip
    """The annotation of how threads run an operator or composite."""
    more = {"threads": threads, "elastic": elastic}
    return {"model": model} | {key: value for key, value in more.items() if value is not None}


def plain_keys(values: Mapping[str, Any]) -> Json:
    """Names of Python as a spec has them: `drain_timeout` is `drainTimeout`."""
    return {_camel(name): value for name, value in values.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _one(tags: Sequence[str]) -> str | list[str]:
    return tags[0] if len(tags) == 1 else list(tags)
