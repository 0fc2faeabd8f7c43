from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import StateError
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.state import dump_state, load_state

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
TABLES = st.lists(st.tuples(st.one_of(st.none(), st.integers(-9, 9)), st.text(max_size=3)), max_size=5).map(
    lambda rows: pa.table({"n": pa.array([n for n, _ in rows], pa.int64()), "s": pa.array([s for _, s in rows])})
)
STATES = st.dictionaries(st.text(max_size=6), JSON | TABLES, max_size=4)
EXAMPLE = bytes(dump_state({"rows": pa.table({"n": [1, 2, 3]}), "position": 7, "name": "ü"}).data)


@given(STATES)
def test_a_state_comes_back_as_it_was(state: dict[str, Any]):
    back = load_state([dump_state(state).data])
    assert back.keys() == state.keys()
    for name, value in state.items():
        assert back[name].equals(value) if isinstance(value, pa.Table) else back[name] == value


def test_a_truncated_state_is_refused():
    for length in range(len(EXAMPLE)):
        with pytest.raises(StateError, match="truncated or was altered"):
            load_state([EXAMPLE[:length]])


def test_a_longer_state_is_refused():
    with pytest.raises(StateError):
        load_state([EXAMPLE + b"\0"])


@given(st.integers(0, len(EXAMPLE) - 1), st.integers(1, 255))
def test_an_altered_byte_is_seen(position: int, change: int):
    altered = bytearray(EXAMPLE)
    altered[position] ^= change
    with pytest.raises(StateError):
        load_state([bytes(altered)])


def test_nothing_is_left_where_everything_is_zero():
    with pytest.raises(StateError):
        load_state([b"STREAMS-STATE-1\n" + bytes(4)])


@pytest.mark.parametrize("value", [object(), {1, 2}, np.arange(3), b"bytes"])
def test_a_value_that_cannot_be_stored_is_refused_by_the_store(value: object):
    with pytest.raises(StateError, match=r"Arrow tables, .* and JSON values"):
        dump_state({"value": value})


@pytest.mark.parametrize("items", [{"a": object()}, {"a": {1, 2}}, {b"bytes": 1}])
def test_a_dictionary_whose_items_cannot_be_stored_is_refused_by_name(items: dict[Any, Any]):
    with pytest.raises(StateError, match="the part seen holds another"):
        dump_state({"seen": DictState(items)})
