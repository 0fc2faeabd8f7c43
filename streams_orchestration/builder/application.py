"""Applications in Python, which can express exactly what a spec in YAML can."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from streams_orchestration.builder.composites import Composite
from streams_orchestration.builder.declarations import Declarations
from streams_orchestration.builder.drawing import Drawing
from streams_orchestration.builder.event_time import import_use
from streams_orchestration.builder.inference import refuse_misfits
from streams_orchestration.builder.nodes import (
    BuildError,
    Definition,
    DraftGraph,
    DraftNode,
    DraftOutput,
    DraftSource,
    Json,
    Root,
    name_in,
    schema_of,
)
from streams_orchestration.builder.outputs import named_outputs
from streams_orchestration.builder.places import calling_place, located
from streams_orchestration.builder.reaching import reached
from streams_orchestration.builder.reading import read_into
from streams_orchestration.builder.schemas import SchemaLike
from streams_orchestration.builder.streams import Input, Invoked, Outputs, Stream, parallel, ports_of, source
from streams_orchestration.builder.values import Use
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.drawing.drawing import draw_svg
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import load_application
from streams_orchestration.model import application as model
from streams_orchestration.model.containers import plain_value
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.model.standard import STANDARD

if TYPE_CHECKING:
    import pyarrow as pa

    from streams_orchestration.builder.testing import TestTuples


class Application(Declarations):
    """An application that method calls build up.

    Args:
        name: the application's name, an identifier.
        description: the application's purpose, in a sentence.
        time_zone: the time zone of local times in expressions and queries: an IANA name such as `Europe/Berlin`, or
            None for UTC.
    """

    def __init__(self, name: str, *, description: str = "", time_zone: str | None = None) -> None:
        super().__init__()
        self.name = name
        self.description = description
        self.time_zone = time_zone
        self._place = calling_place()
        self._root = Root()
        self._graphs: list[DraftGraph] = [self._root.main]

    # operators

    def stream(
        self,
        operator: Use,
        *inputs: Input,
        schema: SchemaLike | None = None,
        name: str | None = None,
        uid: str | None = None,
        rate: float | None = None,
        consistent: Json | None = None,
        event_time: Json | None = None,
    ) -> Stream:
        """Add an operator with one output, and return its stream.

        Args:
            operator: the operator, for example from `operators`.
            inputs: the streams that each input port reads.
            schema: the schema of the output. Operators that pass tuples on, such as a filter, take the input's schema.
            name: the name of the operator and its output; None takes the assigned variable's, or one of input and kind.
            uid: the operator's identity across redeploys; None for its name.
            rate: the expected rate of the output, in tuples per second; None if it is unknown.
            consistent: the annotation that starts a consistent region here; `consistent` makes one.
            event_time: the annotation that says which attribute is the time of a tuple; `event_time` makes one.

        Raises:
            BuildError: an expression made of columns does not fit its tuples, or an input comes from another composite.
            TypeError, ValueError: the schema is not a tuple type.
        """
        node = self._add(operator, inputs, 1, name=name, uid=uid)
        output = (node.outputs or [])[0]
        output.schema, output.rate = self._ddl(schema), rate
        self._check_columns(operator, node)
        if consistent is not None:
            node.annotations["consistent"] = consistent
        if event_time is not None:
            node.annotations["eventTime"] = event_time
        return Stream(self, output)

    def streams(
        self, operator: Use, *inputs: Input, outputs: Outputs, name: str | None = None, uid: str | None = None
    ) -> tuple[Stream, ...]:
        """Add an operator with several outputs; return them. Raises BuildError for wrong inputs, outputs or columns."""
        node = self._add(operator, inputs, outputs, name=name, uid=uid)
        self._check_columns(operator, node)
        return self._streams(node)

    def sink(self, operator: Use, *inputs: Input, name: str | None = None, uid: str | None = None) -> Invoked:
        """Add an operator without outputs. Raises BuildError for wrong inputs, or columns that do not fit them."""
        node = self._add(operator, inputs, None, name=name, uid=uid)
        self._check_columns(operator, node)
        return Invoked(self, node)

    def tuple_type(self, stream: DraftSource) -> str | None:
        """Return the tuple type of a stream in DDL, or None if it is not known here."""
        schema = schema_of(stream)
        return schema if schema is None else self._schemas.get(schema, schema)

    def _check_columns(self, operator: Use, node: DraftNode) -> None:
        """Check the expressions that were made of columns, if the tuple types are known; raises BuildError."""
        if operator.typed:
            inputs = [self.tuple_type(port.streams[0]) if port.streams else None for port in node.inputs]
            refuse_misfits(node, inputs, [self.tuple_type(output) for output in node.outputs or ()])

    def import_stream(self, schema: SchemaLike, *, name: str | None = None, **parameters: Any) -> Stream:
        """Import a stream that another application exports.

        Args:
            schema: the schema of the stream.
            name: the name of the operator and its output.
            parameters: `subscription`, or `application` and `streamId`; optionally `filter`, and `event_time` with what
                `event_time("at")` returns, to take the exporter's watermarks.

        Raises:
            ValueError, TypeError: the schema is wrong, or `event_time` has more than two parts.
        """
        return self.stream(import_use(parameters), schema=schema, name=name)

    # graphs

    @contextmanager
    def composite(
        self, name: str, inputs: Sequence[str] = (), *, annotations: Json | None = None, config: Json | None = None
    ) -> Generator[Composite]:
        """Define a composite, and yield it. Operators that are added inside the `with` block belong to it.

        Args:
            name: the composite's name.
            inputs: the names of its input ports.
            annotations: the annotations of the definition; only `threading` is allowed.
            config: the config of operators inside that have none of their own.
        """
        definition = Definition(name, calling_place(), DraftGraph(self._root))
        definition.graph.definition = definition
        definition.inputs = [DraftOutput(definition.graph, name=each) for each in inputs]
        definition.annotations = dict(annotations or {})
        definition.config = dict(config or {})
        self._root.definitions.append(definition)
        with self._within(definition.graph):
            yield Composite(self, definition, partial(self._use, definition))

    @contextmanager
    def block(self, name: str, *, uid: str | None = None) -> Generator[Invoked]:
        """Put the operators that are added inside the `with` block into a composite of their own; yield its invocation.

        A stream that crosses the block's border becomes a port: an input port if the block reads it, an output port if
        the graph around reads it.
        """
        place = calling_place()
        graph = DraftGraph(self._root)
        definition = Definition(name, place, graph)
        graph.definition = definition
        node = DraftNode(self._graphs[-1], definition, place, name, uid=uid)
        definition.block = node
        node.graph.nodes.append(node)
        self._root.definitions.append(definition)
        with self._within(graph):
            yield Invoked(self, node)

    @contextmanager
    def parallel(
        self,
        name: str,
        width: int | str,
        *,
        partition_by: Sequence[str] | Mapping[Any, Sequence[str]] | None = None,
        broadcast: Sequence[Stream | str] = (),
        replicate_host_tags: Sequence[str] = (),
        uid: str | None = None,
    ) -> Generator[Invoked]:
        """Run the operators of the `with` block as `width` replicas, and yield its invocation; see `parallel`."""
        annotation = parallel(
            width, partition_by=partition_by, broadcast=broadcast, replicate_host_tags=replicate_host_tags
        )
        with self.block(name, uid=uid) as block:
            yield block.annotate(parallel=annotation)

    @contextmanager
    def _within(self, graph: DraftGraph) -> Generator[None]:
        self._graphs.append(graph)
        try:
            yield
        finally:
            self._graphs.remove(graph)

    def _add(
        self,
        operator: Use | Definition,
        inputs: Sequence[Input],
        outputs: Outputs | None,
        *,
        name: str | None = None,
        uid: str | None = None,
    ) -> DraftNode:
        place, graph = calling_place(), self._graphs[-1]
        node = DraftNode(
            graph, self._declared(operator) if isinstance(operator, Use) else operator, place, name, uid=uid
        )
        node.parameters = dict(operator.parameters) if isinstance(operator, Use) else {}
        node.inputs = ports_of(inputs)
        for port in node.inputs:
            port.streams = [reached(each, graph, place) for each in port.streams]
        if isinstance(outputs, int) and not isinstance(outputs, bool) and outputs >= 0:
            node.outputs = [DraftOutput(graph, node) for _ in range(outputs)]
        elif outputs is not None:
            node.outputs = [
                DraftOutput(graph, node, stream, None if schema is None else self._ddl(schema))
                for stream, schema in named_outputs(outputs, place)
            ]
        graph.nodes.append(node)
        return node

    def _streams(self, node: DraftNode) -> tuple[Stream, ...]:
        return tuple(Stream(self, output) for output in node.outputs or ())

    def _use(
        self, definition: Definition, inputs: Sequence[Input], name: str | None, uid: str | None
    ) -> tuple[Stream, ...]:
        return self._streams(self._add(definition, inputs, len(definition.outputs), name=name, uid=uid))

    # documents and compilation

    def document(self) -> Json:
        """Name all streams and return the spec as a mapping. Every part knows the line of Python that made it.

        Raises:
            BuildError: two composites have the same name, or a parallel region is split by a stream it does not read.
            ValueError: an annotation or a config has a class or function that hosts cannot import.
        """
        self._root.reserved = {*self._operators, *STANDARD}
        self._root.name_all()
        document: Json = {"specVersion": 1, "application": self.name}
        parts: Json = {
            "description": self.description,
            "timeZone": self.time_zone,
            "submission": self._submission,
            "schemas": self._schemas,
            "operators": self._operators,
        }
        graph = self._root.main.document()
        definitions = [(self._root.names[each], each.document()) for each in self._root.definitions]
        twice = [each for each in self._root.definitions if [name for name, _ in definitions].count(each.name) > 1]
        if twice:
            message = f"there is already a composite {twice[1].name}"
            raise BuildError(message, twice[1].place)
        parts |= {"composites": dict(definitions), "hostPools": self._pools}
        parts |= {"annotations": self._annotations, "config": self._config}
        document |= {key: value for key, value in parts.items() if value}
        return located(document | {"graph": graph}, self._place)

    def model(self) -> model.Application:
        """Return the application as the compiler's input.

        Raises:
            ApplicationError: the application has errors; all are reported, each with its line.
            BuildError: names of composites collide, or a parallel region is split by a stream it does not read.
            ValueError: an annotation or a config has a class or function that hosts cannot import.
        """
        return application_from_mapping(self.document())

    def to_yaml(self) -> str:
        """Return the same application as a spec in YAML. Raises BuildError or ValueError if no spec can describe it."""
        return yaml.safe_dump(plain_value(self.document()), sort_keys=False, width=120, allow_unicode=True)

    @classmethod
    def from_spec(cls, spec: str | Path | model.Application) -> Application:
        """Return the application of a spec, which can then be extended; `app["Name"]` is a stream of its main graph.

        Raises:
            ApplicationError: the spec cannot be read, or has errors.
        """
        read = spec if isinstance(spec, model.Application) else load_application(spec)
        zone = read.time_zone if read.time_zone != "UTC" else None
        app = cls(read.application, description=read.description, time_zone=zone)
        read_into(app._root, app._take_over(read), read, app._place)
        return app

    def __getitem__(self, name: str) -> Stream:
        """Name all streams, and return the one of the main graph that has this name; its output becomes explicit.

        Raises:
            KeyError: no stream has this name.
        """
        self._root.name_all()
        graph = self._root.main
        for node in graph.nodes:
            if node.outputs is None and graph.names[node] == name and not self._is_sink(node):
                node.outputs = [DraftOutput(graph, node, name)]
            for output in node.outputs or ():
                if (output.name or name_in(graph, output)) == name:
                    return Stream(self, output)
        message = f"{self.name} has no stream {name}"
        raise KeyError(message)

    def _is_sink(self, node: DraftNode) -> bool:
        """Return True if an invocation without named outputs has no output, False if one output has its name."""
        if not isinstance(node.operator, str):
            return not node.operator.outputs
        if node.operator in self._operators:
            return self._operators[node.operator].get("outputs") == []
        composite = next((each for each in self._root.definitions if each.name == node.operator), None)
        if composite is not None:
            return not composite.outputs
        signature = STANDARD.get(node.operator)
        return signature is not None and not signature.least_outputs and signature.most_outputs is not None

    def compile(self, options: Options | None = None) -> PlannedCompilation:
        """Run all stages of the compiler on `model()`.

        Raises:
            ApplicationError, ValueError: the application has errors; see `model`.
        """
        return compile_application(self.model(), options)

    def test(
        self,
        inputs: Mapping[str, TestTuples] | None = None,
        *,
        streams: Sequence[str | Stream] = (),
        options: Options | None = None,
        batch: int = 1000,
    ) -> dict[str, pa.Table]:
        """Run the application in this process on the tuples of a test; see `testing.run_in_process`."""
        from streams_orchestration.builder.testing import run_in_process  # loads Arrow and the runtime

        return run_in_process(self.document(), inputs or {}, [*map(self.name_of, streams)], options, batch)

    def name_of(self, stream: str | Stream) -> str:
        """Name all streams, and return the name of a stream in the main graph; a text is returned unchanged.

        A stream of a block gets an output port. Raise BuildError for a stream in a composite that is not a block.
        """
        if isinstance(stream, str):
            return stream
        self._root.name_all()
        return name_in(self._root.main, reached(source(stream), self._root.main, self._place))

    def graph(self, options: Options | None = None) -> Drawing:
        """Return the compiled graph as a picture; raise ApplicationError, BuildError or ValueError if it has errors."""
        return Drawing(draw_svg(self.compile(options).progress))

    def _repr_html_(self) -> str:
        try:
            return self.graph().svg
        except (ApplicationError, BuildError) as error:
            return f"<pre>{error}</pre>"

    def run(self, *options: str) -> int:
        """Run `streams run` on this application with options of that command, and return its exit status.

        Hosts import functions from the module that calls this, so call it under `if __name__ == "__main__":`.
        Raises BuildError unless the application is in a variable of a Python file.
        """
        return subprocess.call([sys.executable, "-m", "streams_orchestration", "run", self._target(), *options])

    def _target(self) -> str:
        names = [name for name, value in vars(sys.modules["__main__"]).items() if value is self]
        if not names or not Path(self._place.file).is_file():
            message = "an application runs only from a Python file that has it in a variable; save it, or `to_yaml` it"
            raise BuildError(message, self._place)
        return f"{self._place.file}:{names[0]}"
