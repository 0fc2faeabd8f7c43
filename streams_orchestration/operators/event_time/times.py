"""Event times of tuples as whole ticks."""

from __future__ import annotations

from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import np, pa


def time_column(tuples: pa.RecordBatch, role: EventTimeRole) -> pa.Array:
    """Return the event times of tuples as a bigint column in ticks of the role; null where the time is null."""
    first, *fields = role.attribute.split(".")
    column = tuples.column(first)
    for field in fields:
        column = pc.struct_field(column, field)
    return column.cast(pa.int64())


def times_of(tuples: pa.RecordBatch, role: EventTimeRole) -> np.ndarray:
    """Return the event times of tuples as int64 ticks.

    Raises:
        DataError: a time is null; the message shows the tuple (EV54).
    """
    column = time_column(tuples, role)
    if column.null_count:
        place = pc.index(column.is_null(), value=True).as_py()
        shown = ", ".join(f"{name}: {value!r:.40}" for name, value in tuples.slice(place, 1).to_pylist()[0].items())
        message = (
            f"the event time {role.attribute} of tuple {place + 1} of {tuples.num_rows} is null: {{{shown}}}; give it "
            "a time, or drop such tuples before the annotation"
        )
        raise DataError(message)
    return column.to_numpy(zero_copy_only=False)


def least_time(tuples: pa.RecordBatch, role: EventTimeRole | None) -> int | None:
    """Return the least event time of tuples in ticks; None without tuples, without times, or outside of event time."""
    if role is None or not tuples.num_rows:
        return None
    return pc.min(time_column(tuples, role)).as_py()
