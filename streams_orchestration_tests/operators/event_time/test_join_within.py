"""Join with `within` against an account that goes item by item (EV57)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.standard.joining import join_by_time
from streams_orchestration.operators.standard.joining.join import Join
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.event_time.timed import ENDS, EVENT_TIME, IDLES, IGNORES_NULLS, Item, Timed

LEFT, RIGHT = "at bigint, k string, v bigint", "at bigint, k string, w bigint"
BOTH = "lhs_at bigint, lhs_k string, v bigint, rhs_at bigint, rhs_k string, w bigint"
Arrival = tuple[int, Item]
"""An input port with a tuple or a watermark of the operator."""
TUPLES = st.tuples(st.integers(0, 30), st.sampled_from(["a", "b", None]), st.integers(0, 3))
ARRIVALS = st.lists(st.tuples(st.integers(0, 1), st.one_of(TUPLES, TUPLES, st.integers(0, 30))), max_size=40)
CUTS = st.lists(st.integers(0, 40), max_size=8)
WITHIN = st.sampled_from([(0, 0), (-3, 7), (2, 5), (-6, -2), (-100, 100)])
OUTER = {"inner": (), "leftOuter": (0,), "rightOuter": (1,), "outer": (0, 1)}


def bench(within: tuple[float, float] = (0.0, 10.0), outputs: Sequence[str] = (BOTH,), **parameters: Any) -> Timed:
    keys = {"equalityLHS": ["k"], "equalityRHS": ["k"]}
    return Timed(Join, [LEFT, RIGHT], outputs, within=list(within), **{**keys, **parameters})


def steps(arrivals: list[Arrival]) -> list[Arrival]:
    """Return the arrivals with the watermarks that rise, and the end of the streams."""
    kept: list[Arrival] = []
    last = IDLES
    for port, item in [*arrivals, (0, ENDS)]:
        if isinstance(item, tuple) or item > last:
            kept.append((port, item))
            last = last if isinstance(item, tuple) else item
    return kept


class Account:
    """Keeps every tuple for good, and knows which have left."""

    def __init__(self, within: tuple[int, int], age: int, algorithm: str, keyed: bool) -> None:
        self.within, self.age, self.keyed = within, age, keyed
        self.outer = OUTER[algorithm]
        self.waits = (within[1] + age, age - within[0])
        self.held: tuple[list[list[Any]], list[list[Any]]] = ([], [])
        """For each side, tuples with True once they have met another one, and True once they have left."""
        self.now = IDLES
        self.out: list[Any] = []
        self.late = 0

    def arrive(self, port: int, item: Item) -> None:
        if not isinstance(item, tuple):
            self.now = item
            self._leave()
            later = max([0, *(self.waits[side] for side in self.outer)])
            self.out.append(item if item == ENDS else item - later)
            return
        if item[0] < self.now - (self.age if IDLES < self.now < ENDS else 0):
            self.late += 1
            return
        own = [item, False, False]
        for other in sorted(self.held[1 - port], key=lambda each: each[0][0]):
            left, right = (own, other) if port == 0 else (other, own)
            difference = right[0][0] - left[0][0]
            same = not self.keyed or (left[0][1] is not None and left[0][1] == right[0][1])
            if same and self.within[0] <= difference <= self.within[1]:
                self.out.append((*left[0], *right[0]))
                left[1] = right[1] = True
        self.held[port].append(own)
        self._leave()

    def _leave(self) -> None:
        gone: list[Any] = []
        for port in (0, 1):
            for each in self.held[port]:
                if not each[2] and (self.now == ENDS or self.now > each[0][0] + self.waits[port]):
                    each[2] = True
                    if port in self.outer and not each[1]:
                        alone = (*each[0], None, None, None) if port == 0 else (None, None, None, *each[0])
                        gone.append((each[0][0] + self.waits[port], alone))
        self.out += [alone for _, alone in sorted(gone, key=lambda each: each[0])]


def sends(operator: Timed, arrivals: list[Arrival], cuts: list[int]) -> None:
    """Send arrivals in batches that end where the port changes or a cut is."""
    ends = {cut % len(arrivals) for cut in cuts}
    run: list[Item] = []
    for number, (port, item) in enumerate(arrivals):
        run.append(item)
        if number + 1 == len(arrivals) or number in ends or arrivals[number + 1][0] != port:
            operator.items_in(run, port)
            run = []
            if number in ends:
                operator.restart()


@given(ARRIVALS, CUTS, WITHIN, st.sampled_from([0, 4]), st.sampled_from([*OUTER]), st.booleans())
@examples(300)
def test_any_division_with_restarts_gives_what_the_account_gives(
    arrivals: list[Arrival], cuts: list[int], within: tuple[int, int], age: int, algorithm: str, keyed: bool
):
    arrivals = steps(arrivals)
    account = Account(within, age, algorithm, keyed)
    for port, item in arrivals:
        account.arrive(port, item)
    keys = {} if keyed else {"equalityLHS": [], "equalityRHS": []}
    operator = bench((within[0] / 1000, within[1] / 1000), discardAge=age / 1000, algorithm=algorithm, **keys)
    sends(operator, arrivals, cuts)
    seen: list[Item] = []
    for item in account.out:
        seen += (
            [item] if isinstance(item, tuple) or not any(not isinstance(e, tuple) and e >= item for e in seen) else []
        )
    assert operator.items_out() == seen
    assert operator.metrics["late_dropped"] == account.late


def test_keys_that_were_forgotten_are_found_again(monkeypatch: pytest.MonkeyPatch):
    arrivals = steps([(0, (1, "a", 0)), (1, (2, "a", 0)), (0, (2, "b", 1)), (0, (2, "a", 1)), (1, (3, "b", 2))])
    remembering, forgetting = bench(), bench()
    sends(remembering, arrivals, [])
    monkeypatch.setattr(join_by_time, "FEW", -1000)
    sends(forgetting, arrivals, [])
    assert forgetting.rows() == remembering.rows() != []


@given(ARRIVALS, st.randoms(), WITHIN, st.sampled_from([*OUTER]))
@examples(100)
def test_which_pairs_there_are_does_not_depend_on_the_order_of_arrival(
    arrivals: list[Arrival], random: Any, within: tuple[int, int], algorithm: str
):
    tuples = [each for each in arrivals if isinstance(each[1], tuple)]
    found: list[list[str]] = []
    for _ in range(2):
        operator = bench((within[0] / 1000, within[1] / 1000), algorithm=algorithm)
        waiting = list(tuples)
        sent: list[Arrival] = []
        while waiting:  # a watermark is at most the least time that is still to come
            sent.append(waiting.pop(random.randrange(len(waiting))))
            sent.append((0, min((item[0] for _, item in waiting if isinstance(item, tuple)), default=ENDS)))
        sends(operator, steps(sent), [])
        found.append(sorted(map(repr, operator.rows())))
    assert found[0] == found[1]


def test_the_worked_case_at_every_division_with_restarts():
    case = EVENT_TIME["J1"]
    arrivals: list[Arrival] = []
    for arrival in case["arrivals"]:
        if isinstance(arrival, list):
            port, (at, *values) = arrival
            arrivals.append((port, (at * 1000, *values)))
        else:
            arrivals.append((0, ENDS if arrival["w"] == "end" else arrival["w"] * 1000))
    pairs = [
        tuple(value for side in pair for value in ((None, None, None) if side is None else (side[0] * 1000, *side[1:])))
        for pair in case["expect"]["pairs"]
    ]
    for cut in range(len(arrivals) + 1):
        operator = bench(algorithm=case["join"]["algorithm"])
        sends(operator, arrivals, [cut] if cut else [*range(len(arrivals))])
        assert (operator.rows(), operator.metrics["late_dropped"]) == (pairs, 0)


def test_a_condition_decides_about_pairs_and_what_has_no_value_goes_to_the_last_port():
    outputs = ("v bigint, w bigint", f"{BOTH}, reason string")
    operator = bench(outputs=outputs, match="v / w > 1", onError="route", algorithm="leftOuter")
    operator.items_in([(1, "a", 4), (2, "a", 1)])
    operator.items_in([(3, "a", 2), (4, "a", 0)], 1).restart().items_in([ENDS])
    assert operator.rows() == [(4, 2), (1, None)]
    assert [(row[2], row[5]) for row in operator.rows(1)] == [(4, 0), (1, 0)]


def test_many_pairs_are_formed_in_several_steps(monkeypatch: pytest.MonkeyPatch):
    rows = [(at, "a", at) for at in range(20)]
    found: list[Any] = []
    for most in (1_000_000, 30):
        monkeypatch.setattr(join_by_time, "PAIRS_AT_ONCE", most)
        operator = bench((-0.005, 0.005), algorithm="outer").items_in([*rows, 3])
        found.append(operator.items_in([5, *rows[5:], 9], 1).items_in([ENDS]).items_out())
    assert found[0] == found[1]


def test_keys_are_found_among_many_that_nobody_has_sought():
    keys = [None if n % 50 == 0 else f"key {n % 300}" for n in range(900)]
    operator = bench((-1.0, 1.0)).items_in([(n, key, n) for n, key in enumerate(keys)])
    wanted: list[tuple[int, int]] = []
    for number in range(40):
        sought = f"key {number * 11}"
        operator.items_in([(500, sought, number)], 1)
        wanted += [(n, number) for n, key in enumerate(keys) if key == sought]
    assert [(row[2], row[5]) for row in operator.rows()] == wanted


def test_an_outer_side_that_keeps_tuples_is_not_idle():
    inner, outer = (
        bench(algorithm=each).items_in([(20_000, "a", 1), 19_000, IDLES]) for each in ("inner", "leftOuter")
    )
    assert (inner.items_out(), outer.items_out()) == ([19_000, IDLES], [9_000])


@pytest.mark.slow
def test_tuples_that_have_left_leave_the_state():
    operator = bench((-0.002, 0.002), discardAge=0.001)
    for at in range(1000):
        operator.items_in([(at, str(at), 1)]).items_in([(at, "x", 2), at], 1)
    state = operator.operator.checkpoint()
    assert [len(state[f"{side}.tuples"]) for side in (0, 1)] == [4, 4]


def test_a_tuple_that_can_meet_no_other_one_when_it_arrives_leaves_at_once():
    operator = bench((-0.006, -0.002), algorithm="leftOuter").items_in([10, (11, "a", 1), 15])
    assert operator.items_out() == [10, (11, "a", 1, None, None, None), 15]


def test_times_at_the_limits_of_64_bits_meet():
    ends = [-(2**63), -(2**63) + 4, 2**63 - 5, 2**63 - 1]
    operator = bench((0.0, 0.004)).items_in([(at, "a", number) for number, at in enumerate(ends)])
    operator.items_in([(at, "a", number) for number, at in enumerate(ends)], 1)
    assert sorted((row[2], row[5]) for row in operator.rows()) == [(0, 0), (0, 1), (1, 1), (2, 2), (2, 3), (3, 3)]


def test_a_tuple_at_the_watermark_less_the_discard_age_is_not_too_late():
    operator = bench(discardAge=0.002).items_in([10, (8, "a", 1), (7, "a", 2)]).items_in([(10, "a", 3), (9, "a", 4)], 1)
    assert [(row[2], row[5]) for row in operator.rows()] == [(1, 3), (1, 4)]
    assert (operator.metrics["late_taken"], operator.metrics["late_dropped"]) == (2, 1)


def test_a_tuple_stays_as_long_as_the_watermark_is_not_beyond_its_last_partner():
    operator = bench((0.0, 0.005), algorithm="leftOuter").items_in([(10, "a", 1), (11, "b", 2), 15])
    assert operator.rows() == []
    assert operator.items_in([16]).rows() == [(10, "a", 1, None, None, None)]


def test_null_times_may_be_ignored():
    operator = Timed(Join, [LEFT, RIGHT], [BOTH], IGNORES_NULLS, within=[0.0, 1.0], algorithm="outer")
    operator.items_in([(None, "a", 1), (5, "a", 2)]).items_in([ENDS], 1)
    assert operator.rows() == [(5, "a", 2, None, None, None)]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"within": [3.0, 1.0]}, "within: 3 is above 1; the least difference comes first"),
        ({"within": [3.0]}, "at least 2 items"),
        ({"within": [1.0, 2.0, 3.0]}, "at most 2 items"),
        ({"within": 3.0}, "valid list"),
        ({"within": ["a", "b"]}, "valid number"),
        ({"within": [0.0, float("inf")]}, "finite number"),
        ({"within": [0.0, 0.0005]}, "within: 0.0005 s is not a whole number of ticks"),
        ({"within": [-0.0005, 0.0]}, "within: -0.0005 s is not a whole number of ticks"),
        ({"discardAge": 0.0001}, "discardAge: 0.0001 s is not a whole number of ticks"),
        ({"window": "sliding, count(3)"}, "window and within exclude each other"),
        ({"within": None}, "the parameter window is missing; give window, or within"),
        ({"within": None, "window": "sliding, count(3)", "discardAge": 1.0}, "discardAge needs the parameter within"),
        ({"timeAttribute": "at"}, "timeAttribute cannot be combined with within"),
        ({"withn": [0.0, 1.0]}, "Extra inputs"),
    ],
)
def test_wrong_parameters_of_join_within_are_refused(parameters: dict[str, Any], message: str):
    keys = {"equalityLHS": ["k"], "equalityRHS": ["k"], "within": [0.0, 1.0]}
    with pytest.raises(ValueError, match=message):
        Timed(Join, [LEFT, RIGHT], [BOTH], **{**keys, **parameters})


def test_a_stream_without_the_attribute_is_named():
    with pytest.raises(ValueError, match="input port 1: event time: at is string; a time is a bigint or a timestamp"):
        Timed(Join, [LEFT, "at string"], ["v bigint"], within=[0.0, 1.0])
