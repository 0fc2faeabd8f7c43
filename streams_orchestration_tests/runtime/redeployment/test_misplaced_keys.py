"""Keys that would not be found are noticed before anything is written."""

from __future__ import annotations

from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.redeployment.feeds import Feed
from streams_orchestration.compiler.redeployment.outcome import RouteLevel, StateRouting
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.rescaling import PortKeys, StateKeys
from streams_orchestration.operators.states.state import State
from streams_orchestration.runtime.redeployment.rescaling import MisplacedKeysError, StateRefusedError, prove
from streams_orchestration.runtime.redeployment.routes import SplitterRoute
from streams_orchestration.runtime.tasks.routing import hash_channels
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.redeployment.channels import Channels
from streams_orchestration_tests.runtime.redeployment.keyed_operators import Merging, SilentVisits, Visits

ROW = "k string, g int"
ROWS = [(f"secret{i}", i % 3) for i in range(20)]


class Renaming(Visits):
    """An operator whose k differs from the k of its input."""

    def restore(self, state: State) -> None:
        super().restore(state)

    def checkpoint(self) -> State:
        state = KeyedState("k string", "count bigint")
        keys = [f"{key}!" for key in self.visits]
        if keys:
            state.put_many({"k": keys}, {"count": list(self.visits.values())})
        return {"visits": state}


class MergingAll(Merging):
    """It puts everything into the first channel."""

    state_keys: ClassVar[StateKeys] = {"visits": "k"}


class Short(Visits):
    """It gives fewer states than there are channels."""

    def rescale(self, states: Any, route: Any) -> list[State]:
        return [dict(states[0])]


def channels(kind: Any, width: int = 2) -> Channels:
    return Channels(kind, [ROW], "k string, n bigint", {}, [["k"]], width).send(ROWS)


WRONG = {
    "keys that are not what the splitter saw": (Renaming, MisplacedKeysError, r"state of Op\[0\]: \d+ of \d+ keys"),
    "a rescale that puts them elsewhere": (MergingAll, MisplacedKeysError, r"of \(k\) would not be found"),
    "a rescale that gives too little": (Short, StateRefusedError, "was divided into 1 parts for 3 channels"),
    "no keys": (SilentVisits, StateRefusedError, "has no keys and no rescale"),
}


@pytest.mark.parametrize("case", WRONG)
def test_keys_that_would_not_be_found_are_refused_without_their_values(case: str):
    kind, error, words = WRONG[case]
    with pytest.raises(error, match=words) as caught:
        channels(kind).rescaled(3)
    assert "secret" not in str(caught.value)


def test_a_state_that_is_right_passes():
    assert len(channels(Visits).rescaled(3).take()) == len(ROWS)


@given(
    st.lists(st.tuples(st.sampled_from(["a", "b", None]), st.integers(-3, 3)), max_size=12),
    st.lists(st.tuples(st.sampled_from([("k",), ("g",), ("k", "g")]), st.integers(1, 4)), min_size=1, max_size=3),
)
@examples(60)
def test_several_splitters_one_behind_another_give_the_channel_of_the_innermost(rows: list[Any], levels: list[Any]):
    batch = pa.RecordBatch.from_pylist(
        [{"k": k, "g": g} for k, g in rows], schema=pa.schema([("k", pa.string()), ("g", pa.int32())])
    )
    width = 1
    expected = [0] * len(rows)
    for names, channels_ in levels:
        width *= channels_
        here = hash_channels(batch, names, channels_).tolist()
        expected = [one * channels_ + other for one, other in zip(expected, here, strict=True)]
    route = SplitterRoute(StateRouting((tuple(RouteLevel(Feed("hash", names), n) for names, n in levels),), width))
    assert route.channels(batch).tolist() == expected
    assert set(route.attributes() or ()) == {name for names, n in levels if n > 1 for name in names}
    for channel in range(width):
        mine = [row for row, own in enumerate(expected) if own == channel]
        prove("Op", [PortKeys(0, batch.take(pa.array(mine, pa.int64())))], route, channel)


def test_a_round_robin_route_needs_no_proof():
    route = SplitterRoute(StateRouting(((RouteLevel(Feed("roundRobin"), 2),),), 2))
    assert route.attributes() is None
    prove("Op", [PortKeys(0, pa.RecordBatch.from_pylist([{"k": "a"}]))], route, 0)
