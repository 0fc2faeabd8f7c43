"""One test a rule of decoupling, on the smallest problem that shows it."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.compiler.decoupling.problems import decided, op, problem


def answer(*ops: dict[str, Any], **params: Any) -> dict[str, Any]:
    return decided(problem(*ops, **params)).document()


def heavy_chain(*, pins: tuple[int | None, int | None] = (None, None), **middle: Any) -> list[dict[str, Any]]:
    """Source, two heavy operators, sink; best cut in the middle."""
    ends = [{} if pin is None else {"pin": pin} for pin in pins]
    return [
        op("in", kind="source", cpu=10, **ends[0]),
        op("a", "in", cpu=40, **middle),
        op("b", "a", cpu=40),
        op("out", "b", kind="sink", cpu=10, **ends[1]),
    ]


def test_q1_an_operator_executes_where_its_inputs_go():
    actual = answer(*heavy_chain())
    assert actual["outputTo"]["a"] == 1
    assert actual["execAt"] == {"in": 0, "a": 0, "b": 1, "out": 1}
    assert actual["loads"] == [51.0001, 51.0001]


def test_q1_both_inputs_of_a_join_go_to_one_machine():
    join = [op("l", kind="source", cpu=30), op("r", kind="source", cpu=30), op("j", "l", "r", cpu=1)]
    actual = answer(*join, op("out", "j", kind="sink"))
    assert actual["outputTo"]["l"] == actual["outputTo"]["r"] == actual["execAt"]["j"]
    assert actual["loads"] == [61, 0]  # nothing ahead of the join could be left behind


def test_q2_a_pinned_source_executes_at_its_pin_and_sends_elsewhere():
    source = op("in", kind="source", cpu=40, pin=0)
    actual = answer(source, op("a", "in", cpu=40), op("out", "a", kind="sink"))
    assert (actual["execAt"]["in"], actual["outputTo"]["in"]) == (0, 1)
    assert actual["newNetworks"] == [["in", 0, 1]]


def test_q2_a_pinned_receiving_network_is_paid_at_its_pin():
    network = op("in", kind="net_recv", recv_cpu=40, pin=1)
    actual = answer(network, op("a", "in", cpu=40), op("out", "a", kind="sink"))
    assert actual["loads"] == [41.0001, 41.0001]
    assert actual["newNetworks"] == [["in", 1, 0]]


@pytest.mark.parametrize("kind", ["source", "sink"])
def test_q3_sources_and_sinks_are_charged(kind: str):
    costs = {"source": 0, "sink": 0} | {kind: 30}
    ends = [op("in", kind="source", cpu=costs["source"]), op("a", "in", cpu=30), op("b", "a", cpu=1)]
    actual = answer(*ends, op("out", "b", kind="sink", cpu=costs["sink"]))
    assert sum(actual["loads"]) == pytest.approx(61 if kind == "source" else 63.0002)
    assert actual["predictedSpeedup"] == pytest.approx(61 / actual["objective"])


def test_q4_what_was_not_measured_is_not_cut_and_named():
    decision = decided(problem(*heavy_chain(card=None)))
    assert decision.document()["newNetworks"] == [["b", 0, 1]]
    assert [(each.code, each.operator) for each in decision.diagnostics] == [("SO0610", "a")]


def test_q4_zero_items_are_measured():
    assert answer(*heavy_chain(card=0))["loads"] == [50.0001, 50.0001]


FAN = [
    op("in", kind="net_recv", recv_cpu=28, card=4),
    *(op(f"t{number}", "in", kind="tee", card=4) for number in (1, 2, 3)),
    *(op(f"f{number}", f"t{number}", kind="op", cpu=30) for number in (1, 2, 3)),
    *(op(f"o{number}", f"f{number}", kind="net_send") for number in (1, 2, 3)),
]


@pytest.mark.parametrize(("tee", "sent"), [("exact", 12.0003), ("head", 4.0001)])
def test_q5_a_fan_out_pays_for_each_destination_or_once(tee: str, sent: float):
    actual = answer(*FAN, k=4, tee=tee)
    assert actual["loads"][0] == pytest.approx(28 + sent)
    assert actual["loads"][1:] == [34.0001] * 3
    assert actual["newNetworks"] == [["t1", 0, 1], ["t2", 0, 2], ["t3", 0, 3]]
    assert actual["hops"] == 3


def test_q5_tees_that_go_to_one_machine_share_a_send():
    actual = answer(*FAN, k=2)
    assert actual["hops"] == 1
    assert sum(actual["loads"]) == pytest.approx(28 + 90 + 2 * 4.0001)


@pytest.mark.parametrize("machines", [2, 3, 4])
def test_q6_readers_without_tees_are_as_readers_behind_tees(machines: int):
    plain = [FAN[0], *(op(f"f{number}", "in", cpu=30) for number in (1, 2, 3)), *FAN[7:]]
    actual, expected = answer(*plain, k=machines), answer(*FAN, k=machines)
    assert actual["loads"] == expected["loads"]
    assert actual["hops"] == expected["hops"]
    assert {name for name, _, _ in actual["newNetworks"]} == {"in"}


def test_q7_groups_share_a_budget_of_machines():
    actual = answer(op("in", kind="source", cpu=90, card=50), op("out", "in", kind="sink"), machine_budget=5)
    assert (actual["loads"], actual["machines"], actual["objective"]) == ([90, 0], {"0": 5}, 18)
    assert actual["predictedSpeedup"] == 5


def test_q7_state_keeps_a_group_on_one_machine():
    ops = [op("in", kind="source", cpu=90, card=50, state=True), op("out", "in", kind="sink")]
    assert answer(*ops, machine_budget=5)["machines"] == {"0": 1}


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e9])
def test_q7_q8_the_unit_of_loads_changes_nothing(unit: float):
    chain = [each | {"cpu": each["cpu"] * unit} for each in heavy_chain()]
    actual = answer(*chain, ser_per_item=unit, deser_per_item=unit, penalty=0.01 * unit, machine_budget=3)
    assert actual["objective"] == pytest.approx(100 / 3 * unit)


def test_q9_the_sum_decides_between_equal_largest_loads():
    big = [op("big", kind="source", cpu=100), op("end", "big", kind="sink")]
    actual = answer(*big, *heavy_chain(), k=3)
    assert (actual["loads"], actual["hops"]) == ([100, 100, 0], 0)  # a cut of the chain would lower its load in vain


@pytest.mark.parametrize(("epsilon", "cut"), [(0, True), (0.1, True), (30, False)])
def test_q9_a_weight_of_the_sum_may_forbid_a_cut(epsilon: float, cut: bool):
    actual = answer(*heavy_chain(), lex_epsilon=epsilon)
    assert (actual["hops"] == 1) == cut
    assert actual["objective"] == pytest.approx(max(actual["loads"]) + epsilon * sum(actual["loads"]))


def test_q10_of_equal_decisions_the_latest_cut_is_the_answer():
    ops = [op("in", kind="source", cpu=30), op("a", "in"), op("b", "a"), op("c", "b", cpu=30)]
    actual = answer(*ops, op("out", "c", kind="sink"), op("in2", kind="source", cpu=0), op("out2", "in2", kind="sink"))
    assert actual["newNetworks"] == [["b", 0, 1]]


def chain(length: int) -> list[dict[str, Any]]:
    operators = [op(number, number - 1, cpu=10) for number in range(1, length)]
    return [op(0, kind="source", cpu=10), *operators, op(length, length - 1, kind="sink")]


@pytest.mark.parametrize(("budget", "worst"), [(0, 40), (1, 21.0001), (2, 21.0001), (3, 21.0001), (None, 21.0001)])
def test_q11_no_path_gets_more_hops_than_the_latency_budget(budget: int | None, worst: float):
    actual = answer(*chain(4), k=4, **({} if budget is None else {"latency_budget": budget}))
    assert actual["objective"] == pytest.approx(worst)
    assert actual["hops"] <= (3 if budget is None else budget)


def test_q11_hops_of_parallel_paths_do_not_add_up():
    ops = [op("in", kind="source", cpu=30, card=0.1)]
    for number in range(3):
        ops += [op(f"a{number}", "in", cpu=30), op(f"o{number}", f"a{number}", kind="sink")]
    actual = answer(*ops, k=4, latency_budget=1)
    assert actual["hops"] == 3
    assert max(actual["loads"]) < 31


def test_q11_an_existing_network_is_no_added_hop():
    ops = [op("in", kind="source", cpu=30), op("net", "in", kind="net_self"), op("a", "net", cpu=30)]
    actual = answer(*ops, op("out", "a", kind="sink"), latency_budget=0)
    assert (actual["loads"], actual["hops"], actual["newNetworks"]) == ([30, 30], 0, [])


def test_q12_a_tick_is_never_split():
    chain_ = heavy_chain(tick="t")
    chain_[2]["tick"] = "t"
    actual = answer(*chain_)
    assert actual["execAt"]["a"] == actual["execAt"]["b"]


def test_q12_pins_in_one_tick_must_agree():
    chain_ = heavy_chain(tick="t", pin=0)
    chain_[2] |= {"tick": "t", "pin": 1}
    with pytest.raises(ApplicationError, match="both are in tick t"):
        decided(problem(*chain_))


@pytest.mark.parametrize(("kind", "hops"), [("source", 0), ("net_recv", 1)])
def test_q13_frozen_is_what_no_network_reaches(kind: str, hops: int):
    chain_ = heavy_chain()
    chain_[0]["kind"] = kind
    assert answer(*chain_, freeze_edb=True)["hops"] == hops


def test_an_output_that_cannot_be_sent_stays_and_so_do_its_tees():
    ops = [op("in", kind="source", cpu=40, ser=False), op("t1", "in", kind="tee"), op("t2", "in", kind="tee")]
    actual = answer(*ops, op("o1", "t1", kind="sink", cpu=30), op("o2", "t2", kind="sink", cpu=30))
    assert actual["hops"] == 0


def test_q16_the_objective_is_that_of_the_assignment():
    decision = decided(problem(*heavy_chain()))
    loads = dict.fromkeys((0, 1), 0.0)
    actual = decision.document()
    for each, load in {"in": 10, "a": 40, "b": 40, "out": 10}.items():
        loads[actual["execAt"][each]] += load
    for _, sender, receiver in actual["newNetworks"]:
        loads[sender] += 1.0001
        loads[receiver] += 1.0001
    assert actual["loads"] == [loads[0], loads[1]]
    assert actual["objective"] == max(loads.values())


def test_q18_sinks_and_sending_networks_have_no_output():
    assert set(answer(*heavy_chain())["outputTo"]) == {"in", "a", "b"}


def test_a_problem_with_a_single_decision_has_no_gap():
    actual = answer(
        op("in", kind="source", cpu=30), op("end", "in", kind="sink", cpu=9, state=True), k=1, machine_budget=2
    )
    assert (actual["objective"], actual["bound"], actual["gap"]) == (39, 39, 0)


def test_one_machine_and_more_machines_than_operators():
    assert answer(*heavy_chain(), k=1)["loads"] == [100]
    many = answer(*heavy_chain(), k=50)
    assert (len(many["loads"]), many["objective"]) == (50, 51.0001)  # a source that is not pinned goes with its reader


def test_pins_keep_their_machines_and_others_are_numbered_as_they_come():
    actual = answer(*heavy_chain(pins=(2, None)), k=4)
    assert actual["execAt"]["in"] == 2
    assert set(actual["execAt"].values()) <= {0, 1, 2}


def test_an_impossible_problem_is_named():
    with pytest.raises(ApplicationError) as failure:
        decided(problem(*heavy_chain(pins=(0, 1)), machine_budget=1))
    assert [each.code for each in failure.value.diagnostics] == ["SO0608"]
    assert "no decision meets the conditions of the pins and machine_budget 1" in str(failure.value)
