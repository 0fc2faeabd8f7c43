"""Random tuples with values at the edges, and random typed expressions over them."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from streams_orchestration.expressions.arrow import array_from, arrow_type, values_of
from streams_orchestration.expressions.catalog import FUNCTIONS
from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.table import SqlFunction
from streams_orchestration.expressions.times import UTC, read_date, read_timestamp, zone_named
from streams_orchestration.expressions.tree import TypedNode
from streams_orchestration.expressions.types import Type, parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.expressions.value_texts import single

_EDGES: Mapping[str, Sequence[Any]] = {
    "boolean": (True, False),
    "tinyint": (0, 1, -1, 7, 127, -128),
    "smallint": (0, 1, -1, 100, 32767, -32768),
    "int": (0, 1, -1, 2, 3, 10, 2024, 2**31 - 1, -(2**31)),
    "bigint": (0, 1, -1, 5, 10**12, 2**63 - 1, -(2**63), 2**53 + 1),
    "float": (0.0, -0.0, 1.5, -2.25, single(0.1), math.nan, math.inf, single(1e30)),
    "double": (0.0, -0.0, 1.5, -2.5, 0.1, 1.005, 1e15, 1e-7, math.nan, math.inf, -math.inf, 123456789.125),
    "decimal(10, 2)": tuple(map(decimal.Decimal, ("0.00", "1.50", "-2.25", "99999999.99", "0.01", "12.34"))),
    "decimal(38, 6)": tuple(map(decimal.Decimal, ("0.000000", "1.500000", "-99999999999999999999999999999999.999999"))),
    "string": (
        "",
        "a",
        "A",
        "Spark SQL",
        " 12 ",
        "1.5",
        "Zoë",
        "ß",
        "true",
        "2024-02-29",
        "2024-02-29 13:00:00.5",
        "2024-03-31 02:30:00",
        "2024-10-27T02:30",
        "2024-11-03 01:30:00 America/New_York",
        "a,b,c",
        "%_\\",
        "\n",
        "\U0001f600x",
        "0x1F",
        "1e3",
        '{"a": [1, 2.50], "b": null}',
        "[1,2]",
    ),
    "binary": (b"", b"a", b"\x00\xff", "Zoë".encode()),
    "date": tuple(
        read_date(text)
        for text in (
            "1970-01-01",
            "2024-02-29",
            "2024-12-30",
            "1969-12-31",
            "0001-01-01",
            "9999-12-31",
            "1900-03-01",
            "2024-03-31",
            "2024-10-27",
            "2024-11-03",
        )
    ),
    "timestamp": tuple(
        read_timestamp(text, None)
        for text in (
            "1970-01-01 00:00:00",
            "2024-02-29 13:14:15.123456",
            "1969-12-31 23:59:59.999999",
            "2024-12-30 00:00:00",
            "0001-01-02 00:00:00",
            "9999-12-30 23:59:59",
            *("2024-03-31 00:30:00", "2024-03-31 01:30:00", "2024-10-27 00:30:00", "2024-10-27 01:30:00"),
            *("2024-03-10 06:59:59.5", "2024-03-10 07:00:00", "2024-11-03 05:45:10", "2024-11-03 06:45:10"),
        )
    ),
    "timestamp_ntz": tuple(
        read_timestamp(text, None)
        for text in (
            *("1970-01-01 00:00:00", "2024-02-29 13:14:15.123456", "1969-12-31 23:59:59.9"),
            *("2024-03-31 02:30:00", "2024-10-27 02:30:00", "2024-03-10 02:15:00", "2024-11-03 01:45:10"),
        )
    ),
    "array<int>": ((), (1, 2, 3), (None,), (3, None, 1), (2, 2)),
    "array<string>": ((), ("a", "b"), (None, "a"), ("b", "A", "")),
    "map<string, int>": ({}, {"a": 1, "b": None}, {"": 0}),
    "struct<a: int, b: string>": ((1, "x"), (None, None), (2**31 - 1, "")),
}
"""Values of each type; null is added to all."""

_NAMES = {"decimal(10, 2)": "decimal", "decimal(38, 6)": "wide", "array<int>": "array", "array<string>": "texts",
          "map<string, int>": "map", "struct<a: int, b: string>": "struct"}  # fmt: skip
ATTRIBUTES: Mapping[str, Type] = {
    f"{_NAMES.get(kind, kind)}{number}": parse_type(kind) for kind in _EDGES for number in (1, 2)
}
"""The attributes of the tuples: two of each type."""

_LITERALS: Mapping[str, Sequence[str]] = {
    "int": ("0", "1", "2", "-1", "3", "10", "100"),
    "bigint": ("5L", "-7L", "1000000000000"),
    "double": ("1.5e0", "0e0", "-2e0"),
    "decimal(10, 2)": ("1.5", "2.25", "0.1"),
    "string": (
        "'a'",
        "'Spark'",
        "''",
        "'1'",
        "'%a%'",
        "'yyyy-MM-dd'",
        "'month'",
        "'[a-z]+'",
        "','",
        "'$.a'",
        "'UTF-8'",
    ),
    "boolean": ("true", "false"),
    "date": ("DATE '2024-02-29'",),
    "timestamp": (
        "TIMESTAMP '2024-02-29 13:00:00'",
        "TIMESTAMP '2024-03-31 02:30:00'",
        "TIMESTAMP '2024-11-03 01:30:00+02:00'",
    ),
    "interval day to second": ("INTERVAL '1 02:03:04.5' DAY TO SECOND", "INTERVAL 3 DAYS", "INTERVAL '90' MINUTE"),
    "interval year to month": ("INTERVAL 14 MONTHS",),
}
_OF_TYPE: Mapping[str, Sequence[str]] = {
    kind: [name for name, own in ATTRIBUTES.items() if own == parse_type(kind)] for kind in _EDGES
}
"""The attributes of each type."""
_ANY_ATTRIBUTE = tuple(ATTRIBUTES)
_ANY_LITERAL = tuple(text for texts in _LITERALS.values() for text in texts)
_ANY_FUNCTION = tuple(FUNCTIONS.values())
UNLIKE_SPARK = frozenset(
    (
        "exp",
        "expm1",
        "sinh",
        "cosh",
        "tanh",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "atan2",
        "cbrt",
        "power",
        "pow",
        "ln",
        "log",
        "log10",
        "log2",
        "log1p",
        "hypot",
    )
)
"""Functions whose last digit depends on the library that calculates them."""
_SIZED = frozenset(("space", "repeat", "lpad", "rpad", "array_repeat", "sequence", "format_number"))
"""Functions whose value is as long as an argument says."""


def zone_of(name: str) -> dt.tzinfo:
    """Return the time zone of a name."""
    zone = zone_named(name)
    assert zone is not None
    return zone


def zoned_functions() -> list[SqlFunction]:
    """Return the functions whose values may depend on the time zone."""
    return [each for each in FUNCTIONS.values() if each.zoned is not None]


ZONES = ("Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo")
"""Zones other than UTC: with daylight saving time, half an hour off, with half an hour of it, and from midnight on."""


def tuples(rnd: random.Random, count: int) -> pa.RecordBatch:
    """Return random tuples."""
    columns: dict[str, pa.Array] = {}
    for name, kind in ATTRIBUTES.items():
        edges = _EDGES[str(kind)]
        values = [None if rnd.random() < 0.12 else rnd.choice(edges) for _ in range(count)]
        columns[name] = array_from(values, kind)
    return pa.RecordBatch.from_arrays(
        list(columns.values()), schema=pa.schema([(n, arrow_type(k)) for n, k in ATTRIBUTES.items()])
    )


def rows_of(batch: pa.RecordBatch) -> list[tuple[Any, ...]]:
    """Return the values of the attributes of every tuple."""
    columns = [values_of(batch.column(name), kind) for name, kind in ATTRIBUTES.items()]
    return list(zip(*columns, strict=True))


def expression(
    rnd: random.Random, depth: int = 2, functions: Sequence[SqlFunction] = (), zone: dt.tzinfo = UTC
) -> tuple[str, TypedNode]:
    """Return a random expression that has types, and its tree."""
    choice = functions or _ANY_FUNCTION
    while True:
        text = _call(rnd, rnd.choice(choice), depth)
        try:
            node = typed(text, ATTRIBUTES, zone)
        except ExpressionError:
            continue
        if node.type.is_attribute:
            return text, node


def _argument(rnd: random.Random, depth: int, kind: str = "") -> str:
    """Return a random argument, of a type if one is named."""
    if depth > 1 and rnd.random() < 0.4:
        return _call(rnd, rnd.choice(_ANY_FUNCTION), depth - 1)
    if depth > 1 and rnd.random() < 0.1:
        return _special(rnd, depth - 1)
    names, literals = _OF_TYPE.get(kind, ()), _LITERALS.get(kind, ())
    if literals and (not names or rnd.random() < 0.4):
        return rnd.choice(literals)
    if not names:
        names = _ANY_ATTRIBUTE
        if rnd.random() < 0.3:
            return rnd.choice(_ANY_LITERAL)
    return rnd.choice(names)


def _special(rnd: random.Random, depth: int) -> str:
    a, b = _argument(rnd, depth), _argument(rnd, depth)
    condition = f"{_argument(rnd, depth, 'int')} > {_argument(rnd, depth, 'int')}"
    kind = rnd.choice(
        ("int", "bigint", "double", "string", "decimal(20, 3)", "date", "timestamp", "boolean", "float", "tinyint")
    )
    return rnd.choice(
        (
            f"CASE WHEN {condition} THEN {a} ELSE {b} END",
            f"coalesce({a}, {b})",
            f"if({condition}, {a}, {b})",
            f"nullif({a}, {b})",
            f"CAST({a} AS {kind})",
            f"TRY_CAST({a} AS {kind})",
            f"({condition} AND {a} = {b})",
            f"({condition} OR {a} < {b})",
            f"{a} BETWEEN {b} AND {_argument(rnd, depth)}",
        )
    )


def _call(rnd: random.Random, function: SqlFunction, depth: int) -> str:
    if rnd.random() < 0.1:
        return _special(rnd, depth)
    if function.signatures:
        form = rnd.choice(function.signatures)
        optional = rnd.randint(form.required, max(len(form.parameters), form.required))
        count = rnd.randint(form.required, 3) if form.variadic else optional
        kinds = [form.parameters[min(place, len(form.parameters) - 1)].type for place in range(count)]
        bound = rnd.choice(("int", "string"))
        concrete = [kind.replace("<T>", f"<{bound}>").replace("K, V", "string, int") for kind in kinds]
        classes = {
            "number": ("int", "double", "decimal(10, 2)"),
            "whole": ("int", "bigint"),
            "T": (bound,),
            "K": ("string",),
            "datetime": ("date", "timestamp"),
        }
        arguments = [
            _argument(rnd, depth, rnd.choice(classes[kind]) if kind in classes else "" if kind == "any" else kind)
            for kind in concrete
        ]
    else:
        kind = rnd.choice(
            ("int", "bigint", "double", "decimal(10, 2)", "string", "boolean", "date", "timestamp", "array<int>", "")
        )
        arguments = [_argument(rnd, depth, kind) for _ in range(rnd.choice((1, 2, 2, 2, 3)))]
    name = function.name
    if name in _SIZED:
        arguments = [
            each if place in (0, 2) and name not in ("space", "sequence") else rnd.choice(("0", "2", "-1", "3"))
            for place, each in enumerate(arguments)
        ]
    if name == "[]":
        return f"{arguments[0]}[{arguments[-1]}]"
    if name == "in":
        return f"({arguments[0]} IN ({', '.join(arguments[1:] or ['1'])}))"
    if name == "not":
        return f"(NOT {arguments[0]})"
    if name == "~":
        return f"(~{arguments[0]})"
    if not name[0].isalpha() or name in ("div", "like", "ilike", "rlike"):
        return f"({arguments[0]} {name.upper()} {arguments[-1]})"
    if name.startswith("timestamp") and name in ("timestampadd", "timestampdiff"):
        arguments[0] = rnd.choice(("MONTH", "DAY", "HOUR", "WEEK", "YEAR", "SECOND"))
    if name in ("date_part", "datepart"):
        arguments = [rnd.choice(("'year'", "'doy'", "'week'", "'second'", "'hour'", "'dow'")), arguments[-1]]
    if name == "from_json":
        arguments = [arguments[0], rnd.choice(("'a array<double>, b int'", "'map<string, string>'", "'array<int>'"))]
    return f"{name}({', '.join(arguments)})"
