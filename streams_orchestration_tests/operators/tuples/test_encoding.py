"""Columns are told apart by their memory, so that what is known of one is never taken for another."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.keys.comparison import count_keys, distinct
from streams_orchestration.operators.tuples.encoding import encoded, forget_encodings, remember

TEXTS = st.lists(st.sampled_from(["a", "b", "c", None]), max_size=12)


@given(st.lists(TEXTS, max_size=8), st.integers(0, 3))
def test_a_dictionary_is_that_of_the_column(columns: list[list[str | None]], start: int):
    forget_encodings()
    for texts in columns * 2:
        column = pa.array(texts, pa.string())
        for part in (column, column.slice(start), column.slice(0, start), column):
            actual = encoded(part)
            assert actual.to_pylist() == part.to_pylist()
            assert len(actual.dictionary.unique()) == len(actual.dictionary)


def test_a_dictionary_is_found_once_for_all_who_look_at_the_column():
    forget_encodings()
    batch = pa.RecordBatch.from_pydict({"a": ["x", "y"] * 10})
    assert encoded(batch.column("a")) is encoded(batch.select(["a"]).column(0))
    forget_encodings()
    assert encoded(batch.column("a")) is encoded(batch.column("a"))


@pytest.mark.parametrize("values", [["p", "q"], ["p", "p"], ["p", None], [None, None]])
def test_a_remembered_encoding_gives_the_same_keys_as_a_computed_one(values: list[str | None]):
    forget_encodings()
    indices, dictionary = pa.array([0, 1, 1, 0], pa.int32()), pa.array(values, pa.string())
    column = dictionary.take(indices)
    expected = [part.tolist() for part in distinct([pa.array(column.to_pylist(), pa.string())], 4)]
    remember(column, indices, dictionary)
    assert [part.tolist() for part in distinct([column], 4)] == expected


NUMBERS = st.lists(st.sampled_from([0.0, -0.0, 1.5, float("nan"), None]), max_size=12)


@given(NUMBERS, TEXTS)
def test_keys_are_counted_as_they_are_told_apart(numbers: list[float | None], texts: list[str | None]):
    count = min(len(numbers), len(texts))
    columns = [pa.array(numbers[:count], pa.float64()), pa.array(texts[:count], pa.string())]
    for key in ([columns[0]], [columns[1]], columns):
        assert count_keys(key) == len(distinct(key, count)[0])
