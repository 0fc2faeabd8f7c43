"""Parser of a file: namespace, `use` directives, and definitions of composites, functions and types.

>>> parsed = parse("composite Main { graph stream<int32 n> A = Beacon() { param iterations : 3 } }")
>>> [(each.code, each.message, each.line, each.column) for each in parsed.findings]
[('CDISP0008E', "';' is missing before '}'", 1, 76)]
>>> parsed.unit.definitions[0].graph[0].operator.name
'Beacon'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn, TypeVar

from streams_orchestration.spl.language.definitions import (
    Annotation,
    CompilationUnit,
    Composite,
    CompositePort,
    Definition,
    Formal,
    FormalParameter,
    Function,
    Invocation,
    Labelled,
    Namespace,
    UseDirective,
)
from streams_orchestration.spl.language.invocations import InvocationReader
from streams_orchestration.spl.language.recovery import (
    DEEPEST,
    FaultError,
    NestingError,
    TooManyFindingsError,
    UnclosedStringError,
)
from streams_orchestration.spl.language.tokens import Finding, Tokens, tokenize
from streams_orchestration.spl.language.tree import Type, TypeDefinition
from streams_orchestration.spl.language.type_expressions import TYPE_WORDS

_CLAUSES = frozenset({"param", "type", "graph", "config"})
_DEFINITIONS = frozenset({"composite", "public", "stateful", "use"})
_MODES = frozenset({"attribute", "expression", "function", "operator", "type"})
_ENDS = _DEFINITIONS | {"}", ""}
_Element = TypeVar("_Element")
_MOST_CUTS = 20
"""The most unclosed strings that are ended at their line before the parser stops looking for further ones."""


@dataclass(frozen=True, slots=True)
class Parsed:
    """The result of parsing a file; parts with syntax errors are missing from its unit, which is empty after too many.

    Attributes:
        tokens: the tokens of the file, to which nodes of the unit refer by index.
        findings: the mistakes, in the order of their places.
    """

    tokens: Tokens
    unit: CompilationUnit
    findings: tuple[Finding, ...]


def parse(text: str) -> Parsed:
    """Parse a file. Mistakes are returned as findings; no error is raised."""
    cut: frozenset[int] = frozenset()
    while True:
        reader = _UnitReader(tokenize(text, cut), patient=len(cut) >= _MOST_CUTS)
        try:
            unit = reader.unit()
        except UnclosedStringError as error:
            cut |= {error.offset}
            continue
        except TooManyFindingsError:
            unit = CompilationUnit(0, reader.at, None, (), ())
        findings = sorted(reader.findings, key=lambda each: (each.line, each.column))
        return Parsed(reader.tokens, unit, tuple(findings))


@dataclass
class _CompositeBody:
    """The clauses of a composite that have been read so far."""

    seen: set[str] = field(default_factory=set[str])
    formals: tuple[Formal, ...] = ()
    types: tuple[TypeDefinition, ...] = ()
    graph: tuple[Invocation, ...] = ()
    configs: tuple[Labelled, ...] = ()


class _UnitReader(InvocationReader):
    """A parser of a whole file; `Reader` describes the errors of its methods."""

    _defines = False

    def unit(self) -> CompilationUnit:
        """Read the whole file; report its faults, and leave out the definitions that they spoil."""
        namespace = None
        try:
            if self.texts[self.at] == "namespace":
                namespace = self._namespace()
        except FaultError as fault:
            self.caught(fault)
            self.skip(0, _DEFINITIONS, lambda: False)
        parts = self.elements(self._part, lambda: self.kinds[self.at] == "end", _DEFINITIONS)
        uses = tuple(each for each in parts if isinstance(each, UseDirective))
        definitions = tuple(each for each in parts if not isinstance(each, UseDirective))
        return CompilationUnit(0, self.at, namespace, uses, definitions)

    def _namespace(self) -> Namespace:
        first = self.at
        self.at += 1
        name = self._dotted()
        self.expect(";")
        return Namespace(first, self.at - 1, name)

    def _dotted(self) -> str:
        name = self.declared("a namespace").name
        while self.accept("."):
            name += "." + self.declared("a part of a namespace").name
        return name

    def _use(self) -> UseDirective:
        first = self.at
        if self._defines:
            self.report("CDISP0012E", "'use' is allowed only before the first definition", first)
        self.at += 1
        namespace = self._dotted()
        self.expect("::")
        name = "*" if self.accept("*") else self.declared("a name, or '*'").name
        self.expect(";")
        return UseDirective(first, self.at - 1, namespace, name)

    def _part(self) -> UseDirective | Definition:
        if self.texts[self.at] == "use":
            return self._use()
        self._defines = True
        try:
            return self._definition()
        except (NestingError, RecursionError):  # the latter if the caller's own stack is deep
            message = f"this is nested more than {DEEPEST} levels deep, or a chain of operators is longer"
            code = "SO0701"
            raise FaultError(code, message, self.at) from None

    def _definition(self) -> Definition:
        first, text = self.at, self.texts[self.at]
        if text == "type":
            return self.type_definition()
        annotations = self.annotations()
        start = self.at
        public = stateful = False
        while self.texts[self.at] in ("public", "stateful"):
            public |= self.texts[self.at] == "public"
            stateful |= self.texts[self.at] == "stateful"
            self.at += 1
        if self.texts[self.at] == "composite" and not stateful:
            return self._composite(first, annotations, public=public)
        text = self.texts[self.at]
        if annotations:
            self.refuse("'composite'")
        if text not in TYPE_WORDS and text != "void" and self.kinds[self.at] != "word":
            self._refuse_rest()
        return self._function(start, public=public, stateful=stateful)

    def _refuse_rest(self) -> NoReturn:
        """Raise a fault since no definition begins at this token.

        Its `resume` is the beginning of the next definition, or the end of the file.
        """
        first = self.at
        try:
            self.refuse("a definition of a composite, function or type")
        except FaultError as fault:
            while self.kinds[self.at] != "end" and self.texts[self.at] not in _DEFINITIONS:
                self.at += 1
                if self.texts[self.at - 1] == "}" and self._begins_function():
                    break
            raise FaultError(fault.code, str(fault), first, resume=self.at) from None

    def _begins_function(self) -> bool:
        if self.texts[self.at] == "void" or self.texts[self.at] in TYPE_WORDS:
            return True
        end = self.end_of_type_name(self.at)
        return end is not None and self.kinds[end] == "word" and self.texts[end + 1] == "("

    # --- functions

    def _function(self, first: int, *, public: bool, stateful: bool) -> Function:
        result = None if self.accept("void") else self.type()
        name = self.declared("the name of a function")
        self.expect("(")
        parameters: list[FormalParameter] = []
        if self.texts[self.at] != ")":
            parameters.append(self._function_parameter())
            while self.accept(","):
                parameters.append(self._function_parameter())
        self.expect(")")
        if self.texts[self.at] != "{":
            self.refuse("'{'")
        body = self.block()
        return Function(first, self.at - 1, public, stateful, result, name, tuple(parameters), body)

    def _function_parameter(self) -> FormalParameter:
        first = self.at
        mutable = self.accept("mutable")
        written = self.type()
        name = self.declared("the name of a parameter")
        return FormalParameter(first, self.at - 1, mutable, written, name)

    # --- composites

    def _composite(self, first: int, annotations: tuple[Annotation, ...], *, public: bool) -> Composite:
        self.at += 1
        name = self.declared("the name of a composite")
        inputs, outputs = self._ports()
        self.expect("{")
        body = _CompositeBody()
        self.elements(lambda: self._composite_clause(body), self._composite_ends, _DEFINITIONS | {"graph"})
        self.expect("}")
        return Composite(
            *(first, self.at - 1, annotations, public, name, inputs, outputs),
            *(body.formals, body.types, body.graph, body.configs),
        )

    def _ports(self) -> tuple[tuple[CompositePort, ...], tuple[CompositePort, ...]]:
        """Read the input and output ports of a composite, in either order.

        Return an empty tuple for a side that is left out. Raises FaultError at any other word, or at a repeated side.
        """
        sides: dict[str, tuple[CompositePort, ...]] = {}
        if self.accept("(") and not self.accept(")"):
            while True:
                side = self.texts[self.at]
                if side not in ("input", "output") or side in sides:
                    self.refuse("'input' or 'output'" if not sides else "the ports of the other side")
                self.at += 1
                ports = [self._port()]
                while self.accept(","):
                    ports.append(self._port())
                sides[side] = tuple(ports)
                if len(sides) == 2 or not self.accept(";"):
                    break
            self.expect(")")
        return sides.get("input", ()), sides.get("output", ())

    def _port(self) -> CompositePort:
        first = self.at
        written = self.tuple_type(first) if self.accept("stream") else None
        name = self.declared("the name of a port")
        return CompositePort(first, self.at - 1, written, name)

    def _composite_clause(self, body: _CompositeBody) -> None:
        at, text = self.at, self.texts[self.at]
        if text not in _CLAUSES:
            self.refuse("param, type, graph, config or '}'")
        self.once(body.seen, text, at, "this composite")
        self.at += 1
        match text:
            case "param":
                body.formals += self._some(self._formal, self._formals_end, "a parameter")
            case "type":
                body.types += self._some(self._composite_type, self._clause_ends_here, "the name of a type")
            case "graph":
                body.graph += self._some(self.invocation, self._clause_ends_here, "an invocation of an operator", "}")
            case _:
                body.configs += self.configs()

    def _some(
        self, element: Callable[[], _Element], ends: Callable[[], bool], what: str, closers: str = ";"
    ) -> tuple[_Element, ...]:
        """Read the elements of a clause. Raises FaultError if there is none."""
        if ends():
            self.refuse(what)
        return self.elements(element, ends, _DEFINITIONS | {"graph", "stream", "@"}, closers=closers)

    def _composite_ends(self) -> bool:
        return self.texts[self.at] in _ENDS

    def _clause_ends_here(self) -> bool:
        return self.texts[self.at] in _CLAUSES or self.texts[self.at] in _ENDS

    def _formals_end(self) -> bool:
        text = self.texts[self.at]
        if text == "type":
            return not self.texts[self.at + 1].startswith("$")
        return text in _CLAUSES or text in _ENDS

    def _formal(self) -> Formal:
        first, mode = self.at, self.texts[self.at]
        if mode not in _MODES:
            self.refuse("attribute, expression, function, operator or type")
        self.at += 1
        written: Type | None = None
        if mode == "expression" and self.accept("<"):
            written = self.type()
            self.expect(">")
        name = self.identifier("the name of a parameter, with $")
        if not name.name.startswith("$"):
            self.report(
                "CDISP0402E", f"the parameter {name.name} of a composite must begin with $: ${name.name}", name.first
            )
        default = None
        if self.accept(":"):
            default = self.actual()
        else:
            self.expect(";")
        return Formal(first, self.at - 1, mode, written, name, default)

    def _composite_type(self) -> TypeDefinition:
        first = self.at
        return self.named_type(first, static=self.accept("static"))
