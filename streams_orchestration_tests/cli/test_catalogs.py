from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.cli import main
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.migrations import migrate
from streams_orchestration.runtime.catalog.versions import NEWEST
from streams_orchestration.runtime.storage.home import Home


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    return Home(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["catalog", *arguments]) == status
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def test_it_says_where_the_catalog_is(home: Home, capsys: pytest.CaptureFixture[str]):
    nothing = said(capsys, "show")
    assert f"catalog {home.catalog} revision none: nothing was ever deployed here" in nothing
    create_catalog(home)
    assert f"revision {NEWEST} deployed nothing" in said(capsys, "show")


def test_it_upgrades_an_older_one_once(home: Home, capsys: pytest.CaptureFixture[str]):
    with Catalog(home)._transaction("create") as connection:
        migrate(connection, "0001")
    assert f"revision 0001 wanted {NEWEST}: `streams catalog upgrade`" in said(capsys, "show")
    assert "was upgraded from 0001" in said(capsys, "upgrade")
    assert "is of this version already" in said(capsys, "upgrade")


def test_there_may_be_nothing_to_upgrade(home: Home, capsys: pytest.CaptureFixture[str]):
    assert "no catalog to upgrade" in said(capsys, "upgrade", status=1)
