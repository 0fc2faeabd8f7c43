"""Every parameter that the standard operators have in Streams is supported, or refused with a reason."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.implementation import import_operator
from streams_orchestration.operators.parameter_errors import ParameterError, parameter_errors
from streams_orchestration.operators.standard import STANDARD, WITH_INPUTS

TABLE: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent.parent / "cases" / "parameters.yaml").read_text()
)


def flat(names: list[Any]) -> set[str]:
    return {name for part in names for name in (part if isinstance(part, list) else [part])}


def supported(kind: type[Operator]) -> set[str]:
    return {field.alias or name for name, field in kind.Parameters.model_fields.items()}


def test_the_table_has_all_operators_that_run():
    assert TABLE.keys() == STANDARD.keys()


@pytest.mark.parametrize("name", sorted(STANDARD))
def test_a_parameter_of_streams_is_supported_or_refused_with_a_reason(name: str):
    kind, known = import_operator(STANDARD[name]), flat(TABLE[name]["streams"])
    refused = set(kind.unsupported)
    assert not supported(kind) & refused
    assert supported(kind) - flat(TABLE[name]["own"]) | refused == known
    assert all(len(reason.split()) >= 3 for reason in kind.unsupported.values())


WRONG = (None, True, -1, 0, 5, 1.5, float("nan"), "x", "", [], [1], ["a"], [[]], {"a": 1}, {}, {"x": {"y": 1}})
OF_THE_LIBRARY = re.compile(r"[Ii]nput |[Ee]xtra |should |valid |permitted|None|instance|list\[|\bstr\b")
"""Words of the library that reads parameters."""


@pytest.mark.parametrize("name", sorted({**STANDARD, **WITH_INPUTS}))
def test_a_wrong_value_is_named_in_words_of_the_product(name: str):
    kinds = [import_operator(names[name]) for names in (STANDARD, WITH_INPUTS) if name in names]
    for kind in kinds:
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
