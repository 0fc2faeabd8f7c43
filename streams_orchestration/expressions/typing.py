"""Typing of expressions: names and functions are resolved, and implicit conversions become explicit.

>>> from streams_orchestration.expressions.types import INT, DOUBLE
>>> typed("delay / 60", {"delay": INT}).type == DOUBLE
True
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Mapping, Sequence

from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.coercion import common, common_of, is_implicit
from streams_orchestration.expressions.conversion import can_convert, converter
from streams_orchestration.expressions.errors import EvaluationError, ExpressionError, MisfitError, UnknownNameError
from streams_orchestration.expressions.hints import attribute_hint, function_hint
from streams_orchestration.expressions.literals import value_in
from streams_orchestration.expressions.parsing import parse
from streams_orchestration.expressions.refused import CLOCK, REFUSED
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.syntax import Apply, Choice, Constant, Convert, Member, Name, Syntax
from streams_orchestration.expressions.table import Operand, misfit
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tree import (
    AttributeValue,
    Call,
    Case,
    Cast,
    Coalesce,
    Field,
    Junction,
    Literal,
    TypedNode,
    children,
)
from streams_orchestration.expressions.types import BOOLEAN, DOUBLE, FLOAT, STRING, VOID, Type, in_spark
from streams_orchestration.model.names import nearest


def typed(text: str, attributes: Mapping[str, Type], zone: dt.tzinfo = UTC) -> TypedNode:
    """Parse an expression and type it. A call or a conversion of constants becomes its value, unless it fails.

    Args:
        text: an expression such as `dep_delay IS NOT NULL AND dep_delay > 15`.
        attributes: the types of the attributes that it may use; names match in any case. Only an attribute that is the
            whole expression, or a field of one, keeps a type that Spark lacks; `in_spark` applies to all others.
        zone: the time zone of texts and local times that name no zone.

    Raises:
        UnknownNameError: the expression uses an unknown attribute.
        ExpressionError: the expression cannot be parsed, or its types do not match.
    """
    syntax = parse(text)
    whole = syntax
    inner = _Typing({name: in_spark(kind) for name, kind in attributes.items()}, zone)
    while isinstance(whole, Member):
        whole = whole.argument
    if isinstance(whole, Name):  # a value that is passed on keeps a type that Spark does not have
        return _Typing(attributes, zone).node(syntax)
    return inner.converted(syntax) if isinstance(syntax, Convert) else inner.node(syntax)


class _Typing:
    """Conversion of syntax trees to typed trees. Its methods raise ExpressionError for names and types that do not fit.

    An attribute that the stream lacks raises UnknownNameError.
    """

    def __init__(self, attributes: Mapping[str, Type], zone: dt.tzinfo) -> None:
        self._attributes = attributes
        self._zone = zone

    def node(self, syntax: Syntax) -> TypedNode:
        """Return the typed node of a syntax tree."""
        match syntax:
            case Constant():
                return self._constant(syntax)
            case Name():
                return self._attribute(syntax)
            case Member():
                return self._field(syntax)
            case Convert():
                return self._convert(syntax)
            case Choice():
                return self._choice(syntax)
            case Apply():
                return self._apply(syntax)

    def _constant(self, syntax: Constant) -> Literal:
        return Literal(value_in(syntax, self._zone), syntax.type)

    def _attribute(self, syntax: Name) -> TypedNode:
        kind = self._attributes.get(syntax.name)
        if kind is not None:
            return AttributeValue(syntax.name, kind)
        alike = [name for name in self._attributes if name.lower() == syntax.name.lower()]
        if len(alike) == 1:
            return AttributeValue(alike[0], self._attributes[alike[0]])
        if alike:
            message = f"{syntax.name} may be {' or '.join(alike)}; write it as the stream does"
            raise ExpressionError(message, syntax.offset)
        if f"{syntax.name.lower()}" in FUNCTIONS and not nearest(syntax.name, self._attributes):
            message = f"{syntax.name} is a function; write its arguments in brackets"
            raise ExpressionError(message, syntax.offset)
        message = f"uses the attribute {syntax.name}, which the stream does not have"
        message += attribute_hint(syntax.name, self._attributes)
        raise UnknownNameError(message, syntax.offset, syntax.name)

    def _named(self, name: str) -> bool:
        return any(each.lower() == name.lower() for each in self._attributes)

    def _field(self, syntax: Member) -> TypedNode:
        owner = syntax.argument
        if isinstance(owner, Name) and not self._named(owner.name) and self._named(syntax.field):
            message = f"uses {owner.name}; write the attribute without the name of its stream: {syntax.field}"
            raise UnknownNameError(message, owner.offset, owner.name)
        argument = self.node(owner)
        if argument.type.name != "struct":
            message = f"a value of type {argument.type} has no field {syntax.field}; only structs have fields"
            if argument.type.name == "map":
                message = f"the value of a key is written ['{syntax.field}']; only structs have fields"
            raise ExpressionError(message, syntax.offset)
        for position, name in enumerate(argument.type.fields):
            if name.lower() == syntax.field.lower():
                return Field(argument, position, argument.type.parts[position])
        hint = nearest(syntax.field, argument.type.fields)
        message = f"the struct has no field {syntax.field}{hint}; it has {', '.join(argument.type.fields)}"
        raise ExpressionError(message, syntax.offset)

    def _convert(self, syntax: Convert) -> TypedNode:
        node = self.converted(syntax)
        return self._as(node, in_spark(node.type), syntax.offset)

    def converted(self, syntax: Convert) -> TypedNode:
        """Return the typed node of a conversion; its target may also be a type that Spark does not have."""
        argument = self.node(syntax.argument)
        if syntax.type.holds("timestamp_ns"):
            message = "timestamp_ns is a type of attributes only; a timestamp is converted to it when it is assigned"
            raise ExpressionError(message, syntax.offset)
        if not can_convert(argument.type, syntax.type):
            message = f"a value of type {argument.type} cannot be converted to {syntax.type}"
            raise ExpressionError(message, syntax.offset)
        return self._folded(Cast(argument, syntax.type, syntax.lenient))

    def _choice(self, syntax: Choice) -> TypedNode:
        conditions = [self._condition(condition) for condition, _ in syntax.branches]
        values = [self.node(value) for _, value in syntax.branches]
        otherwise = Literal(None, VOID) if syntax.otherwise is None else self.node(syntax.otherwise)
        return self._case(conditions, values, otherwise, syntax.offset)

    def _case(
        self, conditions: list[TypedNode], values: list[TypedNode], otherwise: TypedNode, offset: int
    ) -> TypedNode:
        kind = common_of(each.type for each in (*values, otherwise))
        if kind is None:
            kinds = " and ".join(dict.fromkeys(str(each.type) for each in (*values, otherwise)))
            message = f"the branches have types that cannot be combined: {kinds}; CAST one"
            raise ExpressionError(message, offset)
        branches = tuple(
            (condition, self._as(value, kind, offset)) for condition, value in zip(conditions, values, strict=True)
        )
        return Case(branches, self._as(otherwise, kind, offset), kind)

    def _condition(self, syntax: Syntax) -> TypedNode:
        node = self.node(syntax)
        if node.type not in (BOOLEAN, VOID, STRING):
            message = f"a condition is expected, but this is of type {node.type}"
            raise ExpressionError(message, syntax.offset)
        return self._as(node, BOOLEAN, syntax.offset)

    def _apply(self, syntax: Apply) -> TypedNode:
        special = _SPECIAL.get(syntax.function)
        if special is not None:
            count, method = special
            if count not in (None, len(syntax.arguments)):
                raise _misfit(syntax, [self.node(each) for each in syntax.arguments])
            return method(self, syntax)
        function = FUNCTIONS.get(syntax.function)
        if function is None:
            return self._called_attribute(syntax)
        arguments = [self.node(each) for each in syntax.arguments]
        operands = [
            Operand(
                node.type,
                (node.value,) if isinstance(node, Literal) else None,
                isinstance(each, Constant),
                each.name if isinstance(each, Name) else each.field if isinstance(each, Member) else "",
            )
            for node, each in zip(arguments, syntax.arguments, strict=True)
        ]
        try:
            resolved = function.resolve(operands)
        except MisfitError as error:
            message = f"{syntax.function}: {error}"
            raise ExpressionError(message, syntax.offset) from error
        if resolved is None or not all(map(can_convert, (each.type for each in arguments), resolved.arguments)):
            raise _misfit(syntax, arguments, operands)
        converted = tuple(
            self._as(node, kind, each.offset)
            for node, kind, each in zip(arguments, resolved.arguments, syntax.arguments, strict=False)
        )
        return self._folded(Call(function, converted, resolved.result))

    def _called_attribute(self, syntax: Apply) -> TypedNode:
        """Return the attribute that is named like a call, as `IterationCount()`; ExpressionError if there is none."""
        for name, kind in self._attributes.items():
            if not syntax.arguments and name.lower() == f"{syntax.function}()":
                return AttributeValue(name, kind)
        raise _no_function(syntax)

    def _as(self, node: TypedNode, kind: Type, offset: int) -> TypedNode:
        """Return a node, cast to a permitted type; raise ExpressionError for a constant that cannot be converted."""
        if node.type == kind:
            return node
        if isinstance(node, Literal) and node.value is None:
            return Literal(None, kind)
        if isinstance(node, Literal):
            try:
                return Literal(converter(node.type, kind, self._zone)(node.value), kind)
            except EvaluationError as error:
                hint = ""
                if isinstance(node.value, str) and self._named(node.value):
                    hint = f"; quotes make a text; write the attribute {node.value} without them"
                message = f"{error}{hint}"
                raise ExpressionError(message, offset) from error
        return Cast(node, kind)

    def _folded(self, node: Call | Cast) -> TypedNode:
        """Return the value of a node of constants; keep other nodes, and one that fails: it may never be evaluated."""
        if not all(isinstance(each, Literal) for each in children(node)) or not node.type.is_attribute:
            return node
        try:
            return Literal(row_function(node, (), self._zone)(()), node.type)
        except EvaluationError:
            return node

    def junction(self, syntax: Apply) -> TypedNode:
        """Type AND or OR."""
        left, right = (self._condition(each) for each in syntax.arguments)
        return Junction(left, right, syntax.function == "and", BOOLEAN)

    def coalesce(self, syntax: Apply) -> TypedNode:
        """Type `coalesce(values)`, or `nvl` or `ifnull` of two values: all values get their common type."""
        arguments = [self.node(each) for each in syntax.arguments]
        if not arguments:
            raise _misfit(syntax, arguments)
        kind = common_of(each.type for each in arguments)
        if kind is None:
            raise _misfit(syntax, arguments)
        return Coalesce(tuple(self._as(each, kind, syntax.offset) for each in arguments), kind)

    def conditional(self, syntax: Apply) -> TypedNode:
        """Type `if(condition, value, otherwise)`."""
        condition, value, otherwise = syntax.arguments
        return self._case([self._condition(condition)], [self.node(value)], self.node(otherwise), syntax.offset)

    def nullif(self, syntax: Apply) -> TypedNode:
        """Type `nullif(value, other)`: null if both are equal, otherwise `value`."""
        value = self.node(syntax.arguments[0])
        same = self._apply(Apply("=", syntax.arguments, syntax.offset))
        return self._case([same], [Literal(None, value.type)], value, syntax.offset)

    def nanvl(self, syntax: Apply) -> TypedNode:
        """Type `nanvl(value, other)`: the second number if the first is NaN, else the first."""
        first, second = (self.node(each) for each in syntax.arguments)
        if not all(is_implicit(each.type, DOUBLE) for each in (first, second)):
            raise _misfit(syntax, [first, second])
        kind = FLOAT if first.type == second.type == FLOAT else DOUBLE
        number = self._as(first, kind, syntax.offset)
        is_nan = Call(FUNCTIONS["isnan"], (self._as(number, DOUBLE, syntax.offset),), BOOLEAN)
        return Case(((is_nan, self._as(second, kind, syntax.offset)),), number, kind)

    def nvl2(self, syntax: Apply) -> TypedNode:
        """Type `nvl2(value, present, absent)`: the second value if the first is not null, else the third."""
        first, second, third = syntax.arguments
        null = self._apply(Apply("isnull", (first,), syntax.offset))
        return self._case([null], [self.node(third)], self.node(second), syntax.offset)

    def convert_by_name(self, syntax: Apply) -> TypedNode:
        """Type a conversion that is written like a function, such as `double(value)`."""
        kind = Type("decimal", 10, 0) if syntax.function == "decimal" else Type(syntax.function)
        return self._convert(Convert(syntax.arguments[0], kind, syntax.offset))


_TYPES = "boolean tinyint smallint int bigint float double decimal string binary date timestamp"
_SPECIAL: Mapping[str, tuple[int | None, Callable[[_Typing, Apply], TypedNode]]] = {
    "and": (2, _Typing.junction),
    "or": (2, _Typing.junction),
    "coalesce": (None, _Typing.coalesce),
    "nvl": (2, _Typing.coalesce),
    "ifnull": (2, _Typing.coalesce),
    "if": (3, _Typing.conditional),
    "iff": (3, _Typing.conditional),
    "nullif": (2, _Typing.nullif),
    "nvl2": (3, _Typing.nvl2),
    "nanvl": (2, _Typing.nanvl),
    **dict.fromkeys(_TYPES.split(), (1, _Typing.convert_by_name)),
}
"""Lazy functions, and conversions that are written as functions, with their number of arguments (None for any number)
and the method that types them."""


def _no_function(syntax: Apply) -> ExpressionError:
    name = syntax.function
    reason = REFUSED.get(name)
    if reason is not None:
        return ExpressionError(f"{name}(...) {reason}", syntax.offset)
    known = [each for each in (*FUNCTIONS, *_SPECIAL) if each[0].isalpha()]
    return ExpressionError(f"there is no function {name}{function_hint(name, known)}", syntax.offset)


_FORMS: Mapping[str, str] = {
    "if": "if(condition, value, otherwise)",
    "iff": "iff(condition, value, otherwise)",
    "nullif": "nullif(value, other)",
    "nvl": "nvl(value, otherwise)",
    "ifnull": "ifnull(value, otherwise)",
    "nvl2": "nvl2(value, if_not_null, if_null)",
    "nanvl": "nanvl(number, otherwise)",
    "coalesce": "coalesce(value, otherwise, ...)",
}


def _misfit(syntax: Apply, arguments: list[TypedNode], operands: Sequence[Operand] = ()) -> ExpressionError:
    """Return the error for a call whose arguments fit no form of the function; it is at a wrong argument if one is."""
    kinds, name = [str(each.type) for each in arguments], syntax.function
    function = FUNCTIONS.get(name)
    if name == "unix_timestamp" and not kinds:
        return ExpressionError(f"unix_timestamp() {CLOCK}", syntax.offset)
    if name == "[]":
        key = f"a key of type {arguments[0].type.parts[0]}" if arguments[0].type.name == "map" else "a whole number"
        nested = arguments[0].type.name in ("array", "map")
        message = f"{kinds[0]} has no elements" if not nested else f"{key} is expected in the brackets, not {kinds[1]}"
        return ExpressionError(message, syntax.offset)
    if name in ("not", "~", "negative", "positive"):
        wanted = {"not": "NOT takes a condition", "~": "~ takes a whole number"}.get(name, "a sign takes a number")
        message = f"{wanted}, this is of type {kinds[0] if kinds else 'nothing'}"
        return ExpressionError(message, syntax.offset)
    if (not name[0].isalpha() or name == "div") and len(kinds) == 2:
        hint = "CAST one of them"
        if name in ("+", "-") and arguments[0].type.is_datetime and arguments[1].type.is_numeric:
            hint = f"add an interval, as in {'+' if name == '+' else '-'} INTERVAL 1 HOUR"
        return ExpressionError(f"{kinds[0]} {name.upper()} {kinds[1]} is not possible; {hint}", syntax.offset)
    if function is not None and function.signatures:
        message, place = misfit(function, operands)
        return ExpressionError(message, syntax.arguments[place].offset if place >= 0 else syntax.offset)
    form = _FORMS.get(name) or (function.examples[0][0] if function is not None and function.examples else "")
    hint = f"; it is called as {form}" if name in _FORMS else f"; an example is {form}" if form else ""
    return ExpressionError(f"{name}({', '.join(kinds)}) is not possible{hint}", syntax.offset)


__all__ = ["can_assign", "common", "typed"]


@functools.lru_cache(maxsize=4096)
def can_assign(source: Type, target: Type) -> bool:
    """Return True if a value of one type may be assigned to an attribute of another without a `CAST`.

    The value's range is checked at run time. Conversions that lose a fraction, or that parse a text, are not allowed.
    """
    if not is_implicit(source, target):
        return False
    if source.is_nested:
        return all(map(can_assign, source.parts, target.parts))
    if source in (target, VOID):
        return True
    if source.is_fractional:
        return target.is_fractional
    if source.is_decimal:
        return target.is_decimal or target.is_fractional
    if STRING in (source, target):
        return False
    return source.is_numeric or source.is_interval or target.name != "date"
