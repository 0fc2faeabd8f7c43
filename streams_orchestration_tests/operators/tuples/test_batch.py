from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import ConstTupleError, DataError
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.operators.tuples.batch import TupleBatch

SCHEMA = arrow_schema("n bigint, x double, s string")


def batch(n: list[Any], x: list[Any] | None = None, s: list[Any] | None = None) -> TupleBatch:
    return TupleBatch.from_columns({"n": n, "x": x or [0.5] * len(n), "s": s or ["a"] * len(n)}, SCHEMA)


def values(tuples: TupleBatch, name: str) -> list[Any]:
    return [row[name] for row in tuples.to_pylist()]


@pytest.mark.parametrize("attribute", ["n", "x", "s"])
def test_a_const_batch_cannot_be_written(attribute: str):
    const = batch([1, 2]).const()
    assert not const.mutable
    with pytest.raises(ConstTupleError, match=rf"attribute {attribute}: .*mutable: true"):
        const.writable(attribute)
    with pytest.raises(ConstTupleError, match=rf"attribute {attribute}"):
        const.set(attribute, [None, None])
    with pytest.raises(ValueError, match="read-only"):
        const.column(attribute)[0] = const.column(attribute)[1]


@pytest.mark.parametrize("attribute", ["n", "x"])
def test_a_view_of_a_const_batch_cannot_be_opened(attribute: str):
    with pytest.raises(ValueError, match="WRITEABLE"):
        batch([1, 2]).const().column(attribute).flags.writeable = True


def test_columns_of_a_mutable_batch_are_views_that_only_writable_opens():
    tuples = batch([1, 2])
    with pytest.raises(ValueError, match="read-only"):
        tuples.column("n")[0] = 9
    tuples.writable("n")[0] = 9
    assert values(tuples, "n") == [9, 2]
    assert tuples.column("n").tolist() == [9, 2]


def test_writing_is_seen_by_column_before_arrow_is_asked():
    tuples = batch([1, 2])
    tuples.writable("n")[1] = 7
    assert tuples.column("n").tolist() == [1, 7]


def test_an_array_from_writable_is_closed_once_the_tuples_are_handed_on():
    tuples = batch([1, 2])
    array = tuples.writable("n")
    handed_on = tuples.const()
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 99
    assert values(handed_on, "n") == [1, 2]


@pytest.mark.parametrize("attributes", [None, ("n",), ("n", "x", "s")])
def test_a_copy_and_its_original_never_share_what_is_written(attributes: tuple[str, ...] | None):
    original = batch([1, 2], [0.5, 1.5], ["a", "b"])
    copy = original.copy(attributes)
    copy.writable("n")[0] = 10
    original.writable("n")[1] = 20
    copy.writable("s")[0] = "copy"
    original.writable("x")[0] = -1.0
    assert original.to_pylist() == [{"n": 1, "x": -1.0, "s": "a"}, {"n": 20, "x": 1.5, "s": "b"}]
    assert copy.to_pylist() == [{"n": 10, "x": 0.5, "s": "copy"}, {"n": 2, "x": 1.5, "s": "b"}]


def test_a_copy_of_named_attributes_copies_no_others():
    original = batch([1, 2])
    copy = original.copy(("n",))
    assert not np.shares_memory(copy.column("n"), original.column("n"))
    assert np.shares_memory(copy.column("x"), original.column("x"))


def test_a_copy_of_a_const_batch_is_writable():
    const = batch([1]).const()
    copy = const.copy()
    copy.writable("n")[0] = 2
    assert (values(const, "n"), values(copy, "n")) == ([1], [2])


def test_own_hands_the_original_on_without_a_copy():
    original = batch([1])
    assert original.own() is original
    shared = original.const().own()
    assert shared.mutable
    assert np.shares_memory(shared.column("n"), original.column("n"))


def test_const_tuples_stay_unchanged_when_the_last_consumer_writes():
    original = batch([1, 2])
    kept = original.const()
    original.own().writable("n")[:] = 0
    assert values(kept, "n") == [1, 2]


def test_filter_take_and_slice():
    tuples = batch([1, 2, 3, 4])
    assert values(tuples.filter([True, None, False, True]), "n") == [1, 4]
    assert values(tuples.filter(tuples.column("n") > 2), "n") == [3, 4]
    assert values(tuples.take([3, 0, 0]), "n") == [4, 1, 1]
    assert values(tuples.take([]), "n") == []
    assert values(tuples.slice(1, 2), "n") == [2, 3]
    assert values(tuples.slice(3), "n") == [4]


def test_writing_to_a_slice_leaves_the_whole_alone():
    tuples = batch([1, 2, 3])
    part = tuples.slice(1)
    part.writable("n")[0] = 9
    assert (values(part, "n"), values(tuples, "n")) == ([9, 3], [1, 2, 3])


def test_nulls_are_nan_or_none_to_read():
    tuples = batch([1, None], [None, 2.0], ["a", None])
    assert np.isnan(tuples.column("n")[1])
    assert np.isnan(tuples.column("x")[0])
    assert tuples.column("s").tolist() == ["a", None]


def test_nulls_and_large_integers_survive_writing_beside_them():
    large = 2**53 + 1
    tuples = batch([1, None, large], [None, float("nan"), 1.0], [None, "b", "c"])
    tuples.writable("n")[0] = 5
    tuples.writable("x")[2] = 4.0
    tuples.writable("s")[1] = "B"
    assert values(tuples, "n") == [5, None, large]
    assert values(tuples, "x")[0] is None
    assert np.isnan(values(tuples, "x")[1])
    assert values(tuples, "x")[2] == 4.0
    assert values(tuples, "s") == [None, "B", "c"]


def test_a_value_may_be_written_over_a_null():
    tuples = batch([None, 1])
    tuples.writable("n")[0] = 3
    assert values(tuples, "n") == [3, 1]


def test_set_takes_nulls_and_casts():
    tuples = batch([1, 2])
    tuples.set("x", [1, None])
    assert values(tuples, "x") == [1.0, None]


def test_a_value_that_does_not_fit_names_its_attribute():
    with pytest.raises(DataError, match="attribute n: a value does not fit bigint"):
        batch(["seven"])
    with pytest.raises(DataError, match=r"attribute n: .*int64"):
        batch([1]).set("n", np.array([1.5]))


def test_an_unknown_attribute_names_the_known_ones():
    with pytest.raises(KeyError, match="no attribute m; the attributes are n, x, s"):
        batch([1]).column("m")
    with pytest.raises(KeyError, match="no attribute m"):
        batch([1]).writable("m")


def test_concat_keeps_the_order_and_takes_no_batches():
    assert values(TupleBatch.concat([batch([1]), batch([]), batch([2, 3])], SCHEMA), "n") == [1, 2, 3]
    empty = TupleBatch.concat([], SCHEMA)
    assert len(empty) == 0
    assert empty.schema == SCHEMA


EVERY_TYPE: dict[str, list[Any]] = {
    "boolean": [True, False, None],
    "tinyint": [1, None, -128],
    "bigint": [2**62, None, -5],
    "float": [0.5, None, -0.0],
    "double": [1e300, None, 0.1],
    "string": ["", "ü", None],
    "binary": [b"", b"\x00\xff", None],
    "date": [date(2013, 1, 1), None, date(1969, 12, 31)],
    "timestamp": [datetime(2013, 1, 1, 5, 15, tzinfo=UTC), None, datetime(1969, 1, 1, tzinfo=UTC)],
    "timestamp_ntz": [datetime(2013, 1, 1, 5, 15), None, datetime(1969, 1, 1)],
    "decimal(10, 2)": [Decimal("1.25"), None, Decimal("-0.01")],
    "array<int>": [[1, None], None, []],
    "map<string, int>": [[("a", 1)], None, []],
    "struct<a: int>": [{"a": 1}, None, {"a": None}],
}


@pytest.mark.parametrize("ddl", EVERY_TYPE)
@pytest.mark.parametrize("count", [1, 3])
def test_copies_of_every_type_are_equal_to_their_original(ddl: str, count: int):
    schema = arrow_schema(f"a {ddl}")
    original = TupleBatch.from_columns({"a": EVERY_TYPE[ddl][:count]}, schema)
    copy = original.copy()
    assert copy.to_pylist() == original.to_pylist()
    assert copy.schema == schema


@pytest.mark.parametrize("ddl", [ddl for ddl in EVERY_TYPE if "<" not in ddl])
def test_asking_for_a_writable_array_changes_nothing(ddl: str):
    original = TupleBatch.from_columns({"a": EVERY_TYPE[ddl]}, arrow_schema(f"a {ddl}"))
    opened = original.copy(())
    opened.writable("a")
    assert opened.to_pylist() == original.to_pylist()


@given(
    st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1),
    st.lists(st.tuples(st.integers(0, 50), st.integers(-100, 100)), max_size=5),
)
def test_only_what_is_written_changes(before: list[int | None], writes: list[tuple[int, int]]):
    tuples = batch(before)
    array, expected = tuples.writable("n"), list(before)
    for index, value in writes:
        array[index % len(before)] = expected[index % len(before)] = value
    assert values(tuples, "n") == expected
