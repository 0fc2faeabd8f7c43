"""A process with which hosts would end starts none, whichever function it calls, and changes nothing before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.deployment.control import launch_hosts
from streams_orchestration.runtime.deployment.lasting_hosts import ShortLivedProcessError
from streams_orchestration.runtime.deployment.requests import FromSavepoint, Redeploy, Request, StartOver
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.machines.agent import Agent, Machine
from streams_orchestration.runtime.machines.standbys import Standbys
from streams_orchestration.runtime.rollout.reverting import end_trial_by_hand
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy_plan
from streams_orchestration_tests.runtime.running import FakeHosts

REASON = "this run may have a container of its own"


def asked(request: Request) -> Callable[[Catalog, LocalApplication], object]:
    return lambda catalog, local: deploy_plan(catalog.home, deployable(local.compilation), request)


STARTS: dict[str, Callable[[Catalog, LocalApplication], object]] = {
    "launch": lambda catalog, local: launch_hosts(catalog, local.name),
    "reset": lambda catalog, local: reset_unit(catalog, local.name, local.units[0], force=True),
    "revert": lambda catalog, local: end_trial_by_hand(catalog, local.name),
    "redeploy": asked(Redeploy()),
    "start over": asked(StartOver()),
    "savepoint": asked(FromSavepoint("noon", fresh=True)),
}


@pytest.fixture
def local(tmp_path: Path, hosts: FakeHosts) -> LocalApplication:
    return LocalApplication(Home(tmp_path / "home"), totals(write_rows(tmp_path / "rows.parquet", 5)), 5)


@pytest.fixture
def short_lived(local: LocalApplication) -> Catalog:
    """The catalog as a process has it with which hosts would end."""
    return Catalog(replace(local.home, short_lived=REASON))


def rows_of(catalog: Catalog) -> list[Any]:
    with catalog.read() as connection:
        parts = (tables.application, tables.unit, tables.pe, tables.host)
        return [connection.execute(select(table)).all() for table in parts]


@pytest.mark.parametrize("start", STARTS)
def test_without_machines_nothing_is_changed(
    local: LocalApplication, short_lived: Catalog, hosts: FakeHosts, start: str
):
    before = rows_of(local.catalog)
    with pytest.raises(ShortLivedProcessError, match=rf"^no host of {local.name} is started: {REASON}, and hosts"):
        STARTS[start](short_lived, local)
    assert (hosts.launched, rows_of(local.catalog)) == ([], before)


def test_no_host_is_claimed_if_the_last_machine_has_left_since_the_check(
    local: LocalApplication, short_lived: Catalog, hosts: FakeHosts, monkeypatch: pytest.MonkeyPatch
):
    before = rows_of(local.catalog)
    monkeypatch.setattr(control, "require_lasting_hosts", lambda *_: None)
    with pytest.raises(ShortLivedProcessError):
        launch_hosts(short_lived, local.name)
    assert (hosts.launched, rows_of(local.catalog)) == ([], before)


def test_agents_start_hosts(local: LocalApplication, short_lived: Catalog, hosts: FakeHosts):
    home = local.home
    Agent(home, Machine("north", (), 2), Standbys(home, "north", 0, EngineSettings())).register()
    assert launch_hosts(short_lived, local.name) == ("host 0 on north",)
    assert hosts.launched == []
