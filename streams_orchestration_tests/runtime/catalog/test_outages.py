"""A host while its catalog is away."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from sqlalchemy import update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog import outage, tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.outage import Outage
from streams_orchestration.runtime.errors.errors import CatalogLostError
from streams_orchestration.runtime.hosts import host as hosting
from streams_orchestration.runtime.hosts.heartbeat import Heartbeat
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.locked import deploy


class Away:
    """A catalog that cannot be used so many times, and then can; each turn of the host asks it once."""

    def __init__(self, times: int) -> None:
        self.times = times
        self.asked = 0

    def __call__(self) -> SimpleNamespace:
        self.asked += 1
        if self.asked <= self.times:
            raise CatalogLostError(*LOST)
        return SimpleNamespace(wanted="STOPPED", plan=1)


LOST = "there", "no route to it"


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 10))))
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(incarnation="mine"))
    monkeypatch.setattr(outage, "PAUSES", Pauses(0.0, 0.0))
    monkeypatch.setattr(hosting, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(Heartbeat, "start", lambda _self: None)
    return Host(home, "app", 0, "mine", IdleEngine())


def test_a_host_outlasts_it_and_goes_on(host: Host, monkeypatch: pytest.MonkeyPatch):
    away = Away(5)
    monkeypatch.setattr(host.presence, "row", away)
    assert host.run() == "STOPPED"
    assert away.asked > away.times


def test_a_host_ends_when_it_lasts(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(host.presence, "row", Away(10**9))
    host.outage = Outage(limit=0.0)
    with pytest.raises(CatalogLostError, match="no route to it"):
        host.run()


def test_a_host_that_is_told_to_end_does_not_wait_for_it(host: Host, monkeypatch: pytest.MonkeyPatch):
    away = Away(10**9)

    def told(*_: object) -> SimpleNamespace:
        host.terminated = away.asked > 3
        return away()

    monkeypatch.setattr(host.presence, "row", told)
    assert host.run() == "FAILED"


@pytest.mark.parametrize(("limit", "said"), [(30.0, "tried again for 30 s."), (float("inf"), "until it can be used.")])
def test_a_host_says_how_long_it_waits_for_the_catalog(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, limit: float, said: str
):
    monkeypatch.setattr(outage, "PAUSES", Pauses(0.0, 0.0))
    Outage(limit).wait_or_raise(CatalogLostError(*LOST))
    assert caplog.messages[0].endswith(said)
