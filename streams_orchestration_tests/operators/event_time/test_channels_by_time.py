"""States of operators by event time are divided among other channels, and nothing is lost, repeated or out of order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.context import Punctuation
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.flow.delay import Delay
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration.operators.standard.sorting.sort import Sort
from streams_orchestration.operators.standard.transformation.deduplicate import DeDuplicate
from streams_orchestration.operators.states.rescaling import RescaleError
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.timed import ENDS, Item, Timed, rising

ROW = "at bigint, k string, v bigint"
PAIR = "at bigint, k string, v bigint, w bigint"
KEYS = "abcde"
TUPLES = st.tuples(st.integers(0, 30), st.sampled_from(KEYS), st.integers(0, 3))
ITEMS = st.lists(st.one_of(TUPLES, TUPLES, st.integers(0, 30)), max_size=30)
MAKERS: dict[str, Callable[[], Timed]] = {
    "Sort": lambda: Timed(Sort, [ROW], [ROW, ROW], window="eventTime", sortBy=["k", "v"]),
    "Delay": lambda: Timed(Delay, [ROW], [ROW], by="watermark", delay=0.005),
    "DeDuplicate": lambda: Timed(DeDuplicate, [ROW], [ROW] * 3, key="k", within=0.004, discardAge=0.002),
    "Join": lambda: Timed(
        Join, [ROW, ROW], [PAIR], within=[-0.003, 0.006], algorithm="outer", equalityLHS=["k"], equalityRHS=["k"],
        output={"at": "COALESCE(lhs_at, rhs_at)", "k": "COALESCE(lhs_k, rhs_k)", "v": "lhs_v", "w": "rhs_v"},
    ),
}  # fmt: skip


class ByKey:
    """Channels by the key k."""

    def __init__(self, width: int) -> None:
        self.width = width

    def attributes(self, port: int = 0) -> tuple[str, ...] | None:
        return ("k",)

    def channels(self, tuples: pa.RecordBatch, port: int = 0) -> np.ndarray:
        return np.array([KEYS.index(key) % self.width for key in tuples.column("k").to_pylist()], np.int64)


class InTurn(ByKey):
    """Channels that no attribute decides."""

    def attributes(self, port: int = 0) -> tuple[str, ...] | None:
        return None


def sends(operators: Sequence[Timed], items: Sequence[Item], port: int = 0) -> None:
    """Send each tuple to the channel of its key, and watermarks to all."""
    for number, operator in enumerate(operators):
        mine = [i for i in items if not isinstance(i, tuple) or KEYS.index(i[1]) % len(operators) == number]
        operator.items_in(mine, port)


def divided(name: str, operators: Sequence[Timed], route: ByKey) -> list[Timed]:
    """Return new operators with the divided states of others."""
    new = [MAKERS[name]() for _ in range(route.width)]
    states = [operator.operator.checkpoint() for operator in operators]
    for operator, state in zip(new, new[0].operator.rescale(states, route), strict=True):
        operator.operator.restore(state)
        for keys in operator.operator.keys_of(state) if route.attributes() else ():
            assert (route.channels(keys.values, keys.port) == new.index(operator)).all()
    return new


def results(operators: Sequence[Timed], port: int) -> list[str]:
    return sorted(repr(row) for operator in operators for row in operator.rows(port))


@pytest.mark.parametrize("name", MAKERS)
@given(ITEMS, ITEMS, st.integers(1, 3), st.integers(1, 3))
@examples(60)
def test_other_channels_give_the_same_tuples(name: str, first: list[Item], later: list[Item], old: int, new: int):
    whole = rising([*first, 7, *later])
    cut = whole.index(7) if 7 in whole else len(whole) // 2
    alone, before = [MAKERS[name]()], [MAKERS[name]() for _ in range(old)]
    for operators in (alone, before):
        sends(operators, whole[:cut])
    after = divided(name, before, ByKey(new))
    for operators in (alone, after):
        if name == "Join":
            sends(operators, [(3, "a", 9), (9, "b", 8), (12, "c", 7)], 1)
        sends(operators, whole[cut:])
    for port in range(len(alone[0].context.outputs)):
        assert results([*before, *after], port) == results(alone, port)


@pytest.mark.parametrize("name", ["Sort", "Delay"])
def test_channels_that_no_key_decides_keep_their_tuples(name: str):
    before = [MAKERS[name]().items_in([(at, "a", at), 3]) for at in (5, 6, 7)]
    after = divided(name, before, InTurn(2))
    assert [operator.items_in([ENDS]).rows() for operator in after] == [[(5, "a", 5), (7, "a", 7)], [(6, "a", 6)]]


def test_every_channel_gets_the_window_markers_that_wait():
    before = [MAKERS["Delay"]().items_in(each) for each in ([(9, "a", 1), (2, "c", 1)], [(3, "b", 2)])]
    for operator, more in zip(before, ([(4, "a", 3), 8], [(12, "d", 4), 8]), strict=True):
        operator.mark().items_in(more).mark()
    assert [operator.rows() for operator in before] == [[(2, "c", 1)], [(3, "b", 2)]]
    after = [operator.items_in([(8, "a", 5), ENDS]) for operator in divided("Delay", before, ByKey(3))]
    mark = Punctuation.WINDOW
    shown = [[item for item in each.items() if isinstance(item, tuple | Punctuation)] for each in after]
    assert shown == [
        [(4, "a", 3), (8, "a", 5), (9, "a", 1), mark, (12, "d", 4), mark],
        [mark, mark, (8, "a", 5)],
        [mark, mark, (8, "a", 5)],
    ]


@pytest.mark.parametrize("name", ["Join", "DeDuplicate"])
def test_channels_with_different_watermarks_are_refused(name: str):
    before = [MAKERS[name]().items_in([(9, "a", 1), at]) for at in (3, 5)]
    with pytest.raises(RescaleError, match="has another watermark in each channel"):
        divided(name, before, ByKey(3))
