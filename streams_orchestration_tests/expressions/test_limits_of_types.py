"""At the edges of types a tuple has the value that Spark gives it or fails, alone as in a batch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from streams_orchestration.expressions.arrow import array_from, arrow_type, values_of
from streams_orchestration.expressions.errors import EvaluationError, ExpressionError
from streams_orchestration.expressions.rows import row_function
from streams_orchestration.expressions.times import UTC, read_timestamp
from streams_orchestration.expressions.types import parse_type
from streams_orchestration.expressions.typing import typed
from streams_orchestration.expressions.vectors import FailedTupleError, SelectedTuples, full, vector_function
from streams_orchestration_tests.expressions.generation import zone_of

FIRST, LAST = -(2**63), 2**63 - 1
FIRST_DAY, LAST_DAY = -(2**31), 2**31 - 1
KINDS = {name: parse_type(kind) for name, kind in (
    ("t", "timestamp"), ("n", "timestamp_ntz"), ("d", "date"), ("s", "string"), ("x", "double"), ("f", "float"),
    ("e", "decimal(38, 10)"), ("w", "decimal(38, 0)"), ("y", "tinyint"), ("h", "smallint"), ("i", "int"),
    ("b", "bigint"),
)}  # fmt: skip
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"


class Fails:
    """The outcome of a tuple without a value."""


def of(text: str, given: Mapping[str, Any], zone: dt.tzinfo) -> Any:
    """Return the value of an expression for one tuple, alone as in a batch, or `Fails`."""
    node = typed(text, KINDS, zone)
    columns = {name: array_from([value] * 2, KINDS[name]) for name, value in given.items()}
    row = row_function(node, list(given), zone)
    try:
        vector = full(vector_function(node, zone)(SelectedTuples(columns, 2)), 2, arrow_type(node.type))
    except FailedTupleError as error:
        assert error.position == 0
        with pytest.raises(EvaluationError):
            row(list(given.values()))
        return Fails
    alone = row(list(given.values()))
    assert values_of(vector, node.type) == [alone, alone]
    return alone


@pytest.mark.parametrize(("text", "given", "value"), [
    ("abs(e)", {"e": Decimal("-1234567890123456789012345678.1234567891")},
     Decimal("1234567890123456789012345678.1234567891")),
    ("abs(w)", {"w": Decimal("-" + "9" * 38)}, Decimal("9" * 38)),
    ("pmod(e, 9234567890123456789012345678.1234567892)", {"e": Decimal("-1234567890123456789012345678.1234567891")},
     Decimal("8000000000000000000000000000.0000000001")),
    ("pmod(f, CAST(1.5e30 AS float))", {"f": -1.0000000150474662e30}, 4.999999319658694e29),
    ("pmod(i, -2147483648)", {"i": -1}, 2**31 - 1),
    ("pmod(-1, i)", {"i": -(2**31)}, 2**31 - 1),
    ("pmod(b, -9223372036854775808L)", {"b": -1}, LAST),
    ("pmod(y, -128Y)", {"y": -1}, -1),
    ("pmod(y, 127Y)", {"y": -3}, 124),
    ("pmod(h, -32768S)", {"h": -1}, -1),
    ("pmod(i, -3)", {"i": -7}, -1),
    ("d + 1", {"d": LAST_DAY}, Fails),
    ("1 + d", {"d": LAST_DAY}, Fails),
    ("d - 1", {"d": FIRST_DAY}, Fails),
    ("d + INTERVAL 1 DAY", {"d": LAST_DAY}, Fails),
    ("d + INTERVAL 1 MONTH", {"d": LAST_DAY}, Fails),
    ("d - INTERVAL 1 MONTH", {"d": FIRST_DAY}, Fails),
    ("try_add(d, 1)", {"d": LAST_DAY}, None),
    ("try_add(d, INTERVAL 1 MONTH)", {"d": LAST_DAY}, None),
    ("try_subtract(d, 1)", {"d": FIRST_DAY}, None),
    ("try_subtract(d, -1)", {"d": LAST_DAY}, None),
    ("last_day(d)", {"d": LAST_DAY}, Fails),
    ("next_day(d, 'MO')", {"d": LAST_DAY}, Fails),
    ("trunc(d, 'year')", {"d": FIRST_DAY}, Fails),
    ("trunc(d, 'year')", {"d": LAST_DAY}, LAST_DAY - 192),
    ("CASE WHEN d < DATE '2024-01-01' THEN last_day(d) END", {"d": LAST_DAY}, None),
    ("CASE WHEN d > DATE '2024-01-01' THEN trunc(d, 'year') END", {"d": FIRST_DAY}, None),
    ("(d - DATE '2024-01-01') > INTERVAL 1 DAY", {"d": FIRST_DAY}, Fails),
    ("datediff(d, DATE '2024-01-01')", {"d": FIRST_DAY}, 2147463925),
    ("timestamp_seconds(x)", {"x": 1e308}, LAST),
    ("timestamp_seconds(x)", {"x": -1e308}, FIRST),
    ("timestamp_seconds(x)", {"x": 1e18}, LAST),
    ("timestamp_seconds(b)", {"b": LAST}, Fails),
    ("map()", {"i": 1}, {}),
    ("map_from_arrays(array(), array())", {"i": 1}, {}),
    ("s RLIKE 'a{99999999999}'", {"s": "a"}, Fails),
    ("regexp_extract(s, 'a{99999999999}')", {"s": "a"}, Fails),
    ("regexp_extract_all(s, 'a{99999999999}')", {"s": "a"}, Fails),
    ("regexp_count(s, 'a{99999999999}')", {"s": "a"}, Fails),
    ("split(s, 'a{99999999999}')", {"s": "a"}, Fails),
    ("str_to_map(s, 'a{99999999999}')", {"s": "a"}, Fails),
    ("regexp_replace(s, 'a', '$3')", {"s": "a"}, Fails),
    ("regexp_replace(s, 'a', s)", {"s": "$3"}, "$3"),
    ("regexp_replace(s, '[$]', s)", {"s": "$3"}, Fails),
    ("regexp_replace(s, '(a)', '$15')", {"s": "a"}, "a5"),
    ("regexp_replace(s, '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)', '$11$12$0')", {"s": "abcdefghijk"},
     "ka2abcdefghijk"),
    *((f"date_trunc('{unit}', t)", {"t": FIRST}, Fails) for unit in ("year", "week", "day", "second", "millisecond")),
    ("date_trunc('year', t)", {"t": LAST}, 9223371244800000000),
    ("date_trunc('week', t)", {"t": LAST}, 9223371504000000000),
])  # fmt: skip
def test_a_value_at_the_edge_is_that_of_spark(text: str, given: Mapping[str, Any], value: object):
    assert of(text, given, UTC) == value


@pytest.mark.parametrize(("text", "given", "zone", "value"), [
    ("CAST(t AS timestamp_ntz)", {"t": LAST}, BERLIN, Fails),
    ("CAST(t AS timestamp_ntz)", {"t": FIRST}, NEW_YORK, Fails),
    ("TRY_CAST(t AS timestamp_ntz)", {"t": LAST}, BERLIN, None),
    ("CAST(n AS timestamp)", {"n": FIRST}, BERLIN, Fails),
    ("CAST(n AS timestamp)", {"n": LAST}, NEW_YORK, Fails),
    ("size(CAST(array(n) AS array<timestamp>))", {"n": LAST}, NEW_YORK, Fails),
    ("CASE WHEN i = 1 THEN CAST(n AS timestamp) END", {"i": 0, "n": LAST}, NEW_YORK, None),
    ("i = 1 AND t = n", {"i": 0, "t": LAST, "n": LAST}, NEW_YORK, False),
    ("t = n", {"t": LAST, "n": LAST}, NEW_YORK, Fails),
    ("(t - n) > INTERVAL 1 DAY", {"t": LAST, "n": LAST}, NEW_YORK, Fails),
    ("from_utc_timestamp(t, 'Europe/Berlin')", {"t": LAST}, "UTC", Fails),
    ("to_utc_timestamp(t, 'Europe/Berlin')", {"t": FIRST}, "UTC", Fails),
    ("convert_timezone('America/New_York', n)", {"n": FIRST}, BERLIN, Fails),
    ("convert_timezone('Europe/Berlin', 'America/New_York', n)", {"n": FIRST}, "UTC", Fails),
    ("date_trunc('hour', t)", {"t": FIRST}, BERLIN, Fails),
    ("CASE WHEN i = 1 THEN date_trunc('hour', t) END", {"i": 0, "t": FIRST}, BERLIN, None),
    ("make_timestamp(294247, 1, 10, i, 0, 54)", {"i": 4}, NEW_YORK, Fails),
    ("to_timestamp(s, 'yyyy-MM-dd')", {"s": "+294247-01-10"}, NEW_YORK, Fails),
    ("try_to_timestamp(s, 'yyyy-MM-dd')", {"s": "+294247-01-10"}, NEW_YORK, None),
    ("to_timestamp_ntz(t)", {"t": LAST}, BERLIN, Fails),
    ("timestampadd(MICROSECOND, 1, t)", {"t": LAST}, BERLIN, Fails),
    ("t + INTERVAL 1 MONTH", {"t": LAST}, BERLIN, Fails),
    ("CAST(t AS string)", {"t": LAST}, BERLIN, "+294247-01-10 05:00:54.775807"),
])  # fmt: skip
def test_a_time_at_the_edge_fails_where_its_zone_leaves_the_range(
    text: str, given: Mapping[str, Any], zone: str, value: object
):
    assert of(text, given, zone_of(zone)) == value


def test_a_literal_that_its_zone_moves_out_of_range_is_refused():
    text = "TIMESTAMP '294247-01-10 04:00:54.775807'"
    assert typed(text, {}) == typed(f"{text[:-1]}Z'", {})
    assert read_timestamp("294247-01-10 04:00:54.775807", UTC) == LAST
    with pytest.raises(ExpressionError, match="beyond the range of timestamp in this time zone"):
        typed(f"t < {text}", KINDS, zone_of(NEW_YORK))
