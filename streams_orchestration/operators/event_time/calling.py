"""Splits batches at their watermarks, and calls an operator for the parts (EV21, EV49)."""

from __future__ import annotations

from collections.abc import Callable

from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks


def call_singly(
    process: Callable[[TupleBatch], None], let_go: Callable[[], None], held_back: Callable[[], bool], batch: TupleBatch
) -> None:
    """Call an operator with tuples that may release the tuples that it keeps, such as the acknowledgements of a Gate.

    While kept tuples hold the watermark back, the operator is called for one tuple at a time, so that the places of
    watermarks do not depend on where batches end (EV41).

    Args:
        process: calls the operator with tuples.
        let_go: sends the watermarks that follow when the operator has released tuples.
        held_back: returns True if the watermark would rise without the tuples that the operator keeps.
        batch: the tuples, without watermarks.
    """
    done = 0
    while done < len(batch) and held_back():
        process(batch.slice(done, 1))
        let_go()
        done += 1
    if done < len(batch):
        process(batch.slice(done) if done else batch)
        let_go()


def call_between(
    batch: TupleBatch, process: Callable[[TupleBatch], None], reached: Callable[[Watermarks], None]
) -> None:
    """Call an operator for the tuples between two watermarks, and report the watermarks between these calls.

    Args:
        batch: the tuples, with the steps of the operator's watermark.
        process: calls the operator with tuples.
        reached: called with the watermarks that follow the tuples of the last call, all at position 0.
    """
    steps, tuples = batch.watermarks, batch.without_watermarks()
    if steps is None:
        process(tuples)
        return
    done = first = 0
    places = steps.places.tolist()
    for number, place in enumerate(places, start=1):
        if place > done:
            process(tuples.slice(done, place - done))
            done = place
        if number == len(places) or places[number] > place:
            reached(Watermarks(steps.places[first:number] - place, steps.values[first:number]))
            first = number
    if done < len(tuples):
        process(tuples.slice(done))
