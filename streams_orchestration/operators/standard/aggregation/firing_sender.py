"""Submits the firings of an Aggregate, with windows of event time also watermarks in front of and among them."""

from __future__ import annotations

from streams_orchestration.operators.contract.operator import Operator, Punctuation
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import Watermarks


class FiringSender:
    """Submits results with window markers, and each watermark after the firings that it caused (EV21, EV35)."""

    def __init__(self, operator: Operator, *, placed: bool) -> None:
        """Prepare for an operator; `placed` is True if it places watermarks at its first output port."""
        self._operator = operator
        self._placed = placed
        schema = operator.context.output_schema()
        self._nothing = pa.RecordBatch.from_pylist([], schema=schema)
        self._values = np.zeros(0, np.int64)
        self._sent = 0

    def begin(self, watermarks: Watermarks | None) -> None:
        """Prepare to send the results of a batch with these watermarks."""
        self._values = np.zeros(0, np.int64) if watermarks is None else watermarks.values
        self._sent = 0

    def send(self, result: TupleBatch, sizes: np.ndarray, marks: np.ndarray) -> None:
        """Submit firings, and the watermarks in front of and among them.

        Args:
            result: the tuples of all firings.
            sizes: the numbers of tuples of the firings.
            marks: for each firing, the position of the watermark that caused it; ascending. 0 without watermarks.
        """
        if self._operator.context.unheeded(0):
            self._send_at_once(result, sizes, marks)
            return
        position = 0
        for size, mark in zip(sizes.tolist(), marks.tolist(), strict=True):
            if mark > self._sent:
                self._send_watermarks(mark)
            if size:
                self._operator.submit(result.slice(position, size))
                position += size
            self._operator.punctuate(Punctuation.WINDOW)

    def _send_at_once(self, result: TupleBatch, sizes: np.ndarray, marks: np.ndarray) -> None:
        """Submit firings as one batch with watermarks; only count window markers, since no operator handles them."""
        sent, self._sent = self._sent, int(marks.max(initial=self._sent))
        if self._placed and self._sent > sent:
            behind = np.searchsorted(marks, np.arange(sent, self._sent), side="right")
            places = np.r_[0, np.cumsum(sizes)][behind]
            result = result.with_watermarks(Watermarks(places, self._values[sent : self._sent]))
        self._operator.submit(result)
        self._operator.context.count_marks(0, len(sizes))

    def end(self) -> None:
        """Submit the remaining watermarks."""
        self._send_watermarks(len(self._values))

    def _send_watermarks(self, upto: int) -> None:
        values, self._sent = self._values[self._sent : upto], upto
        if self._placed and len(values):
            marks = Watermarks(np.zeros(len(values), np.int64), values)
            self._operator.submit(TupleBatch(self._nothing, watermarks=marks))
