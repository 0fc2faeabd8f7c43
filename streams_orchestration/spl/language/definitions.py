"""Syntax trees of the definitions in a file: composites with their operator invocations, functions, types."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.spl.language.tree import (
    Block,
    Entry,
    Expression,
    LocalDeclaration,
    Name,
    Node,
    Statement,
    TupleType,
    Type,
    TypeDefinition,
)

# --- operator invocations


@dataclass(frozen=True, slots=True)
class Annotation(Node):
    """An annotation of an invocation or composite."""

    name: Name
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class InvocationOutput(Node):
    """A stream that an invocation produces, with its type, and an alias for the output port if there is one."""

    type: TupleType
    stream: Name
    alias: Name | None


@dataclass(frozen=True, slots=True)
class InvocationInput(Node):
    """The streams that enter one input port of an invocation."""

    type: TupleType | None
    streams: tuple[Name, ...]
    alias: Name | None


@dataclass(frozen=True, slots=True)
class StateVariables(Node):
    """The variables that an invocation keeps between tuples."""

    declarations: tuple[LocalDeclaration, ...]


@dataclass(frozen=True, slots=True)
class Handler(Node):
    """The statement for `onTuple` or `onPunct` of a port, or `onProcess`, which has no port."""

    event: str
    port: Name | None
    body: Statement


@dataclass(frozen=True, slots=True)
class Labelled(Node):
    """An entry of a `window` or `config` clause: a label with values."""

    label: Name
    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Argument(Node):
    """An actual parameter of an invocation: a type, or expressions.

    A single name may mean a type, operator or function.
    """

    label: Name
    values: Type | tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class OutputAssignment(Node):
    """An assignment of a value to one attribute in an `output` clause."""

    attribute: Name
    value: Expression


@dataclass(frozen=True, slots=True)
class OutputClause(Node):
    """The assignments of an `output` clause for one output port."""

    port: Name
    assignments: tuple[OutputAssignment, ...]


Logic = StateVariables | Handler


@dataclass(frozen=True, slots=True)
class Invocation(Node):
    """An invocation of an operator in a graph; `alias` is None if it is named after its first output stream."""

    annotations: tuple[Annotation, ...]
    outputs: tuple[InvocationOutput, ...]
    alias: Name | None
    operator: Name
    inputs: tuple[InvocationInput, ...]
    logic: tuple[Logic, ...]
    windows: tuple[Labelled, ...]
    arguments: tuple[Argument, ...]
    assignments: tuple[OutputClause, ...]
    configs: tuple[Labelled, ...]


# --- definitions


@dataclass(frozen=True, slots=True)
class Formal(Node):
    """A formal parameter of a composite; `type` is the declared type of an expression, if given.

    Attributes:
        mode: `attribute`, `expression`, `function`, `operator` or `type`.
        default: the actual parameter for invocations that give none, in the form of `Argument`.
    """

    mode: str
    type: Type | None
    name: Name
    default: Type | tuple[Expression, ...] | None


@dataclass(frozen=True, slots=True)
class CompositePort(Node):
    """An input or output port of a composite."""

    type: TupleType | None
    name: Name


@dataclass(frozen=True, slots=True)
class Composite(Node):
    """A composite operator."""

    annotations: tuple[Annotation, ...]
    public: bool
    name: Name
    inputs: tuple[CompositePort, ...]
    outputs: tuple[CompositePort, ...]
    formals: tuple[Formal, ...]
    types: tuple[TypeDefinition, ...]
    graph: tuple[Invocation, ...]
    configs: tuple[Labelled, ...]


@dataclass(frozen=True, slots=True)
class FormalParameter(Node):
    """A parameter of a function."""

    mutable: bool
    type: Type
    name: Name


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function; `result` is None for `void`."""

    public: bool
    stateful: bool
    result: Type | None
    name: Name
    parameters: tuple[FormalParameter, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class UseDirective(Node):
    """A `use` directive; `name` is `*` for all names of the namespace."""

    namespace: str
    name: str


Definition = Composite | Function | TypeDefinition


@dataclass(frozen=True, slots=True)
class Namespace(Node):
    """The namespace of a file, dotted."""

    name: str


@dataclass(frozen=True, slots=True)
class CompilationUnit(Node):
    """A compilation unit; `namespace` is None if the file names none."""

    namespace: Namespace | None
    uses: tuple[UseDirective, ...]
    definitions: tuple[Definition, ...]
