"""Converts stored states to the current types of an operator: new columns, wider types."""

from __future__ import annotations

from typing import Any

from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.incremental import Incremental
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.timers import Timers
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.arrow_types import type_name


class ConversionError(ValueError):
    """A state does not fit the operator's types. The message names the part, the column and both types."""


def converted(state: State, initial: State) -> State:
    """Convert a state to the types of another state of the same operator.

    A new column is null in tuples, and 0, false or null in values of keys. A part that only `initial` has is taken from
    there if it is incremental, else it stays missing. Tables, JSON values, and parts of another class than in
    `initial` are not converted.

    Args:
        state: the stored state.
        initial: the state that `checkpoint` returns before the first tuple.

    Raises:
        ConversionError: a column was removed, its new type cannot represent all values of the old one, or a key has a
            new attribute.
    """
    new = {name: part for name, part in initial.items() if isinstance(part, Incremental) and name not in state}
    return {name: _part(name, part, initial.get(name)) for name, part in state.items()} | new


def _part(name: str, part: Any, wanted: Any) -> Any:
    if isinstance(part, Timers) and isinstance(wanted, Timers):
        return Timers.of(_part(name, part.entries, wanted.entries))
    if isinstance(part, KeyedState) and isinstance(wanted, KeyedState):
        keys, values = wanted.keys_schema, wanted.values_schema
        if (part.keys_schema, part.values_schema) == (keys, values):
            return part
        table = part.table()
        _check(name, part.keys_schema, keys, added=False)
        _check(name, part.values_schema, values, added=True)
        keyed = KeyedState(keys, values)
        common = [field.name for field in values if field.name in part.values_schema.names]
        columns = {each: _cast(table.column(each), values.field(each).type) for each in common}
        names = {each: _cast(table.column(each), keys.field(each).type) for each in keys.names}
        if part:
            keyed.put_many(pa.table(names), columns)
        return keyed
    if isinstance(part, TupleLog) and isinstance(wanted, TupleLog) and part.schema != wanted.schema:
        _check(name, part.schema, wanted.schema, added=True)
        places = part.places()
        tuples = part.take(places)
        columns = [
            _cast(tuples.column(field.name), field.type)
            if field.name in part.schema.names
            else pa.nulls(len(places), field.type)
            for field in wanted.schema
        ]
        log = TupleLog(wanted.schema)
        log.append(pa.RecordBatch.from_arrays(columns, schema=wanted.schema))
        log.flag(np.flatnonzero(part.flags[places]))
        return log
    return part


def _check(part: str, before: pa.Schema, after: pa.Schema, *, added: bool) -> None:
    for field in before:
        if field.name not in after.names:
            message = f"has {field.name} {type_name(field.type)} in its part {part}, which no longer has this column"
            raise ConversionError(message)
        now = after.field(field.name).type
        if not _holds(field.type, now):
            message = f"has {field.name} {type_name(field.type)} in its part {part}, which is {type_name(now)} now"
            raise ConversionError(message)
    new = [field for field in after if field.name not in before.names]
    if new and not added:
        message = f"has no key {new[0].name} in its part {part}, which is {type_name(new[0].type)} now"
        raise ConversionError(message)


def _holds(before: pa.DataType, after: pa.DataType) -> bool:
    """Return True if the type `after` can represent all values of `before`."""
    types = pa.types
    if before == after:
        return True
    if types.is_integer(before) and types.is_integer(after):
        kept = types.is_unsigned_integer(before) or types.is_signed_integer(after)
        return kept and before.bit_width < after.bit_width
    return types.is_float32(before) and types.is_float64(after)


def _cast(column: Any, kind: pa.DataType) -> Any:
    return column if column.type == kind else column.cast(kind)
