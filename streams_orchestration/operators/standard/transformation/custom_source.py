"""Custom without input ports: runs `onProcess` of SPL as a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pydantic import Field

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import OperatorContext, Parameters, SourceOperator
from streams_orchestration.operators.contract.results import Offset, ProducedTo
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.logic.program import LogicProgram, SplLogic, data_error

if TYPE_CHECKING:
    from streams_orchestration.spl.programs.outcome import PortOutput

_OFFSET = "submissions"


class CustomSourceParameters(Parameters):
    """The parameters of a `Custom` without input ports."""

    spl: SplLogic = Field(description="Logic in SPL: state, onProcess, functions.")


class CustomSource(SourceOperator):
    """Runs a program once; the offset is the number of its submissions so far.

    To start from an offset, the program runs from its beginning, and its first submissions up to the offset are
    discarded. So it should submit the same tuples in every run. `block` pauses the source.
    """

    Parameters = CustomSourceParameters

    @classmethod
    def initial_offset(cls) -> Offset:
        """Return offset 0: the program has not submitted anything yet."""
        return {_OFFSET: 0}

    @classmethod
    def check(cls, context: OperatorContext, parameters: CustomSourceParameters) -> None:
        """Raise ValueError if the logic has mistakes."""
        LogicProgram(context, parameters.spl, submits=True)

    def setup(self) -> None:
        """Compile the logic. Raises ValueError if it has mistakes."""
        self.logic = LogicProgram(self.context, self.parameters.spl, submits=True)
        self._steps: Iterator[float | None] | None = None
        self._outputs: list[PortOutput] = []
        self._position = 0
        self._until = 0.0
        """The end of the pause, in seconds of the monotonic clock."""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Continue the program until it pauses, ends, or has submitted `limit` times; submit its tuples and marks.

        During a pause nothing is done. When the program ends, print a last line whose end was not printed.
        """
        if self._steps is None or self._position != offset[_OFFSET]:
            self._begin(offset[_OFFSET])
        if world.monotonic() < self._until:
            return ProducedTo(offset, exhausted=False)
        begin, ended = self._position, False
        while self._position < begin + limit:
            seconds = self._step()
            if seconds is None:
                self._position += 1
            elif seconds < 0:
                ended = True
                self.logic.run.end_line()
                break
            elif seconds > 0:
                self._until = world.monotonic() + seconds
                break
        self.logic.submit(self, self._outputs)
        for each in self._outputs:
            each.clear()
        return ProducedTo({_OFFSET: self._position}, exhausted=ended)

    def pause(self) -> float:
        """Return the seconds until the end of the pause; 0 without a pause."""
        return max(self._until - world.monotonic(), 0.0)

    def _begin(self, submissions: int) -> None:
        """Run the program from its beginning, and discard the given number of its first submissions, without pauses."""
        self.context.generators.clear()  # the program draws the same random numbers again
        self.logic = LogicProgram(self.context, self.parameters.spl, submits=True)
        self._outputs, self._steps = self.logic.program.process()
        self._position, self._until = 0, 0.0
        while self._position < submissions:
            seconds = self._step()
            if seconds is None:
                self._position += 1
            elif seconds < 0:
                message = (
                    f"the program submitted {submissions} times before the restart, "
                    f"but only {self._position} times when it was run again"
                )
                raise DataError(message)
        for each in self._outputs:
            each.clear()

    def _step(self) -> float | None:
        """Run up to the next event.

        Return None for a submission, the seconds of a pause, or -1 at the end of the program.
        """
        from streams_orchestration.spl.programs.outcome import FailedError

        assert self._steps is not None
        try:
            return next(self._steps, -1.0)
        except FailedError as error:
            raise data_error(error) from error
