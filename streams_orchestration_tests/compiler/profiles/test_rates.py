"""Measured rates decide what is fused, whatever the width was when they were measured."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.profiles.rates import measured_rates
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.model.profile_document import mapping_of, profile_from_mapping

APPLICATION = {
    "specVersion": 1,
    "application": "measured",
    "operators": {"Source": {"inputs": []}, "Work": {}, "Sink": {"outputs": []}},
    "graph": [
        {"name": "S", "operator": "Source", "outputs": [{"stream": "S", "rate": 100.0}]},
        {"name": "A", "operator": "Work", "inputs": ["S"], "outputs": [{"stream": "A", "rate": 100.0}]},
        {
            "name": "B",
            "operator": "Work",
            "inputs": ["A"],
            "outputs": [{"stream": "B", "rate": 1.0}],
            "annotations": {"parallel": {"width": 2}},
        },
        {"name": "K", "operator": "Sink", "inputs": ["B"]},
    ],
}


def profile(*streams: dict[str, Any], seconds: float = 1.0) -> dict[str, Any]:
    return {"profileVersion": 1, "application": "measured", "seconds": seconds, "streams": list(streams)}


def compiled(document: dict[str, Any] | None = None, *, width: int = 2, pes: int = 2) -> PlannedCompilation:
    measured = profile_from_mapping(document) if document else None
    options = Options(fusion="manual", pes=pes, widths=(("B", width),), profile=measured)
    return compile_application(application_from_mapping(APPLICATION), options)


def rates(document: dict[str, Any], *, width: int = 2) -> dict[str, float]:
    done = compiled(document, width=width)
    measured, _ = measured_rates(done.logical, done.physical, profile_from_mapping(document))
    return {done.physical.operators[operator].name: rate for (operator, _), rate in measured.items()}


def together(done: PlannedCompilation) -> set[frozenset[str]]:
    return {frozenset(done.physical.operators[each].name for each in pe.operators) for pe in done.fusion.pes}


def test_the_cut_goes_where_the_profile_says_that_few_tuples_pass() -> None:
    few = profile({"operator": "S", "tuples": 9e3}, {"operator": "A", "tuples": 1}, {"operator": "B", "tuples": 9e3})
    apart = {frozenset({"S", "A"}), frozenset({"B[0]", "B[1]", "K"})}
    assert together(compiled(few)) == apart
    assert together(compiled()) != apart


def test_amounts_are_of_the_whole_time() -> None:
    assert rates(profile({"operator": "S", "tuples": 300}, seconds=10)) == {"S": 30}


def test_replicas_keep_their_own_rates() -> None:
    skewed = profile({"operator": "B[0]", "tuples": 90}, {"operator": "B[1]", "tuples": 10})
    assert rates(skewed) == {"B[0]": 90, "B[1]": 10}


@pytest.mark.parametrize("width", [1, 3, 4])
def test_at_another_width_the_replicas_share_what_was_measured(width: int) -> None:
    measured = [{"operator": f"B[{channel}]", "tuples": 30 * (channel + 1)} for channel in range(3 if width < 3 else 5)]
    total = sum(each["tuples"] for each in measured)
    assert rates(profile(*measured), width=width) == {f"B[{channel}]": total / width for channel in range(width)}


def test_a_logical_name_is_all_replicas_together() -> None:
    assert rates(profile({"operator": "B", "tuples": 60}), width=3) == dict.fromkeys(("B[0]", "B[1]", "B[2]"), 20)


def test_operators_that_were_not_measured_are_named() -> None:
    done = compiled(profile({"operator": "B[0]", "tuples": 1}))
    assert [(each.code, each.message) for each in done.diagnostics] == [
        ("SO0212", "the profile has no rates of S, A, B")
    ]


def test_a_profile_survives_its_way_through_a_document() -> None:
    document = profile({"operator": "B[0]", "port": 0, "tuples": 1.0}, seconds=2.5)
    assert mapping_of(profile_from_mapping(document)) == document
