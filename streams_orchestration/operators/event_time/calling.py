"""Calls of an operator with batches that have watermarks (EV21, EV49)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.watermarks import Watermarks


def call_whole(
    batch: TupleBatch,
    process: Callable[[TupleBatch], None],
    submitted: Counter[int],
    submit: Callable[[int, Watermarks], None],
    outputs: tuple[int, ...],
) -> None:
    """Call an operator that places watermarks itself; those that it does not submit to a port follow.

    Args:
        batch: the tuples, with the steps of the operator's watermark.
        process: calls the operator.
        submitted: counts the watermarks that the operator submits in the call, by output port.
        submit: sends watermarks to an output port.
        outputs: the output ports that take watermarks.
    """
    submitted.clear()
    process(batch)
    if batch.watermarks is not None:
        for port in outputs:
            if submitted[port] < len(batch.watermarks):
                submit(port, batch.watermarks.rest(submitted[port]))


def call_between(
    batch: TupleBatch,
    process: Callable[[TupleBatch], None],
    submit: Callable[[int, Watermarks], None],
    outputs: tuple[int, ...],
) -> None:
    """Call an operator for the tuples between two watermarks, and send each watermark when the call has returned.

    Args:
        batch: the tuples, with the steps of the operator's watermark.
        process: calls the operator.
        submit: sends watermarks to an output port.
        outputs: the output ports that take watermarks.
    """
    marks, tuples = batch.watermarks, batch.bare()
    if marks is None:
        process(tuples)
        return
    done = first = 0
    places = marks.places.tolist()
    for number, place in enumerate(places):
        if place > done:
            process(tuples.slice(done, place - done))
            done = place
        if number + 1 == len(places) or places[number + 1] > place:
            for port in outputs:
                submit(port, Watermarks(marks.places[first : number + 1] - place, marks.values[first : number + 1]))
            first = number + 1
    if done < len(tuples):
        process(tuples.slice(done))
