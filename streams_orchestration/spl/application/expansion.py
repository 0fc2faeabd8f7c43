"""Expansion of composites: invocations in SPL become the composites and the main graph of the document.

A composite of SPL is a macro: its body depends on the actual parameters of its invocation. Invocations that lead to
equal bodies share one composite of the document.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams_orchestration.model.document import LocatedMapping
from streams_orchestration.spl.application.actuals import add_invocation, check_actual, named_operator
from streams_orchestration.spl.application.adapting import adapted
from streams_orchestration.spl.application.annotations import annotations_of, configs_of, host_pools
from streams_orchestration.spl.application.bodies import Bodies
from streams_orchestration.spl.application.clause_checks import (
    check_aliases,
    check_composite_clauses,
    check_composite_ports,
    check_partitioning,
    check_result,
)
from streams_orchestration.spl.application.found_operators import CompositeOperator, PrimitiveOperator
from streams_orchestration.spl.application.intrinsics import Intrinsics
from streams_orchestration.spl.application.located import mapping, named_for, sequence
from streams_orchestration.spl.application.meeting import meet
from streams_orchestration.spl.application.names import FileNames, Files, Operator
from streams_orchestration.spl.application.native_operators import NativeOperators, is_mutable
from streams_orchestration.spl.application.parameters import ParameterWriter
from streams_orchestration.spl.application.stream_names import (
    UNKNOWN_TUPLE,
    StreamNames,
    named_apart,
    stream_entry,
    written_names,
)
from streams_orchestration.spl.application.submission import Submission, references
from streams_orchestration.spl.application.values import ConstantReader
from streams_orchestration.spl.application.windows import WindowReading
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import (
    Argument,
    Composite,
    Formal,
    Invocation,
    InvocationInput,
    InvocationOutput,
)
from streams_orchestration.spl.models.operators import standard_operator
from streams_orchestration.spl.types.types import UNKNOWN, Tuple, Type
from streams_orchestration.spl.typing.checking import type_of
from streams_orchestration.spl.typing.scopes import Actual, Meaning, Port, Scope, StreamName, VariableName, port_scope
from streams_orchestration.spl.typing.spans import Mistake, Source, Span, mistake_reporter


class _Body:
    """The body of one composite, expanded with the actual parameters of an invocation."""

    def __init__(
        self,
        expansion: Expansion,
        operator: CompositeOperator,
        actuals: Mapping[str, Meaning],
        inputs: Sequence[Tuple],
        chain: tuple[str, ...],
    ) -> None:
        self.expansion = expansion
        self.operator = operator
        self.composite = operator.composite
        self.chain = chain
        expansion.expanded.add((operator.unit.path, operator.composite.first))
        self.names: FileNames = expansion.files.names(operator.unit)
        self.source: Source = operator.unit.source
        self.mistakes = expansion.mistakes
        self.report = mistake_reporter(self.source, self.mistakes)
        self.known = StreamNames()
        self.unsuitable: dict[str, str] = {}
        """Name of an input port -> the fault of a stream whose type does not match the port's declared type."""
        self.scope = Scope(self.names.scope, self.known, self.names)
        self.known |= actuals
        for formal in self.composite.formals:
            if formal.default is not None and formal.name.name not in self.known:
                self.known[formal.name.name] = self._actual(formal, formal.default, self.source, self.scope)
        for port, type_ in zip(self.composite.inputs, inputs, strict=False):
            self.known.pending[port.name.name] = lambda port=port, type_=type_: self._input_type(port, type_)
        self._declare_streams()
        self.known.declare_types(
            self.composite.types, lambda written: type_of(written, self.scope, self.source, self.mistakes)
        )
        for definition in self.composite.types:
            self.known.get(definition.name.name)
        for port in self.composite.inputs:
            self.known.get(port.name.name)

    def _input_type(self, port: Any, type_: Tuple) -> Tuple:
        """Return the type of a composite's input port; record a fault if the connected stream has another type."""
        own = type_ if port.type is None else self._tuple(port.type)
        if port.type is not None and own != type_ and UNKNOWN_TUPLE not in (own, type_):
            message = f"{port.name} of {self.composite.name} has the type {own}, but its stream has {type_}"
            self.unsuitable[port.name.name] = message
        return own

    def _declare_streams(self) -> None:
        seen = {port.name.name for port in self.composite.inputs}
        for invocation in self.composite.graph:
            for output in invocation.outputs:
                name = output.stream.name
                if name in seen:
                    self.report("CDISP0025E", f"the stream {name} is defined twice", output.stream)
                seen.add(name)
                self.known.pending[name] = lambda of=invocation, written=output.type: self._output_type(of, written)

    def _output_type(self, invocation: Invocation, written: tree.Type) -> Tuple:
        """Return the type of an output stream, which may name aliases of the input ports; report mistakes in it."""
        aliases = StreamNames()
        for port in invocation.inputs:
            if port.alias is not None:
                aliases.pending[port.alias.name] = lambda stream=port.streams[0]: self._stream(stream)
        return self._tuple(written, Scope(self.scope, aliases, self.names) if aliases.pending else self.scope)

    def _stream(self, stream: tree.Name) -> Tuple:
        meaning = self.scope.find(stream.name, stream.namespace)
        return meaning.type if isinstance(meaning, StreamName) else UNKNOWN_TUPLE

    def _tuple(self, written: tree.Type, scope: Scope | None = None) -> Tuple:
        type_: Type = type_of(written, scope or self.scope, self.source, self.mistakes)
        return type_ if isinstance(type_, Tuple) else UNKNOWN_TUPLE

    def _actual(self, formal: Formal, values: Any, source: Source, scope: Scope) -> Actual:
        kind = None if formal.type is None else type_of(formal.type, self.scope, self.source, self.mistakes)
        return Actual(formal.mode, values, source, scope, None if kind == UNKNOWN else kind)

    # --- the graph

    def graph(self) -> list[LocatedMapping]:
        """Return the invocations in the composite as entries of the document (see `invocation`)."""
        return [self.invocation(each) for each in self.composite.graph]

    def body(self) -> LocatedMapping:
        """Return the composite as an entry of `composites`; report mistakes in it."""
        reader = ConstantReader(self.source, self.scope, self.mistakes)
        graph = self.graph()
        streams = {output.stream.name for each in self.composite.graph for output in each.outputs}
        for port in self.composite.outputs:
            if port.name.name not in streams:
                self.report(
                    "CDISP0053E", f"no operator of {self.composite.name} makes the stream {port.name}", port.name
                )
        return mapping(
            self.source,
            self.composite.name,
            {
                "inputs": [port.name.name for port in self.composite.inputs],
                "outputs": [port.name.name for port in self.composite.outputs],
                "annotations": annotations_of(self.composite.annotations, reader, self.report),
                "config": configs_of(self.composite.configs, reader, [], self.report),
                "graph": sequence(self.source, self.composite.name, graph),
            },
        )

    def invocation(self, invocation: Invocation) -> LocatedMapping:
        """Return one invocation as an entry of the document; report mistakes, declare its operator, note references."""
        check_aliases(invocation, self.report)
        operator = self._operator(invocation.operator)
        inputs = named_apart(map(self._input, invocation.inputs), invocation)
        outputs = named_apart(map(self._output, invocation.outputs), invocation)
        name = invocation.alias or invocation.outputs[0].stream
        entries: dict[str, Any] = {"name": name.name}
        reader = ConstantReader(self.source, self.scope, self.mistakes)
        if isinstance(operator, CompositeOperator):
            entries["operator"] = self._composite(operator, invocation, inputs)
        else:
            entries["operator"] = "Custom" if operator is None else operator.kind
            if operator is not None and not operator.standard:
                self.expansion.operators.declare(operator.kind, operator.model, invocation, self.source, self.report)
            if operator is not None:
                entries["parameters"] = self._parameters(operator, invocation, inputs, outputs, reader)
        named = written_names(invocation.inputs, aliases=isinstance(operator, CompositeOperator))
        entries["inputs"] = [
            {"streams": [stream.name for stream in port.streams], "name": name}
            for port, name in zip(invocation.inputs, named, strict=True)
        ]
        entries["outputs"] = [
            stream_entry(port.stream, type_.type, self.source, self.report)
            for port, type_ in zip(invocation.outputs, outputs, strict=True)
        ]
        entries["annotations"] = annotations_of(invocation.annotations, reader, self.report)
        check_partitioning(invocation.annotations, inputs, reader, self.report)
        entries["config"] = configs_of(invocation.configs, reader, [port.label for port in inputs], self.report)
        self.expansion.note_references((entries["annotations"], entries["config"]))
        return mapping(self.source, name, entries, {"operator": invocation.operator})

    def _operator(self, name: tree.Name) -> Operator | None:
        found = named_operator(name, self.scope, self.names)
        if found is None:
            self.report("CDISP0800E", f"{name} is not an operator", name)
            return None
        if isinstance(self.scope.find(name.name), VariableName) and name.name.startswith("$"):
            return None  # the actual parameter is missing, or wrong
        names, written = found
        operator = names.operator(written)
        if operator is None:
            self.report(*names.without_operator(written), name)
        elif isinstance(operator, CompositeOperator):
            foreign = operator.unit.namespace != names.unit.namespace
            if foreign and not operator.composite.public:
                self.report("CDISP0468E", f"{operator.kind} is not public", name)
        elif not operator.standard and operator.model is None:
            self.report(
                "SO0712", f"{operator.kind} has no model here, so its ports are assumed to fit this invocation", name
            )
        return operator

    def _input(self, port: InvocationInput) -> Port:
        types: list[Tuple] = []
        for stream in port.streams:
            meaning = self.scope.find(stream.name, stream.namespace)
            if not isinstance(meaning, StreamName):
                if stream.name not in self.operator.unit.damaged:
                    self.report("CDISP0053E", f"there is no stream {stream}", stream)
                continue
            types.append(meaning.type)
            if meaning.type != types[0] and UNKNOWN_TUPLE not in (meaning.type, types[0]):
                self.report("CDISP0457E", f"the stream {stream} has the type {meaning.type}, not {types[0]}", stream)
        if port.type is not None and types and (declared := self._tuple(port.type)) not in (types[0], UNKNOWN_TUPLE):
            self.report("CDISP0457E", f"{port.streams[0]} has the type {types[0]}, not {declared}", port.streams[0])
        names = tuple(stream.name for stream in port.streams)
        alias = () if port.alias is None else (port.alias.name,)
        return Port((port.alias or port.streams[0]).name, types[0] if types else UNKNOWN_TUPLE, (*alias, *names))

    def _output(self, port: InvocationOutput) -> Port:
        meaning = self.known.get(port.stream.name)
        type_ = meaning.type if isinstance(meaning, StreamName) else UNKNOWN_TUPLE
        alias = () if port.alias is None else (port.alias.name,)
        return Port((port.alias or port.stream).name, type_, (*alias, port.stream.name), mutable=True)

    def _parameters(
        self,
        operator: PrimitiveOperator,
        invocation: Invocation,
        inputs: tuple[Port, ...],
        outputs: tuple[Port, ...],
        reader: ConstantReader,
    ) -> Any:
        model = standard_operator(operator.kind) if operator.standard else operator.model
        mutable = tuple(
            Port(each.label, each.type, each.names, mutable=is_mutable(operator.kind, operator.model, number))
            for number, each in enumerate(inputs)
        )
        own: list[Mistake] = []
        writer = ParameterWriter(
            *(self.names, self.source, self.scope, operator.kind, model, not operator.standard, mutable, outputs, own),
            ordered=len(outputs) > 1 and meet(self.composite, [each.stream.name for each in invocation.outputs]),
        )
        parameters = writer.parameters(invocation)
        self.mistakes += own
        self.expansion.submission.use(writer.submission)
        windows = WindowReading(invocation, model, inputs, reader, self.report)
        labels = {each.label.name: each.label for each in invocation.arguments}
        if not operator.standard:
            parameters |= windows.of_native() | self.expansion.operators.types_of_ports(operator.kind, inputs, outputs)
            return mapping(self.source, invocation.operator, parameters, labels)
        parameters = adapted(
            operator.kind,
            parameters := parameters | windows.of_standard(),
            parameters.get("window"),
            (inputs, outputs),
            self.expansion.data,
            lambda name: self.report("SO0723", f"{name} of {operator.kind} has no effect here", labels[name]),
        )
        return mapping(self.source, invocation.operator, parameters, labels)

    # --- composites

    def _composite(self, operator: CompositeOperator, invocation: Invocation, inputs: tuple[Port, ...]) -> str:
        composite = operator.composite
        expands = not self.expansion.checks_only or operator.kind in self.chain
        if expands and self.expansion.bodies.refuse(operator.kind, self.chain, invocation.operator, self.report):
            return operator.kind
        check_composite_ports(invocation, operator.kind, composite, self.report)
        check_composite_clauses(invocation, operator.kind, self.report)
        actuals = self._actuals(composite, invocation, inputs)
        if self.expansion.checks_only:
            return operator.kind
        name = invocation.alias or invocation.outputs[0].stream
        self.expansion.intrinsics.enter(operator.unit.source, composite, name.name)
        before, chain = len(self.mistakes), (*self.chain, operator.kind)
        body = _Body(self.expansion, operator, actuals, [each.type for each in inputs], chain)
        content = body.body()
        self.expansion.intrinsics.leave()
        at = Span(self.source, invocation.operator.first, invocation.operator.last)
        add_invocation(self.mistakes, before, body.source, f"in {name}, invoked at {at}")
        for port, formal in zip(invocation.inputs, composite.inputs, strict=False):
            if formal.name.name in body.unsuitable:
                self.report("CDISP0457E", body.unsuitable[formal.name.name], port.streams[0])
        for port, output in zip(composite.outputs, invocation.outputs, strict=False):
            made, wanted = body.known.get(port.name.name), self.known.get(output.stream.name)
            check_result(output, operator.kind, made, wanted, self.report)
        return named_for(self.expansion.composites, operator.kind, content)

    def _actuals(self, composite: Composite, invocation: Invocation, inputs: tuple[Port, ...]) -> dict[str, Meaning]:
        """Return the actuals, which may read input streams; report unknown, missing and unfit ones (`UNKNOWN`)."""
        scope = port_scope(self.scope, inputs, most=len(composite.inputs))
        formals = {each.name.name.removeprefix("$"): each for each in composite.formals}
        given: dict[str, Argument] = {each.label.name: each for each in invocation.arguments}
        actuals: dict[str, Meaning] = {}
        for label, argument in given.items():
            formal = formals.get(label)
            if formal is None:
                self.report("CDISP0054E", f"{composite.name} has no parameter {label}", argument.label)
                continue
            actual = self._actual(formal, argument.values, self.source, scope)
            suits = check_actual(actual, argument, self.mistakes, self._operator, self.report)
            actuals[formal.name.name] = actual if suits else VariableName(UNKNOWN, "parameter")
        for label, formal in formals.items():
            if formal.default is None and label not in given:
                self.report("SO0705", f"the parameter {label} of {composite.name} is missing", invocation.operator)
                actuals[formal.name.name] = VariableName(UNKNOWN, "parameter")
        return actuals


@dataclass
class Expansion:
    """The expansion of one application.

    Attributes:
        checks_only: True if composites are checked one by one, without those that they invoke.
        expanded: the composites whose bodies were expanded, by their files and first tokens.
    """

    files: Files
    mistakes: list[Mistake]
    submission: Submission
    data: Path
    operators: NativeOperators
    intrinsics: Intrinsics
    checks_only: bool = False
    composites: dict[str, LocatedMapping] = field(default_factory=dict[str, LocatedMapping])
    bodies: Bodies = field(default_factory=Bodies)
    expanded: set[tuple[Path, int]] = field(default_factory=set[tuple[Path, int]])

    def note_references(self, values: Any) -> None:
        """Record the submission-time values of annotations and configs: widths and counts as int32, else as float64."""
        for key, name in references(values):
            kind = {"width": "int32", "threads": "int32", "queueSize": "int32"}.get(key, "float64")
            self.submission.use({name: kind})

    def check(self, operator: CompositeOperator) -> None:
        """Report the mistakes in a composite whose actuals and input streams are not known."""
        self.intrinsics.enter(operator.unit.source, operator.composite, operator.kind)
        given = [formal.name.name for formal in operator.composite.formals if formal.default is None]
        actuals: dict[str, Meaning] = {name: VariableName(UNKNOWN, "parameter") for name in given}
        inputs = [UNKNOWN_TUPLE] * len(operator.composite.inputs)
        _Body(self, operator, actuals, inputs, (operator.kind,)).body()
        self.intrinsics.leave()

    def document(self, main: CompositeOperator, application: str, file: str) -> LocatedMapping:
        """Expand an application, report its mistakes, and return its document; the compiler was called with `file`."""
        self.intrinsics.enter(main.unit.source, main.composite, main.kind)
        body = _Body(self, main, {}, (), (main.kind,))
        reader = ConstantReader(body.source, body.scope, self.mistakes)
        graph = sequence(body.source, main.composite.name, body.graph())
        annotations = annotations_of(main.composite.annotations, reader, body.report)
        document = mapping(
            body.source,
            main.composite.name,
            {
                "specVersion": 1,
                "application": application,
                "submission": self.submission.document(),
                "hostPools": host_pools(main.composite.configs, reader),
                "operators": self.operators.declared,
                "composites": self.composites,
                "annotations": annotations,
                "config": configs_of(main.composite.configs, reader, [], body.report),
                "graph": graph,
            },
        )
        document.file = file
        return document
