"""Calls into operators: processor time is added to the called operator's account, and exceptions name the operator."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.operators.errors.errors import DataError, OutsideError, RefusedError, TupleError
from streams_orchestration.runtime.errors.operator_errors import OperatorError, OperatorFailure
from streams_orchestration.runtime.tasks.instances import OperatorInstance
from streams_orchestration.runtime.tasks.meter import Meter

T = TypeVar("T")
_PRODUCT = __name__.partition(".")[0]


FRAMES_OF_OPERATOR = 20
"""The most stack frames of Python between an operator that submits and the operator that is called, with a margin."""


def allow_calls(operators: int) -> None:
    """Raise Python's recursion limit for a chain of this many operators in one PE; never lower it."""
    needed = 1_000 + FRAMES_OF_OPERATOR * operators
    if sys.getrecursionlimit() < needed:
        sys.setrecursionlimit(needed)


class OperatorCalls:
    """The calls of one task. While an operator submits tuples, it calls other operators.

    `instances` are the operators that exist, by index; others are being made.
    """

    def __init__(self, meter: Meter, instances: Mapping[int, OperatorInstance], batch: int) -> None:
        self.meter = meter
        self._instances = instances
        self._batch = batch

    def call(
        self,
        program: OperatorProgram,
        call: Callable[[], T],
        at: Callable[[OperatorFailure, BaseException], OperatorFailure] | None = None,
    ) -> T:
        """Call into an operator, charge the processor time to it, and return the result of the call.

        `at` adds the place in the operator's streams to the failure, which an exception becomes.

        Raises:
            OperatorError: the operator raised an exception or SystemExit, or an operator that it submitted to did; the
                error names the operator whose own call raised.
        """
        paying = self.meter.enter(program.index)
        try:
            return call()
        except OperatorError:
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  whatever an operator's code raises
            raised = error.__cause__ if isinstance(error, TupleError) and error.__cause__ else error
            failure = self.failure(program, raised)
            failure = at(failure, error) if at else failure
            raise OperatorError(program.name, str(failure), failure) from raised
        finally:
            self.meter.switch(paying)

    def failure(self, program: OperatorProgram, raised: BaseException) -> OperatorFailure:
        """Return the failure of an operator that raised an exception in this batch."""
        in_words = isinstance(raised, DataError | OutsideError | RefusedError)
        name = type(raised).__name__
        text = str(raised) if in_words else f"{name}: {raised}"
        instance = self._instances.get(program.index)
        modules = instance.operator.code_modules() if instance else (program.implementation.partition(":")[0],)
        file, line = own_line(raised, modules)
        pure = instance is not None and instance.operator.pure
        return OperatorFailure(program.name, text, name, file, line, pure=pure, batch=self._batch)


def at_mark(port: int, mark: str) -> Callable[[OperatorFailure, BaseException], OperatorFailure]:
    """Return a function that adds to a failure the punctuation at whose arrival the operator raised."""
    return lambda failure, _: replace(failure, port=port, mark=mark)


def own_line(raised: BaseException, modules: Iterable[str]) -> tuple[str, int]:
    """Return file and line of the innermost frame in an operator's own code; empty and 0 if there is none.

    All packages of `modules` have the operator's code, but code of the product does not count.
    """
    packages = {module.partition(".")[0] for module in modules} - {_PRODUCT, "builtins"}
    place = ("", 0)
    for frame, line in traceback.walk_tb(raised.__traceback__):
        if str(frame.f_globals.get("__name__")).partition(".")[0] in packages:
            place = (frame.f_code.co_filename, line)
    return place
