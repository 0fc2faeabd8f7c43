"""The canonical text of a whole file, by which the parser is compared with random trees."""

from __future__ import annotations

from collections.abc import Iterable

from streams_orchestration.spl.language.definitions import (
    Annotation,
    Argument,
    CompilationUnit,
    Composite,
    CompositePort,
    Definition,
    Formal,
    Function,
    Handler,
    Invocation,
    InvocationInput,
    InvocationOutput,
    Labelled,
    Logic,
    OutputClause,
    StateVariables,
)
from streams_orchestration.spl.language.printing import inner_of, text_of, texts_of
from streams_orchestration.spl.language.tree import Expression, Name, TupleType, Type, TypeDefinition


def text_of_unit(unit: CompilationUnit) -> str:
    """Return the canonical text of a file, with a line for each definition."""
    namespace = [] if unit.namespace is None else [f"namespace {unit.namespace.name};"]
    uses = [f"use {each.namespace}::{each.name};" for each in unit.uses]
    return "\n".join([*namespace, *uses, *map(_definition, unit.definitions), ""])


def _definition(definition: Definition) -> str:
    match definition:
        case Composite():
            return _composite(definition)
        case Function():
            return _function(definition)
        case TypeDefinition():
            return text_of(definition)


def _invocation(invocation: Invocation) -> str:
    inputs = "; ".join(_input_port(each) for each in invocation.inputs)
    clauses = (
        _clause("logic", (_logic(each) for each in invocation.logic)),
        _clause("window", (_labelled(each) for each in invocation.windows)),
        _clause("param", (_argument(each) for each in invocation.arguments)),
        _clause("output", (_output_clause(each) for each in invocation.assignments)),
        _clause("config", (_labelled(each) for each in invocation.configs)),
    )
    head = f"{_annotations(invocation.annotations)}{_heads(invocation)} = {invocation.operator}({inputs})"
    return f"{head} {_braces(clauses)}"


def _function(function: Function) -> str:
    modifiers = "public " * function.public + "stateful " * function.stateful
    result = "void" if function.result is None else text_of(function.result)
    parameters = ", ".join(
        f"{'mutable ' * each.mutable}{text_of(each.type)} {each.name}" for each in function.parameters
    )
    return f"{modifiers}{result} {function.name}({parameters}) {text_of(function.body)}"


def _composite(composite: Composite) -> str:
    sides = {"input": composite.inputs, "output": composite.outputs}
    ports = "; ".join(
        f"{side} {', '.join(_composite_port(each) for each in ports)}" for side, ports in sides.items() if ports
    )
    clauses = (
        _clause("param", (_formal(each) for each in composite.formals)),
        _clause("type", (_composite_type(each) for each in composite.types)),
        _clause("graph", (_invocation(each) for each in composite.graph)),
        _clause("config", (_labelled(each) for each in composite.configs)),
    )
    head = f"{_annotations(composite.annotations)}{'public ' * composite.public}composite {composite.name}"
    return f"{head}{f'({ports})' if ports else ''} {_braces(clauses)}"


def _braces(clauses: Iterable[str]) -> str:
    inner = " ".join(each for each in clauses if each)
    return f"{{ {inner} }}" if inner else "{ }"


def _clause(word: str, elements: Iterable[str]) -> str:
    inner = " ".join(elements)
    return f"{word} {inner}" if inner else ""


def _annotations(annotations: Iterable[Annotation]) -> str:
    return "".join(f"@{each.name}{f'({texts_of(each.entries)})' if each.entries else ''} " for each in annotations)


def _composite_port(port: CompositePort) -> str:
    return f"{_stream(port.type)}{port.name}"


def _stream(written: TupleType | None) -> str:
    return "" if written is None else f"stream<{inner_of(written)}> "


def _alias(alias: Name | None) -> str:
    return "" if alias is None else f" as {alias}"


def _formal(formal: Formal) -> str:
    mode = formal.mode if formal.type is None else f"{formal.mode}<{text_of(formal.type)}>"
    default = "" if formal.default is None else f" : {_actual(formal.default)}"
    return f"{mode} {formal.name}{default};"


def _composite_type(definition: TypeDefinition) -> str:
    return f"{'static ' * definition.static}{definition.name} = {text_of(definition.type)};"


def _heads(invocation: Invocation) -> str:
    ports = "; ".join(_output_port(each) for each in invocation.outputs)
    if len(invocation.outputs) == 1 and invocation.alias is None:
        return ports
    return f"({ports}){_alias(invocation.alias)}"


def _output_port(port: InvocationOutput) -> str:
    return f"{_stream(port.type)}{port.stream}{_alias(port.alias)}"


def _input_port(port: InvocationInput) -> str:
    return f"{_stream(port.type)}{texts_of(port.streams)}{_alias(port.alias)}"


def _logic(logic: Logic) -> str:
    match logic:
        case StateVariables(declarations=(only,)):
            return f"state : {text_of(only)}"
        case StateVariables():
            return f"state : {{ {texts_of(logic.declarations, ' ')} }}"
        case Handler():
            port = "" if logic.port is None else f" {logic.port}"
            return f"{logic.event}{port} : {text_of(logic.body)}"


def _labelled(labelled: Labelled) -> str:
    return f"{labelled.label} : {texts_of(labelled.values)};"


def _argument(argument: Argument) -> str:
    return f"{argument.label} : {_actual(argument.values)};"


def _actual(values: Type | tuple[Expression, ...]) -> str:
    return texts_of(values) if isinstance(values, tuple) else text_of(values)


def _output_clause(clause: OutputClause) -> str:
    assignments = ", ".join(f"{each.attribute} = {text_of(each.value)}" for each in clause.assignments)
    return f"{clause.port} : {assignments};"
