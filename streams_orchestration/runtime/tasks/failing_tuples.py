"""Finds the tuples at which an operator raised an error, and the place from which they were read."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from streams_orchestration import world
from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.errors.errors import TupleError
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.errors.operator_errors import OperatorFailure

SEARCH_SECONDS = 2.0
"""Seconds for which an operator may be called again to find the tuple at which it fails."""
VALUE_LENGTH = 40
"""The most characters of a value that are shown."""
VALUES_SHOWN = 8


@dataclass(frozen=True, slots=True)
class ArrivedTuples:
    """Consecutive tuples that arrived on an input port in one batch."""

    port: int
    before: int
    """The number of earlier tuples of the same batch on the port."""
    count: int
    tuples: TupleBatch | None
    """The tuples; None once the operator has written to them."""
    origin: str
    """File and rows, or segment and rows, from which they were read; empty if that is not known."""

    def located(self, failure: OperatorFailure, operator: Operator, error: BaseException) -> OperatorFailure:
        """Return a failure with the port, the tuples and the origin at which the operator failed.

        The range of tuples is narrowed as far as possible; a `pure` operator is called again for that, for at most
        about `SEARCH_SECONDS`. For a single tuple, the failure has its values, too.
        """
        first, count = self._culprits(operator, error)
        number = self.before + first + 1
        values = "" if count > 1 or self.tuples is None else f"{{{_shown(self.tuples.slice(first, 1))}}}"
        return replace(
            failure, port=self.port, first=number, last=number + count - 1, values=values, origin=self.origin
        )

    def _culprits(self, operator: Operator, error: BaseException) -> tuple[int, int]:
        """Return the position of the first tuple that may have caused the error, and the number of such tuples.

        A TupleError names its tuple. After any other error these are all tuples, unless the operator is pure and has
        not written to them: then it is called with parts of them; see `_narrowed`.
        """
        if isinstance(error, TupleError):
            return error.position, 1
        if self.tuples is None or not operator.pure:
            return 0, self.count
        return _narrowed(lambda part: operator.process(self.port, part), self.tuples, type(error), operator)


def _narrowed(
    call: Callable[[TupleBatch], None], tuples: TupleBatch, kind: type[BaseException], operator: Operator
) -> tuple[int, int]:
    """Return the position and number of the tuples that may have caused the error, by bisection.

    The operator is called with each half in turn for as long as a half fails like the whole, but no more after
    `SEARCH_SECONDS`. Its output is dropped.
    """
    context, until = operator.context, world.monotonic() + SEARCH_SECONDS
    kept = context.submit, context.punctuate
    context.submit, context.punctuate = _to_nobody, _to_nobody
    first, count = 0, len(tuples)
    try:
        while count > 1 and world.monotonic() < until:
            half = count // 2
            if _fails(call, tuples.slice(first, half), kind):
                count = half
            elif _fails(call, tuples.slice(first + half, count - half), kind):
                first, count = first + half, count - half
            else:
                break
    finally:
        context.submit, context.punctuate = kept
    return first, count


def _to_nobody(_port: int, _item: object) -> None:
    """Drop a submitted item."""


def _fails(call: Callable[[TupleBatch], None], tuples: TupleBatch, kind: type[BaseException]) -> bool:
    with contextlib.suppress(Exception):
        try:
            call(tuples)
        except kind:
            return True
    return False


def _shown(row: TupleBatch) -> str:
    values = [f"{name}: {shortened(repr(value), VALUE_LENGTH)}" for name, value in row.to_pylist()[0].items()]
    more = ["..."] if len(values) > VALUES_SHOWN else []
    return ", ".join(values[:VALUES_SHOWN] + more)
