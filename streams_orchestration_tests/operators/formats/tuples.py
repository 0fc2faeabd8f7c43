"""Random tuple types, and tuples of them with values at the edges."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from streams_orchestration.operators.arrow_types import arrow_schema, arrow_type, type_name
from streams_orchestration.operators.formats.csv_dialect import NULL_TEXTS

_EDGES = st.sampled_from(
    [*NULL_TEXTS, "NaN", '"', '""', "a,b", "a;b", "\r", "\n", "\r\n", "\t", "\\", "\\N", "'", " x ", "#"]
)
_MORE = st.sampled_from(
    ["\x00", "\x0b", "\x1c", "\x7f", "\x85", "\u2028", "\ufeffbom", "\U0001f600", "[1]", "{}", "=1+1"]
)
TEXTS = st.one_of(_EDGES, st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
NAMES = st.one_of(
    st.sampled_from(["a", "b", "key", "value", "order by", "x,y", "q`t", 'say "hi"', "ä", "null", "NA", "a;b"]),
    st.text("abcdefgh", min_size=1, max_size=3),
)
_REALS = st.sampled_from(
    [0.0, -0.0, 0.1, 1.0, 1e16, 1e300, -5e-324, 1.7976931348623157e308, math.nan, math.inf, -math.inf]
)
_FLOATS = st.sampled_from([0.0, -0.0, 1.5, 3.4028234663852886e38, 1.401298464324817e-45, math.nan, math.inf, -math.inf])
_INSTANTS = st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime.max)
_ROUND = st.sampled_from(["2024-01-01T00:00:00", "2024-01-01T00:00:00.5", "1969-12-31T23:59:59.999999"])
_TIMES = st.one_of(_INSTANTS, _ROUND.map(datetime.datetime.fromisoformat))
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
    "date": st.dates(),
    "timestamp": _TIMES.map(lambda time: time.replace(tzinfo=datetime.UTC)),
    "timestamp_ntz": _TIMES,
    "binary": st.binary(max_size=6),
    "decimal(38, 18)": _decimal(38, 18),
    "decimal(5, 2)": _decimal(5, 2),
    "decimal(38, 0)": _decimal(38, 0),
    "decimal(38, 38)": _decimal(38, 38),
}
SIMPLE = st.sampled_from(sorted(_SIMPLE))
_KEYS = st.sampled_from(["string", "bigint", "date", "decimal(5, 2)", "boolean", "binary", "timestamp"])


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map("array<{}>".format),
        st.tuples(_KEYS, inner).map(lambda pair: f"map<{pair[0]}, {pair[1]}>"),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda types: f"struct<{', '.join(f'm{i}: {each}' for i, each in enumerate(types))}>"
        ),
    )


NESTED = st.recursive(SIMPLE, _nested, max_leaves=4)
"""Types in canonical DDL."""


def values(kind: str) -> st.SearchStrategy[Any]:
    """Values of a type, or null."""
    if kind in _SIMPLE:
        return st.one_of(st.none(), _SIMPLE[kind])
    arrow = arrow_type(kind)
    return st.one_of(st.none(), _nested_values(arrow))


def _nested_values(kind: pa.DataType) -> st.SearchStrategy[Any]:

    if pa.types.is_list(kind):
        return st.lists(values(type_name(kind.value_type)), max_size=3)
    if pa.types.is_map(kind):
        keys = _SIMPLE[type_name(kind.key_type)]
        entries = st.tuples(keys, values(type_name(kind.item_type)))
        return st.lists(entries, max_size=3, unique_by=lambda entry: entry[0])
    return st.fixed_dictionaries({part.name: values(type_name(part.type)) for part in kind})


@st.composite
def batches(draw: st.DrawFn, types: st.SearchStrategy[str], most: int = 4) -> pa.RecordBatch:
    """Some tuples of a random type."""
    names = draw(st.lists(NAMES, min_size=1, max_size=most, unique_by=str.lower))
    kinds = [draw(types) for _ in names]
    ddl = ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in zip(names, kinds, strict=True))
    schema = arrow_schema(ddl)
    rows = draw(st.lists(st.tuples(*map(values, kinds)), max_size=6))
    columns = [pa.array([row[i] for row in rows], field.type) for i, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def shown(batch: pa.RecordBatch) -> str:
    """The tuples as a text in which NaN equals itself and -0.0 does not equal 0.0."""
    return repr(batch.to_pylist())
