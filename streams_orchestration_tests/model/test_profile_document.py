"""A profile survives its way through a document; of several profiles the largest rates and loads count."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.cli.profiling import profile_text
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.profile import (
    OperatorProfile,
    PassageCost,
    PeProfile,
    Profile,
    StreamProfile,
    Transport,
    Unmeasured,
    combined,
)
from streams_orchestration.model.profile_document import mapping_of, profile_from_mapping, read_profile

AMOUNTS = st.floats(0, 1e12)
COSTS = st.builds(PassageCost, st.floats(0, 1), st.floats(0, 1))
NAMES = st.sampled_from(["S", "A", "Out[0].A", "Out[1].A"])
PROFILES = st.builds(
    Profile,
    application=st.just("test"),
    seconds=st.floats(0.001, 1e6),
    streams=st.lists(
        st.builds(StreamProfile, NAMES, AMOUNTS, st.integers(0, 1), st.none() | AMOUNTS),
        max_size=4,
        unique_by=lambda each: (each.operator, each.port),
    ).map(tuple),
    operators=st.lists(
        st.builds(OperatorProfile, NAMES, AMOUNTS, st.lists(AMOUNTS, max_size=2).map(tuple)),
        max_size=3,
        unique_by=lambda each: each.operator,
    ).map(tuple),
    transport=st.none()
    | st.builds(Transport, st.sampled_from(["measured", "scaled", "calibrated"]), COSTS, COSTS, st.integers(0, 9)),
    pes=st.lists(
        st.builds(PeProfile, st.integers(0, 3), AMOUNTS, AMOUNTS, AMOUNTS), max_size=2, unique_by=lambda each: each.pe
    ).map(tuple),
    unmeasured=st.lists(st.builds(Unmeasured, NAMES, st.just("why"), st.none() | st.integers(0, 1)), max_size=2).map(
        tuple
    ),
    fingerprint=st.sampled_from(["", "0123456789abcdef"]),
    measured_at=st.none() | st.integers(0, 2**31).map(float),
    processors=st.none() | st.integers(1, 64),
    surroundings_seconds=st.none() | AMOUNTS,
)


@given(PROFILES)
def test_a_profile_survives_its_way_through_a_document(profile: Profile):
    assert profile_from_mapping(mapping_of(profile)) == profile
    assert profile_from_mapping(json.loads(profile_text(profile, "json"))) == profile


def test_the_text_that_the_command_writes_can_be_read(tmp_path: Path):
    profile = Profile("test", 2.0, (StreamProfile("Out[0].A", 3.0, 0, 24.0),), (OperatorProfile("S", 0.5, (1.0,)),))
    path = tmp_path / "profile.yaml"
    path.write_text(profile_text(profile, "yaml"))
    assert read_profile(path) == profile


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"operators": [{"operator": "S", "cpuSeconds": 1}, {"operator": "S", "cpuSeconds": 2}]}, "SO0209"),
        ({"operators": [{"operator": "S"}]}, "SO0008"),
        ({"operators": [{"operator": "S", "cpuSeconds": -1}]}, "SO0401"),
        ({"measuredAt": "yesterday"}, "SO0009"),
        ({"transport": {"basis": "guessed", "send": {}, "receive": {}}}, "SO0010"),
    ],
)
def test_a_profile_with_wrong_entries_is_refused(more: dict[str, Any], code: str):
    with pytest.raises(ApplicationError) as failure:
        profile_from_mapping({"profileVersion": 1, "application": "test", **more})
    assert code in {each.code for each in failure.value.diagnostics}


# ---- several profiles ----


def per_second(profile: Profile) -> dict[Any, float]:
    part = 1 / profile.seconds
    return {
        **{(each.operator, each.port): each.tuples * part for each in profile.streams},
        **{each.operator: each.cpu_seconds * part for each in profile.operators},
        **{(each.operator, "in", port): x * part for each in profile.operators for port, x in enumerate(each.inputs)},
    }


@given(st.lists(PROFILES, min_size=1, max_size=3))
def test_the_largest_rates_and_loads_of_several_profiles_count(profiles: list[Profile]):
    actual = per_second(combined(tuple(profiles)))
    for key in {key for each in profiles for key in per_second(each)}:
        assert actual[key] == pytest.approx(max(per_second(each).get(key, 0.0) for each in profiles))
    assert len(actual) == len({key for each in profiles for key in per_second(each)})


def test_an_operator_that_one_profile_measured_counts_as_measured():
    lacking = Profile("test", 1.0, unmeasured=(Unmeasured("A", "why"), Unmeasured("B", "why")))
    having = Profile("test", 1.0, operators=(OperatorProfile("A", 1.0),))
    assert combined((lacking, having)).unmeasured == (Unmeasured("B", "why"),)


def test_measured_costs_of_sending_come_before_calibrated_ones():
    dear = Transport("calibrated", PassageCost(1, 1), PassageCost(1, 1))
    cheap = replace(dear, basis="measured", send=PassageCost(1e-9, 0), receive=PassageCost(1e-9, 0))
    assert combined((Profile("test", 1.0, transport=dear), Profile("test", 1.0, transport=cheap))).transport == cheap


def test_profiles_of_different_applications_are_not_combined():
    with pytest.raises(ValueError, match="these are of one, other"):
        combined((Profile("one", 1.0), Profile("other", 1.0)))
