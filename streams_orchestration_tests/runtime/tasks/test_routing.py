"""Rules 20 and 21."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration.runtime.tasks.routing import hash_channels, round_robin_channels, split


def batch(ddl: str, values: list[Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(values, arrow_schema(f"a {ddl}").field(0).type)], ["a"])


def channels(ddl: str, values: list[Any], width: int = 1000) -> list[int]:
    return hash_channels(batch(ddl, values), ("a",), width).tolist()


VALUES: dict[str, list[Any]] = {
    "string": ["", "UA", "Zürich", "a" * 40, None],
    "binary": [b"", b"\x00", b"\xff\x01", None],
    "boolean": [True, False, None],
    "tinyint": [0, 1, -1, None],
    "int": [0, 1, -1, 2**31 - 1, None],
    "bigint": [0, 1, -1, 2**63 - 1, -(2**63), None],
    "float": [0.0, -0.0, 1.5, float("nan"), float("inf"), None],
    "double": [0.0, -0.0, 0.1, -1e300, float("nan"), None],
    "date": [date(1970, 1, 1), date(2013, 1, 1), None],
    "timestamp": [datetime(2013, 1, 1, 5, tzinfo=UTC), datetime(1969, 12, 31, tzinfo=UTC), None],
    "timestamp_ntz": [datetime(2013, 1, 1, 5), None],
    "decimal(10, 2)": [Decimal("1.25"), Decimal("-0.01"), None],
    "array<int>": [[], [1, None], None],
    "struct<a: int>": [{"a": 1}, {"a": None}, None],
}
GOLDEN_CHANNELS = {
    "string": [904, 559, 860, 553, 904],
    "binary": [904, 315, 66, 904],
    "boolean": [973, 904, 904],
    "tinyint": [904, 973, 697, 904],
    "int": [904, 973, 697, 69, 904],
    "bigint": [904, 973, 697, 500, 811, 904],
    "float": [904, 904, 828, 251, 588, 904],
    "double": [904, 904, 64, 305, 251, 904],
    "date": [904, 890, 904],
    "timestamp": [54, 545, 904],
    "timestamp_ntz": [54, 904],
    "decimal(10, 2)": [120, 835, 835],
    "array<int>": [118, 339, 904],
    "struct<a: int>": [922, 109, 904],
}
GOLDEN_FOLDED = [305, 89, 375, 236]


def test_the_hash_never_changes_silently():
    """State is kept by channel: a hash that changed would send keys away from their state."""
    assert {ddl: channels(ddl, values) for ddl, values in VALUES.items()} == GOLDEN_CHANNELS


MANY = 5_000
LONG: dict[str, pa.Array] = {
    "different texts": pa.array([f"key {i}" for i in range(MANY)]),
    "different long texts": pa.array([f"{i}" * 300 for i in range(MANY)]),
    "texts of a few": pa.array([f"key {i % 7}" for i in range(MANY)]),
    "texts and nulls": pa.array([None if i % 3 == 0 else f"key {i}" for i in range(MANY)]),
    "codes of a dictionary": pa.array([f"key {i}" for i in range(MANY)]).dictionary_encode(),
    "nothing but nulls": pa.nulls(MANY),
    "numbers": pa.array(range(MANY)),
    "fractions and nulls": pa.array([None if i % 3 == 0 else i / 7 for i in range(MANY)]),
    "times": pa.array(range(MANY), pa.int64()).cast(pa.timestamp("us", tz="UTC")),
    "decimals": pa.array([Decimal(i) for i in range(MANY)]),
    "lists": pa.array([[i] for i in range(MANY)]),
}


@pytest.mark.parametrize("values", LONG)
def test_the_channel_of_a_tuple_does_not_depend_on_what_comes_with_it(values: str):
    whole = pa.RecordBatch.from_arrays([LONG[values]], ["a"])
    slices = [hash_channels(whole.slice(start, 100), ("a",), 997) for start in range(0, MANY, 100)]
    assert hash_channels(whole, ("a",), 997).tolist() == np.concatenate(slices).tolist()


def test_several_attributes_are_folded_in_their_order():
    rows = pa.table({"k": ["UA", "AA", None, "UA"], "n": [1, 2, 3, None]}).to_batches()[0]
    assert hash_channels(rows, ("k", "n"), 1000).tolist() == GOLDEN_FOLDED
    assert hash_channels(rows, ("n", "k"), 1000).tolist() != GOLDEN_FOLDED
    # width 2**63 is the hash itself, but for its highest bit
    k, n = (hash_channels(rows, (name,), 2**63).tolist() for name in ("k", "n"))
    folded = [((17 * 37 + a) * 37 + b) % 2**63 for a, b in zip(k, n, strict=True)]
    assert hash_channels(rows, ("k", "n"), 2**63).tolist() == folded


@pytest.mark.parametrize("ddl", VALUES)
@pytest.mark.parametrize("width", [1, 2, 3, 7])
def test_a_key_has_the_same_channel_in_every_batch(ddl: str, width: int):
    values = VALUES[ddl]
    expected = {repr(value): channel for value, channel in zip(values, channels(ddl, values, width), strict=True)}
    for i, value in enumerate(values):
        assert channels(ddl, [value], width) == [expected[repr(value)]]
        mixed = [*values[i:], *values[:i], value]
        assert channels(ddl, mixed, width) == [expected[repr(value)] for value in mixed]


@pytest.mark.parametrize("kinds", [("tinyint", "smallint", "int", "bigint"), ("float", "double")])
def test_a_key_has_the_same_channel_in_every_width_of_its_type(kinds: tuple[str, ...]):
    actual = [channels(kind, [0, 1, 2, 100, None]) for kind in kinds]
    assert all(each == actual[0] for each in actual)


def test_both_zeros_and_every_nan_are_one_key():
    payloads = np.array([0x7FF8000000000000, 0x7FF8000000000001, 0xFFF8000000000000], np.uint64).view(np.float64)
    actual = [channels("double", [value]) for value in payloads]
    assert actual[0] == actual[1] == actual[2]
    assert channels("double", [0.0]) == channels("double", [-0.0])


def test_a_slice_is_routed_like_the_whole():
    whole = batch("string", ["x", "UA", None, "AA", "UA"])
    assert hash_channels(whole.slice(1, 3), ("a",), 5).tolist() == hash_channels(whole, ("a",), 5).tolist()[1:4]


def test_no_tuples_have_no_channels():
    for ddl in VALUES:
        assert channels(ddl, []) == []


def test_keys_spread_over_all_channels():
    counts = np.bincount(channels("string", [f"key {i}" for i in range(4000)], 4), minlength=4)
    assert counts.min() > 850


def mixed(number: int) -> int:
    """SplitMix64's finaliser, number by number."""
    number = (number + 0x5EED5EED5EED5EED) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ number >> shift) * factor % 2**64
    return number ^ number >> 31


@given(st.lists(st.tuples(st.sampled_from([0, 1, 7, 8, 9, 31, 32, 33, 40, 255, 256, 257]), st.randoms()), max_size=6))
def test_the_hash_of_a_text_is_the_sum_of_the_numbers_of_its_bytes(drawn: list[tuple[int, Random]]):
    texts = [choose.randbytes(length) for length, choose in drawn]
    sums = [len(text) + sum(mixed(place * 256 + byte) for place, byte in enumerate(text)) for text in texts]
    assert channels("binary", texts, 2**63) == [mixed(each % 2**64) % 2**63 for each in sums]


@given(st.lists(st.one_of(st.none(), st.text(max_size=5)), max_size=40), st.integers(1, 6))
def test_splitting_is_a_partition_that_keeps_the_order(keys: list[str | None], width: int):
    rows = pa.RecordBatch.from_arrays([pa.array(keys, pa.string()), pa.array(range(len(keys)), pa.int64())], ["a", "i"])
    targets = hash_channels(rows, ("a",), width)
    parts = split(rows, targets, width)
    assert len(parts) == width
    where: dict[str | None, set[int]] = defaultdict(set)
    for channel, part in enumerate(parts):
        positions = [] if part is None else part.column("i").to_pylist()
        assert positions == [i for i in range(len(keys)) if targets[i] == channel]
        assert part is None or part.num_rows
        for key in [] if part is None else part.column("a").to_pylist():
            where[key].add(channel)
    assert all(len(owners) == 1 for owners in where.values())


@given(st.integers(0, 20), st.integers(1, 5), st.integers(0, 30))
def test_round_robin_goes_on_where_it_stood(first: int, width: int, count: int):
    whole = round_robin_channels(first + count, 3 % width, width)
    assert whole[first:].tolist() == round_robin_channels(count, (3 + first) % width, width).tolist()
    assert whole.tolist() == [(3 + i) % width for i in range(first + count)]


def test_sets_of_spl_have_one_channel_in_any_order_as_maps_have():
    assert len(set(channels("array<int>", [[1, 2, 3], [3, 1, 2]]))) == 1
    assert len(set(channels("map<string, int>", [{"a": 1, "b": 2}, {"b": 2, "a": 1}]))) == 1
    assert len(set(channels("array<int>", [[1], [1, 1], [2], []]))) == 4
    inner = pa.struct([pa.field("n", pa.int32(), nullable=False)])  # as attributes of nested tuples are
    entries = [("a", None), ("b", {"n": 1})]
    column = pa.array([entries, entries[::-1]], pa.map_(pa.string(), inner))
    assert len(set(hash_channels(pa.record_batch({"a": column}), ("a",), 1000).tolist())) == 1
