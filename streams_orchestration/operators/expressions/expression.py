"""An expression over the attributes of a stream, and a recorder for the expressions that are read."""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from streams_orchestration.expressions.conversion import depends_on_zone as conversion_depends_on_zone
from streams_orchestration.expressions.exact import exact
from streams_orchestration.expressions.times import UTC
from streams_orchestration.expressions.tree import Cast, Literal, TypedNode, attributes, may_fail, read_by_spark
from streams_orchestration.expressions.types import VOID, Type, without_nanoseconds
from streams_orchestration.expressions.typing import can_assign
from streams_orchestration.operators.errors.errors import FaultyExpressionError
from streams_orchestration.operators.errors.faults import report
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.spl.types.types import Type as SplType

if TYPE_CHECKING:
    from streams_orchestration.expressions.vectors import VectorFunction


@dataclass(frozen=True, eq=False)
class Expression:
    """A typed expression over a stream.

    Attributes:
        text: the text in the spec.
        parameter: the name of the parameter that contains it, for errors.
        node: its typed tree; a null literal if the expression is faulty.
        zone: the time zone of its date and time functions.
        faulty: True if a fault was reported. Its further faults are not reported, since they may be consequences.
    """

    text: str
    parameter: str
    node: TypedNode
    zone: dt.tzinfo
    faulty: bool = False

    @property
    def type(self) -> Type:
        """The type of the expression's value."""
        return self.node.type

    @functools.cached_property
    def arrow_type(self) -> pa.DataType:
        """The Arrow type of the expression's value."""
        from streams_orchestration.expressions.arrow import arrow_type

        return arrow_type(self.node.type)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The attributes that the expression uses."""
        return attributes(self.node)

    @functools.cached_property
    def may_fail(self) -> bool:
        """True if evaluation may fail for some tuples."""
        return may_fail(self.node)

    @functools.cached_property
    def function(self) -> VectorFunction:
        """The function that evaluates the expression for all tuples of a batch.

        It raises FailedTupleError for a tuple without a value.
        """
        from streams_orchestration.expressions.vectors import vector_function

        return vector_function(self.node, self.zone)

    def canonical(self) -> str:
        """Return the expression's canonical text."""
        from streams_orchestration.expressions.canonical import canonical

        return canonical(self.node, self.zone)

    def fault(self, message: str) -> FaultyExpressionError:
        """Return an error that says that the expression does not suit its parameter."""
        return FaultyExpressionError(f"{self.parameter}: {message}", self.parameter, self.text)

    def reason(self, why: object) -> str:
        """Return the reason why an expression has no value for a tuple: parameter, text and cause."""
        return f"{self.parameter}: {in_one_line(self.text)}: {why}"

    def refuse(self, message: str) -> None:
        """Report that the expression does not suit its parameter, unless it is already known to be faulty.

        Raises:
            FaultyExpressionError: errors are not being gathered.
        """
        if not self.faulty:
            report(self.fault(message))

    @property
    def spl_type(self) -> SplType | None:
        """The SPL type of the expression's value; None for an expression in SQL."""
        return None

    def ordered(self) -> Expression:
        """Return the expression with values of an Arrow type that has the order of the expression's type."""
        return self

    def keyed(self) -> Expression:
        """Return the expression with values that Arrow compares as the expression's type compares keys."""
        return self

    def matched(self) -> Expression:
        """Return the expression as a key of a Join: null equals nothing."""
        return self.keyed()

    @property
    def equals_itself(self) -> bool:
        """False if some values of the expression's type equal no key, not even themselves, as NaN in SPL."""
        return True

    def unequal(self, values: pa.Array) -> np.ndarray:
        """Return a mask of the expression's values that equal no key, not even themselves."""
        return np.zeros(len(values), bool)

    def assigned(self, target: pa.DataType, *, required: bool = False) -> Expression:
        """Return the expression converted to the type of an attribute; a faulty one if a reported fault prevents that.

        Args:
            target: the type of the attribute.
            required: True if the attribute is NOT NULL; a null then counts as a failed tuple.

        Raises:
            FaultyExpressionError: the conversion needs an explicit `CAST`, and errors are not being gathered.
        """
        from streams_orchestration.expressions.presence import present

        converted = self._converted(target)
        return replace(converted, node=present(converted.node)) if required and not converted.faulty else converted

    def _converted(self, target: pa.DataType) -> Expression:
        from streams_orchestration.expressions.arrow import type_of

        kind = type_of(target)
        if kind == self.type and not kind.is_decimal:
            return self
        if kind.holds("timestamp_ns"):  # a batch has it from microseconds
            kind = without_nanoseconds(kind)
        if self.type.holds("timestamp_ns"):
            return replace(self, node=read_by_spark(self.node))._converted(target)
        if not can_assign(self.type, kind):
            message = f"the value is {self.type}, but the attribute is {type_name(target)}; CAST it"
            self.refuse(message)
            return unknown(self.text, self.parameter)
        node = exact(self.node, kind.scale) if kind.is_decimal else self.node
        if kind == node.type:
            return self if node is self.node else replace(self, node=node)
        if isinstance(self.node, Literal) and self.node.value is None:
            return replace(self, node=Literal(None, kind))
        converted = replace(self, node=Cast(node, kind))
        if self.zone is not UTC and conversion_depends_on_zone(self.type, kind):
            note(self.parameter, self.text, converted.canonical)
        return converted


class Noted(NamedTuple):
    """A record of an expression that was read. The parameter is a dotted path; `canonical` is its canonical text."""

    parameter: str
    text: str
    canonical: str


_NOTES: ContextVar[list[Noted] | None] = ContextVar("notes", default=None)


@contextmanager
def noted() -> Iterator[list[Noted]]:
    """Record all expressions that are read within the block, and yield the list of records."""
    notes = list[Noted]()
    token = _NOTES.set(notes)
    try:
        yield notes
    finally:
        _NOTES.reset(token)


def note(parameter: str, text: str, canonical: Callable[[], str]) -> None:
    """Record an expression if recording is on."""
    if (notes := _NOTES.get()) is not None:
        notes.append(Noted(parameter, text, canonical()))


def unknown(text: str, parameter: str) -> Expression:
    """Return a faulty expression, in place of one that cannot be read."""
    return Expression(text, parameter, Literal(None, VOID), UTC, faulty=True)


def in_one_line(text: str) -> str:
    """Return a text in quotes, with one blank for each run of white space."""
    return repr(" ".join(text.split()))
