"""Python expressions for typed SPL expressions."""

from __future__ import annotations

# pyright: standard
import ast
from collections.abc import Callable
from typing import Any

from streams_orchestration.spl.programs.casting import bounded, cast_function
from streams_orchestration.spl.programs.errors import ProgramError
from streams_orchestration.spl.programs.library import builtin
from streams_orchestration.spl.programs.loops.arithmetic import arithmetic
from streams_orchestration.spl.programs.loops.code_scope import CodeScope, is_new, value_range
from streams_orchestration.spl.programs.loops.writer import PythonCode
from streams_orchestration.spl.programs.natives import called
from streams_orchestration.spl.programs.operations import index_function, operation, present, slice_function
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.programs.values import (
    copying,
    default_of,
    freezing,
    is_compound,
    member,
    same,
    unequal_to_itself,
)
from streams_orchestration.spl.programs.wrapping import ordering
from streams_orchestration.spl.types.types import (
    BOOLEAN,
    COMPILED_ONLY,
    FLOATS,
    INTEGERS,
    Collection,
    Enumeration,
    Primitive,
    Tuple,
    Type,
    range_of,
)
from streams_orchestration.spl.typing import typed

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class Expressions:
    """A writer of Python expressions for one program; its methods raise ProgramError for what cannot be run here."""

    def __init__(self, scope: CodeScope) -> None:
        self.scope = scope
        self.writer = scope.writer

    def node(self, expression: typed.Expression) -> ast.expr:
        """Return the Python expression that computes the value of a typed expression."""
        return self.code(expression).node

    def code(self, expression: typed.Expression) -> PythonCode:
        """Return the Python expression for a typed expression, and the range of its value.

        Raises:
            ProgramError: the expression has a type whose values cannot run (SO0720).
        """
        if expression.type in COMPILED_ONLY:
            message = f"values of type {expression.type} compile but cannot run (SO0720)"
            raise ProgramError(message, expression.span)
        before, self.writer.line = self.writer.line, expression.span.line
        written = self._code(expression)
        self.writer.line = before
        return written

    def _code(self, expression: typed.Expression) -> PythonCode:
        low, high = value_range(expression.type)
        match expression:
            case typed.Constant(value=value):
                return self._constant(value, expression.type)
            case typed.Binary(operator=operator) if operator not in ("&&", "||"):
                return self._binary(expression)
            case typed.Prefix(operator="-", operand=operand) if operand.type in FLOATS:
                return PythonCode(self.writer.expression("-x", x=self.node(operand)))
            case typed.Prefix(operator="-", operand=operand):
                return arithmetic(
                    self.writer, "-", expression.type, PythonCode(self.writer.constant(0)), self.code(operand)
                )
            case typed.Cast(operand=operand) | typed.Convert(operand=operand):
                return self._cast(operand, expression.type)
            case typed.Choice(condition=condition, positive=positive, negative=negative):
                truth, one, other = self.node(condition), self.code(positive), self.code(negative)
                node = self.writer.placed(ast.IfExp(truth, one.node, other.node))
                return PythonCode(node, min(one.low, other.low), max(one.high, other.high))
            case typed.Call(signature=signature) if signature.is_builtin and signature.name in ("size", "length"):
                return PythonCode(self._value(expression), 0, high)
            case _:
                return PythonCode(self._value(expression), low, high)

    def stored(self, expression: typed.Expression, target: Type) -> ast.expr:
        """Return the Python expression for a value that is to be stored.

        It copies a value that is referred to elsewhere.
        """
        node = self.node(expression)
        if is_new(expression) or (copy := copying(target)) is same:
            return node
        return self.writer.call(copy, node, hint="copy")

    def _constant(self, value: Any, type_: Type) -> PythonCode:
        if value is not None and is_compound(type_):
            message = f"a constant of type {type_}"
            raise AssertionError(message)
        if isinstance(value, int):
            return PythonCode(self.writer.constant(value), value, value)
        return PythonCode(self.writer.constant(value))

    def _value(self, expression: typed.Expression) -> ast.expr:  # noqa: PLR0911 (a case for each node)
        writer = self.writer
        match expression:
            case typed.PortAttribute(port=port, name=name):
                return writer.name(self.scope.attribute(port, name, expression.type).name)
            case typed.PortTuple(port=port):
                return self._port_tuple(port)
            case typed.Variable(name=name):
                return writer.name(self.scope.names[name].name)
            case typed.ListOf() | typed.SetOf() | typed.MapOf() | typed.TupleOf():
                return self._within_bound(self._literal(expression), expression.type)
            case typed.Member(operand=operand, name=name):
                return writer.expression("x[k]", x=self.node(operand), k=writer.constant(name))
            case typed.Index(operand=operand, index=index):
                return self._index(operand, index)
            case typed.Slice(operand=operand, lower=lower, upper=upper):
                bounds = [writer.constant(None) if each is None else self.node(each) for each in (lower, upper)]
                return writer.call(slice_function(operand.type), self.node(operand), *bounds, hint="slice")
            case typed.Binary(operator=operator, left=left, right=right):
                joined = ast.And() if operator == "&&" else ast.Or()
                return writer.placed(ast.BoolOp(joined, [self.node(left), self.node(right)]))
            case typed.Prefix(operator=operator, operand=operand):
                return self._prefix(operator, operand, expression.type)
            case typed.Postfix(operator="!", operand=operand):
                return writer.call(present, self.node(operand), hint="present")
            case typed.Postfix(operator="??", operand=operand):
                return writer.expression("x is not None", x=self.node(operand))
            case typed.Call():
                return self.call(expression)
            case _:
                return self.effect(expression)

    def effect(self, expression: typed.Expression) -> ast.expr:
        """Raise ProgramError for an expression that assigns or submits; the subclass for logic allows it."""
        message = f"{type(expression).__name__} within an expression"
        raise ProgramError(message, expression.span)

    def _port_tuple(self, port: str) -> ast.expr:
        attributes = self.scope.tuples[port].attributes
        names = [self.writer.name(self.scope.attribute(port, each.name, each.type).name) for each in attributes]
        keys: list[ast.expr | None] = [self.writer.constant(each.name) for each in attributes]
        return self.writer.placed(ast.Dict(keys, names))

    def _literal(self, expression: typed.Expression) -> ast.expr:
        writer = self.writer
        match expression, expression.type:
            case typed.ListOf(elements=elements), Collection(elements=(element,)):
                return writer.placed(ast.List([self.stored(each, element) for each in elements], ast.Load()))
            case typed.SetOf(elements=elements), Collection(elements=(element,)):
                keys: list[ast.expr | None] = [self.key(each, element) for each in elements]
                return writer.placed(ast.Dict(keys, [writer.constant(None) for _ in elements]))
            case typed.MapOf(entries=entries), Collection(elements=(key, value)):
                distinct = len({one.value for one, _ in entries if isinstance(one, typed.Constant)}) == len(entries)
                values = [self.stored(other, value) for _, other in entries]
                return writer.map_of([self.key(one, key) for one, _ in entries], values, distinct=distinct)
            case typed.TupleOf(attributes=attributes), Tuple() if attributes:
                keys = [writer.constant(name) for name, _ in attributes]
                return writer.placed(ast.Dict(keys, [self.stored(each, each.type) for _, each in attributes]))
            case _:  # an empty literal whose type its context gives
                return self.default(expression.type)

    def _within_bound(self, literal: ast.expr, type_: Type) -> ast.expr:
        """Return code that raises RunError if a literal has more elements than its type allows."""
        if not isinstance(type_, Collection) or type_.bound is None:
            return literal
        return self.writer.call(bounded(type_, same), literal, hint="bound")

    def default(self, type_: Type) -> ast.expr:
        """Return a Python expression for the default value of a type."""
        value = default_of(type_)
        if not is_compound(type_):
            return self.writer.constant(value)
        if value is None or not value:
            return (
                self.writer.constant(None) if value is None else self.writer.expression("[]" if value == [] else "{}")
            )
        return self.writer.call(lambda: default_of(type_), hint="default")

    def key(self, expression: typed.Expression, type_: Type) -> ast.expr:
        """Return a Python expression for the dictionary key under which sets and maps hold a value."""
        freeze = freezing(type_)
        node = self.node(expression)
        return node if freeze is same else self.writer.call(freeze, node, hint="key")

    def _index(self, operand: typed.Expression, index: typed.Expression) -> ast.expr:
        values, at = self.node(operand), self.code(index)
        container = operand.type
        if isinstance(container, Collection) and container.kind == "map":
            return self.writer.expression("x[k]", x=values, k=self.key(index, container.elements[0]))
        if isinstance(container, Collection) and at.low >= 0:
            return self.writer.expression("x[k]", x=values, k=at.node)
        return self.writer.call(index_function(container), values, at.node, hint="index")

    def _prefix(self, operator: str, operand: typed.Expression, type_: Type) -> ast.expr:
        if operator == "!":
            return self.writer.expression("not x", x=self.node(operand))
        if operator == "~" and isinstance(type_, Primitive) and type_ in INTEGERS:
            low, high = range_of(type_)
            return self.writer.expression("~x" if low else "x ^ m", x=self.node(operand), m=self.writer.constant(high))
        return self.effect_prefix(operator, operand, type_)

    def effect_prefix(self, operator: str, operand: typed.Expression, type_: Type) -> ast.expr:
        """Raise ProgramError for an increment or decrement; the subclass for logic allows it."""
        message = f"{operator} of {type_} within an expression"
        raise ProgramError(message, operand.span)

    def _binary(self, expression: typed.Binary) -> PythonCode:
        operator, left, right = expression.operator, expression.left, expression.right
        writer = self.writer
        if operator in ("==", "!=") and any(_is_null(each) for each in (left, right)):
            other = right if _is_null(left) else left
            text = "x is None" if operator == "==" else "x is not None"
            return PythonCode(writer.expression(text, x=self.node(other)))
        if operator == "?:":
            name = writer.fresh()
            tested = writer.let(name, self.node(left))
            text = "y if x is None else t"
            whole = writer.expression(text, x=tested, t=writer.name(name), y=self.node(right))
            return PythonCode(whole, *value_range(expression.type))
        one, other = self.code(left), self.code(right)
        if operator == "in":
            return PythonCode(self._member(one.node, other.node, right.type))
        simple = not isinstance(left.type, Collection) and not isinstance(right.type, Collection)
        if operator in ("==", "!="):
            in_python = not is_compound(left.type) or unequal_to_itself(left.type) is None
        else:
            in_python = operator in _COMPARISONS and simple and ordering(left.type) is None
        if in_python:
            return PythonCode(writer.expression(f"x {operator} y", x=one.node, y=other.node))
        if isinstance(left.type, Primitive) and simple and operator not in _COMPARISONS:
            return arithmetic(writer, operator, left.type, one, other)
        function = operation(operator, left.type, right.type)
        return PythonCode(writer.call(function, one.node, other.node, hint="operation"), *value_range(expression.type))

    def _member(self, value: ast.expr, values: ast.expr, container: Type) -> ast.expr:
        assert isinstance(container, Collection)
        element = container.elements[0]
        as_it_is = container.kind == "list" or freezing(element) is same
        if as_it_is and unequal_to_itself(element) is None:
            return self.writer.expression("x in y", x=value, y=values)
        return self.writer.call(member(container), value, values, hint="member")

    def _cast(self, operand: typed.Expression, target: Type) -> PythonCode:
        code = self.code(operand)
        low, high = value_range(target)
        function = cast_function(operand.type, target)
        if function is same or (isinstance(operand.type, Enumeration) and target == operand.type):
            return code if operand.type in INTEGERS and target in INTEGERS else PythonCode(code.node, low, high)
        if operand.type in INTEGERS and target in INTEGERS:
            if low <= code.low and code.high <= high:
                return code
            return PythonCode(self.writer.call(function, code.node, hint="cut"), low, high)
        if target == BOOLEAN and operand.type == BOOLEAN:
            return code
        return PythonCode(self.writer.call(function, code.node, hint="cast"), low, high)

    # --- calls

    def call(self, expression: typed.Call) -> ast.expr:
        """Return the Python call for a function that assigns to none of its arguments."""
        function, _ = self.function(expression)
        return self.writer.call(function, *self.arguments(expression), hint=f"f_{expression.signature.name}")

    def function(self, expression: typed.Call) -> tuple[Any, tuple[int, ...]]:
        """Return the Python function for a call, and the positions of the arguments to which it assigns.

        Raises:
            ProgramError: the function has no implementation.
        """
        signature = expression.signature
        if signature in self.scope.functions:
            changed = tuple(at for at, each in enumerate(signature.parameters) if each.mutable)
            return self.writer.name(self.scope.functions[signature]), changed
        types = tuple(each.type for each in expression.arguments)
        if signature in self.scope.natives:
            return called(self.scope.natives[signature], types, expression)
        found = builtin(signature.name, types) if signature.is_builtin else None
        if found is None:
            message = f"there is no implementation of {signature}"
            raise ProgramError(message, expression.span)
        function = found.make(types, expression.type)
        if not found.run:
            return function, found.assigns
        return _bound(function, self.scope.run), found.assigns

    def arguments(self, expression: typed.Call) -> list[ast.expr]:
        """Return the arguments of a call, none of a special one; copy those that a built-in function may keep."""
        if not expression.signature.is_builtin:
            return [self.node(each) for each in expression.arguments]
        if expression.signature.name in self.scope.special:
            return []
        first, *rest = expression.arguments or (None,)
        keeps = expression.signature.name in _KEEPS
        nodes = [] if first is None else [self.node(first)]
        return [*nodes, *(self.stored(each, each.type) if keeps else self.node(each) for each in rest)]


_KEEPS = frozenset(("insertM", "insert", "appendM", "append", "concat"))
"""Built-in functions whose later arguments become parts of the result or of the first argument."""


def _bound(function: Callable[..., Any], run: Run) -> Callable[..., Any]:
    return lambda *arguments: function(run, *arguments)


def _is_null(node: typed.Expression) -> bool:
    match node:
        case typed.Constant(value=None):
            return True
        case typed.Convert(operand=operand):
            return _is_null(operand)
        case _:
            return False
