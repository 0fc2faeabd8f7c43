"""The logic of an operator: its texts are parsed and typed, and compiled to its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.language import definitions, tree
from streams_orchestration.spl.language.parsing import parse
from streams_orchestration.spl.language.recovery import FaultError, NestingError
from streams_orchestration.spl.language.statements import StatementReader
from streams_orchestration.spl.language.tokens import tokenize
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.programs.natives import NativeFunction
from streams_orchestration.spl.programs.program import Ports, Program
from streams_orchestration.spl.programs.reading import ProgramTextError, tree_of
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.types.types import Type
from streams_orchestration.spl.typing import typed
from streams_orchestration.spl.typing.checking import check_expression
from streams_orchestration.spl.typing.scopes import (
    BuiltinDefinitions,
    FunctionName,
    Meaning,
    Port,
    Scope,
    logic_scope,
    port_scope,
)
from streams_orchestration.spl.typing.spans import LinedSource, Mistake, Source
from streams_orchestration.spl.typing.statements import StatementTyping, check_function, signature_of

Place = tuple[str, int, int]
"""The file, line and column of a text."""


LogicText = tuple[str, Place, tuple[int, ...]]
"""A text with its place, and the line of the file for each of its lines; without lines, they follow one another."""


class LogicTexts(NamedTuple):
    """The texts of an operator's logic: state variables, statements by event and input port, and functions.

    The event `onProcess` of a source has the port 0.
    """

    state: LogicText
    bodies: Mapping[tuple[str, int], LogicText]
    functions: tuple[LogicText, ...]


class _Functions(BuiltinDefinitions):
    """The definitions outside of the logic: native functions, and the program's own functions by name."""

    def __init__(self, natives: Sequence[NativeFunction]) -> None:
        self.natives = [each.signature for each in natives]
        self.overloads: dict[str, list[Signature]] = {}

    def find(self, name: tree.Name) -> Meaning | None:
        """Return the meaning of a name; None if it has none."""
        native = [each for each in self.natives if each.full_name == str(name)]
        found = (*native, *self.overloads.get(name.name, ()))
        return FunctionName(found) if found else super().find(name)


def read_logic(
    texts: LogicTexts,
    inputs: Ports,
    outputs: Ports,
    run: Run,
    expressions: Mapping[int, Sequence[tuple[str, Place, int | None]]] | None,
    *,
    submits: bool,
    natives: Sequence[NativeFunction],
    ordered: bool,
) -> Program:
    """Parse, type and compile the logic of an operator.

    Args:
        texts: the texts of the logic.
        inputs: names and types of the input ports.
        outputs: names and types of the output ports.
        run: the runtime services of the operator, such as the clock.
        expressions: for each input port the expressions that are evaluated after its logic, each with the index of the
            expression that is its condition, or None without one.
        submits: True if the logic may submit.
        natives: the native functions that are called.
        ordered: True if the order of tuples is kept over all output ports.

    Raises:
        ProgramTextError: the texts have mistakes.
        ProgramError: a part of the logic cannot be run here.
    """
    reading = LogicReading(inputs, outputs, natives, submits=submits)
    functions = reading.functions(texts.functions)
    state = reading.state(texts.state)
    bodies = {(event, port): reading.body(event, port, text) for (event, port), text in texts.bodies.items()}
    values = {
        port: [(reading.value(port, text, place), guard) for text, place, guard in each]
        for port, each in (expressions or {}).items()
    }
    if reading.mistakes:
        raise ProgramTextError(reading.mistakes, "")
    return Program((inputs, outputs), run, state, functions, bodies, values, natives, ordered=ordered)


def read_functions(
    texts: Sequence[str], place: Place, natives: Sequence[NativeFunction] = ()
) -> tuple[Scope, list[typed.Function]]:
    """Parse and type functions; return a scope with them and with native functions, and the typed functions.

    Args:
        texts: the functions, each as the text of a file.
        place: the place of the expression that calls them, for mistakes.
        natives: the native functions that are called.

    Raises:
        ProgramTextError: the texts have mistakes, other than a function with faulty syntax, which is left out.
    """
    reading = LogicReading((), (), natives, submits=False)
    functions = reading.functions([(text, place, ()) for text in texts])
    if reading.mistakes:
        raise ProgramTextError(reading.mistakes, "")
    return reading.scope, functions


def declared(texts: LogicTexts) -> list[tuple[str, Type]]:
    """Return the names and types of the state variables; raise ProgramTextError for faulty syntax only."""
    return [(each.name, each.type) for each in LogicReading((), (), submits=False).state(texts.state)]


class LogicReading:
    """A reader of the texts of one operator's logic; mistakes in their types are added to `mistakes`."""

    def __init__(self, inputs: Ports, outputs: Ports, natives: Sequence[NativeFunction] = (), *, submits: bool) -> None:
        self.inputs = [Port(name, type_, mutable=True) for name, type_ in inputs]
        self.outputs = [Port(name, type_) for name, type_ in outputs]
        self.mistakes: list[Mistake] = []
        self.known = _Functions(natives)
        self.scope = Scope(definitions=self.known)
        self.submit = ("submit",) if submits else ()

    def functions(self, texts: Sequence[LogicText]) -> list[typed.Function]:
        """Read the functions of the program, each of which may call all others; leave out those with faulty syntax."""
        read: list[tuple[definitions.Function, Source]] = []
        for text, place, lines in texts:
            parsed = parse(text)
            read += [
                (each, LinedSource(place[0], parsed.tokens, place[1], place[2], lines))
                for each in parsed.unit.definitions
                if isinstance(each, definitions.Function)
            ]
        signatures = [signature_of(each, "", self.scope, source, self.mistakes) for each, source in read]
        for signature in signatures:
            self.known.overloads.setdefault(signature.name, []).append(signature)
        return [
            check_function(each, self.scope, source, self.mistakes, signature)
            for (each, source), signature in zip(read, signatures, strict=True)
        ]

    def state(self, text: LogicText) -> list[typed.Declare]:
        """Read the declarations of the state variables, and add the variables to the scope.

        Raises:
            ProgramTextError: the syntax of the text is faulty.
        """
        written, (file, line, column), lines = text
        tokens = tokenize(written)
        reader = StatementReader(tokens)
        source = LinedSource(file, tokens, line, column, lines)
        typing = StatementTyping(source, self.scope, self.mistakes)
        found: list[typed.Declare] = []
        try:
            while reader.kinds[reader.at] != "end":
                found += typing.declaration(reader.local_declaration(), "state")
        except (FaultError, NestingError) as error:
            raise ProgramTextError((), written) from error
        return found

    def body(self, event: str, port: int, text: LogicText) -> typed.Statement:
        """Read the statements for an event of an input port, or for `onProcess` of a source.

        Raises:
            ProgramTextError: there is no such input port, or the syntax of the text is faulty.
        """
        if event != "onProcess" and port >= len(self.inputs):
            message = f"{event}: there is no input port {port}"
            raise ProgramTextError((), message)
        written, (file, line, column), lines = text
        tokens = tokenize(written)
        reader = StatementReader(tokens)
        try:
            statements = [reader.statement()]
            while reader.kinds[reader.at] != "end":
                statements.append(reader.statement())
        except (FaultError, NestingError) as error:
            raise ProgramTextError((), written) from error
        names = (*self.submit, "currentPunct") if event == "onPunct" else self.submit
        scope = logic_scope(self.scope, self._labelled(statements), *names)
        if event == "onTuple":
            scope = port_scope(scope, (self.inputs[port],))
        typing = StatementTyping(LinedSource(file, tokens, line, column, lines), scope, self.mistakes)
        last = statements[-1]
        one = statements[0] if len(statements) == 1 else tree.Block(0, last.last, tuple(statements))
        return typing.statement(one)

    def _labelled(self, statements: Sequence[tree.Statement]) -> list[Port]:
        """Return the output ports with the names by which `submit` may refer to them.

        A single port may have any name.
        """
        if len(self.outputs) != 1:
            return self.outputs
        names = tuple(sorted(_submitted_to(statements)))
        return [Port(self.outputs[0].label, self.outputs[0].type, (*names, self.outputs[0].label))]

    def value(self, port: int, text: str, place: Place) -> typed.Expression:
        """Read an expression over an input port and the state variables. Raise ProgramTextError for faulty syntax."""
        scope = port_scope(self.scope, (self.inputs[port],))
        return check_expression(tree_of(text), scope, Source.of(text, *place), self.mistakes)


def _submitted_to(statements: Sequence[tree.Statement]) -> set[str]:
    """Return the names of output ports in calls of `submit`."""
    return {
        each.name
        for call in nodes_in(tuple(statements), tree.Call)
        if isinstance(call.function, tree.Name) and call.function.name == "submit"
        for each in call.arguments[1:]
        if isinstance(each, tree.Name)
    }
