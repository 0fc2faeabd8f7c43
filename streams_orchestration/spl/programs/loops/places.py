"""Python code for assignment targets: variables, attributes of tuples, elements of lists, values of maps."""

from __future__ import annotations

# pyright: standard
import ast
import operator as python_operators

from streams_orchestration.spl.programs.errors import ProgramError
from streams_orchestration.spl.programs.loops.arithmetic import arithmetic
from streams_orchestration.spl.programs.loops.code_scope import value_range
from streams_orchestration.spl.programs.loops.expressions import Expressions
from streams_orchestration.spl.programs.loops.writer import PythonCode
from streams_orchestration.spl.programs.operations import operation, set_bounded, set_element
from streams_orchestration.spl.types.types import Collection, Primitive, Tuple, Type, is_string
from streams_orchestration.spl.typing import typed


class PlaceExpressions(Expressions):
    """A writer of expressions that assign, and of calls that change their arguments.

    Its methods raise ProgramError for what cannot be run here, and write code that may raise RunError.
    """

    def effect(self, expression: typed.Expression) -> ast.expr:
        """Return the Python expression for an assignment or a submission."""
        match expression:
            case typed.Postfix(operator="++" | "--" as sign, operand=place):
                name = self.writer.fresh()
                loaded = self.writer.let(name, self.node(place))
                changed = self._stepped(sign[0], place, PythonCode(self.writer.name(name), *value_range(place.type)))
                return self.writer.expression("(x, y)[0]", x=loaded, y=self.store(place, changed))
            case typed.Assign():
                return self.store(expression.target, self.assigned(expression))
            case typed.Submit():
                return self.submit(expression)
            case _:
                return super().effect(expression)

    def submit(self, expression: typed.Submit) -> ast.expr:
        """Raise ProgramError for a submission; a subclass allows it for the logic of a Custom."""
        message = "only a Custom submits"
        raise ProgramError(message, expression.span)

    def effect_prefix(self, operator: str, operand: typed.Expression, type_: Type) -> ast.expr:
        """Return the Python expression for an increment or decrement before its operand."""
        if operator not in ("++", "--"):
            return super().effect_prefix(operator, operand, type_)
        changed = self._stepped(operator[0], operand, self.code(operand))
        name = self.writer.fresh()
        stored = self.store(operand, self.writer.name(name))
        return self.writer.expression("(x, y)[0]", x=self.writer.let(name, changed), y=stored)

    def _stepped(self, sign: str, place: typed.Expression, before: PythonCode) -> ast.expr:
        one = PythonCode(self.writer.constant(1), 1, 1)
        return arithmetic(self.writer, sign, place.type, before, one).node

    def assigned(self, expression: typed.Assign) -> ast.expr:
        """Return the Python expression for the new value of an assignment's target."""
        target, value = expression.target, expression.value
        if expression.operator == "=":
            return self.stored(value, target.type)
        symbol = expression.operator.removesuffix("=")
        left, right = self.code(target), self.code(value)
        if isinstance(target.type, Primitive) and not isinstance(value.type, Collection):
            return arithmetic(self.writer, symbol, target.type, left, right).node
        return self.writer.call(operation(symbol, target.type, value.type), left.node, right.node, hint="operation")

    def store(self, place: typed.Expression, value: ast.expr) -> ast.expr:
        """Return a Python expression that stores a value in an assignment target.

        Raises:
            ProgramError: nothing can be assigned to this expression.
        """
        writer = self.writer
        match place:
            case typed.Variable(name=name):
                return writer.let(self.scope.names[name].name, value)
            case typed.PortAttribute(port=port, name=name):
                return writer.let(self.scope.attribute(port, name, place.type).name, value)
            case typed.Member(operand=typed.PortTuple(port=port), name=name):
                return writer.let(self.scope.attribute(port, name, place.type).name, value)
            case typed.PortTuple(port=port) if isinstance(place.type, Tuple):
                whole = writer.fresh()
                parts = [writer.let(whole, value)]
                for each in place.type.attributes:
                    part = writer.expression("t[k]", t=writer.name(whole), k=writer.constant(each.name))
                    parts.append(writer.let(self.scope.attribute(port, each.name, each.type).name, part))
                return writer.placed(ast.Tuple(parts, ast.Load()))
            case typed.Member(operand=operand, name=name):
                return writer.call(
                    python_operators.setitem, self.node(operand), writer.constant(name), value, hint="set"
                )
            case typed.Index(operand=operand, index=index) if isinstance(operand.type, Collection):
                if operand.type.kind == "map":
                    key = self.key(index, operand.type.elements[0])
                    change = set_bounded(operand.type.bound) if operand.type.bound else python_operators.setitem
                    return writer.call(change, self.node(operand), key, value, hint="set")
                return writer.call(set_element, self.node(operand), self.node(index), value, hint="set")
            case typed.Index(operand=operand, index=index) if is_string(operand.type):
                changed = writer.call(_with_character, self.node(operand), self.node(index), value, hint="changed")
                return self.store(operand, changed)
            case _:
                message = "nothing can be assigned to this expression"
                raise ProgramError(message, place.span)

    def store_statement(self, place: typed.Expression, value: ast.expr) -> ast.stmt:
        """Return a Python statement that stores a value in an assignment target."""
        writer = self.writer
        match place:
            case typed.Variable(name=name):
                return writer.assign(self.scope.names[name].name, value)
            case typed.Member(operand=operand, name=name) if not isinstance(operand, typed.PortTuple):
                target = writer.expression("x[k]", x=self.node(operand), k=writer.constant(name))
            case typed.Index(operand=operand, index=index) if _is_unbounded_map(operand.type):
                key = self.key(index, operand.type.elements[0])  # type: ignore[union-attr]
                target = writer.expression("x[k]", x=self.node(operand), k=key)
            case _:
                return writer.placed(ast.Expr(self.store(place, value)))
        assert isinstance(target, ast.Subscript)
        target.ctx = ast.Store()
        return writer.placed(ast.Assign([target], value))

    def call(self, expression: typed.Call) -> ast.expr:
        """Return the Python call for a function; if the function assigns to arguments, their new values are stored."""
        if expression.signature.name in self.scope.special and expression.signature.is_builtin:
            return self.scope.special[expression.signature.name]()
        function, changed = self.function(expression)
        call = self.writer.call(function, *self.arguments(expression), hint=f"f_{expression.signature.name}")
        if not changed:
            return call
        name = self.writer.fresh()
        parts = [self.writer.let(name, call)]
        for number, at in enumerate(changed):
            new = self.writer.expression("t[k]", t=self.writer.name(name), k=self.writer.constant(number + 1))
            parts.append(self.store(expression.arguments[at], new))
        result = self.writer.expression("t[0]", t=self.writer.name(name))
        whole = self.writer.placed(ast.Tuple([*parts, result], ast.Load()))
        return self.writer.expression("x[-1]", x=whole)


def _is_unbounded_map(type_: Type) -> bool:
    return isinstance(type_, Collection) and type_.kind == "map" and type_.bound is None


def _with_character(text: str, at: int, new: str) -> str:
    if not 0 <= at < len(text):
        raise IndexError(at)
    return text[:at] + new + text[at + 1 :]
