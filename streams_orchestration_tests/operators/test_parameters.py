"""Every parameter that the standard operators have in Streams is supported, or refused with a reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD

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
