"""Keys of SPL types whose equal values may have different columns: sets in any order, and decimals with zeros."""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from typing import Any

from streams_orchestration.operators.keys.comparison import comparable
from streams_orchestration.operators.keys.nested import map_entries
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.spl.types.columns import has_canonical_column, may_hold_nan
from streams_orchestration.spl.types.types import DECIMALS, Collection, Optional, Primitive, Tuple, Type

_LARGEST_EXPONENT = 20_000
"""A number above the exponent of any decimal."""
_DIGITS = decimal.Context(prec=max(DECIMALS.values()))
__all__ = ["Primitive", "canonical_keys", "matching_keys", "ordered_decimals", "unequal_to_themselves"]


def canonical_keys(column: pa.Array, type_: Type) -> pa.Array:
    """Return a column of values of an SPL type in which equal values are equal as keys of its Arrow type.

    The elements of sets are in a fixed order, and decimals have no zeros at their ends.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> canonical_keys(pa.array([["1.50", "2"], ["2.0", "1.5"]]), type_of_text("set<decimal64>")).to_pylist()
    [['1.5', '2'], ['1.5', '2']]
    """
    if has_canonical_column(type_):
        return column
    match type_:
        case Optional(content=content):
            return canonical_keys(column, content)
        case Tuple(attributes=attributes):
            parts = [canonical_keys(part, each.type) for part, each in zip(column.flatten(), attributes, strict=True)]
            return pa.StructArray.from_arrays(parts, fields=list(column.type), mask=column.is_null())
        case Collection(kind="map", elements=elements):
            lengths, *entries = map_entries(column)
            parts = [canonical_keys(part, each) for part, each in zip(entries, elements, strict=True)]
            return pa.MapArray.from_arrays(_offsets(lengths, column), *parts, type=column.type)
        case Collection(kind=kind, elements=(element,)):
            lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
            values = canonical_keys(column.flatten(), element)
            if kind == "set":
                owners = np.repeat(np.arange(len(lengths)), lengths)
                values = values.take(pa.array(np.lexsort((_ranks(values), owners))))
            return pa.ListArray.from_arrays(_offsets(lengths, column), values, type=column.type)
        case _:
            return pa.array(list(map(_shortest, column.to_pylist())), column.type)


def matching_keys(column: pa.Array, type_: Type) -> pa.Array:
    """Return the column that `canonical_keys` returns, with null for values that equal no value, such as NaN.

    >>> matching_keys(pa.array([1.5, np.nan]), Primitive("float64")).to_pylist()
    [1.5, None]
    """
    keys, mask = canonical_keys(column, type_), unequal_to_themselves(column, type_)
    if not mask.any():
        return keys
    return keys.take(pa.array(np.arange(len(keys)), mask=mask))


def unequal_to_themselves(column: pa.Array, type_: Type) -> np.ndarray:
    """Return a mask of the values that are NaN or hold NaN.

    >>> from streams_orchestration.spl.types.written import type_of_text
    >>> unequal_to_themselves(pa.array([[1.5], [2.5, np.nan], []]), type_of_text("list<float64>")).tolist()
    [False, True, False]
    """
    if not may_hold_nan(type_):
        return np.zeros(len(column), bool)
    match type_:
        case Optional(content=content):
            return unequal_to_themselves(column, content)
        case Tuple(attributes=attributes):
            parts = zip(column.flatten(), attributes, strict=True)
            return np.logical_or.reduce([unequal_to_themselves(part, each.type) for part, each in parts])
        case Collection(kind="map", elements=elements):
            lengths, *entries = map_entries(column)
            parts = zip(entries, elements, strict=True)
            return _any_of(np.logical_or(*(unequal_to_themselves(part, each) for part, each in parts)), lengths)
        case Collection(elements=(element,)):
            lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
            return _any_of(unequal_to_themselves(column.flatten(), element), lengths)
        case _:
            unequal = pc.match_substring(column, "NaN") if type_ in DECIMALS else pc.is_nan(column)
            return pc.and_kleene(unequal, unequal.is_valid()).to_numpy(zero_copy_only=False)


def _any_of(mask: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return a mask of the collections that have a marked element."""
    return np.bincount(np.repeat(np.arange(len(lengths)), lengths)[mask], minlength=len(lengths)) > 0


def ordered_decimals(column: pa.Array, _type: Type) -> pa.Array:
    """Return decimals, which are texts, as bytes in their order; NaN is above all numbers, and null stays null.

    >>> values = ["-Infinity", "-10", "-1.25", "-1.2", "-0.0", "1E-9", "1.2", "1.25", "1E+3", "Infinity", "NaN"]
    >>> ordered = ordered_decimals(pa.array(values), Collection("list", ())).to_pylist()
    >>> ordered == sorted(ordered), len(set(ordered))
    (True, 11)
    """
    return pa.array([None if text is None else _in_order(decimal.Decimal(text)) for text in column.to_pylist()])


def _in_order(number: decimal.Decimal) -> bytes:
    if not number.is_finite():
        return b"\5" if number.is_nan() else b"\4" if number > 0 else b"\0"
    if number.is_zero():
        return b"\2"
    digits = "".join(map(str, number.as_tuple().digits)).lstrip("0").rstrip("0").encode()
    size = (number.adjusted() + _LARGEST_EXPONENT).to_bytes(2, "big") + digits
    return b"\3" + size if number > 0 else b"\1" + bytes(255 - each for each in size) + b"\xff"


def _offsets(lengths: Sequence[int] | np.ndarray, column: pa.Array) -> pa.Array:
    ends: list[Any] = np.cumsum([0, *lengths]).tolist()
    missing = column.is_null().to_pylist()
    return pa.array([*(None if gone else end for end, gone in zip(ends, missing, strict=False)), ends[-1]], pa.int32())


def _ranks(values: pa.Array) -> np.ndarray:
    """Return a number for each value by which equal values of all batches are in one order."""
    keys = comparable(values)
    if not pa.types.is_binary(keys.type):
        keys = keys.cast(pa.string()).cast(pa.binary())
    ranks = np.empty(len(keys), np.int64)
    ranks[pc.sort_indices(keys).to_numpy()] = np.arange(len(keys))
    return ranks


def _shortest(text: str | None) -> str | None:
    if text is None:
        return None
    number = decimal.Decimal(text)
    return "0" if number.is_zero() else "NaN" if number.is_nan() else str(number.normalize(_DIGITS))
