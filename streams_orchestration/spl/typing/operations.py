"""Typing of operations: unary and binary ones, casts, choices, assignments."""

from __future__ import annotations

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.types.casts import can_cast
from streams_orchestration.spl.types.joining import common
from streams_orchestration.spl.types.types import (
    BLOB,
    BOOLEAN,
    COMPLEX,
    EMPTY_LIST,
    INTEGERS,
    NULL,
    REALS,
    RSTRING,
    UNKNOWN,
    VOID,
    BoundedString,
    Collection,
    Enumeration,
    Optional,
    Type,
    is_string,
)
from streams_orchestration.spl.typing.conversions import converted
from streams_orchestration.spl.typing.folding import folded
from streams_orchestration.spl.typing.literals import LiteralTyping
from streams_orchestration.spl.typing.naming import is_value
from streams_orchestration.spl.typing.operands import WrongOperands, is_in, result_of
from streams_orchestration.spl.typing.scopes import EnumWord
from streams_orchestration.spl.typing.typed import (
    Assign,
    Binary,
    Cast,
    Choice,
    Constant,
    Expression,
    Postfix,
    Prefix,
    Typed,
)

_NUMERIC = REALS | COMPLEX
_ASSIGNMENTS = frozenset(["=", "+=", "-=", "*=", "/=", "%=", "^=", "&=", "|=", "<<=", ">>="])


class NoCastError(Exception):
    """The parsed cast is not a cast but another operation, since the name in its parentheses denotes a value."""

    def __init__(self, cast: tree.Cast) -> None:
        super().__init__(cast)
        self.cast = cast


class OperationTyping(LiteralTyping):
    """The typing of operations: determines their types, folds constants, and reports operands that do not fit."""

    def convert(self, value: Expression, target: Type, written: tree.Node) -> Expression:
        """Return a value converted implicitly to a type; report a value that needs a cast, and return one in error."""
        result = converted(value, target)
        if result is not None and value.type != VOID:
            return result
        if value.type == NULL:
            self.report("CDISP0863E", f"null is not a value of {target}, because the type is not optional", written)
        else:
            self.report("CDISP0046E", f"{target} is needed here, but this is {value.type}", written)
        return Typed(value.span, UNKNOWN)

    def operation(
        self,
        written: tree.Prefix | tree.Postfix | tree.Cast | tree.Binary | tree.Choice,
        expected: Type | None,
    ) -> Expression:
        """Return the typed tree of an operation; report mistakes in it.

        Raises:
            NoCastError: a part that was parsed as a cast is another operation.
        """
        match written:
            case tree.Prefix():
                return self._prefix(written)
            case tree.Postfix():
                return self._postfix(written)
            case tree.Cast():
                return self._cast(written)
            case tree.Binary():
                return self._binary(written, expected)
            case tree.Choice():
                return self._choice(written, expected)

    def _prefix(self, written: tree.Prefix) -> Expression:
        operator = written.operator
        if operator == "-" and isinstance(written.operand, tree.Number):
            return self.number(written, written.operand.text, negative=True)
        operand = self.value(written.operand)
        if operator in ("++", "--"):
            return self._stepped(written, operand, postfix=False)
        if operand.type == UNKNOWN:
            return Typed(self.span(written), BOOLEAN if operator == "!" else UNKNOWN)
        takes = {"!": {BOOLEAN}, "~": INTEGERS.keys(), "-": _NUMERIC}[operator]
        if operand.type not in takes:
            self.report("CDISP0049E", f"'{operator}' does not take {operand.type}", written)
            return self.wrong(written)
        return folded(Prefix(self.span(written), operand.type, operator, operand))

    def _postfix(self, written: tree.Postfix) -> Expression:
        operator = written.operator
        operand = self.value(written.operand)
        if operator in ("++", "--"):
            return self._stepped(written, operand, postfix=True)
        if operand.type == UNKNOWN:
            return Typed(self.span(written), BOOLEAN if operator == "??" else UNKNOWN)
        if not isinstance(operand.type, Optional):
            self.report("CDISP0049E", f"'{operator}' takes an optional value, but this is {operand.type}", written)
            return self.wrong(written)
        type_ = BOOLEAN if operator == "??" else operand.type.content
        return Postfix(self.span(written), type_, operator, operand)

    def _stepped(self, written: tree.Prefix | tree.Postfix, operand: Expression, *, postfix: bool) -> Expression:
        if operand.type == UNKNOWN:
            return operand
        if operand.type not in _NUMERIC:
            self.report("CDISP0049E", f"'{written.operator}' does not take {operand.type}", written)
            return self.wrong(written)
        if not self.is_mutable(written.operand, operand, written.operator):
            return self.wrong(written)
        node = Postfix if postfix else Prefix
        return node(self.span(written), operand.type, written.operator, operand)

    def _cast(self, written: tree.Cast) -> Expression:
        if isinstance(written.type, tree.NamedType) and not written.type.member:
            meaning = self.scope.find(written.type.name.name, written.type.name.namespace)
            if is_value(meaning):
                raise NoCastError(written)
        target = self.type(written.type)
        operand = self.value(written.operand, target)
        if UNKNOWN in (target, operand.type):
            return Typed(self.span(written), target)
        result = converted(operand, target)
        if result is not None and operand.type != VOID:
            return result
        if not can_cast(operand.type, target):
            self.report("CDISP0041E", f"{operand.type} cannot be cast to {target}", written)
            return self.wrong(written)
        return folded(Cast(self.span(written), target, operand))

    def _choice(self, written: tree.Choice, expected: Type | None) -> Expression:
        condition = self.condition(written.condition)
        positive, negative = self.value(written.positive, expected), self.value(written.negative, expected)
        type_ = common(positive.type, negative.type)
        if type_ is None:
            message = f"the two values are {positive.type} and {negative.type}: they must have one type"
            self.report("CDISP0044E", message, written)
            return self.wrong(written)
        parts = (converted(positive, type_) or positive, converted(negative, type_) or negative)
        if UNKNOWN in (condition.type, parts[0].type, parts[1].type):
            return Typed(self.span(written), type_)
        return folded(Choice(self.span(written), type_, condition, *parts))

    def condition(self, written: tree.Expression) -> Expression:
        """Return the typed tree of a condition; report mistakes in it, and one that is not boolean (then `wrong`)."""
        value = self.expression(written)
        if value.type not in (BOOLEAN, UNKNOWN):
            self.report("CDISP0045E", f"a condition must be boolean, but this is {value.type}", written)
            return self.wrong(written)
        return value

    def _binary(self, written: tree.Binary, expected: Type | None) -> Expression:
        operator = written.operator
        if operator in _ASSIGNMENTS:
            return self._assign(written)
        if operator == "?:":
            return self._or_else(written, expected)
        left, right = self._operands(written)
        span = self.span(written)
        if operator == "in":
            return self._in(written, left, right)
        if left.type == NULL and right.type == NULL:
            self.report("CDISP0651E", "both operands are null", written)
            return self.wrong(written)
        if operator in ("==", "!=") and left.type != right.type:
            type_ = common(left.type, right.type)
            one, other = (None, None) if type_ is None else (converted(left, type_), converted(right, type_))
            if one is not None and other is not None:
                left, right = one, other
        left, right = _full(left), _full(right)
        result = result_of(operator, left.type, right.type)
        if isinstance(result, WrongOperands):
            self.report(result.code, result.message, written)
            return self.wrong(written)
        if UNKNOWN in (left.type, right.type):
            return Typed(span, result)
        if operator in ("/", "%") and right.type in INTEGERS and isinstance(left, Constant) and _is_zero(right):
            self.report("CDISP0143E", f"'{operator}' has the divisor 0", written)
            return Typed(span, result)
        return folded(Binary(span, result, operator, left, right))

    def _operands(self, written: tree.Binary) -> tuple[Expression, Expression]:
        """Return both typed operands, and report mistakes; the other operand gives a word of enumerations its type."""
        if isinstance(written.left, tree.Name) and isinstance(self.static(written.left), EnumWord):
            right = self.value(written.right)
            return self.value(written.left, right.type), right
        left = self.value(written.left)
        hint = left.type
        if isinstance(hint, Collection) and written.operator != "==":
            hint = hint.elements[-1]
        return left, self.value(written.right, hint if isinstance(hint, Enumeration | Optional) else None)

    def _in(self, written: tree.Binary, left: Expression, right: Expression) -> Expression:
        span = self.span(written)
        if UNKNOWN in (left.type, right.type):
            return Typed(span, BOOLEAN)
        if right.type == EMPTY_LIST:
            right = converted(right, Collection("list", (left.type,))) or right
        element = right.type.elements[0] if isinstance(right.type, Collection) else None
        sought = None if element is None else converted(left, element)
        if is_string(right.type) or right.type == BLOB:
            message = f"'in' takes a list, set or map, but this is {right.type}: use findFirst"
            self.report("SO0722", message, written)
            return Typed(span, BOOLEAN)
        if sought is None or not is_in(sought.type, right.type):
            self.report("CDISP0046E", f"{left.type} is not an element of {right.type}", written)
            return Typed(span, BOOLEAN)
        return Binary(span, BOOLEAN, "in", sought, right)

    def _or_else(self, written: tree.Binary, expected: Type | None) -> Expression:
        left = self.value(written.left)
        right = self.value(written.right, expected)
        if UNKNOWN in (left.type, right.type):
            return Typed(self.span(written), UNKNOWN)
        if not isinstance(left.type, Optional):
            self.report("CDISP0049E", f"'?:' takes an optional value, but this is {left.type}", written.left)
            return self.wrong(written)
        type_ = right.type if isinstance(right.type, Optional) else left.type.content
        other = converted(right, type_)
        if other is None or (isinstance(type_, Optional) and type_ != left.type):
            message = f"the operands of '?:' are {left.type} and {right.type}: they must have one type"
            self.report("CDISP0046E", message, written)
            return self.wrong(written)
        return Binary(self.span(written), type_, "?:", left, other)

    def _assign(self, written: tree.Binary) -> Expression:
        operator, span = written.operator, self.span(written)
        target = self.value(written.left)
        value = self.value(written.right, target.type)
        if not self.is_mutable(written.left, target, operator) or UNKNOWN in (target.type, value.type):
            return Typed(span, VOID)
        if operator == "=":
            return Assign(span, VOID, operator, target, self.convert(value, target.type, written.right))
        value = _full(value)
        result = result_of(operator.removesuffix("="), target.type, value.type)
        if not isinstance(result, WrongOperands) and result != target.type:
            message = f"the operands of '{operator}' are {target.type} and {value.type}: they must have one type"
            result = WrongOperands("CDISP0046E", message)
        if isinstance(result, WrongOperands):
            self.report(result.code, result.message, written.right)
            return Typed(span, VOID)
        return Assign(span, VOID, operator, target, value)


def _is_zero(value: Expression) -> bool:
    return isinstance(value, Constant) and value.value == 0


def _full(value: Expression) -> Expression:
    """Return an operand; a bounded rstring is converted to an rstring, as in every operation."""
    if isinstance(value.type, BoundedString):
        return converted(value, RSTRING) or value
    return value
