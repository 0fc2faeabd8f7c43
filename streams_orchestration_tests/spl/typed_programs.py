"""Programs whose functions and logic are typed, with what their files define; streams have the types of their heads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.language import definitions, tree
from streams_orchestration.spl.language.parsing import parse
from streams_orchestration.spl.models.assigned_outputs import check_outputs, with_output_functions
from streams_orchestration.spl.models.invocations import check_parameters, check_ports
from streams_orchestration.spl.models.operators import standard_operator
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing.checking import type_of
from streams_orchestration.spl.typing.scopes import (
    BUILTINS,
    FunctionName,
    Port,
    Scope,
    StreamName,
    output_scope,
    port_scope,
)
from streams_orchestration.spl.typing.spans import Mistake, Source, mistake_reporter
from streams_orchestration.spl.typing.statements import check_function, check_logic, signature_of
from streams_orchestration.spl.typing.typed import Call, Expression, Function, Logic


class OneFile:
    """The definitions of one file, and those of the language."""

    def __init__(self) -> None:
        self.functions: dict[str, list[Signature]] = {}

    def find(self, name: tree.Name):
        own = [] if name.namespace not in ("", "here") else self.functions.get(name.name, [])
        return FunctionName(tuple(own)) if own else BUILTINS.find(name)

    def assumed_function(self, name: tree.Name) -> Signature | None:
        return None

    def known(self, call: Call) -> Expression | None:
        return None


@dataclass
class TypedProgram:
    """All that was typed, with the scopes that canonical text of it is read in."""

    source: Source
    scope: Scope
    mistakes: list[Mistake] = field(default_factory=list[Mistake])
    functions: list[Function] = field(default_factory=list[Function])
    logic: list[tuple[Logic, tuple[Port, ...], tuple[Port, ...], Scope]] = field(default_factory=list)
    expressions: list[tuple[Expression, Scope]] = field(default_factory=list)


def typed_program(text: str) -> TypedProgram:
    parsed = parse(text)
    source = Source("Main.spl", parsed.tokens)
    one_file = OneFile()
    scope = Scope(definitions=one_file)
    program = TypedProgram(source, scope)
    _declare_types(program, [each for each in parsed.unit.definitions if isinstance(each, tree.TypeDefinition)], scope)
    written = [each for each in parsed.unit.definitions if isinstance(each, definitions.Function)]
    signatures = [signature_of(each, "", scope, source, program.mistakes) for each in written]
    for signature in signatures:
        one_file.functions.setdefault(signature.name, []).append(signature)
    for each, signature in zip(written, signatures, strict=True):
        program.functions.append(check_function(each, scope, source, program.mistakes, signature))
    for composite in parsed.unit.definitions:
        if isinstance(composite, definitions.Composite) and not (composite.formals or composite.inputs):
            _graph(program, composite, scope.child())
    return program


def _declare_types(program: TypedProgram, written: list[tree.TypeDefinition], scope: Scope) -> None:
    mistakes: list[Mistake] = []
    for _ in written:  # types may use those behind them
        mistakes.clear()
        for each in written:
            scope.declare_type(each.name.name, type_of(each.type, scope, program.source, mistakes))
    program.mistakes += mistakes


def _graph(program: TypedProgram, composite: definitions.Composite, scope: Scope) -> None:
    source, mistakes = program.source, program.mistakes
    _declare_types(program, list(composite.types), scope)
    for _ in composite.graph:
        for invocation in composite.graph:
            for output in invocation.outputs:
                type_ = type_of(output.type, scope, source, [])
                if isinstance(type_, Tuple):
                    scope.names[output.stream.name] = StreamName(type_)
    for invocation in composite.graph:
        for output in invocation.outputs:
            type_of(output.type, scope, source, mistakes)
        inputs = tuple(_input_ports(invocation, scope))
        outputs = tuple(
            Port(str(each.alias or each.stream), _stream_type(each.stream, scope), (each.stream.name,))
            for each in invocation.outputs
        )
        logic, state = check_logic(invocation.logic, scope, source, mistakes, inputs, outputs)
        program.logic.append((logic, inputs, outputs, scope))
        model = standard_operator(str(invocation.operator))
        if model is None:
            continue
        check_ports(invocation, model, mistake_reporter(source, mistakes))
        check_parameters(invocation, model, state, source, mistakes, inputs)
        assigned = check_outputs(invocation, model, state, source, mistakes, inputs, outputs)
        for number, each in assigned.items():
            inner = with_output_functions(port_scope(output_scope(state, outputs), inputs), model.output(number))
            program.expressions += [(part.value, inner) for part in each]


def _stream_type(stream: tree.Name, scope: Scope) -> Tuple:
    meaning = scope.find(stream.name)
    return meaning.type if isinstance(meaning, StreamName) else Tuple(())


def _input_ports(invocation: definitions.Invocation, scope: Scope) -> Iterator[Port]:
    for each in invocation.inputs:
        names = tuple(name.name for name in each.streams)
        yield Port(str(each.alias or each.streams[0]), _stream_type(each.streams[0], scope), names, mutable=True)
