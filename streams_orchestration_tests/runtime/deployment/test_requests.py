"""The request that options of a command, or the config of a Dagster op, make."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.runtime.deployment.requests import (
    ContinueFromState,
    FromSavepoint,
    Redeploy,
    Request,
    RequestError,
    Revert,
    StartOver,
    build_request,
)
from streams_orchestration.runtime.deployment.run_kinds import RunKind

BOUNDED = RunKind(available_now=True)
LOST = ("New",)
MADE: list[tuple[dict[str, Any], Request]] = [
    ({}, ContinueFromState()),
    ({"savepoint": "", "run": BOUNDED}, ContinueFromState(BOUNDED)),
    ({"fresh": True, "run": BOUNDED}, StartOver(BOUNDED)),
    ({"fresh": True, "replace": True}, StartOver()),
    ({"replace": True, "drop_state": LOST, "within": 7.0}, Redeploy(LOST, 7.0)),
    ({"replace": True, "run": BOUNDED}, ContinueFromState(BOUNDED)),
    ({"replace": True, "savepoint": "noon", "drop_state": LOST}, FromSavepoint("noon", LOST)),
    ({"savepoint": "noon", "fresh": True, "run": BOUNDED}, FromSavepoint("noon", (), fresh=True, run=BOUNDED)),
    ({"revert": True, "replace": True, "drop_state": LOST, "within": 7.0}, Revert(LOST, 7.0)),
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"drop_state": LOST}, "--drop-state applies to the state of a savepoint"),
    ({"replace": True, "fresh": True, "drop_state": LOST}, "--drop-state applies"),
    ({"replace": True, "run": BOUNDED, "drop_state": LOST}, "--drop-state applies"),
    ({"revert": True, "fresh": True}, "--revert restores the previous plan"),
    ({"revert": True, "savepoint": "noon"}, "--revert restores the previous plan"),
]


@pytest.mark.parametrize(("parts", "request_"), MADE, ids=str)
def test_each_combination_of_options_makes_one_request(parts: dict[str, Any], request_: Request):
    assert build_request(**parts) == request_


@pytest.mark.parametrize(("parts", "message"), REFUSED, ids=str)
def test_options_that_exclude_one_another_are_refused(parts: dict[str, Any], message: str):
    with pytest.raises(RequestError, match=message):
        build_request(**parts)
