"""Every parameter that the standard operators have in Streams is supported, or refused with a reason."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import ValidationError

from streams_orchestration.compiler.checking.parameter_errors import ParameterError, parameter_errors
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import NAMED_FILES, STANDARD
from streams_orchestration.operators.standard.refused import refused_parameters
from streams_orchestration.spl.models.operators import standard_operator, standard_operators

MODELS = {name.rpartition("::")[2]: standard_operator(name) for name in standard_operators()}
"""The models of IBM Streams' standard operators, by their names without a namespace."""
BY_PORT = {"partitionByLHS", "partitionByRHS"}
"""Parameters of Barrier and Pair in Streams, which are one parameter here: `partitionBy`, with a list for each port."""


def supported(kind: type[Operator]) -> set[str]:
    return {field.alias or name for name, field in kind.Parameters.model_fields.items()}


@pytest.mark.parametrize("name", sorted(STANDARD.keys() & MODELS.keys()))
def test_a_parameter_of_streams_is_supported_or_refused(name: str):
    kind, model = import_operator(STANDARD[name]), MODELS[name]
    assert model is not None
    missing = model.parameters.keys() - supported(kind) - refused_parameters(kind).keys()
    assert missing == (BY_PORT if name in ("Barrier", "Pair") else set())


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_a_refused_parameter_is_not_supported_and_has_a_reason(name: str):
    kind = import_operator(STANDARD[name])
    assert not supported(kind) & refused_parameters(kind).keys()
    assert all(len(reason.split()) >= 3 for reason in refused_parameters(kind).values())


WRONG = (None, True, -1, 0, 5, 1.5, float("nan"), "x", "", [], [1], ["a"], [[]], {"a": 1}, {}, {"x": {"y": 1}})
OF_THE_LIBRARY = re.compile(r"[Ii]nput |[Ee]xtra |should |valid |permitted|None|instance|list\[|\bstr\b")
"""Words of the library that reads parameters."""


@pytest.mark.parametrize("name", [*sorted(STANDARD.values()), NAMED_FILES])
def test_a_wrong_value_is_named_in_words_of_the_product(name: str):
    kind = import_operator(name)
    for field, info in kind.Parameters.model_fields.items():
        parameter = info.alias or field
        for value in WRONG:
            texts = [error.text for error in errors_of(kind, {parameter: value})]
            assert [text for text in texts if OF_THE_LIBRARY.search(text.replace(parameter, ""))] == []


def errors_of(kind: type[Operator], parameters: dict[str, Any]) -> list[ParameterError]:
    try:
        kind.Parameters.model_validate(parameters)
    except ValidationError as error:
        return parameter_errors(kind, error)
    return []
