"""Typing of expressions.

>>> from streams_orchestration.spl.typing.scopes import Scope, VariableName
>>> from streams_orchestration.spl.types.types import INT32
>>> mistakes = []
>>> source, scope = Source.of("n + 2 * 3l"), Scope(names={"n": VariableName(INT32, "local")})
>>> check_expression(expression_of("n + 2 * 3"), scope, source, mistakes).type
Primitive(name='int32')
>>> str(check_expression(expression_of("n + 2 * 3l"), scope, source, mistakes).type)
'unknown'
>>> [(each.code, each.message, each.span.column) for each in mistakes]
[('CDISP0046E', "the operands of '*' are int32 and int64: they must have one type", 5)]
"""

from __future__ import annotations

from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.expressions import expression_at, expression_of
from streams_orchestration.spl.language.recovery import FaultError, NestingError
from streams_orchestration.spl.types.casts import initialises
from streams_orchestration.spl.types.types import (
    INTEGERS,
    NULL,
    VOID,
    Type,
)
from streams_orchestration.spl.typing.conversions import converted
from streams_orchestration.spl.typing.folding import folded
from streams_orchestration.spl.typing.operations import NoCastError, OperationTyping
from streams_orchestration.spl.typing.scopes import Scope
from streams_orchestration.spl.typing.spans import Mistake, Source
from streams_orchestration.spl.typing.typed import Cast, Constant, Expression

__all__ = ["ExpressionTyping", "check_expression", "expression_of", "type_of"]


def check_expression(
    written: tree.Expression,
    scope: Scope,
    source: Source,
    mistakes: list[Mistake],
    expected: Type | None = None,
) -> Expression:
    """Type an expression. A mistake is appended to `mistakes`, and the faulty part has the type `UNKNOWN`.

    Args:
        written: the expression.
        scope: the scope in which the expression's names are resolved.
        source: the source text of the expression.
        mistakes: the list that gets the mistakes.
        expected: the type that the value must have, if any; it is converted where no cast is needed.
    """
    return ExpressionTyping(source, scope, mistakes).expression(written, expected)


def type_of(written: tree.Type, scope: Scope, source: Source, mistakes: list[Mistake]) -> Type:
    """Return the type that a written type denotes; report a mistake and return `UNKNOWN` if a name denotes no type."""
    return ExpressionTyping(source, scope, mistakes).type(written)


class ExpressionTyping(OperationTyping):
    """The typing of expressions: converts syntax trees to typed trees, and reports mistakes."""

    def expression(self, written: tree.Expression, expected: Type | None = None) -> Expression:
        """Return the typed tree of a whole expression, converted to the expected type; report mistakes in it."""
        value = self.whole(written, expected)
        return value if expected is None else self.convert(value, expected, written)

    def whole(self, written: tree.Expression, expected: Type | None) -> Expression:
        """Return the typed tree of a whole expression; report mistakes in it.

        A text such as `(a) - b` is first parsed as a cast. If `a` turns out to be a value, it is parsed again without
        the cast. An expression that is nested too deeply for the stack is reported as well.
        """
        values: frozenset[int] = frozenset()
        before = len(self.mistakes)
        while True:
            try:
                return self.value(written, expected)
            except NoCastError as error:
                del self.mistakes[before:]
                values |= {error.cast.first}
                again = self._with_values(written, values)
                if again is None:
                    self.report("CDISP0050E", "this is a value, not a type", error.cast.type)
                    return self.wrong(written)
                written = again
            except RecursionError:  # only if the caller's own stack is deep: reading limits the nesting
                del self.mistakes[before:]
                self.report("SO0701", "this expression is nested too deeply", written)
                return self.wrong(written)

    def _with_values(self, written: tree.Expression, values: frozenset[int]) -> tree.Expression | None:
        """Parse an expression again, with some names known to be values, and return it; None if tokens do not fit."""
        try:
            again = expression_at(self.source.tokens, written.first, values)
        except (FaultError, NestingError):
            return None
        return again if again.last == written.last else None

    def initialiser(self, written: tree.Expression, target: Type) -> Expression:
        """Return the initial value of a declared variable, cast to the variable's type if that is possible.

        Report a value of any other type, and return an expression in error for it.
        """
        value = self.whole(written, target)
        result = converted(value, target)
        if result is not None and value.type != VOID:
            return result
        if value.type == NULL:
            return self.convert(value, target, written)
        if not initialises(value.type, target):
            self.report("CDISP0047E", f"{value.type} cannot initialise a variable of type {target}", written)
            return self.wrong(written)
        return folded(Cast(value.span, target, value))

    def constant_integer(self, written: tree.Expression) -> int | None:
        """Return the value of an integer expression that is known at compile time; None for any other expression.

        Mistakes in the expression are not reported.
        """
        before = len(self.mistakes)
        value = self.expression(written)
        del self.mistakes[before:]
        return int(str(value.value)) if isinstance(value, Constant) and value.type in INTEGERS else None

    def value(self, written: tree.Expression, expected: Type | None = None) -> Expression:
        """Return the typed tree of an expression; report mistakes in it.

        Raises NoCastError if a part that was parsed as a cast is another operation.

        The expected type only decides between enumerations that share a word.
        """
        match written:
            case tree.Name():
                return self.named(written, expected)
            case tree.Call():
                return self.call(written, expected)
            case tree.Member() | tree.Index() | tree.Slice():
                return self.part(written, expected)
            case tree.Prefix() | tree.Postfix() | tree.Cast() | tree.Binary() | tree.Choice():
                return self.operation(written, expected)
            case _:
                return self.literal(written, expected)
