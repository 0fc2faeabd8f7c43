"""The results of several windows, each followed by a window mark."""

from __future__ import annotations

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.context import Punctuation
from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.libraries import np


def submit_windows(operator: Operator, result: TupleBatch, sizes: np.ndarray, port: int = 0) -> None:
    """Submit the tuples of several windows, and a mark after each window.

    The tuples are one batch if no operator downstream of the port handles marks.

    Args:
        operator: the operator that submits.
        result: the tuples of all windows, one window after another. Its watermarks must be at the ends of windows.
        sizes: the number of tuples of each window.
        port: the output port.
    """
    context = operator.context
    if len(sizes) > 1 and context.unheeded(port):
        operator.submit(result, port)
        context.count_marks(port, len(sizes))
        return
    position = 0
    for size in sizes.tolist():
        if size:
            operator.submit(result.slice(position, size), port)
            position += size
        operator.punctuate(Punctuation.WINDOW, port)
