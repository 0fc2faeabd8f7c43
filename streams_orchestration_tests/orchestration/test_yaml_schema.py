from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from streams_orchestration.orchestration import StreamsApplicationComponent

SCHEMA = StreamsApplicationComponent.model().model_json_schema()

ACCEPTED: list[dict[str, Any]] = [
    {},
    {"fusion": "legacy", "pes": 3, "gain": 1.5, "strict": True},
    {"fusion": "{{ env.FUSION }}", "pes": "{{ env.PES }}", "strict": "{% if env.CI %}true{% endif %}"},
    {"rescale": {"most": 4, "pause": "{{ env.PAUSE }}"}, "widths": {"Even": 3}, "submission": {"width": "2"}},
    {"home": "{{ env.HOME }}", "timezone": "Europe/Berlin", "redeploy": None, "translation": {"key_prefix": "plant"}},
    {"resource": {"home": "here"}, "resource_key": "orders"},
]
REFUSED: list[dict[str, Any]] = [
    {"fusion": "legac"},
    {"pes": "three"},
    {"pe_capacity": "half"},
    {"gain": "1,5"},
    {"strict": "yes"},
    {"rescale": {"maks": 3}},
    {"rescale": {"most": "four"}},
    {"rescale": "often"},
    {"widths": "wide"},
    {"widths": {"Even": "three"}},
    {"submission": "width=2"},
    {"resource": {"hom": "here"}},
    {"translation": {"key_prefx": "plant"}},
    {"timezon": "Europe/Berlin"},
]


def faults(attributes: dict[str, Any]) -> list[str]:
    """Return the errors that `dg check yaml` would find."""
    found = Draft202012Validator(SCHEMA).iter_errors({"spec": "application.yaml", **attributes})
    return [each.message for each in found]


@pytest.mark.parametrize("attributes", ACCEPTED, ids=str)
def test_an_attribute_may_be_a_value_of_its_type_or_a_template(attributes: dict[str, Any]):
    assert faults(attributes) == []


@pytest.mark.parametrize("attributes", REFUSED, ids=str)
def test_an_attribute_of_another_type_is_refused(attributes: dict[str, Any]):
    assert faults(attributes) != []


def test_each_attribute_is_described():
    assert [name for name, schema in SCHEMA["properties"].items() if not schema.get("description")] == []
