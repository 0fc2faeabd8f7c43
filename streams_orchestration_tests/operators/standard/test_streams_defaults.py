"""The table of defaults that IBM Streams has otherwise."""

from __future__ import annotations

import pytest

from streams_orchestration.model.streams_defaults import STREAMS_DEFAULTS, Difference
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD


@pytest.mark.parametrize("difference", STREAMS_DEFAULTS, ids=lambda each: f"{each.operator} {each.here[:30]}")
def test_a_difference_is_one_of_a_default(difference: Difference):
    fields = import_operator(STANDARD[difference.operator]).Parameters.model_fields
    defaults = {info.alias or name: info.get_default(call_default_factory=True) for name, info in fields.items()}
    for name, value in difference.parameters.items():
        assert name in defaults
        assert defaults[name] != value
