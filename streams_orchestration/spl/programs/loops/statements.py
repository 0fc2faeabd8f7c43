"""Python statements for typed SPL statements and functions."""

from __future__ import annotations

# pyright: standard
import ast

from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.programs.casting import cast_function
from streams_orchestration.spl.programs.errors import ProgramError
from streams_orchestration.spl.programs.loops.places import PlaceExpressions
from streams_orchestration.spl.programs.operations import byte_at
from streams_orchestration.spl.programs.values import Function, same, thawing
from streams_orchestration.spl.types.types import USTRING, Collection, Type, is_string
from streams_orchestration.spl.typing import typed


class ReturnedError(Exception):
    """The logic was ended by `return`."""


class Statements(PlaceExpressions):
    """A writer of Python statements for the statements of one program.

    Its methods raise ProgramError for what cannot be run here, and write code that may raise RunError.
    """

    returned: tuple[str, ...] | None = None
    """The mutable parameters whose final values the generated function returns; None outside of functions."""
    raises: bool = False
    """True if `return` in logic raises `ReturnedError`: in a loop, or if other statements follow the logic."""

    def block(self, statement: typed.Statement) -> list[ast.stmt]:
        """Return the Python statements for the body of a block, at least one."""
        self.scope.names.enter()
        try:
            return self.statement(statement) or [self.writer.placed(ast.Pass())]
        finally:
            self.scope.names.leave()

    def statement(self, statement: typed.Statement) -> list[ast.stmt]:
        """Return the Python statements for a statement of SPL."""
        before, self.writer.line = self.writer.line, statement.span.line
        written = self._statement(statement)
        self.writer.line = before
        return written

    def _statement(self, statement: typed.Statement) -> list[ast.stmt]:
        writer = self.writer
        match statement:
            case typed.Declare():
                return [self.declaration(statement)]
            case typed.Block(statements=statements):
                self.scope.names.enter()
                written = [part for each in statements for part in self.statement(each)]
                self.scope.names.leave()
                return written
            case typed.Evaluate(expression=expression):
                return self.evaluated(expression)
            case typed.If(condition=condition, positive=positive, negative=negative):
                test, body = self.node(condition), self.block(positive)
                other = [] if negative is None else self.block(negative)
                return [writer.placed(ast.If(test, body, other))]
            case typed.While(condition=condition, body=body):
                test, inner = self.node(condition), self.block(body)
                return [writer.placed(ast.While(test, inner, []))]
            case typed.For():
                return [self._for(statement)]
            case typed.Break():
                return [writer.placed(ast.Break())]
            case typed.Continue():
                return [writer.placed(ast.Continue())]
            case typed.Return(value=value):
                return [self._return(value)]
            case _:
                message = f"no statement: {statement!r}"
                raise AssertionError(message)

    def declaration(self, statement: typed.Declare) -> ast.stmt:
        """Declare a local variable in the open block, and return the Python statement that assigns its first value."""
        value = self.initial(statement)
        slot = self.scope.names.declare(statement.name, statement.type, mutable=statement.mutable)
        return self.writer.assign(slot.name, value)

    def initial(self, statement: typed.Declare) -> ast.expr:
        """Return the Python expression for a variable's initial value, cast to its type; the default without one."""
        value, target = statement.value, statement.type
        if value is None:
            return self.default(target)
        cast = cast_function(value.type, target)
        if cast is same or value.type == target:
            return self.stored(value, target)
        return self.writer.call(cast, self.stored(value, value.type), hint="cast")

    def evaluated(self, expression: typed.Expression) -> list[ast.stmt]:
        """Return the Python statements for an expression that is evaluated for its effect."""
        writer = self.writer
        match expression:
            case typed.Assign(target=target):
                return [self.store_statement(target, self.assigned(expression))]
            case (
                typed.Postfix(operator="++" | "--" as sign, operand=place)
                | typed.Prefix(operator="++" | "--" as sign, operand=place)
            ):
                return [self.store_statement(place, self._stepped(sign[0], place, self.code(place)))]
            case typed.Submit():
                return self.submitted(expression)
            case _:
                return [writer.placed(ast.Expr(self.node(expression)))]

    def submitted(self, expression: typed.Submit) -> list[ast.stmt]:
        """Return the Python statements for a submission."""
        return [self.writer.placed(ast.Expr(self.submit(expression)))]

    def _for(self, statement: typed.For) -> ast.stmt:
        values, container = self.node(statement.collection), statement.collection.type
        self.scope.names.enter()
        slot = self.scope.names.declare(statement.name, statement.type, mutable=False)
        variable = slot.name
        body = self.block(statement.body)
        self.scope.names.leave()
        if is_string(container) and container != USTRING:
            values = self.writer.call(_bytes_of, values, hint="bytes")
        thaw = _thaw(container)
        if thaw is not same:
            values = self.writer.call(map, self.writer.known(thaw, "thaw"), values, hint="map")
        target = self.writer.placed(ast.Name(variable, ast.Store()))
        return self.writer.placed(ast.For(target, values, body, []))

    def _return(self, value: typed.Expression | None) -> ast.stmt:
        if self.returned is None:
            if value is not None:
                message = "logic returns no value"
                raise ProgramError(message, value.span)
            if self.raises:
                return self.writer.statements("raise e", e=self.writer.known(ReturnedError, "returned"))[0]
            return self.writer.placed(ast.Continue())
        node = self.writer.constant(None) if value is None else self.stored(value, value.type)
        return self.writer.placed(ast.Return(self._result(node)))

    def _result(self, node: ast.expr) -> ast.expr:
        if not self.returned:
            return node
        names = [self.writer.name(name) for name in self.returned]
        return self.writer.placed(ast.Tuple([node, *names], ast.Load()))

    # --- functions

    def definition(self, function: typed.Function) -> ast.stmt:
        """Return the Python definition of an SPL function."""
        writer, names = self.writer, self.scope.names
        names.enter()
        slots = [
            names.declare(name, each.type, mutable=each.mutable)
            for name, each in zip(function.names, function.signature.parameters, strict=True)
        ]
        self.returned = tuple(slot.name for slot in slots if slot.mutable)
        body = self.block(function.body)
        names.leave()
        writer.line = function.span.line
        if self.returned:
            body.append(writer.placed(ast.Return(self._result(writer.constant(None)))))
        self.returned = None
        (defined,) = writer.statements("def f(): pass")
        assert isinstance(defined, ast.FunctionDef)
        defined.name = self.scope.functions[function.signature]
        defined.args.args = [writer.placed(ast.arg(slot.name)) for slot in slots]
        defined.body = body
        return defined


def returns(statement: typed.Statement) -> bool:
    """Return True if a statement contains a `return`."""
    return any(nodes_in(statement, typed.Return))


def _thaw(container: Type) -> Function:
    if isinstance(container, Collection) and container.kind != "list":
        return thawing(container.elements[0])
    return same


def _bytes_of(text: str) -> list[str]:
    return list(text) if text.isascii() else [byte_at(text, at) for at in range(len(text.encode()))]
