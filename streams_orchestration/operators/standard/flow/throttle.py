"""Throttle: limits a stream to a rate."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import Operator, Parameters
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.tuples.batch import TupleBatch

LONGEST_PAUSE = 5.0
"""The longest pause in seconds after one batch, since resets, epoch boundaries and other work wait for tasks."""


class ThrottleParameters(Parameters):
    """The parameters of `Throttle`."""

    rate: float = Field(gt=0, description="Largest number of tuples per second.")


class Throttle(Operator):
    """Passes every batch on, then pauses for as long as the rate requires.

    The pause delays the whole PE and its inputs. A batch of more than five seconds' worth of tuples exceeds the rate,
    which the log reports. To keep lower rates, make batches smaller (STREAMS_SOURCE_LIMIT).
    """

    keeps_places = True
    Parameters = ThrottleParameters
    naming_parameters = NamingParameters()

    def setup(self) -> None:
        """Prepare the operator; the first tuples pass without a pause."""
        self.free = 0.0

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the batch, then pause until the rate is kept, for at most `LONGEST_PAUSE`; log a longer need."""
        self.submit(batch)
        now = world.monotonic()
        self.free = max(self.free, now) + len(batch) / self.parameters.rate
        pause = self.free - now
        if pause > LONGEST_PAUSE:
            self.context.logger.warning(
                "a batch of %d tuples takes more than %g s at the rate of %g; set STREAMS_SOURCE_LIMIT to at most %d",
                len(batch),
                LONGEST_PAUSE,
                self.parameters.rate,
                max(1, int(LONGEST_PAUSE * self.parameters.rate)),
            )
            pause, self.free = LONGEST_PAUSE, now + LONGEST_PAUSE
        world.sleep(pause)
