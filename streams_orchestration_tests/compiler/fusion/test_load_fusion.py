"""Automatic fusion by what a profile says that operators cost, and what it goes by without that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.explain import explain
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.profile import (
    OperatorProfile,
    PassageCost,
    PeProfile,
    Profile,
    StreamProfile,
    Transport,
)
from streams_orchestration_tests.specs import codes, graph

FLAT = PassageCost(0.01, 0.0)
"""Sending or receiving a tuple costs 1 percent of a processor second."""
ALONE = {"config": {"placement": {"partitionIsolation": True}}}
APART = {"config": {"placement": {"partitionExlocation": "x"}}}
FRAGILE = {"config": {"restartable": False}}


def profile(cpu: dict[str, float], tuples: dict[str, float], *, transport: bool = True) -> Profile:
    """Loads in percent of a processor, over a second."""
    return Profile(
        "test",
        1.0,
        tuple(StreamProfile(name, amount, bytes=0.0) for name, amount in tuples.items()),
        tuple(OperatorProfile(name, load / 100) for name, load in cpu.items()),
        Transport("measured", FLAT, FLAT) if transport else None,
    )


def chain(*configs: dict[str, Any]) -> Any:
    """Return A -> B -> C -> D, with further keys of each."""
    names = "ABCD"
    invocations: list[dict[str, Any]] = [{"name": "A", "operator": "Source"}]
    invocations += [
        {"name": names[number], "operator": "Work" if number < 3 else "Sink", "inputs": [names[number - 1]]}
        for number in (1, 2, 3)
    ]
    padded = [*configs, *({} for _ in range(4 - len(configs)))]
    return graph(*(invocation | config for invocation, config in zip(invocations, padded, strict=True)))


def fused(application: Any, measured: Profile | None, **options: Any) -> PlannedCompilation:
    return compile_application(application, Options(profile=measured, **options))


def pes(done: PlannedCompilation) -> list[str]:
    return ["".join(done.physical.operators[each].name for each in pe.operators) for pe in done.fusion.pes]


EVEN = profile({"A": 30, "B": 20, "C": 40, "D": 10}, {"A": 5, "B": 5, "C": 5})
HOT = profile({"A": 40, "B": 10, "C": 40, "D": 10}, {"A": 1, "B": 20, "C": 1})


@pytest.mark.parametrize(
    ("measured", "configs", "options", "expected"),
    [
        (EVEN, (), {"pe_capacity": 1.0}, ["ABCD"]),
        (EVEN, (), {"pe_capacity": 0.7}, ["AB", "CD"]),
        (EVEN, (), {}, ["AB", "CD"]),
        (HOT, (), {"pe_capacity": 0.75}, ["A", "BCD"]),
        (EVEN, (APART, {}, {}, APART), {"pe_capacity": 1.0}, ["AB", "CD"]),
        (EVEN, ({}, {}, ALONE), {"pe_capacity": 1.0}, ["AB", "C", "D"]),
        (EVEN, ({}, {}, FRAGILE), {"pe_capacity": 1.0}, ["AB", "C", "D"]),
        (EVEN, (), {"pes": 2}, ["AB", "CD"]),
        (EVEN, (), {"pes": 1}, ["ABCD"]),
        (HOT, (), {"pes": 2}, ["A", "BCD"]),
        (HOT, (), {"pes": 2, "fusion": "manual"}, ["AD", "BC"]),
        (EVEN, (), {"faithful": True}, ["ABCD"]),
        (EVEN, (), {"fusion": "legacy"}, ["A", "B", "C", "D"]),
    ],
    ids=[
        "all fit into one", "two are needed", "by default they keep 0.8 processors busy", "a hot stream is kept",
        "exlocated", "isolated", "of another kind", "two asked for", "one asked for", "two asked for, a hot stream",
        "the manual scheme goes by rates", "faithful", "legacy",
    ],
)  # fmt: skip
def test_pes_by_load(measured: Profile, configs: Any, options: dict[str, Any], expected: list[str]):
    done = fused(chain(*configs), measured, **options)
    assert pes(done) == expected
    assert not [each for each in done.diagnostics if each.severity == "error"]


def test_channels_go_where_there_is_room():
    """The load of a region is that of all channels, and they come into PEs one by one."""
    wide = {"annotations": {"parallel": {"width": 4}}}
    measured = profile({"A": 10, "B": 120, "C": 10, "D": 1}, {"A": 4, "B": 4, "C": 1})
    done = fused(chain({}, wide), measured)
    loads = {"A": 10.0, "C": 10.0, "D": 1.0} | {f"B[{channel}]": 30.0 for channel in range(4)}
    assert len(done.fusion.pes) == 2
    for pe in done.fusion.pes:
        assert sum(loads[done.physical.operators[each].name] for each in pe.operators) <= 80


def test_an_operator_that_was_not_measured_is_named_and_not_parted():
    measured = profile({"A": 30, "B": 20, "C": 40}, {"A": 5, "C": 5})
    done = fused(chain(), measured, pe_capacity=0.7)
    assert pes(done) == ["A", "BCD"]
    assert codes(done.diagnostics) == ["SO0214"]


@pytest.mark.parametrize(
    "measured",
    [None, profile({}, {"A": 5, "B": 1, "C": 5}), profile({"A": 90}, {"A": 5, "B": 1, "C": 5}, transport=False)],
    ids=["no profile", "streams only", "no costs of sending"],
)
def test_operators_without_loads_are_one_pe_for_a_resource(measured: Profile | None):
    assert pes(fused(chain(), measured)) == ["ABCD"]


def test_the_base_cost_of_a_pe_reduces_its_capacity():
    measured = replace(EVEN, pes=(PeProfile(0, 1.4, 0.4, 1.0),))
    assert pes(fused(chain(), measured, pe_capacity=1.3)) == ["AB", "CD"]
    assert pes(fused(chain(), EVEN, pe_capacity=1.3)) == ["ABCD"]


@pytest.mark.parametrize("wanted", [None, 3])
def test_operators_that_overlapping_tags_keep_apart_are_fused_by_load(wanted: int | None):
    """Each tag is of two operators, so two PEs would do for each alone, but not for all three."""
    first, second, third = ({"config": {"placement": {"partitionExlocation": [*tags]}}} for tags in ("xy", "yz", "xz"))
    measured = profile({"A": 60, "B": 20, "C": 10, "D": 10}, {"A": 5, "B": 5, "C": 5})
    done = fused(chain(first, {}, second, third), measured, pe_capacity=1.0, pes=wanted)
    assert pes(done) == ["A", "BC", "D"]


@pytest.mark.parametrize("wanted", [None, 2])
def test_operators_of_an_atomic_group_may_be_apart(wanted: int | None):
    """Loads are then none of fusion's business: an atomic group may be apart from the beginning."""
    config = APART | {"annotations": {"atomic": "ledger"}}
    done = fused(chain(config, {}, {}, config), EVEN, pes=wanted)
    assert done.fusion.pe_of[0] != done.fusion.pe_of[3]
    assert len(done.fusion.pes) == 2


def test_more_pes_than_asked_for_are_told():
    done = fused(chain({}, ALONE, ALONE), EVEN, pes=2)
    assert len(done.fusion.pes) == 4
    assert "CDISR3035W" in codes(done.diagnostics)


def test_an_explanation_names_the_loads():
    done = fused(chain(), EVEN)
    facts = [fact.text for section in explain(done, "PE 0").sections for fact in section.facts]
    assert "by the profile it keeps 0.55 processors busy, of the 0.8 that automatic fusion lets it" in facts
    facts = [fact.text for section in explain(done, "B C").sections for fact in section.facts]
    assert "PEs are as few as keep at most 0.8 processors busy each, by the operators' costs in the profile" in facts


@pytest.mark.slow
def test_a_large_application_is_fused_the_same_every_time():
    invocations: list[dict[str, Any]] = [{"name": "N0", "operator": "Source"}]
    invocations += [{"name": f"N{n}", "operator": "Work", "inputs": [[f"N{n - 1}"]]} for n in range(1, 60)]
    names = [each["name"] for each in invocations]
    measured = profile({name: 5 + number * 7 % 11 for number, name in enumerate(names)}, dict.fromkeys(names, 1.0))
    plans = [fused(graph(*invocations), measured).fusion for _ in range(2)]
    assert plans[0] == plans[1]
    for pe in plans[0].pes:
        assert sum(5 + each * 7 % 11 for each in pe.operators) <= 80
    assert len(plans[0].pes) <= 10
