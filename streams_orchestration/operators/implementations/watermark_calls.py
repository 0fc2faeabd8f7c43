"""Calls an operator for changes of its watermark: timers that are due, then `on_watermark` (EV21, EV60)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.contract.results import check_nothing
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.event_time.operator_watermark import OperatorWatermark
from streams_orchestration.operators.implementations.implementation import timers_of
from streams_orchestration.operators.tuples.watermarks import IDLE, Watermarks

_PRODUCT = "streams_orchestration.operators."


def uses_watermark(operator: Operator) -> bool:
    """Return True if the operator may act on changes of its watermark, or read the watermark in `process`.

    A standard operator reads it in `process` only if it has timers or `on_watermark`. The code of any other operator
    may read it.
    """
    kind = type(operator)
    handles = timers_of(operator) is not None or kind.on_watermark is not Operator.on_watermark
    return handles or not kind.process.__module__.startswith(_PRODUCT)


def reach_steps(
    operator: Operator,
    watermark: OperatorWatermark,
    steps: Watermarks | None,
    send: Callable[[Watermarks | None], None],
    call: Callable[[Callable[[], Any]], Any],
) -> None:
    """Call an operator for each change of its input watermark, and send the resulting watermarks.

    The watermarks that result from one change are sent before the next change is handled (EV49). Errors of
    `reach_watermark` pass through `call`.

    Args:
        operator: the operator.
        watermark: the operator's watermark.
        steps: changes of the input watermark, with no tuples between them; None if an operator that keeps tuples may
            have released some for another reason.
        send: sends watermarks to all output ports in the graph.
        call: calls into the operator.
    """
    keeps_tuples = watermark.role.mode == "heldInput"
    if steps is not None and not keeps_tuples and not uses_watermark(operator):
        send(watermark.passed(steps, None))
        return
    for step in (None,) if steps is None else steps.singly():
        if step is not None and step.values[0] != IDLE:
            call(partial(reach_watermark, operator, int(step.values[0])))
        held = call(operator.held) if keeps_tuples else None
        send(watermark.passed(step, held))


def reach_watermark(operator: Operator, watermark: int) -> None:
    """Advance the operator's watermark to a value in ticks and call the operator, which may submit tuples.

    Raises:
        ResultError: the operator has timers and no method for them, or a method returns a value.
    """
    operator.context.watermark = watermark
    fire_timers(operator, watermark)
    if type(operator).on_watermark is not Operator.on_watermark:
        check_nothing(operator.on_watermark(watermark), "on_watermark")
        fire_timers(operator, watermark)


def fire_timers(operator: Operator, watermark: int) -> None:
    """Fire the timers that a watermark reaches, in order of time, then of setting.

    Raises ResultError if the operator has timers and no method for them, or a method returns a value.
    """
    timers = timers_of(operator)
    if timers is None:
        return
    kind = type(operator)
    if kind.on_timers is not Operator.on_timers:
        while (due := timers.take_due(watermark)) is not None:
            check_nothing(operator.on_timers(due), "on_timers")
        return
    for key, time in timers.expire(watermark):
        if kind.on_timer is Operator.on_timer:
            message = "it sets timers, but has neither the method `on_timer(key, time)` nor `on_timers(due)`"
            raise ResultError(message)
        check_nothing(operator.on_timer(key, time), "on_timer")
