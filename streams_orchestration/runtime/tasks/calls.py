"""Calls into operators: paid for by the operator that is called, and what it raises is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from streams_orchestration.operators.errors import DataError, TupleError
from streams_orchestration.runtime.errors import OperatorError
from streams_orchestration.runtime.tasks.meter import Meter
from streams_orchestration.runtime.tasks.program import OperatorProgram

T = TypeVar("T")


class OperatorCalls:
    """The calls of one task; an operator that submits calls others meanwhile."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def call(self, program: OperatorProgram, call: Callable[[], T], at: Callable[[Exception], str] | None = None) -> T:
        """Call into an operator.

        Args:
            program: the operator's.
            call: what to call.
            at: the place in its streams, for what it raises.

        Raises:
            OperatorError: it raised, or one that it submitted to; named is the innermost.
        """
        paying = self.meter.enter(program.index)
        try:
            return call()
        except OperatorError:
            raise
        except Exception as error:
            raised = error.__cause__ if isinstance(error, TupleError) and error.__cause__ else error
            text = str(raised) if isinstance(raised, DataError) else f"{type(raised).__name__}: {raised}"
            raise OperatorError(program.name, f"{text}; {at(error)}" if at else text) from raised
        finally:
            self.meter.switch(paying)
