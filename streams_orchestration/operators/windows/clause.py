"""The window clause, which defines the groups of tuples that an operator evaluates together, and when.

Times come from an attribute, so a replay gives the same windows, independent of batch boundaries. With `by: clock`, the
time of a tuple is the time of the batch in which it arrived (`operators/windows/clock.py`).

- `tumbling, P`: tuples are collected until policy P closes the window; then a new window begins.
- `sliding, P, Q`: policy P evicts the oldest tuples, and policy Q triggers an evaluation of those that are left. Q is
  `count(1)` by default.
- P and Q are `count(n)`, `delta(attribute, d)`, `time(seconds)` (a delta of the time attribute), or, for a tumbling
  window, `punct()`. A tuple exceeds a delta if its value is more than `d` beyond the value of the first tuple of the
  window (tumbling), the oldest tuple (eviction), or the tuple that exceeded it last (trigger). It comes after the
  window that it closes or triggers.
- `partitioned`: each combination of values of `partitionBy` has its own window. A policy after it evicts partitions
  with their windows, least recently used first: `partitionAge(seconds)` when a tuple is that much later than the last
  one of a partition, `partitionCount(n)` when there would be more partitions, and `tupleCount(n)` when all windows
  together have more tuples.

Aggregate and Sort have windows of event time besides, which `operators/event_time/clause.py` parses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.errors.errors import DataError, check_attributes
from streams_orchestration.operators.event_time.clause import EVENT_TIME_KINDS, parse_event_time_window
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.tuples.arrow_types import is_text, per_second, type_name
from streams_orchestration.operators.windows.clock import Ticks
from streams_orchestration.operators.windows.decimal_numbers import DECIMAL_TYPES, DecimalNumber, decimal_numbers

PolicyKind = Literal["count", "delta", "time", "punct"]
PartitionPolicyKind = Literal["partitionAge", "partitionCount", "tupleCount"]
ARRIVAL = "@arrival"
"""The column with the time at which a tuple came, by the clock. No attribute can have this name."""

_POLICY = re.compile(r"(\w+)\s*\(([^()]*)\)")
_SYNTAX = "'tumbling, count(100)', 'sliding, delta(t, 60), count(1)', 'tumbling, time(5.0), partitioned'"


@dataclass(frozen=True)
class Policy:
    """The policy by which a window is closed, evicts tuples, or triggers, or by which partitions are evicted."""

    kind: PolicyKind | PartitionPolicyKind | Literal["clock"]
    """The kind of policy. `Window.by_clock` sets it to `clock`: the clock closes or triggers windows, as a
    mark does.
    """
    size: float = 0
    """The count or difference. A time is in seconds, and in ticks of its attribute after `resolved`."""
    attribute: str | None = None
    """The attribute that a delta measures; for a time or an age, the time attribute, None before `resolved`."""
    decimal: DecimalNumber | None = None
    """The difference by which a delta measures decimals of SPL, which are texts; None for other types."""

    @property
    def amount(self) -> Any:
        """The size as differences of `values` are compared with it."""
        return self.size if self.decimal is None else self.decimal

    @property
    def closes_all(self) -> bool:
        """True if no tuple closes a window, so that a mark or the clock closes the windows of all partitions."""
        return self.kind in ("punct", "clock")

    @property
    def ticks(self) -> Ticks:
        """The times at which the clock closes or triggers windows; none for policies of other kinds than `clock`."""
        return Ticks(self.size) if self.kind == "clock" else Ticks()

    def resolved(self, schema: pa.Schema, time_attribute: str | None, parameter: str = "window") -> Policy:
        """Return the policy with its time attribute filled in, checked against the stream.

        Raises:
            UnknownAttributeError: the stream does not have the attribute.
            ValueError: no attribute is given, or its type does not fit the policy.
        """
        by_time = self.kind in ("time", "partitionAge")
        if not (by_time or self.kind == "delta"):
            return self
        name = self.attribute or time_attribute
        if name is None:
            message = f"{parameter}: time({self.size:g}) needs timeAttribute, the attribute with the time of a tuple"
            raise ValueError(message)
        where = parameter if self.kind == "delta" else "timeAttribute"
        check_attributes(where, [name], schema.names)
        kind = schema.field(name).type
        if self.decimal is not None:
            if not is_text(kind):
                message = f"{where}: {name} is {type_name(kind)}, but {self.decimal.type} is for texts of decimals"
                raise ValueError(message)
            return self
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not pa.types.is_timestamp(kind) and (by_time or not numeric):
            wanted = "a timestamp" if by_time else "a number or a timestamp"
            message = f"{where}: {name} is {type_name(kind)}, but {wanted} is expected"
            raise ValueError(message)
        return Policy(self.kind, self.size * per_second(kind), name)

    def value_type(self, schema: pa.Schema) -> pa.DataType:
        """Return the type of a state's column for the values that `values` returns: bigint, double or text."""
        if self.decimal is not None:
            return pa.string()
        floating = self.attribute is not None and pa.types.is_floating(schema.field(self.attribute).type)
        return pa.float64() if floating else pa.int64()

    def values(self, batch: pa.RecordBatch) -> np.ndarray:
        """Return for every tuple the value that the policy compares; zeros if it compares none.

        Raises:
            DataError: a value is null, NaN, beyond the range of bigint, or not a decimal.
        """
        if self.attribute is None:
            return np.zeros(batch.num_rows, np.int64)
        column = batch.column(self.attribute)
        if self.decimal is not None:
            return self._decimals(column)
        if column.null_count or (pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py()):
            message = f"window: {self.attribute} is null or NaN"
            raise DataError(message)
        try:
            return pc.cast(column, self.value_type(batch.schema)).to_numpy(zero_copy_only=False)
        except pa.ArrowInvalid as error:
            message = f"window: {self.attribute} is beyond the range of bigint: {error}"
            raise DataError(message) from error

    def _decimals(self, column: pa.Array) -> np.ndarray:
        try:
            numbers = self.read(column.to_numpy(zero_copy_only=False))
        except ValueError as error:
            message = f"window: {self.attribute}: {error}"
            raise DataError(message) from error
        if any(each is None or each.number.is_nan() for each in numbers):
            message = f"window: {self.attribute} is null or NaN"
            raise DataError(message)
        return numbers

    def read(self, column: np.ndarray) -> np.ndarray:
        """Return the values in a state's column of `value_type`, as `values` returns them.

        Raises:
            ValueError: a text is not a decimal.
        """
        return column if self.decimal is None else decimal_numbers(column.tolist(), self.decimal.type)

    def stored(self, values: np.ndarray) -> np.ndarray:
        """Return values for a state's column of `value_type`."""
        return values if self.decimal is None else np.array(list(map(str, values)), object)


@dataclass(frozen=True)
class Window:
    """A parsed window clause."""

    tumbling: bool
    eviction: Policy
    trigger: Policy
    """The trigger policy; for a tumbling window the same as the eviction."""
    partitioned: bool = False
    partitions: Policy | None = None
    """The policy that evicts partitions; None if they are kept."""

    @property
    def goes_by_time(self) -> bool:
        """True if a policy is a time or an age."""
        aged = self.partitions is not None and self.partitions.kind == "partitionAge"
        return aged or "time" in (self.eviction.kind, self.trigger.kind)

    def by_clock(self) -> Window:
        """Return the window with a policy `clock` in place of a `time` that closes or triggers it.

        The eviction of a sliding window, and policies of other kinds, stay.
        """
        trigger = Policy("clock", self.trigger.size) if self.trigger.kind == "time" else self.trigger
        return replace(self, eviction=trigger if self.tumbling else self.eviction, trigger=trigger)

    def resolved(self, schema: pa.Schema, time_attribute: str | None) -> Window:
        """Return the window with its time attributes filled in, checked against the stream.

        Raises:
            UnknownAttributeError: the stream does not have the attribute.
            ValueError: a policy needs an attribute that is not given, the type of one does not fit its policy, or a
                time attribute is given that no policy uses.
        """
        eviction = self.eviction.resolved(schema, time_attribute)
        trigger = self.trigger.resolved(schema, time_attribute)
        partitions = self.partitions and self.partitions.resolved(schema, time_attribute)
        aged = partitions is not None and partitions.kind == "partitionAge"
        if time_attribute is not None and not aged and not {"time", "clock"} & {eviction.kind, trigger.kind}:
            message = "timeAttribute: the window has no time(...)"
            raise ValueError(message)
        return Window(self.tumbling, eviction, trigger, self.partitioned, partitions)


TimeSource = Literal["tuples", "clock"]
"""The time of `time(...)` and `partitionAge(...)`: an attribute of the tuples, or the clock."""
BY_CLOCK = "Time of time(...) and partitionAge(...): the attribute timeAttribute (tuples), or the clock of the machine."
"""The description of the parameter `by` of operators with windows."""


def check_clock(by: TimeSource, time_attribute: str | None, windows: Sequence[Window]) -> None:
    """Check that `by: clock` can be used with the windows.

    Raises:
        ValueError: there is also a time attribute, or no window uses time.
    """
    if by != "clock":
        return
    if time_attribute is not None:
        message = "timeAttribute cannot be combined with by: clock, which uses the time of arrival; leave it out"
        raise ValueError(message)
    if not any(window.goes_by_time for window in windows):
        message = "by: clock needs a window with time(...) or partitionAge(...)"
        raise ValueError(message)


def parse_window(text: str, *, least: int = 1) -> Window:
    """Parse a window clause; `least` is the smallest count allowed in its first policy.

    Raises:
        ValueError: it is not a window clause, or one of event time; the message says the expected form.
    """
    if parse_event_time_window(text) is not None:
        message = (
            f"{text!r} is a window of event time, which this operator does not support; windows are like {_SYNTAX}"
        )
        raise ValueError(message)
    parts = [part.strip() for part in re.split(r",(?![^()]*\))", text)]
    kind, *policies = parts
    partitioned, partitions = "partitioned" in policies, None
    if partitioned:
        place = policies.index("partitioned")
        policies, behind = policies[:place], policies[place + 1 :]
        if len(behind) > 1:
            message = f"{text!r}: partitioned may have one policy after it, as in 'partitioned, partitionCount(1000)'"
            raise ValueError(message)
        partitions = _partition_policy(behind[0], text) if behind else None
    if kind not in ("tumbling", "sliding"):
        near = nearest(kind, ("tumbling", "sliding", *EVENT_TIME_KINDS))
        message = (
            f"{text!r} is not a window{near}; windows are like {_SYNTAX}, or 'timeInterval, intervalDuration(10.0)'"
        )
        raise ValueError(message)
    tumbling = kind == "tumbling"
    if not 1 <= len(policies) <= (1 if tumbling else 2):
        message = f"{text!r}: a {kind} window has {'one policy' if tumbling else 'an eviction and a trigger policy'}"
        raise ValueError(message)
    eviction = _policy(policies[0], text, least)
    trigger = _policy(policies[1], text) if len(policies) > 1 else eviction if tumbling else Policy("count", 1)
    if not tumbling and "punct" in (eviction.kind, trigger.kind):
        message = (
            f"{text!r}: punct() is for tumbling windows only; write count(n), delta(attribute, d) or time(seconds)"
        )
        raise ValueError(message)
    return Window(tumbling, eviction, trigger, partitioned, partitions)


def _partition_policy(text: str, window: str) -> Policy:
    match = _POLICY.fullmatch(text)
    kinds: dict[str, PartitionPolicyKind] = {kind: kind for kind in get_args(PartitionPolicyKind)}
    if match is None or match[1] not in kinds:
        name = match[1] if match else text
        message = (
            f"{window!r}: {text!r} is not a policy that evicts partitions{nearest(name, kinds)}; after 'partitioned' "
            f"write partitionAge(seconds), partitionCount(n) or tupleCount(n)"
        )
        raise ValueError(message)
    kind = kinds[match[1]]
    try:
        size = float(match[2]) if kind == "partitionAge" else int(match[2])
    except ValueError:
        size = -1
    if not (size >= (0 if kind == "partitionAge" else 1) and size < float("inf")):
        number = "a number of seconds" if kind == "partitionAge" else "a positive integer"
        message = f"{window!r}: {match[2]!r} in {kind}(...) is not {number}"
        raise ValueError(message)
    return Policy(kind, size)


def _policy(text: str, window: str, least: int = 1) -> Policy:
    match = _POLICY.fullmatch(text)
    kinds: tuple[PolicyKind, ...] = get_args(PolicyKind)
    if match is None or match[1] not in kinds:
        name = match[1] if match else text
        message = f"{window!r}: {text!r} is not a policy{nearest(name, kinds)}; windows are like {_SYNTAX}"
        raise ValueError(message)
    kind = match[1]
    arguments = [argument.strip() for argument in match[2].split(",")] if match[2].strip() else []
    if kind == "delta" and len(arguments) == 3 and arguments[2] in DECIMAL_TYPES:
        return _decimal_delta(text, window, *arguments)
    if len(arguments) != {"punct": 0, "delta": 2}.get(kind, 1):
        message = f"{window!r}: {text!r}: write count(n), delta(attribute, d), time(seconds) or punct()"
        raise ValueError(message)
    if not arguments:
        return Policy("punct")
    try:
        size = int(arguments[-1]) if kind == "count" or arguments[-1].isdigit() else float(arguments[-1])
    except ValueError:
        size = -1
    if not (size >= (least if kind == "count" else 0) and size < float("inf")):
        number = "a positive integer" if kind == "count" else "a number that is not negative"
        message = f"{window!r}: {arguments[-1]!r} in {kind}(...) is not {number}"
        raise ValueError(message)
    return Policy(next(k for k in kinds if k == kind), size, arguments[0] if kind == "delta" else None)


def _decimal_delta(text: str, window: str, attribute: str, amount: str, type_: str) -> Policy:
    try:
        decimal = DecimalNumber(amount, type_)
    except ValueError:
        decimal = DecimalNumber("-1", type_)
    if not (decimal.number.is_finite() and decimal.number >= 0):
        message = f"{window!r}: {amount!r} in {text!r} is not a number that is not negative"
        raise ValueError(message)
    return Policy("delta", float(decimal.number), attribute, decimal)
