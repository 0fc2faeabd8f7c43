"""The results of several windows, each followed by a window mark."""

from __future__ import annotations

from streams_orchestration.operators.contract.context import Punctuation
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.tuples.batch import TupleBatch


def submit_windows(operator: Operator, result: TupleBatch, sizes: np.ndarray) -> None:
    """Submit the tuples of several windows, and a mark after each window.

    If no operator downstream handles marks, several windows are one batch, and the marks are only counted.

    Args:
        operator: the operator that submits.
        result: the tuples of all windows, one window after another. Its watermarks must be at the ends of windows.
        sizes: the numbers of tuples of the windows.
    """
    context = operator.context
    if len(sizes) > 1 and context.unheeded(0):
        operator.submit(result)
        context.count_marks(0, len(sizes))
        return
    position = 0
    for size in sizes.tolist():
        if size:
            operator.submit(result.slice(position, size))
            position += size
        operator.punctuate(Punctuation.WINDOW)
