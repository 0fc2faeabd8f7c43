from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.states.dict_state import DictState

KEY = st.one_of(st.sampled_from(["a", "b"]), st.integers(0, 2), st.tuples(st.sampled_from("ab"), st.integers(0, 1)))
ACTIONS = st.lists(st.tuples(KEY, st.one_of(st.none(), st.integers(), st.lists(st.text(max_size=2)))), max_size=12)


def act(state: Any, actions: list[tuple[Any, Any]]) -> None:
    """Set values, remove keys for None."""
    for key, value in actions:
        if value is None:
            state.pop(key, None)
        else:
            state[key] = value


@given(ACTIONS, ACTIONS, ACTIONS)
def test_a_dictionary_state_is_a_dictionary_also_after_its_changes_were_applied(before: Any, between: Any, after: Any):
    state, expected = DictState(), {}
    act(state, before)
    act(expected, before)
    base = state.whole()
    state.stored("s", 0)
    act(state, between)
    act(expected, between)
    first = state.changes(0)
    state.stored("s", 4)
    act(state, after)
    act(expected, after)
    steps, gathered = DictState.load(base), DictState.load(base)
    for each in (steps, gathered):
        each.stored("s", 0)
    steps.apply(first)
    steps.stored("s", 4)
    steps.apply(state.changes(4))
    gathered.apply(state.changes(0))
    again = DictState.load(base)
    again.stored("s", 0)
    again.apply(steps.changes(0))
    for each in (state, steps, gathered, again):
        assert list(each.items()) == list(expected.items())


def test_a_dictionary_state_is_used_like_a_dictionary():
    state = DictState({"a": 1})
    assert state.get("b", 2) == 2
    assert state.setdefault(("c", 1), [0]) == [0]
    assert ("c", 1) in state
    assert len(state) == 2
    state.clear()
    assert not state
    with pytest.raises(KeyError):
        del state["a"]
