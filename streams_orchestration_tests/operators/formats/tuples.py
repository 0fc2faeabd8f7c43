"""Random tuple types, and tuples of them with values at the edges."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from streams_orchestration.operators.formats.csv_dialect import NULL_TEXTS
from streams_orchestration.operators.tuples.arrow_types import arrow_schema, arrow_type, type_name

_EDGES = st.sampled_from(
    [*NULL_TEXTS, "NaN", '"', '""', "a,b", "a;b", "\r", "\n", "\r\n", "\t", "\\", "\\N", "'", " x ", "#"]
)
_MORE = st.sampled_from(
    ["\x00", "\x0b", "\x1c", "\x7f", "\x85", "\u2028", "\ufeffbom", "\U0001f600", "[1]", "{}", "=1+1"]
)
TEXTS = st.one_of(_EDGES, st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
PLAIN_NAMES = st.one_of(
    st.sampled_from(["a", "a_b", "key", "value", "clicks", "message"]), st.text("abcd", min_size=1, max_size=3)
)
"""Names of letters, digits and underscores."""
NAMES = st.one_of(
    st.sampled_from(["a", "b", "key", "value", "order by", "x,y", "q`t", 'say "hi"', "ä", "null", "NA", "a;b"]),
    st.text("abcdefgh", min_size=1, max_size=3),
)
_REALS = st.sampled_from(
    [0.0, -0.0, 0.1, 1.0, 1e16, 1e300, -5e-324, 1.7976931348623157e308, math.nan, math.inf, -math.inf]
)
_FLOATS = st.sampled_from([0.0, -0.0, 1.5, 3.4028234663852886e38, 1.401298464324817e-45, math.nan, math.inf, -math.inf])
_INSTANTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime.max)
_ROUND = st.sampled_from(
    ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999", "1969-12-31T23:59:59.999999", "1582-10-10T00:00:00"]
)
_HALVES = st.sampled_from(["2024-01-01T00:00:00", "2024-01-01T00:00:00.5", "1900-02-28T12:00:00.000001"])
_TIMES = st.one_of(_INSTANTS, st.one_of(_ROUND, _HALVES).map(datetime.datetime.fromisoformat))
_DAYS = st.one_of(st.dates(), st.sampled_from([datetime.date.min, datetime.date.max, datetime.date(1969, 12, 31)]))
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def _whole(bits: int) -> st.SearchStrategy[int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return st.one_of(st.sampled_from([low, high, 0, -1]), st.integers(low, high))


def _decimal(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    most = 10**precision - 1
    whole = st.one_of(st.sampled_from([most, -most, 1, 0]), st.integers(-most, most))
    return whole.map(lambda number: Decimal(f"{number}E-{scale}"))


_SIMPLE: dict[str, st.SearchStrategy[Any]] = {
    **{name: _whole(bits) for name, bits in _BITS.items()},
    "string": TEXTS,
    "boolean": st.booleans(),
    "double": st.one_of(_REALS, st.floats()),
    "float": st.one_of(_FLOATS, st.floats(width=32)),
    "date": _DAYS,
    "timestamp": _TIMES.map(lambda time: time.replace(tzinfo=datetime.UTC)),
    "timestamp_ntz": _TIMES,
    "binary": st.binary(max_size=6),
}
_SCALES = st.integers(1, 38).flatmap(lambda precision: st.tuples(st.just(precision), st.integers(0, precision)))
_EDGES_OF_DECIMALS = st.sampled_from([(1, 0), (1, 1), (5, 2), (9, 9), (18, 4), (19, 0), (38, 0), (38, 18), (38, 38)])
DECIMALS = st.one_of(_EDGES_OF_DECIMALS, _SCALES).map(lambda type: f"decimal({type[0]}, {type[1]})")
"""Types of decimals of all precisions and scales."""
SIMPLE = st.one_of(st.sampled_from(sorted(_SIMPLE)), DECIMALS)
_KEYS = st.one_of(st.sampled_from(["string", "bigint", "date", "boolean", "binary", "timestamp", "int"]), DECIMALS)


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    maps = st.tuples(_KEYS, inner).map(lambda pair: f"map<{pair[0]}, {pair[1]}>")
    return st.one_of(_lists(inner), maps, _structs(inner))


def _lists(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return inner.map("array<{}>".format)


def _structs(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(inner, min_size=1, max_size=3).map(
        lambda types: f"struct<{', '.join(f'm{i}: {each}' for i, each in enumerate(types))}>"
    )


def _repeated(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    keys = st.sampled_from(["string", "int", "bigint", "smallint"])
    maps = st.tuples(keys, inner).map(lambda pair: f"map<{pair[0]}, {pair[1]}>")
    return st.one_of(_lists(inner), maps)


NESTED = st.recursive(SIMPLE, _nested, max_leaves=4)
"""Types in canonical DDL."""
AVRO = st.recursive(
    SIMPLE, lambda inner: st.one_of(_lists(inner), _structs(inner), inner.map("map<string, {}>".format)), max_leaves=4
)
"""Types of which Avro has a counterpart."""
_OF_PROTOBUF = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean", "string", "binary", "timestamp")
PROTOBUF = st.recursive(
    st.sampled_from(_OF_PROTOBUF),
    lambda inner: _structs(
        st.one_of(inner, _repeated(inner.filter(lambda kind: not kind.startswith(("array", "map")))))
    ),
    max_leaves=4,
)
"""The same of Protobuf, which has no list of lists."""


def values(kind: str) -> st.SearchStrategy[Any]:
    """Values of a type, or null."""
    return st.one_of(st.none(), _values(kind))


def _values(kind: str) -> st.SearchStrategy[Any]:
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    arrow = arrow_type(kind)
    return _decimal(arrow.precision, arrow.scale) if pa.types.is_decimal(arrow) else _nested_values(arrow)


def _nested_values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    if pa.types.is_list(kind):
        return st.lists(values(type_name(kind.value_type)), max_size=3)
    if pa.types.is_map(kind):
        keys = _values(type_name(kind.key_type))
        entries = st.tuples(keys, values(type_name(kind.item_type)))
        return st.lists(entries, max_size=3, unique_by=lambda entry: entry[0])
    return st.fixed_dictionaries({part.name: values(type_name(part.type)) for part in kind})


@st.composite
def batches(
    draw: st.DrawFn,
    types: st.SearchStrategy[str],
    most: int = 4,
    all_names: st.SearchStrategy[str] = NAMES,
    least: int = 0,
) -> pa.RecordBatch:
    """Draw tuples of a random type, at least `least`."""
    names = draw(st.lists(all_names, min_size=1, max_size=most, unique_by=lambda name: name.lower().replace("_", "")))
    kinds = [draw(types) for _ in names]
    ddl = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in zip(names, kinds, strict=True))
    schema = arrow_schema(ddl)
    rows = draw(st.lists(st.tuples(*map(values, kinds)), min_size=least, max_size=6))
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def parts(kind: pa.DataType) -> list[pa.DataType]:
    """Return a type and all that are within it."""
    inner = [kind.field(i).type for i in range(kind.num_fields)] if pa.types.is_nested(kind) else []
    return [kind, *(part for each in inner for part in parts(each))]


def shown(batch: pa.RecordBatch) -> str:
    """Return the tuples as a text in which NaN equals itself and -0.0 does not equal 0.0."""
    return repr(batch.to_pylist())
