"""A keyed state is a dictionary, whatever is stored of it and however often it comes back from what was stored."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators import TupleBatch
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.states import key_index
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.tuples.arrow_types import arrow_schema
from streams_orchestration_tests.examples import examples

NAN = float("nan")
KEYS = "k string, x double"
VALUES = "n bigint, s string"
KEY = st.tuples(st.sampled_from(["a", "b", "", None]), st.sampled_from([0.0, 1.5, NAN, None]))
VALUE = st.tuples(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), st.one_of(st.none(), st.text(max_size=3)))


def columns(names: tuple[str, ...], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


class Model:
    """The same by a dictionary; NaN is replaced since it does not equal itself."""

    ordered = True

    def __init__(self) -> None:
        self.state = KeyedState(KEYS, VALUES)
        self.expected: dict[Any, Any] = {}

    def put(self, rows: list[tuple[Any, Any]]) -> None:
        self.state.put_many(columns(("k", "x"), [k for k, _ in rows]), columns(("n", "s"), [v for _, v in rows]))
        for key, value in rows:
            self.expected[repr(key)] = value

    def delete(self, rows: list[tuple[Any, Any]]) -> None:
        self.state.delete_many(columns(("k", "x"), [k for k, _ in rows]))
        for key, _ in rows:
            self.expected.pop(repr(key), None)

    def add(self, rows: list[tuple[Any, Any]]) -> None:
        added = self.state.add_many(columns(("k", "x"), [k for k, _ in rows]))
        new = []
        for key, _ in rows:
            new.append(repr(key) not in self.expected)
            self.expected.setdefault(repr(key), (0, None))
        assert added.tolist() == new

    def check(self) -> None:
        actual = [(repr(tuple(row.values())[:2]), tuple(row.values())[2:]) for row in self.state.table().to_pylist()]
        assert actual == list(self.expected.items()) if self.ordered else dict(actual) == self.expected
        assert len(self.state) == len(self.expected)


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["put", "put", "delete", "add"]), st.lists(st.tuples(KEY, VALUE), max_size=12)),
    max_size=8,
)


@pytest.fixture(params=["polars", "three of them"], autouse=True)
def hashes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with hash values that many keys share."""
    if request.param != "polars":
        hashes_of = key_index.hashes_of
        monkeypatch.setattr(key_index, "hashes_of", lambda keys: hashes_of(keys) % np.uint64(3))
        # new keys of one batch that share a hash value of 64 bits are out of order
        monkeypatch.setattr(Model, "ordered", False)


@given(ACTIONS)
@examples(60)
def test_many_keys_at_once_are_as_one_after_another(actions: list[tuple[str, Any]]):
    model = Model()
    for action, rows in actions:
        getattr(model, action)(rows)
        model.check()


@given(ACTIONS, ACTIONS, ACTIONS)
@examples(60)
def test_changes_make_the_present_state_of_a_stored_one(before: Any, between: Any, after: Any):
    model = Model()
    for action, rows in before:
        getattr(model, action)(rows)
    base = model.state.whole()
    model.state.stored("s", 3)
    for action, rows in between:
        getattr(model, action)(rows)
    first = model.state.changes(3)
    model.state.stored("s", 5)
    for action, rows in after:
        getattr(model, action)(rows)
    steps, gathered = (KeyedState.load(base) for _ in range(2))
    for state in (steps, gathered):
        state.stored("s", 3)
    steps.apply(first)
    steps.stored("s", 5)
    steps.apply(model.state.changes(5))
    gathered.apply(model.state.changes(3))
    for state in (steps, gathered):
        model.state = state
        model.check()
    # a state that came back knows what changed before, too
    again = KeyedState.load(base)
    again.stored("s", 3)
    again.apply(steps.changes(3))
    model.state = again
    model.check()


TYPES: dict[str, Any] = {
    "string": "ü",
    "boolean": True,
    "tinyint": -1,
    "smallint": 7,
    "int": 2**31 - 1,
    "bigint": -(2**63),
    "float": 0.5,
    "double": 1e300,
    "date": datetime.date(2024, 2, 29),
    "timestamp": datetime.datetime(2024, 1, 1, 1, 2, 3, 456789, tzinfo=datetime.UTC),
    "timestamp_ntz": datetime.datetime(2024, 1, 1, 1, 2, 3, 456789),
    "binary": b"\0\xff",
    "decimal(20, 3)": decimal.Decimal("12345678901234567.891"),
}
NESTED: dict[str, Any] = {"array<int>": [1, None], "struct<a: int>": {"a": 1}}


@pytest.mark.parametrize("kind", TYPES)
def test_keys_of_every_type_are_found_again(kind: str):
    state = KeyedState(f"k {kind}", "n int")
    state.put_many([TYPES[kind], None], {"n": [1, 2]})
    back = KeyedState.load(state.whole())
    assert dict(back) == {TYPES[kind]: 1, None: 2}
    assert back.table().schema == arrow_schema(f"k {kind}, n int")


@pytest.mark.parametrize(("kind", "value"), [*TYPES.items(), *NESTED.items()])
def test_values_of_every_type_come_back(kind: str, value: Any):
    state = KeyedState("k int", f"v {kind}")
    state.put_many([1, 2], {"v": [value, None]})
    assert dict(KeyedState.load(state.whole())) == {1: value, 2: None}
    state[2] = value
    assert state.get_many([2, 3, 1]).column(0).to_pylist() == [value, None, value]


def test_a_keyed_state_is_used_like_a_dictionary():
    state = KeyedState("user string, day date", "count bigint, last double")
    key = "anna", datetime.date(2024, 1, 1)
    state[key] = 1, 0.5
    assert state[key] == (1, 0.5)
    assert key in state
    assert state.get(("otto", None)) is None
    assert list(state.items()) == [(key, (1, 0.5))]
    del state[key]
    assert len(state) == 0
    for use in (state.__getitem__, state.__delitem__):
        with pytest.raises(KeyError):
            use(key)


def test_columns_are_written_by_row():
    counts = KeyedState("k string", "n bigint")
    for keys in (["a", "b", "a"], ["b", "c"]):
        rows = counts.rows_of(keys)
        np.add.at(counts.column("n"), rows, 1)
    assert dict(counts) == {"a": 2, "b": 2, "c": 1}


BATCH = TupleBatch.from_columns({"v": [1, 2], "k": ["a", "b"]}, arrow_schema("v bigint, k string"))


@pytest.mark.parametrize(
    "given_",
    [
        BATCH,
        BATCH.arrow,
        pa.Table.from_batches([BATCH.arrow]),
        pl.DataFrame({"v": [1, 2], "k": ["a", "b"]}),
        {"k": np.array(["a", "b"], object), "v": np.array([1, 2])},
        {"k": pl.Series(["a", "b"]), "v": pa.array([1, 2])},
    ],
    ids=["tuples", "record batch", "table", "polars", "numpy", "mixed"],
)
def test_keys_and_values_come_in_whatever_has_columns(given_: Any):
    state = KeyedState("k string", "v bigint")
    state.put_many(given_, given_)
    assert dict(state) == {"a": 1, "b": 2}
    assert state.has_many(given_).all()
    assert state.get_many(given_).column("v").to_pylist() == [1, 2]


def test_attributes_that_are_not_given_stay():
    state = KeyedState("k int", "a int, b int")
    state[1] = 2, 3
    state.put_many([1, 4], {"b": [5, 6]})
    assert dict(state) == {1: (2, 5), 4: (0, 6)}


def test_wrong_values_and_types_of_a_keyed_state_are_refused():
    state = KeyedState("k int", "v int")
    with pytest.raises(DataError, match="attribute v"):
        state.put_many([1], {"v": ["x"]})
    with pytest.raises(ValueError, match="2 keys and 1 values"):
        state.put_many([1, 2], {"v": [1]})
    assert not state
    with pytest.raises(ValueError, match="at least one attribute"):
        KeyedState("")


def test_after_everything_was_removed_the_former_state_does_not_count():
    state = KeyedState("k int")
    state.add_many([1, 2])
    state.stored("s", 1)
    assert state.follows("s", 1)
    assert not state.follows("t", 1)
    assert not state.follows("s", 2)
    state.clear()
    assert not state.follows("s", 1)
    assert state.add_many([1]).tolist() == [True]


def test_a_key_may_be_nested_and_is_the_same_after_it_was_stored():
    state = KeyedState("k array<map<string, double>>", "v int")
    state.put_many([[[("a", 1.0), ("b", -0.0)]], None], {"v": [1, 2]})
    loaded = KeyedState.load(state.whole())
    loaded[[[("b", 0.0), ("a", 1.0)]]] = 3
    assert list(loaded.items()) == [([[("a", 1.0), ("b", 0.0)]], 3), (None, 2)]
    assert [] not in loaded


@pytest.mark.slow
def test_removed_keys_leave_nothing_behind_once_the_whole_is_stored():
    state = KeyedState("k int", "v string")
    for first in range(0, 1000, 10):
        state.put_many(range(first, first + 10), {"v": ["x"] * 10})
        state.delete_many(range(first, first + 10))
    state.whole()
    assert (len(state), state.index.rows, len(state.column("v"))) == (0, 0, 0)
