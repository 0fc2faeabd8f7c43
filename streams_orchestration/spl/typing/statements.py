"""Typing of statements, functions, and the logic of invocations.

>>> from streams_orchestration.spl.language.parsing import parse
>>> from streams_orchestration.spl.typing.scopes import Scope
>>> parsed = parse("int32 f(int32 x) { while (x) { x = 1; } }")
>>> source, mistakes = Source("Main.spl", parsed.tokens), []
>>> function = check_function(parsed.unit.definitions[0], Scope(), source, mistakes, None)
>>> for each in mistakes:
...     print(each.span, each.code, each.message)
Main.spl:1:27 CDISP0045E a condition must be boolean, but this is int32
Main.spl:1:32 CDISP0378E x is constant, so '=' cannot change it
Main.spl:1:41 CDISP0520E f has the type int32, so every path through it must end with return
"""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.spl.functions.signatures import Parameter, Signature
from streams_orchestration.spl.language import definitions, tree
from streams_orchestration.spl.types.types import (
    BLOB,
    RSTRING,
    UINT8,
    UNKNOWN,
    USTRING,
    VOID,
    BoundedString,
    Collection,
    Type,
)
from streams_orchestration.spl.typing.checking import ExpressionTyping
from streams_orchestration.spl.typing.scopes import (
    Port,
    Scope,
    StreamName,
    VariableName,
    function_scope,
    logic_scope,
    port_scope,
)
from streams_orchestration.spl.typing.spans import Mistake, Source
from streams_orchestration.spl.typing.typed import (
    Block,
    Break,
    Continue,
    Declare,
    Evaluate,
    Expression,
    For,
    Function,
    If,
    Logic,
    Return,
    Statement,
    While,
)


def signature_of(
    written: definitions.Function, namespace: str, scope: Scope, source: Source, mistakes: list[Mistake]
) -> Signature:
    """Return the signature of a function's definition; report mistakes in its types."""
    typing = ExpressionTyping(source, scope, mistakes)
    parameters = tuple(Parameter(typing.type(each.type), each.mutable) for each in written.parameters)
    result = VOID if written.result is None else typing.type(written.result)
    return Signature(namespace, written.name.name, parameters, result, stateful=written.stateful)


def check_function(
    written: definitions.Function,
    scope: Scope,
    source: Source,
    mistakes: list[Mistake],
    signature: Signature | None,
) -> Function:
    """Return a function with a typed body; report mistakes in it.

    Args:
        written: the function.
        scope: the scope of the function's file.
        source: the text of the function's file.
        mistakes: the list that gets the mistakes.
        signature: the function's signature; None to derive it from the definition.
    """
    if signature is None:
        signature = signature_of(written, "", scope, source, mistakes)
    names = tuple(each.name.name for each in written.parameters)
    typing = StatementTyping(source, function_scope(scope, signature, names), mistakes)
    for number, parameter in enumerate(written.parameters):
        if parameter.name.name in names[:number]:
            typing.report("CDISP0025E", f"{parameter.name} is a parameter twice", parameter.name)
    typing.caller = signature
    body = typing.block(written.body)
    if signature.result not in (VOID, UNKNOWN) and not _returns(written.body):
        end = tree.Name(written.last, written.last, "", "}")
        message = f"{signature.name} has the type {signature.result}, so every path through it must end with return"
        typing.report("CDISP0520E", message, end)
    return Function(typing.span(written), signature, names, body)


def check_logic(
    written: Sequence[definitions.Logic],
    scope: Scope,
    source: Source,
    mistakes: list[Mistake],
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    *,
    submits: bool = True,
) -> tuple[Logic, Scope]:
    """Return the typed logic of an invocation, and a scope with its state variables for the other clauses.

    Mistakes are reported.

    Args:
        written: the clauses of the logic.
        scope: the scope of the graph.
        source: the text of the file.
        mistakes: the list that gets the mistakes.
        inputs: the input ports.
        outputs: the output ports.
        submits: True for Custom, the only operator whose logic may submit.
    """
    streams = {name: StreamName(port.type) for port in (*inputs, *outputs) for name in (port.label, *port.names)}
    known = scope.child({name: stream for name, stream in streams.items() if scope.find(name) is None}).child()
    state = StatementTyping(source, known, mistakes)
    variables: list[Declare] = []
    attributes = {each.name: port for port in inputs for each in port.type.attributes}
    for part in written:
        if isinstance(part, definitions.StateVariables):
            for declaration in part.declarations:
                for variable in declaration.variables:
                    name = variable.name
                    if name.name in attributes:
                        owner = attributes[name.name].label
                        state.report(
                            "CDISP0743E",
                            f"{name} is an attribute of {owner}, so it cannot be the name of a state variable",
                            name,
                        )
                variables += state.declaration(declaration, "state")
    handlers: dict[str, dict[int, Statement]] = {"onTuple": {}, "onPunct": {}}
    process: Statement | None = None
    submit = ("submit",) if submits else ()
    for part in written:
        if isinstance(part, definitions.StateVariables):
            continue
        if part.port is None:
            if inputs or not submits:
                message = "onProcess can be used only in a Custom without input ports"
                state.report("CDISP0728E", message, tree.Node(part.first, part.first))
            typing = StatementTyping(source, logic_scope(known, outputs, *submit), mistakes)
            process = typing.statement(part.body)
            continue
        number = next((n for n, port in enumerate(inputs) if part.port.name in (port.label, *port.names)), None)
        if number is None:
            state.report("CDISP0053E", f"there is no input port {part.port}", part.port)
            continue
        names = submit if part.event == "onTuple" else (*submit, "currentPunct")
        inner = logic_scope(known, outputs, *names)
        if part.event == "onTuple":
            inner = port_scope(inner, (inputs[number],), number)
        typing = StatementTyping(source, inner, mistakes)
        handlers[part.event][number] = typing.statement(part.body)
    on_tuple, on_mark = (tuple(sorted(each.items())) for each in handlers.values())
    return Logic(state.span(_around(written)), tuple(variables), on_tuple, on_mark, process), known


def _around(written: Sequence[tree.Node]) -> tree.Node:
    first = min((each.first for each in written), default=0)
    return tree.Node(first, max((each.last for each in written), default=first))


class StatementTyping(ExpressionTyping):
    """The typing of statements; `loops` is the number of loops around the statement that is being typed."""

    loops = 0

    def statement(self, written: tree.Statement) -> Statement:
        """Type a statement like `statements`, and return one typed tree: a block unless it is a single statement."""
        many = self.statements(written)
        return many[0] if len(many) == 1 else Block(self.span(written), tuple(many))

    def statements(self, written: tree.Statement) -> list[Statement]:
        """Return a statement as typed statements: one for each declared variable, none for a type definition.

        Add declared names to the scope, and report mistakes.
        """
        span = self.span(written)
        match written:
            case tree.LocalDeclaration():
                return list(self.declaration(written, "local"))
            case tree.TypeDefinition():
                self._declare_type(written)
                return []
            case tree.Block():
                return [self.block(written)]
            case tree.ExpressionStatement():
                return [Evaluate(span, self._effect(written))]
            case tree.If():
                condition = self.condition(written.condition)
                positive = self._alone(written.positive)
                negative = None if written.negative is None else self._alone(written.negative)
                return [If(span, condition, positive, negative)]
            case tree.While():
                condition = self.condition(written.condition)
                return [While(span, condition, self._loop(written.body))]
            case tree.For():
                return [self._for(written)]
            case tree.Break() | tree.Continue():
                word = "break" if isinstance(written, tree.Break) else "continue"
                if not self.loops:
                    code = "CDISP0019E" if word == "break" else "CDISP0023E"
                    self.report(code, f"{word} is used outside of a loop", written)
                return [Break(span) if word == "break" else Continue(span)]
            case tree.Return():
                return [self._return(written)]

    def block(self, written: tree.Block) -> Block:
        """Return the typed tree of a block, and report mistakes; its variables are visible only inside."""
        outer = self.scope
        self.scope = outer.child()
        statements = [statement for each in written.statements for statement in self.statements(each)]
        self.scope = outer
        return Block(self.span(written), tuple(statements))

    def declaration(self, written: tree.LocalDeclaration, kind: str) -> list[Declare]:
        """Type the variables of a declaration, add each to the scope, and return them; report mistakes.

        A later variable of the declaration may use an earlier one.
        """
        type_ = self.type(written.type)
        declared: list[Declare] = []
        for variable in written.variables:
            name = variable.name.name
            value = None if variable.value is None else self.initialiser(variable.value, type_)
            if value is None and not written.mutable:
                self.report("CDISP0393E", f"{name} is constant, so it needs a value", variable.name)
            if isinstance(self.scope.names.get(name), VariableName):
                self.report("CDISP0025E", f"{name} is declared in this block already", variable.name)
            self.scope.names[name] = VariableName(type_, kind, written.mutable)
            declared.append(Declare(self.span(variable), name, type_, written.mutable, value))
        return declared

    def _declare_type(self, written: tree.TypeDefinition) -> None:
        if written.name.name in self.scope.names:
            self.report("CDISP0025E", f"{written.name} is declared in this block already", written.name)
        self.scope.declare_type(written.name.name, self.type(written.type))

    def _effect(self, written: tree.ExpressionStatement) -> Expression:
        return self.whole(written.expression, VOID)

    def _alone(self, written: tree.Statement) -> Statement:
        """Return the typed tree of a statement that is the body of another one; report mistakes in it.

        Its declarations are visible only inside.
        """
        outer = self.scope
        self.scope = outer.child()
        statement = self.statement(written)
        self.scope = outer
        return statement

    def _loop(self, written: tree.Statement) -> Statement:
        self.loops += 1
        statement = self._alone(written)
        self.loops -= 1
        return statement

    def _for(self, written: tree.For) -> For:
        type_ = self.type(written.type)
        collection = self.expression(written.collection, None)
        element = _looped(collection.type)
        if element is None:
            message = f"{collection.type} is not a list, set, map or string, so there is nothing to loop over"
            self.report("CDISP0047E", message, written.collection)
        elif UNKNOWN not in (element, type_) and element != type_:
            message = f"{written.name} is {type_}, but the elements of {collection.type} are {element}"
            self.report("CDISP0047E", message, written.name)
        outer = self.scope
        names = {written.name.name: VariableName(type_, "loop")}
        if isinstance(written.collection, tree.Name):
            meaning = outer.find(written.collection.name)
            if isinstance(meaning, VariableName) and meaning.mutable and written.collection.name not in names:
                names[written.collection.name] = VariableName(meaning.type, meaning.kind)
        self.scope = outer.child(dict(names))
        body = self._loop(written.body)
        self.scope = outer
        return For(self.span(written), written.name.name, type_, collection, body)

    def _return(self, written: tree.Return) -> Return:
        span = self.span(written)
        result = self.caller.result if self.caller is not None else VOID
        if written.value is None:
            if result not in (VOID, UNKNOWN):
                self.report("CDISP0398E", f"a value of type {result} must be returned", written)
            return Return(span, None)
        if result == VOID:
            code = "CDISP0780E" if self.caller is None else "CDISP0413E"
            self.report(code, "no value can be returned here", written.value)
            self.expression(written.value)
            return Return(span, None)
        value = self.whole(written.value, result)
        return Return(span, self._returned(value, result, written.value))

    def _returned(self, value: Expression, result: Type, written: tree.Expression) -> Expression:
        before = len(self.mistakes)
        converted = self.convert(value, result, written)
        if len(self.mistakes) > before and self.mistakes[-1].code == "CDISP0046E" and self.caller is not None:
            del self.mistakes[-1]
            message = f"{self.caller.name} has the type {result}, but this is {value.type}"
            self.report("CDISP0398E", message, written)
        return converted


def _looped(type_: Type) -> Type | None:
    """Return the type of the elements in a loop over a value of this type, or None if no loop is possible."""
    match type_:
        case Collection(elements=(element, *_)):
            return element
        case BoundedString():
            return RSTRING
        case _:
            if type_ == BLOB:
                return UINT8
            return type_ if type_ in (RSTRING, USTRING, UNKNOWN) else None


def _returns(written: tree.Statement) -> bool:
    """Return True if every path through a statement ends with `return`."""
    match written:
        case tree.Return():
            return True
        case tree.Block(statements=statements):
            return bool(statements) and _returns(statements[-1])
        case tree.If(positive=positive, negative=negative):
            return negative is not None and _returns(positive) and _returns(negative)
        case _:
            return False
