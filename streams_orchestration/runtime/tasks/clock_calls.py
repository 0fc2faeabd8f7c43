"""Calls operators that use the clock: passes them the time of the batch, and keeps the times of their next calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram, Task
from streams_orchestration.operators.contract.clock_operator import ClockOperator
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.contract.results import check_nothing
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.loading.import_path import ImplementationError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import BatchPlan
from streams_orchestration.runtime.tasks.calls import OperatorCalls


class ClockCalls:
    """The operators of a task that use the clock, and the times of their next calls.

    There are none in a task that only forwards items. The creation raises OperatorError if the class of an
    operator cannot be imported.
    """

    def __init__(
        self,
        program: PeProgram,
        task: Task,
        plan: BatchPlan,
        calls: OperatorCalls,
        operator: Callable[[int], Operator],
    ) -> None:
        self._calls = calls
        self._operator = operator
        self.now = plan.planned_at or world.now()
        """The time at which the batch was planned, in unix seconds; the current time if that is unknown."""
        own = (program.operators[index] for index in task.owns) if not task.forwards else ()
        self.programs = [each for each in own if self._goes_by_clock(each)]

    def tell(self, changed: set[int]) -> None:
        """Call `on_time` of each operator that uses the clock, once for the batch; add their indexes to `changed`.

        Raises:
            OperatorError: an operator raised.
        """
        for program, operator in self._each():
            changed.add(program.index)
            self._calls.call(program, lambda run=operator.on_time: check_nothing(run(), "on_time"))

    def wakes(self) -> float | None:
        """Ask the operators that use the clock for their next calls, and return the earliest unix time; None for never.

        Raises:
            OperatorError: an operator raised.
        """
        times = [self._calls.call(program, operator.wake) for program, operator in self._each()]
        return min((time for time in times if time is not None), default=None)

    def _goes_by_clock(self, program: OperatorProgram) -> bool:
        try:
            return goes_by_clock(program)
        except ImplementationError as error:
            failure = self._calls.failure(program, error)
            raise OperatorError(program.name, str(failure), failure) from error

    def _each(self) -> Iterator[tuple[OperatorProgram, ClockOperator]]:
        for program in self.programs:
            operator = self._operator(program.index)
            assert isinstance(operator, ClockOperator)
            yield program, operator


def goes_by_clock(program: OperatorProgram) -> bool:
    """Return True if an operator uses the clock, and is therefore called without input.

    Raises:
        ImplementationError: its class cannot be imported.
    """
    kind = import_operator(program.implementation)
    return issubclass(kind, ClockOperator) and kind.goes_by_clock(program.parameters)
