"""Expressions in Python: `col("delay") > 15` gives the text `delay > 15` in an operator's parameters.

>>> str((col("delay") > 15) & col("carrier").isin("UA", "AA"))
"delay > 15 AND carrier IN ('UA', 'AA')"
"""

from __future__ import annotations

from typing import Any, NoReturn, TypeAlias

from streams_orchestration.builder.literals import ColumnError, PythonValue, literal, type_named
from streams_orchestration.expressions.junctions import between, joined, junction_parts
from streams_orchestration.expressions.syntax import (
    Apply,
    Choice,
    Convert,
    Member,
    Name,
    Syntax,
)
from streams_orchestration.expressions.writing import written

Value: TypeAlias = "Column | PythonValue"
"""An operand or an argument: an expression, or a value of Python."""
MISSING: Any = object()
"""An optional argument that is not given."""


class Column:
    """An expression over the attributes of a stream; `str` gives its text.

    Python's operators combine expressions: `+ - * / % **`, unary `-`, `abs`, `[...]`, `== != < <= > >=`, and `& | ~`
    for AND, OR and NOT. A value of Python that no literal has raises ColumnError, and so do `== None` and `!= None`,
    for which there are `is_null` and `is_not_null`; elsewhere None is NULL. `if`, `and`, `or`, `not` and `in` raise
    ColumnError, too.
    """

    __slots__ = ("name", "tree")

    def __init__(self, tree: Syntax, name: str | None = None) -> None:
        self.tree = tree
        self.name = name if name is not None or not isinstance(tree, Name) else tree.name
        """Name of the attribute in the result of `select`, or None if the expression has no name."""

    def __str__(self) -> str:
        """Return the expression as it is written in a spec."""
        return written(self.tree)

    def __repr__(self) -> str:
        """Return the text, marked as an expression."""
        return f"Column<{self}>"

    def __bool__(self) -> NoReturn:
        """Raise ColumnError for `if`, `and`, `or`, `not`, `in`, `1 < x < 3`: only a tuple makes it true or false."""
        message = (
            f"{self} has a value for each tuple, but none while the application is built; use & in place of and, | in "
            "place of or, ~ in place of not, .isin() in place of in, .between() in place of a < x < b, and when() in "
            "place of if"
        )
        raise ColumnError(message)

    def __iter__(self) -> NoReturn:
        """Raise ColumnError: only the values of an expression have elements, and these exist for tuples only."""
        message = (
            f"{self} has elements for each tuple, but none while the application is built; use functions.size for "
            "their number, x[0] for an element"
        )
        raise ColumnError(message)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    # arithmetic

    def __add__(self, other: Value) -> Column:
        """Return the sum."""
        return _apply("+", self, other)

    def __radd__(self, other: Value) -> Column:
        """Return the sum."""
        return _apply("+", other, self)

    def __sub__(self, other: Value) -> Column:
        """Return the difference."""
        return _apply("-", self, other)

    def __rsub__(self, other: Value) -> Column:
        """Return the difference."""
        return _apply("-", other, self)

    def __mul__(self, other: Value) -> Column:
        """Return the product."""
        return _apply("*", self, other)

    def __rmul__(self, other: Value) -> Column:
        """Return the product."""
        return _apply("*", other, self)

    def __truediv__(self, other: Value) -> Column:
        """Return the quotient: a double for whole numbers, a decimal for decimals.

        `functions.div` gives a whole number.
        """
        return _apply("/", self, other)

    def __rtruediv__(self, other: Value) -> Column:
        """Return the quotient."""
        return _apply("/", other, self)

    def __mod__(self, other: Value) -> Column:
        """Return the remainder with the sign of the dividend, unlike Python's; `functions.pmod` gives Python's."""
        return _apply("%", self, other)

    def __rmod__(self, other: Value) -> Column:
        """Return the remainder."""
        return _apply("%", other, self)

    def __pow__(self, other: Value) -> Column:
        """Return the power, a double."""
        return _apply("power", self, other)

    def __neg__(self) -> Column:
        """Return the number with the opposite sign."""
        return _apply("negative", self)

    def __abs__(self) -> Column:
        """Return the absolute value."""
        return _apply("abs", self)

    # comparison

    def __eq__(self, other: Value) -> Column:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the condition that this expression equals a value. Raises ColumnError for None: use `is_null()`."""
        _refuse_none(other, "==", "is_null()")
        return _apply("=", self, other)

    def __ne__(self, other: Value) -> Column:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the condition that this expression differs from a value.

        Raises:
            ColumnError: the value is None; use `is_not_null()`.
        """
        _refuse_none(other, "!=", "is_not_null()")
        return _apply("<>", self, other)

    def __lt__(self, other: Value) -> Column:
        """Return the condition that this expression is smaller."""
        return _apply("<", self, other)

    def __le__(self, other: Value) -> Column:
        """Return the condition that this expression is not larger."""
        return _apply("<=", self, other)

    def __gt__(self, other: Value) -> Column:
        """Return the condition that this expression is larger."""
        return _apply(">", self, other)

    def __ge__(self, other: Value) -> Column:
        """Return the condition that this expression is not smaller."""
        return _apply(">=", self, other)

    def eq_null_safe(self, other: Value) -> Column:
        """Return the condition that this expression and a value are equal or both null; it is never null itself."""
        return _apply("<=>", self, other)

    def is_null(self) -> Column:
        """Return the condition that the value is null."""
        return _apply("isnull", self)

    def is_not_null(self) -> Column:
        """Return the condition that the value is not null."""
        return ~self.is_null()

    def is_nan(self) -> Column:
        """Return the condition that the number is NaN."""
        return _apply("isnan", self)

    def between(self, low: Value, high: Value) -> Column:
        """Return the condition that the value lies between two bounds, both included."""
        return Column(between(self.tree, tree_of(low), tree_of(high)))

    def isin(self, *values: Value) -> Column:
        """Return the condition that the value is one of several.

        Raises:
            ColumnError: no value is given.
        """
        if not values:
            message = f"{self}.isin() needs a value; lit(False) is the condition that is never true"
            raise ColumnError(message)
        return _apply("in", self, *values)

    def like(self, pattern: Value) -> Column:
        """Return the condition that the text fits a pattern, in which `%` is any text and `_` a character."""
        return _apply("like", self, pattern)

    def ilike(self, pattern: Value) -> Column:
        """Return the condition that the text fits a pattern, ignoring case."""
        return _apply("ilike", self, pattern)

    def rlike(self, pattern: Value) -> Column:
        """Return the condition that a regular expression is found in the text."""
        return _apply("rlike", self, pattern)

    # logic

    def __and__(self, other: Value) -> Column:
        """Return the condition that both are true."""
        return _joined("and", self, other)

    def __rand__(self, other: Value) -> Column:
        """Return the condition that both are true."""
        return _joined("and", other, self)

    def __or__(self, other: Value) -> Column:
        """Return the condition that this or the other condition is true."""
        return _joined("or", self, other)

    def __ror__(self, other: Value) -> Column:
        """Return the condition that at least one of them is true."""
        return _joined("or", other, self)

    def __invert__(self) -> Column:
        """Return the condition that this one is false."""
        return _apply("not", self)

    # bits

    def bitwise_and(self, other: Value) -> Column:
        """Return the bits that are set in both numbers."""
        return _apply("&", self, other)

    def bitwise_or(self, other: Value) -> Column:
        """Return the bits that are set in at least one of the numbers."""
        return _apply("|", self, other)

    def bitwise_xor(self, other: Value) -> Column:
        """Return the bits that are set in exactly one of the numbers."""
        return _apply("^", self, other)

    def bitwise_not(self) -> Column:
        """Return the number with all bits inverted."""
        return _apply("~", self)

    # types, parts and names

    def cast(self, to: str) -> Column:
        """Return the value converted to another type, such as `double` or `decimal(10, 2)`.

        Raises:
            ColumnError: there is no such type.
        """
        return Column(Convert(self.tree, type_named(to)))

    def try_cast(self, to: str) -> Column:
        """Return the value converted to another type, or null if it cannot be converted.

        Raises:
            ColumnError: there is no such type.
        """
        return Column(Convert(self.tree, type_named(to), lenient=True))

    def field(self, name: str) -> Column:
        """Return a field of a struct."""
        return Column(Member(self.tree, name))

    def __getitem__(self, key: Value) -> Column:
        """Return an element of an array, counted from 0, or the value of a map's key."""
        return _apply("[]", self, key)

    def alias(self, name: str) -> Column:
        """Return the expression with a name. In `select`, its value becomes the attribute of this name."""
        return Column(self.tree, name)


class Summary:
    """A call of an output function of `Aggregate` over the tuples of a group, as `functions` makes it."""

    __slots__ = ("arguments", "function")

    def __init__(self, function: str, *arguments: Value) -> None:
        self.function = function
        self.arguments = tuple(tree_of(each) for each in arguments if each is not MISSING)

    def __str__(self) -> str:
        """Return the call as it is written in a spec: `Average(n)`."""
        return f"{self.function}({', '.join(map(written, self.arguments))})"

    def __repr__(self) -> str:
        """Return the call as it is written in a spec, marked as a function."""
        return f"Summary<{self}>"


class When(Column):
    """A conditional expression, which `when` and `otherwise` extend. It is null if no condition is true."""

    __slots__ = ()

    def when(self, condition: Value, value: Value) -> When:
        """Return the expression with one more branch, which applies if its condition is true and no earlier one is.

        Raises ColumnError if no literal has one of the values.
        """
        assert isinstance(self.tree, Choice)
        return When(Choice((*self.tree.branches, (tree_of(condition), tree_of(value))), None))

    def otherwise(self, value: Value) -> Column:
        """Return the expression with a value for tuples for which no condition is true.

        Raises ColumnError if no literal has the value.
        """
        assert isinstance(self.tree, Choice)
        return Column(Choice(self.tree.branches, tree_of(value)))


def col(name: str) -> Column:
    """Return the expression that is the value of an attribute."""
    return Column(Name(name))


def when(condition: Value, value: Value) -> When:
    """Return a conditional expression: `when(col("n") > 9, "many").otherwise("few")`.

    Raises:
        ColumnError: no literal has the value.
    """
    return When(Choice(((tree_of(condition), tree_of(value)),), None))


def lit(value: Value) -> Column:
    """Return a value of Python as an expression.

    A float is a double, a Decimal a decimal, a datetime with a zone a timestamp, a datetime without a zone a
    `timestamp_ntz`, a timedelta an interval; None is NULL. A reference to a submission-time value is a number or a
    condition.

    Raises:
        ColumnError: no literal has this value.
    """
    return Column(tree_of(value))


def call(function: str, *arguments: Value) -> Column:
    """Return the call of a function by its name. Module `functions` has a Python function of every name."""
    return _apply(function, *(each for each in arguments if each is not MISSING))


def tree_of(value: Value) -> Syntax:
    """Return the syntax tree of an expression or of a Python value.

    Raises:
        ColumnError: no literal has this value.
    """
    return value.tree if isinstance(value, Column) else literal(value)


def _apply(function: str, *operands: Value) -> Column:
    return Column(Apply(function, tuple(map(tree_of, operands))))


def _joined(word: str, *operands: Value) -> Column:
    return Column(joined(word, [part for each in operands for part in junction_parts(tree_of(each), word)]))


def _refuse_none(other: Value, sign: str, instead: str) -> None:
    if other is None:
        message = f"null equals no value, so {sign} None would never be true; use {instead}"
        raise ColumnError(message)
