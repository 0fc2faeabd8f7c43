"""Files of a FileSink that are closed by a number of tuples, or by a window marker."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from streams_orchestration.operators.contract.context import Punctuation
from streams_orchestration.operators.files.spl_lines import WrittenMark
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.files.sink_parameters import FileSinkParameters
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog

Items = list["pa.RecordBatch | WrittenMark"]


class WholeFiles:
    """The tuples of a file that is not complete yet, with the marks among them, and the files that are complete."""

    def __init__(self, schema: pa.Schema, parameters: FileSinkParameters) -> None:
        self._parameters = parameters
        self._waiting = TupleLog(schema)
        self._marks: list[tuple[int, float]] = []
        """For each mark that is written, the number of tuples of the file before the mark, and its delay in seconds."""
        self._complete: list[Items] = []

    def add(self, tuples: pa.RecordBatch) -> None:
        """Add tuples, and complete files that are full."""
        limit, begin = self._parameters.tuples_per_file, 0
        while limit is not None and len(self._waiting) + tuples.num_rows - begin >= limit:
            taken = limit - len(self._waiting)
            self._waiting.append(tuples.slice(begin, taken))
            self._close()
            begin += taken
        if begin < tuples.num_rows:
            self._waiting.append(tuples.slice(begin))

    def mark(self, mark: Punctuation, delay: float) -> None:
        """Record a window mark if marks are written, and complete the current file if the mark closes it.

        The final mark does, and with `closeMode: punct` every mark. A file without tuples and marks is not completed.
        """
        if self._parameters.write_punctuations and mark is Punctuation.WINDOW:
            self._marks.append((len(self._waiting), delay))
        punctuated = self._parameters.close_mode == "punct"
        if (mark is Punctuation.FINAL or punctuated) and (len(self._waiting) or self._marks):
            self._close()

    def complete(self) -> Sequence[Items]:
        """Return the files that are complete, and forget them."""
        files, self._complete = self._complete, []
        return files

    def _close(self) -> None:
        places = self._waiting.places()
        tuples = self._waiting.take(places)
        bounds = [0, *(place for place, _ in self._marks), tuples.num_rows]
        items: Items = []
        for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
            items += [tuples.slice(begin, end - begin)] if end > begin else []
            items += [WrittenMark(Punctuation.WINDOW, self._marks[number][1])] if number < len(self._marks) else []
        self._complete.append(items)
        self._waiting.remove(places)
        self._marks = []

    def dump(self) -> State:
        """Return the waiting tuples and marks, for a checkpoint."""
        return {"waiting": self._waiting, "marks": [list(each) for each in self._marks]}

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned."""
        self._waiting, self._complete = state["waiting"], []
        self._marks = [(place, delay) for place, delay in state["marks"]]
