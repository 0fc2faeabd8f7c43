"""States as chains: a whole one, then what changed; whatever of it is stored, it comes back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.states import state as state_module
from streams_orchestration.operators.states import tuple_log
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import (
    MAX_CHAIN_FILES,
    SHARE,
    SMALL,
    StateError,
    dump_state,
    load_state,
)
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration_tests.examples import examples

Chain = list[tuple[int, bytes]]


@pytest.fixture(autouse=True)
def nothing_is_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_module, "SMALL", 0)


class Stored:
    """A state with all parts, and its chain as the runtime would keep it."""

    def __init__(self) -> None:
        self.chain: Chain = []
        self.state: dict[str, Any] = {"keyed": KeyedState("k int", "v int"), "dict": DictState(), "batch": 0}
        self.version = 0
        self.plain = b""

    def put(self, key: int) -> None:
        self.state["keyed"].put_many(range(key, key + 50), {"v": [self.version] * 50})
        self.state["dict"][key] = self.version

    def delete(self, key: int) -> None:
        self.state["keyed"].delete_many(range(key, key + 20))
        self.state["dict"].pop(key, None)

    def clear(self, _key: int) -> None:
        self.state["keyed"].clear()

    def replace(self, _key: int) -> None:
        """Another object takes the place of a part."""
        self.state["dict"] = DictState({**self.state["dict"], "new": self.version})

    def store(self, key: int = 0) -> None:
        self.version += 1 + key % 3
        self.state["batch"] = self.version
        chain = [(version, len(data)) for version, data in self.chain]
        dump = dump_state(self.state, self.version, chain, self.plain)
        self.plain = dump.plain
        if dump.parts:
            self.chain = [*self.chain[: dump.kept], (self.version, dump.data)]

    def restore(self, _key: int = 0) -> None:
        """Another worker goes on."""
        if self.chain:
            self.store()
            self.state = self.loaded()

    def loaded(self) -> dict[str, Any]:
        return load_state(data for _, data in self.chain)

    def content(self) -> tuple[Any, ...]:
        return contents(self.state)

    def sizes(self) -> list[int]:
        return [len(data) for _, data in self.chain]


def contents(state: dict[str, Any]) -> tuple[Any, ...]:
    return list(state["keyed"].items()), list(state["dict"].items()), state["batch"]


STEPS = ["put", "put", "delete", "clear", "replace", "store", "store", "restore", "back"]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 300)), max_size=30))
@examples(60)
def test_a_state_comes_back_from_any_chain_also_from_a_former_one(steps: list[tuple[str, int]]):
    stored = Stored()
    stored.state["keyed"].put_many(range(200, 4000), {"v": [0] * 3800})  # so that changes are worth it
    stored.store()
    history = [(list(stored.chain), stored.content())]
    for step, number in steps:
        if step == "back":
            # a reset: a former commit names its chain, later ones never were
            del history[number % len(history) + 1 :]
            stored.chain, expected = list(history[-1][0]), history[-1][1]
            stored.state = stored.loaded()
            assert stored.content() == expected
        else:
            getattr(stored, step)(number)
        if step in ("store", "restore"):
            history.append((list(stored.chain), stored.content()))
            assert contents(stored.loaded()) == stored.content()
            sizes = stored.sizes()
            assert len(sizes) <= MAX_CHAIN_FILES
            assert sum(sizes[1:]) <= SHARE * sizes[0] * 1.01


def large() -> Stored:
    stored = Stored()
    stored.state["keyed"].put_many(range(100_000), {"v": range(100_000)})
    stored.store()
    return stored


@pytest.mark.slow
def test_only_what_changed_is_stored_and_changes_are_gathered():
    stored = large()
    whole, written = stored.sizes()[0], 0
    for step in range(400):
        stored.put(step * 200)
        stored.store()
        written += stored.sizes()[-1]
        assert len(stored.chain) <= MAX_CHAIN_FILES
    assert written < 8 * whole
    assert contents(stored.loaded()) == stored.content()


def test_one_change_is_a_small_file():
    stored = large()
    stored.state["keyed"][5] = 7
    stored.store()
    assert len(stored.chain) == 2
    assert stored.sizes()[1] < stored.sizes()[0] / 100


def test_a_state_that_changed_throughout_is_stored_whole():
    stored = large()
    stored.state["keyed"].put_many(range(100_000), {"v": [0] * 100_000})
    stored.store()
    assert len(stored.chain) == 1


def numbers(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": values}, pa.schema([("n", pa.int64())]))


def test_a_log_from_which_all_tuples_have_left_is_stored_whole():
    log = TupleLog(numbers().schema)
    log.append(numbers(*range(10_000)))
    full = dump_state({"log": log}, 1)
    log.remove(log.places())
    emptied = dump_state({"log": log}, 2, [(1, full.size)])
    assert emptied.kept == 0
    assert not len(load_state([emptied.data])["log"])


def test_a_log_drops_the_chunks_in_front_that_no_tuple_is_left_of(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tuple_log, "FEW", 0)
    monkeypatch.setattr(tuple_log, "LARGEST_CHUNK", 10)
    log = TupleLog(numbers().schema, {"twice": np.int64})
    for first in (0, 9, 18):
        log.append(numbers(*range(first, first + 9)), twice=2 * np.arange(first, first + 9))
    log.remove(np.arange(10))
    log.append(numbers(27), twice=np.array([54]))
    assert log.size == 19
    expected = list(range(10, 28))
    left = log.places()
    assert log.take(left).column("n").to_pylist() == expected
    assert log.notes["twice"][left].tolist() == [2 * each for each in expected]
    assert log.numbers[left].tolist() == expected
    assert load_state([dump_state({"log": log}, 1).data])["log"].take(np.arange(18)) == log.take(left)


def test_a_small_state_is_stored_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(state_module, "SMALL", SMALL)
    stored = Stored()
    for key in range(5):
        stored.put(key)
        stored.store()
        assert len(stored.chain) == 1


def test_a_file_is_refused_where_it_does_not_follow():
    stored = large()
    for key in range(3):
        stored.state["keyed"].put_many(range(1000 >> key), {"v": [0] * (1000 >> key)})
        stored.store()
    base, first, second, *_ = [data for _, data in stored.chain]
    for chain in ([first], [base, second], [base, base]):
        with pytest.raises(StateError, match="does not continue"):
            load_state(chain)


class Rewritten(KeyedState):
    def changes(self, since: int) -> Any:
        message = f"the changes since {since} are as large as the whole"
        raise AssertionError(message)


def test_the_changes_of_a_state_that_was_mostly_written_anew_are_not_made():
    state = Rewritten("k int", "v int")
    state.put_many(range(1000), {"v": range(1000)})
    first = dump_state({"keyed": state}, 1)
    state.put_many(range(600), {"v": [0] * 600})
    second = dump_state({"keyed": state}, 2, [(1, len(first.data))])
    assert second.kept == 0
    assert load_state([second.data])["keyed"].table() == state.table()
