"""Parser of operator invocations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from streams_orchestration.spl.language.definitions import (
    Annotation,
    Argument,
    Handler,
    Invocation,
    InvocationInput,
    InvocationOutput,
    Labelled,
    Logic,
    OutputAssignment,
    OutputClause,
    StateVariables,
)
from streams_orchestration.spl.language.recovery import BEYOND, CLAUSES
from streams_orchestration.spl.language.statements import StatementReader
from streams_orchestration.spl.language.tree import Expression, LocalDeclaration, Name, Type
from streams_orchestration.spl.language.type_expressions import TYPE_WORDS

_HANDLERS = frozenset({"onTuple", "onPunct"})
_STOPS = CLAUSES | BEYOND
_ENDS = CLAUSES | {"}"}
_LOGIC_ENDS = _ENDS - _HANDLERS
_Element = TypeVar("_Element")


@dataclass
class _InvocationBody:
    """The clauses of an invocation that have been read so far."""

    seen: set[str] = field(default_factory=set[str])
    logic: tuple[Logic, ...] = ()
    windows: tuple[Labelled, ...] = ()
    arguments: tuple[Argument, ...] = ()
    assignments: tuple[OutputClause, ...] = ()
    configs: tuple[Labelled, ...] = ()


class InvocationReader(StatementReader):
    """A parser of operator invocations; `Reader` describes the errors of its methods."""

    def invocation(self) -> Invocation:
        """Read an invocation with its annotations; report a semicolon in place of its body, and read an empty one."""
        first = self.at
        annotations = self.annotations()
        outputs, alias = self._heads()
        self.expect("=")
        operator = self._operator_name()
        inputs = self._inputs()
        body = _InvocationBody()
        if self.texts[self.at] == ";":
            self.report("CDISP0011E", "expected '{', found ';': an invocation has a body in braces", self.at)
            self.at += 1
        else:
            self.expect("{")
            self.elements(lambda: self._invocation_clause(body), self._body_ends, _STOPS)
            self.expect("}")
        return Invocation(
            *(first, self.at - 1, annotations, outputs, alias, operator, inputs),
            *(body.logic, body.windows, body.arguments, body.assignments, body.configs),
        )

    def annotations(self) -> tuple[Annotation, ...]:
        """Read the annotations of an invocation or composite. A stray `@` is reported, and then ignored."""
        annotations: list[Annotation] = []
        while self.texts[self.at] == "@":
            first = self.at
            self.at += 1
            if self.kinds[self.at] != "word":
                self.report("CDISP0009E", f"expected the name of an annotation, found {self.found()}", self.at)
                continue
            name = self.declared("the name of an annotation")
            entries = ()
            if self.texts[self.at] == "(" and self.texts[self.at + 1] not in ("stream", ")"):
                self.at += 1
                entries = self.entries()
                self.expect(")")
            annotations.append(Annotation(first, self.at - 1, name, entries))
        return tuple(annotations)

    def configs(self) -> tuple[Labelled, ...]:
        """Read the configs after the word `config`, in an invocation or composite."""
        return self._labelled("the name of a config")

    def actual(self) -> Type | tuple[Expression, ...]:
        """Read the value of a parameter, and the semicolon after it."""
        values = self.type() if self.texts[self.at] in TYPE_WORDS else self.expressions()
        self.expect(";")
        return values

    def once(self, seen: set[str], name: str, index: int, clause: str) -> None:
        """Report a label that has already occurred in the same clause, and add the label to `seen`."""
        if name in seen:
            self.report("CDISP0029E", f"{clause} contains '{name}' twice", index)
        seen.add(name)

    def clause_elements(self, element: Callable[[], _Element], what: str) -> tuple[_Element, ...]:
        """Read the elements after the keyword of a clause. Raises FaultError if no word follows."""
        if self.kinds[self.at] != "word":
            self.refuse(what)
        return self.elements(element, self.at_clause_or_brace, _STOPS, closers=";")

    def _logic_ends(self) -> bool:
        return self.texts[self.at] in _LOGIC_ENDS or self.is_beyond

    def _body_ends(self) -> bool:
        return self.texts[self.at] == "}" or self.is_beyond

    # --- heads

    def _heads(self) -> tuple[tuple[InvocationOutput, ...], Name | None]:
        if self.texts[self.at] == "stream":
            return (self._output_port(),), None
        if not self.accept("("):
            self.refuse("an invocation of an operator")
        if self.accept(")"):
            self.expect("as")
            return (), self.declared("the name of the invocation")
        outputs = [self._output_port()]
        while self.accept(";"):
            outputs.append(self._output_port())
        self.expect(")")
        return tuple(outputs), self._alias()

    def _output_port(self) -> InvocationOutput:
        first = self.at
        self.expect("stream")
        written = self.tuple_type(first)
        stream = self.declared("the name of a stream")
        alias = self._alias()
        return InvocationOutput(first, self.at - 1, written, stream, alias)

    def _alias(self) -> Name | None:
        return self.declared("a name") if self.accept("as") else None

    def _operator_name(self) -> Name:
        name = self.identifier("the name of an operator")
        if self.texts[self.at] not in (".", "::"):
            return name
        namespace = name.name
        while self.accept("."):
            namespace += "." + self.identifier("a part of a namespace").name
        self.expect("::")
        last = self.identifier("the name of an operator")
        return Name(name.first, last.last, namespace, last.name)

    def _inputs(self) -> tuple[InvocationInput, ...]:
        self.expect("(")
        if self.texts[self.at] in (")", "{"):
            self.expect(")")
            return ()
        ports = [self._input_port()]
        while self.accept(";"):
            ports.append(self._input_port())
        self.expect(")")
        return tuple(ports)

    def _input_port(self) -> InvocationInput:
        first = self.at
        written = None
        if self.accept("stream"):
            written = self.tuple_type(first)
        streams = [self.identifier("the name of a stream")]
        while self.accept(","):
            streams.append(self.identifier("the name of a stream"))
        alias = self._alias()
        return InvocationInput(first, self.at - 1, written, tuple(streams), alias)

    # --- clauses

    def _invocation_clause(self, body: _InvocationBody) -> None:
        at, text = self.at, self.texts[self.at]
        if text not in CLAUSES or text in _HANDLERS:
            self.refuse("logic, window, param, output, config or '}'")
        self.once(body.seen, text, at, "this invocation")
        self.at += 1
        match text:
            case "logic":
                body.logic += self._logic()
            case "window":
                body.windows += self._labelled("the name of a port")
            case "param":
                body.arguments += self._arguments()
            case "output":
                body.assignments += self._output_clauses()
            case _:
                body.configs += self.configs()

    def _logic(self) -> tuple[Logic, ...]:
        seen: set[str] = set()
        return self.elements(lambda: self._logic_part(seen), self._logic_ends, _STOPS)

    def _logic_part(self, seen: set[str]) -> Logic:
        first, text = self.at, self.texts[self.at]
        if text not in ("state", "onProcess", *_HANDLERS):
            self.refuse("state, onTuple, onPunct or onProcess")
        self.at += 1
        port = self.identifier("the name of a port") if text in _HANDLERS else None
        self.once(seen, f"{text} {port}" if port else text, first if port is None else port.first, "this logic")
        self.expect(":")
        if text == "state":
            return StateVariables(first, self.at - 1, self._state())
        body = self.statement()
        return Handler(first, self.at - 1, text, port, body)

    def _state(self) -> tuple[LocalDeclaration, ...]:
        if not self.accept("{"):
            return (self.local_declaration(),)
        declarations = self.elements(self.local_declaration, self.at_clause_or_brace, _STOPS)
        self.expect("}")
        return declarations

    def _labelled(self, what: str) -> tuple[Labelled, ...]:
        seen: set[str] = set()

        def element() -> Labelled:
            label = self._label(what, seen)
            values = self.expressions()
            self.expect(";")
            return Labelled(label.first, self.at - 1, label, values)

        return self.clause_elements(element, what)

    def _label(self, what: str, seen: set[str]) -> Name:
        label = self.identifier(what)
        self.once(seen, label.name, label.first, "this clause")
        self.expect(":")
        return label

    def _arguments(self) -> tuple[Argument, ...]:
        seen: set[str] = set()

        def element() -> Argument:
            label = self._label("the name of a parameter", seen)
            values = self.actual()
            return Argument(label.first, self.at - 1, label, values)

        return self.clause_elements(element, "the name of a parameter")

    def _output_clauses(self) -> tuple[OutputClause, ...]:
        seen: set[str] = set()

        def element() -> OutputClause:
            port = self._label("the name of an output port", seen)
            assignments = [self._assignment()]
            while self.accept(","):
                assignments.append(self._assignment())
            self.expect(";")
            return OutputClause(port.first, self.at - 1, port, tuple(assignments))

        return self.clause_elements(element, "the name of an output port")

    def _assignment(self) -> OutputAssignment:
        attribute = self.identifier("the name of an attribute")
        self.expect("=")
        value = self.expression()
        return OutputAssignment(attribute.first, self.at - 1, attribute, value)
