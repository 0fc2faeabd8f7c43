"""Scopes: the meanings of names at one place in a program.

A scope has the names of one place (a block, a clause, a composite), and the scope around it. Definitions outside of a
file come from `Definitions`, which reads files on demand.

>>> from streams_orchestration.spl.types.types import INT32, TupleAttribute, Tuple
>>> port = Port("In", Tuple((TupleAttribute("n", INT32),)), ("In", "Src"))
>>> scope = port_scope(Scope(), (port,))
>>> type(scope.find("n")).__name__, type(scope.find("Src")).__name__, scope.find("m")
('PortAttributeName', 'PortName', None)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from streams_orchestration.spl.functions.signatures import (
    Signature,
    builtin,
    builtin_namespaces,
    builtin_types,
    logic_function,
)
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.types.types import UNKNOWN, Enumeration, Tuple, Type
from streams_orchestration.spl.typing.spans import Source
from streams_orchestration.spl.typing.typed import Call, Expression

# --- meanings of names


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output port of an invocation.

    Attributes:
        label: the port's name in canonical text: its alias, or its first stream.
        type: the type of the port's tuples; a tuple without attributes if it is unknown because of a mistake.
        names: all names by which the program may refer to the port.
        mutable: True if the program may change the port's tuples.
    """

    label: str
    type: Tuple
    names: tuple[str, ...] = ()
    mutable: bool = False

    @property
    def is_known(self) -> bool:
        """True if the type of the port's tuples is known."""
        return bool(self.type.attributes)


@dataclass(frozen=True, slots=True)
class PortAttributeName:
    """The meaning of a name: an attribute of an input port."""

    port: Port
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class PortName:
    """The meaning of a name: the tuple of an input port. In the place of a type, it denotes the tuple's type."""

    port: Port
    number: int = 0


@dataclass(frozen=True, slots=True)
class OutputName:
    """The meaning of a name: an output port, for `submit`.

    In the place of a type, it denotes the type of its tuples.
    """

    port: Port
    number: int


@dataclass(frozen=True, slots=True)
class StreamName:
    """The meaning of a name: a stream that is not a port here. In the place of a type, it denotes its tuple type."""

    type: Tuple


@dataclass(frozen=True, slots=True)
class VariableName:
    """The meaning of a name: a variable; `kind` is `state`, `local`, `parameter` or `loop`."""

    type: Type
    kind: str
    mutable: bool = False


@dataclass(frozen=True, slots=True)
class TypeName:
    """The meaning of a name: a type."""

    type: Type


@dataclass(frozen=True, slots=True)
class EnumWord:
    """The meaning of a name: a word of one or more enumerations. The context decides between several."""

    types: tuple[Enumeration, ...]


@dataclass(frozen=True, slots=True)
class FunctionName:
    """The meaning of a name: functions.

    `kind` is `function`, `logic`, or `output` for functions of an output clause.
    """

    overloads: tuple[Signature, ...]
    kind: str = "function"


@dataclass(frozen=True)
class Actual:
    """The meaning of a formal parameter: the actual parameter that an invocation of the composite passes for it.

    It is kept as syntax trees, with the scope of the invocation, in which their names are resolved.

    Attributes:
        mode: `attribute`, `expression`, `function`, `operator` or `type`.
        values: the actual parameter, in the form of `language.definitions.Argument`.
        type: the type of an `expression<T>`, or None.
    """

    mode: str
    values: tree.Type | tuple[tree.Expression, ...]
    source: Source
    scope: Scope
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class OtherName:
    """The meaning of a name that denotes no value, such as an operator; `what` describes it, as in `an operator`."""

    what: str
    members: tuple[tuple[str, Meaning], ...] = ()
    """For a composite, its types and the words of its enumerations."""


@dataclass(frozen=True, slots=True)
class Unclear:
    """The meaning of an ambiguous name; the message lists the possible meanings, and `code` is the code of Streams."""

    code: str
    message: str


Meaning = (
    PortAttributeName
    | PortName
    | OutputName
    | StreamName
    | VariableName
    | TypeName
    | EnumWord
    | FunctionName
    | Actual
    | OtherName
    | Unclear
)

_M = TypeVar("_M", bound=Meaning)


def is_unclear(meaning: Meaning | None) -> bool:
    """Return True for a name whose meaning depends on a mistake elsewhere, or on an actual that is not known."""
    return isinstance(meaning, Unclear) or (isinstance(meaning, VariableName) and meaning.type == UNKNOWN)


# --- scopes


class Definitions(Protocol):
    """The definitions outside of the scopes of a program: from its file, its namespace, and `use` directives."""

    def find(self, name: tree.Name) -> Meaning | None:
        """Return the meaning of a name, with or without a namespace; None if it has none."""
        ...

    def known(self, call: Call) -> Expression | None:
        """Return the value of a call that is known at compile time, such as `getCompileTimeValue`; else None."""
        ...

    def assumed_function(self, name: tree.Name) -> Signature | None:
        """Return a function without types that a missing toolkit may define; None if no toolkit is missing."""
        ...


class BuiltinDefinitions:
    """The definitions of SPL itself: functions, and the types of `spl::Sys`, `Log` and `Trace`."""

    def find(self, name: tree.Name) -> Meaning | None:
        """Return the meaning of a name; None if it has none."""
        if name.namespace in ("", "spl") and (types := builtin_types(name.name)):
            return composite_name(types)
        if not name.namespace or name.namespace in builtin_namespaces():
            functions = builtin(name.name, name.namespace)
            return FunctionName(functions) if functions else None
        return None

    def known(self, call: Call) -> Expression | None:
        """Return None, since no call of a built-in function is evaluated at compile time."""
        del call
        return None

    def assumed_function(self, name: tree.Name) -> Signature | None:
        """Return None, since every function of SPL itself is known."""
        del name
        return None


BUILTINS = BuiltinDefinitions()


@dataclass(eq=False)
class Scope:
    """The names of one place in a program and, through `parent`, the names of the places around it.

    Attributes:
        is_open: True if names are missing because of a mistake that is reported elsewhere, such as a stream of unknown
            type. An unknown name is then not reported.
    """

    parent: Scope | None = None
    names: dict[str, Meaning] = field(default_factory=dict[str, Meaning])
    definitions: Definitions = BUILTINS
    is_open: bool = False

    def child(self, names: dict[str, Meaning] | None = None) -> Scope:
        """Return a new scope with these names inside of this scope."""
        return Scope(self, {} if names is None else names, self.definitions, self.is_open)

    def outwards(self) -> Iterator[Scope]:
        """Yield the scope, and then the scopes around it, the nearest first."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def meanings(self, name: str) -> Iterator[Meaning]:
        """Yield the known meanings of a name, without a namespace, here and in the scopes around, the nearest first."""
        return (scope.names[name] for scope in self.outwards() if name in scope.names)

    def all_of(self, kind: type[_M]) -> Iterator[_M]:
        """Yield the known meanings of a kind here and in the scopes around, the nearest first."""
        return (each for scope in self.outwards() for each in scope.names.values() if isinstance(each, kind))

    def find(self, name: str, namespace: str = "") -> Meaning | None:
        """Return the meaning of a name, or None if it has none."""
        if not namespace:
            for scope in self.outwards():
                meaning = scope.names.get(name)  # computes a type
                if meaning is not None:
                    return meaning
        return self.definitions.find(tree.Name(0, 0, namespace, name))

    def declare_type(self, name: str, type_: Type) -> None:
        """Add a name for a type, and the words of an enumeration that have no other meaning here.

        A word of several enumerations means all of them.
        """
        self.names[name] = TypeName(type_)
        if isinstance(type_, Enumeration):
            for word in type_.words:
                known = self.names.get(word)
                if known is None:
                    self.names[word] = EnumWord((type_,))
                elif isinstance(known, EnumWord) and type_ not in known.types:
                    self.names[word] = EnumWord((*known.types, type_))


def port_scope(parent: Scope, ports: Sequence[Port], first: int = 0, *, most: int | None = None) -> Scope:
    """Return the scope of a `param`, `output` or `window` clause, with the input ports and their attributes.

    A name of several ports, or an attribute of several ports, is `Unclear`.

    Args:
        parent: the scope around the clause.
        ports: the input ports.
        first: the number of the first one.
        most: the number of ports that the operator has; None for no limit. An invocation with more ports is reported,
            so the names of the surplus ones make no other name ambiguous.
    """
    if most is not None and len(ports) > most:
        return port_scope(port_scope(parent, ports[-1:], first + len(ports) - 1), ports[:-1], first, most=most)
    names: dict[str, Meaning] = {}
    attributes: dict[str, Meaning] = {}
    owners: dict[str, list[str]] = {}
    for number, port in enumerate(ports, first):
        for name in dict.fromkeys((port.label, *port.names)):
            if name in names:
                names[name] = Unclear("CDISP0018E", f"{name} is the name of several input ports")
            else:
                names[name] = PortName(port, number)
        for attribute in port.type.attributes:
            owners.setdefault(attribute.name, []).append(port.label)
            attributes[attribute.name] = PortAttributeName(port, attribute.name, attribute.type)
    for name, labels in owners.items():
        if len(labels) > 1:
            message = (
                f"{name} is an attribute of several input ports: {', '.join(f'{label}.{name}' for label in labels)}"
            )
            attributes[name] = Unclear("CDISP0018E", message)
    scope = parent.child(names | attributes)
    scope.is_open |= any(not port.is_known for port in ports)
    return scope


def output_scope(parent: Scope, ports: Sequence[Port]) -> Scope:
    """Return a scope with the output ports of an invocation, to which `submit` and types may refer."""
    names: dict[str, Meaning] = {}
    for number, port in enumerate(ports):
        for name in dict.fromkeys((port.label, *port.names)):
            names[name] = OutputName(port, number)
    return parent.child(names)


def function_scope(parent: Scope, signature: Signature, names: Sequence[str]) -> Scope:
    """Return the scope of a function's body, with its parameters, which are constant unless they are mutable."""
    return parent.child(
        {
            name: VariableName(each.type, "parameter", each.mutable)
            for name, each in zip(names, signature.parameters, strict=True)
        }
    )


def logic_scope(parent: Scope, outputs: Sequence[Port], *names: str) -> Scope:
    """Return the scope of an operator's logic, with the output ports, and `submit` or `currentPunct` where allowed."""
    scope = output_scope(parent, outputs)
    for name in names:
        scope.names[name] = FunctionName(logic_function(name), "logic")
    return scope


def composite_name(types: dict[str, Type]) -> OtherName:
    """Return the meaning of a composite's name, with the types of the composite that are visible outside."""
    inner = Scope()
    for name, type_ in types.items():
        inner.declare_type(name, type_)
    return OtherName("a composite", tuple(inner.names.items()))


def member_of(meaning: Meaning | None, name: str) -> Meaning | None:
    """Return the meaning of a type in a composite, or of a word of its enumerations; None if there is none."""
    return dict(meaning.members).get(name) if isinstance(meaning, OtherName) else None
