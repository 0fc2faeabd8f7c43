"""Window marks that no operator handles: they are counted, but divide no batches and cause no calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from streams_orchestration.compiler.pe_program import Delivery, Direct, PeProgram, SplitDelivery
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.runtime.tasks.instances import OperatorInstance
from streams_orchestration.runtime.tasks.meter import Meter


class UnheededMarks:
    """The output ports of one task whose window marks reach only operators of the same task that ignore them.

    Ports are found on request. `instance` returns the operator with an index, which it makes if it does not exist yet.
    """

    def __init__(self, program: PeProgram, instance: Callable[[int], OperatorInstance], meter: Meter) -> None:
        self._program = program
        self._instance = instance
        self._meter = meter
        self._unheeded: set[tuple[int, int]] = set()

    def serve(self, context: OperatorContext, operator: int) -> None:
        """Let an operator ask its context for unheeded ports, and count the marks that it does not send there."""
        context.unheeded = partial(self._found, operator)
        context.count_marks = partial(self._count, operator)

    def _found(self, operator: int, port: int) -> bool:
        """Return True if window marks of an output port reach only operators of this task, and none handles them.

        Operators downstream are made if they do not exist yet.
        """
        if (operator, port) not in self._unheeded and not self._heeded(operator, port):
            self._unheeded.add((operator, port))
        return (operator, port) in self._unheeded

    def _heeded(self, operator: int, port: int) -> bool:
        for delivery in _kept_deliveries(self._program.operators[operator].deliveries[port]):
            if not isinstance(delivery, Direct) or _heeds_marks(self._instance(delivery.operator).operator):
                return True
            if any(self._heeded(delivery.operator, output) for output in self._passed_on(delivery.operator)):
                return True
        return False

    def _passed_on(self, operator: int) -> list[int]:
        """Return the output ports to which an operator passes window marks on."""
        if not self._instance(operator).operator.passes_marks:
            return []
        return [port for port, preserves in enumerate(self._program.operators[operator].preserves) if preserves]

    def _count(self, operator: int, port: int, number: int) -> None:
        """Count marks that an operator did not send to an unheeded port, as if they had been sent."""
        self._meter.passes_marks(operator, port, number)
        for delivery in _kept_deliveries(self._program.operators[operator].deliveries[port]):
            assert isinstance(delivery, Direct)
            self._meter.takes_marks(delivery.operator, delivery.port, number)
            for output in self._passed_on(delivery.operator):
                self._count(delivery.operator, output, number)


def _heeds_marks(operator: Operator) -> bool:
    if operator.heeds_marks is None:
        return type(operator).on_punctuation is not Operator.on_punctuation
    return operator.heeds_marks


def _kept_deliveries(deliveries: tuple[Delivery, ...]) -> Iterator[Delivery]:
    """Yield the deliveries that window marks take; a splitter that keeps marks gives them to all its channels."""
    for delivery in deliveries:
        if not isinstance(delivery, SplitDelivery):
            yield delivery
        elif not delivery.drops_window_punctuation:
            for channel in delivery.channels:
                yield from _kept_deliveries(channel)
