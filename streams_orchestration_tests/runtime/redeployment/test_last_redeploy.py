"""The last redeploy of an application, as `streams status` shows it."""

from __future__ import annotations

import pytest
from sqlalchemy import update

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.observing.last_redeploy import read_last_redeploy
from streams_orchestration.runtime.rollout.reverting import BY_HAND, end_trial_by_hand
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import begin, decided, run_some

pytestmark = pytest.mark.slow

CHANGES = "Counted has width 2, and the new width is 3"


def test_a_redeploy_is_read_with_its_changes_on_trial_and_afterwards(local: LocalApplication):
    assert read_last_redeploy(local.catalog, local.name) is None
    assert read_last_redeploy(local.catalog, "other") is None
    begin(local)
    redeployed = read_last_redeploy(local.catalog, local.name)
    assert redeployed is not None
    assert (redeployed.state, redeployed.changes, redeployed.ended_at) == ("OPEN", CHANGES, None)
    decided(local)
    redeployed = read_last_redeploy(local.catalog, local.name)
    assert redeployed is not None
    assert (redeployed.state, redeployed.changes, redeployed.cause) == ("PASSED", CHANGES, None)
    assert redeployed.ended_at is not None
    assert redeployed.pause_seconds is not None
    with local.catalog.write() as connection:  # as another version of the product has written it
        connection.execute(update(tables.trial).values(earlier=b"{}"))
    redeployed = read_last_redeploy(local.catalog, local.name)
    assert redeployed is not None
    assert redeployed.changes is None


def test_a_reverted_redeploy_is_read_with_its_cause(local: LocalApplication):
    begin(local)
    run_some(local, 1)
    end_trial_by_hand(local.catalog, local.name)
    redeployed = read_last_redeploy(local.catalog, local.name)
    assert redeployed is not None
    assert (redeployed.state, redeployed.cause, redeployed.changes) == ("REVERTED", BY_HAND, None)
