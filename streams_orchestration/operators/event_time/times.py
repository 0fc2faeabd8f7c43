"""Event times of tuples as whole ticks."""

from __future__ import annotations

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import per_second, type_name
from streams_orchestration.operators.tuples.watermarks import END


def time_column(tuples: pa.RecordBatch, role: EventTimeRole) -> pa.Array:
    """Return the event times of tuples as a bigint column in ticks of the role; null where the time is null."""
    return _column(tuples, role.attribute).cast(pa.int64())


def _column(tuples: pa.RecordBatch, attribute: str) -> pa.Array:
    first, *fields = attribute.split(".")
    column = tuples.column(first)
    for field in fields:
        column = pc.struct_field(column, field)
    return column


def times_of(tuples: pa.RecordBatch, role: EventTimeRole) -> np.ndarray:
    """Return the event times of tuples as int64 ticks.

    Raises:
        DataError: a time is null; the message shows the tuple (EV54).
    """
    column = time_column(tuples, role)
    if column.null_count:
        place = pc.index(column.is_null(), value=True).as_py()
        remedy = "set onNull: ignore in eventTime" if role.on_null == "fail" else "drop such tuples upstream"
        message = (
            f"the event time {role.attribute} of tuple {place + 1} of {tuples.num_rows} is null: "
            f"{described_tuple(tuples, place)}; give it a time, or {remedy}"
        )
        raise DataError(message)
    return column.to_numpy(zero_copy_only=False)


def ahead_column(tuples: pa.RecordBatch, role: EventTimeRole) -> pa.Array | None:
    """Return the values of the role's attribute `ahead_of` in ticks of the event time, or None if the role has none.

    A bigint is in milliseconds if the event time is a timestamp, else in ticks of the event time. Values of a finer
    unit are truncated towards 0, and values of a coarser one are limited to the range of 64 bits; null stays null.
    """
    if role.ahead_of is None:
        return None
    column, time = _column(tuples, role.ahead_of), _column(tuples, role.attribute)
    own = per_second(column.type) if pa.types.is_timestamp(column.type) else 1_000
    ticks = role.ticks if column.type == time.type else own
    values = column.cast(pa.int64())
    if ticks > role.ticks:
        return pc.divide(values, ticks // role.ticks)
    if ticks == role.ticks:
        return values
    factor = role.ticks // ticks
    capped = pc.min_element_wise(values, END // factor, skip_nulls=False)
    return pc.multiply(pc.max_element_wise(capped, -(END // factor), skip_nulls=False), factor)


def times_and_nulls(tuples: pa.RecordBatch, role: EventTimeRole) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the event times of tuples in ticks, 0 for a null, and a mask of the nulls; None if all have a time.

    Raises:
        DataError: a time is null, and the role does not ignore that (EV54).
    """
    column = time_column(tuples, role)
    if not column.null_count or role.on_null == "fail":
        return times_of(tuples, role), None
    missing = column.is_null().to_numpy(zero_copy_only=False)
    return pc.fill_null(column, 0).to_numpy(zero_copy_only=False), missing


def time_type(schema: pa.Schema, role: EventTimeRole) -> pa.DataType:
    """Return the type of the event-time attribute.

    Raises:
        ValueError: the tuples do not have the attribute, or it is neither a bigint nor a timestamp.
    """
    kind = type_of(schema, role.attribute)
    if kind is None:
        message = f"event time: the stream has no attribute {role.attribute}"
        raise ValueError(message)
    if kind != pa.int64() and not pa.types.is_timestamp(kind):
        message = f"event time: {role.attribute} is {type_name(kind)}; a time is a bigint or a timestamp"
        raise ValueError(message)
    return kind


def type_of(schema: pa.Schema, attribute: str) -> pa.DataType | None:
    """Return the type of an attribute, where a.b is the field b of a; None if the attribute does not exist."""
    first, *inner = attribute.split(".")
    kind = schema.field(first).type if first in schema.names else None
    for name in inner:
        known = kind is not None and pa.types.is_struct(kind) and kind.get_field_index(name) >= 0
        kind = kind.field(name).type if kind is not None and known else None
    return kind


def as_times(ticks: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Return ticks as values of the event-time attribute's type."""
    values = pa.array(ticks, pa.int64())
    return values if kind == pa.int64() else values.view(kind)


def as_given_times(ticks: np.ndarray, role: EventTimeRole, kind: pa.DataType) -> pa.Array:
    """Return ticks as values of the attribute's type, or of timestamp_ns, whose range limits them."""
    if not pa.types.is_timestamp(kind) or kind.unit != "ns" or role.ticks == per_second(kind):
        return as_times(ticks, kind)
    factor = per_second(kind) // role.ticks
    return as_times(np.clip(ticks, -(END // factor), END // factor) * factor, kind)


def described_tuple(tuples: pa.RecordBatch, place: int) -> str:
    """Describe one tuple for an error, with at most 40 characters of each value."""
    values = tuples.slice(place, 1).to_pylist()[0].items()
    return f"{{{', '.join(f'{name}: {value!r:.40}' for name, value in values)}}}"


def least_time(tuples: pa.RecordBatch, role: EventTimeRole | None) -> int | None:
    """Return the least event time of tuples in ticks; None without tuples, without times, or outside of event time."""
    if role is None or not tuples.num_rows:
        return None
    return pc.min(time_column(tuples, role)).as_py()
