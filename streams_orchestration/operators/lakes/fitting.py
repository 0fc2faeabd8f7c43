"""Checks that tuples fit a table: names, types, and NOT NULL columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.lakes.errors import LakeRefusedError
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import is_binary, is_text, type_name


@dataclass(frozen=True)
class WantedTable:
    """The table that a sink requires."""

    schema: pa.Schema
    """The schema of the tuples, by column."""
    partition_by: list[str]
    """The columns that the table is partitioned by."""
    key: list[str]
    """The columns that decide which row a tuple replaces; empty if all tuples are appended."""
    create: bool
    """Create the table if it is missing."""
    add_columns: bool
    """Add missing columns to the table."""


class TableColumn(NamedTuple):
    """A column of the existing table."""

    type: pa.DataType
    required: bool = False
    """True if the table allows no null in the column."""


class Fit(NamedTuple):
    """The changes to the table and the conversions of tuples that a delivery needs."""

    missing: tuple[str, ...]
    """Columns that have to be added to the table first."""
    widened: bool
    """True if values need conversion to wider types of the table, so that data files cannot be added unchanged."""
    required: tuple[str, ...] = ()
    """The table's NOT NULL columns."""


def fit(table: str, columns: Mapping[str, TableColumn], partitions: Sequence[str], wanted: WantedTable) -> Fit:
    """Determine how tuples are fitted to a table.

    Args:
        table: the table's name, for errors.
        columns: the columns of the table.
        partitions: the columns that the table is partitioned by.
        wanted: the requirements of the sink.

    Raises:
        LakeRefusedError: tuples and table do not fit; the message names both sides and the remedy.
    """
    written = wanted.schema
    if list(partitions) != list(wanted.partition_by):
        by = _listed(wanted.partition_by)
        message = (
            f"the table {table} is partitioned by {_listed(partitions)}, the operator by {by}; "
            f"set partitionBy: [{', '.join(partitions)}]"
        )
        raise LakeRefusedError(message)
    _check_demands(table, columns, written)
    missing: list[str] = []
    widened = False
    for field in written:
        name, column = field.name, columns.get(field.name)
        if column is None:
            _check_may_be_added(table, columns, name, add_columns=wanted.add_columns)
            missing.append(name)
        elif not _same(field.type, column.type):
            if not _widens(field.type, column.type):
                message = (
                    f"the column {name} of {table} is {type_name(column.type)}, "
                    f"but the tuples have {type_name(field.type)}; "
                    "change it in a Functor before the sink, leave it out with suppress, or write another table"
                )
                raise LakeRefusedError(message)
            widened = True
    required = tuple(name for name, column in columns.items() if column.required)
    return Fit(tuple(missing), widened, required)


def _check_demands(table: str, columns: Mapping[str, TableColumn], written: pa.Schema) -> None:
    for name, column in columns.items():
        if column.required and name not in written.names:
            message = (
                f"the column {name} of {table} may not be null, and no attribute is written to it; map one with "
                "`columns`, or drop NOT NULL of the column"
            )
            raise LakeRefusedError(message)


def _check_may_be_added(table: str, columns: Mapping[str, TableColumn], name: str, *, add_columns: bool) -> None:
    alike = next((column for column in columns if column.lower() == name.lower()), None)
    if alike is not None:
        message = (
            f"the table {table} has a column {alike}, and the tuples have {name}; these are the same name to most "
            f"readers; set columns: {{{name}: {alike}}}"
        )
        raise LakeRefusedError(message)
    if not add_columns:
        message = (
            f"the table {table} has no column {name}{nearest(name, columns)}; addColumns: true adds it, "
            "columns: {attribute: column} maps attributes to others, suppress leaves them out"
        )
        raise LakeRefusedError(message)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"


def _same(kind: pa.DataType, target: pa.DataType) -> bool:
    types = pa.types
    if types.is_nested(kind) and types.is_nested(target):
        return _shape(kind) == _shape(target)
    return kind == target or any(check(kind) and check(target) for check in (is_text, is_binary))


def _shape(kind: pa.DataType) -> object:
    """Return a value that is equal for types alike but for names of list elements, and large and view variants."""
    types = pa.types
    if types.is_map(kind):
        return ("map", _shape(kind.key_type), _shape(kind.item_type))
    if types.is_struct(kind):
        return tuple((field.name, _shape(field.type)) for field in kind)
    if types.is_nested(kind):
        return ("list", _shape(kind.value_type))
    if is_text(kind):
        return pa.string()
    return pa.binary() if is_binary(kind) else kind


def _alike(kind: pa.DataType, target: pa.DataType) -> bool:
    """Return True if both types are maps, both are lists, or both are structs with the same field names."""
    types = pa.types
    if types.is_struct(kind) and types.is_struct(target):
        return [field.name for field in kind] == [field.name for field in target]
    if types.is_struct(kind) or types.is_struct(target) or not types.is_nested(target):
        return False
    return types.is_map(kind) == types.is_map(target)


def _widens(kind: pa.DataType, target: pa.DataType) -> bool:
    """Return True if type `target` can represent every value of type `kind` exactly."""
    types = pa.types
    if _same(kind, target):
        return True
    if types.is_nested(kind):
        parts = [(kind.field(i), target.field(i)) for i in range(kind.num_fields)] if _alike(kind, target) else []
        return bool(parts) and all(_widens(part.type, wider.type) for part, wider in parts)
    if types.is_integer(kind):
        if types.is_integer(target):
            return kind.bit_width <= target.bit_width
        return types.is_float64(target) and kind.bit_width <= 32
    if types.is_decimal(kind) and types.is_decimal(target):
        return kind.scale <= target.scale and kind.precision - kind.scale <= target.precision - target.scale
    return types.is_float32(kind) and types.is_float64(target)
