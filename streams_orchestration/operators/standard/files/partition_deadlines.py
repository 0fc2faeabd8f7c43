"""The event times at which partition directories are complete: the parameter `completeAfter` of FileSink (EV67)."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.moments import Moments
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.event_time.steps import NO_WATERMARK
from streams_orchestration.operators.event_time.times import time_type
from streams_orchestration.operators.expressions.evaluation import evaluate, parse_expression
from streams_orchestration.operators.expressions.mentioned_attributes import is_over
from streams_orchestration.operators.files.partitions import partition_values
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END

_MICROSECONDS = 1_000_000


class PartitionDeadlines:
    """The event times at which partitions are complete, and the tuples that come later."""

    def __init__(self, context: OperatorContext, names: Sequence[str], text: str, role: EventTimeRole) -> None:
        """Prepare the expression.

        Args:
            context: the context of the sink.
            names: the attributes whose values name the directories.
            text: the expression over their values.
            role: the role of the sink in its event-time graph.

        Raises:
            ValueError: the expression is wrong, uses another attribute, or has another type than the event time.
        """
        self._context = context
        self._role = role
        self._schema = pa.schema([context.inputs[0].field(name) for name in names])
        if is_over(text, context.inputs[0].names) and not is_over(text, names):
            message = f"completeAfter: {text} uses attributes that are not in partitionBy: {', '.join(names)}"
            raise ValueError(message)
        self._expression = parse_expression(text, self._schema, "completeAfter", context.zone)
        self._reached: int | None = None
        """The watermark in front of the next tuple; None before the first batch."""
        wanted, found = time_type(context.inputs[0], role), self._expression.arrow_type
        if found != wanted and not (pa.types.is_integer(found) and pa.types.is_integer(wanted)):
            message = (
                f"completeAfter: {text} is {type_name(found)}, and the event time {role.attribute} is "
                f"{type_name(wanted)}; cast the expression to that type"
            )
            raise ValueError(message)

    def late(self, batch: TupleBatch) -> int:
        """Count the tuples of the next batch that arrive after their partitions are complete; advance the watermark.

        Raises:
            DataError: the expression fails for a tuple.
        """
        if self._reached is None:
            self._reached = NO_WATERMARK if self._context.watermark is None else self._context.watermark
        moments = Moments.of(batch.watermarks, len(batch), self._reached)
        self._reached = moments.steps.last
        if not len(batch):
            return 0
        return int(np.count_nonzero(self._ticks(batch.arrow.select(self._schema.names)) <= moments.current))

    @functools.lru_cache(maxsize=4096)  # noqa: B019 - the object lives as long as its sink
    def of(self, directory: str) -> int:
        """Return the event time in microseconds at which a directory is complete, rounded up.

        It is `END` for a directory that is complete at the end of the streams only: where the expression is null, or
        fails for the values of a directory that another plan has written.
        """
        texts = partition_values(directory)
        try:
            columns = [pa.array([texts.get(each.name)], pa.string()).cast(each.type) for each in self._schema]
            ticks = int(self._ticks(pa.RecordBatch.from_arrays(columns, schema=self._schema))[0])
        except (pa.ArrowInvalid, DataError):
            return END
        return END if ticks == END else min(-(-ticks * _MICROSECONDS // self._role.ticks), END)

    def _ticks(self, partitions: pa.RecordBatch) -> np.ndarray:
        """Return the deadlines of tuples in ticks; `END` where the expression is null."""
        values = evaluate(self._expression, partitions).cast(pa.int64())
        return pc.fill_null(values, END).to_numpy(zero_copy_only=False)
