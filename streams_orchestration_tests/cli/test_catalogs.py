from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.cli import main
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.versions import find_product_revision
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.catalog.released import (
    FIRST,
    NEXT,
    catalog_of_first_release,
    invent_next_release,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    return Home(tmp_path)


def said(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(["catalog", *arguments]) == status
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def test_catalog_show_says_where_the_catalog_is(home: Home, capsys: pytest.CaptureFixture[str]):
    nothing = said(capsys, "show")
    assert f"catalog {home.catalog} revision none: no application was ever deployed here" in nothing
    create_catalog(home)
    assert f"revision {find_product_revision()} deployed nothing" in said(capsys, "show")


def test_catalog_upgrade_upgrades_an_older_catalog_once(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    catalog_of_first_release(home)
    invent_next_release(tmp_path / "migrations", monkeypatch)
    assert f"revision {FIRST} wanted {NEXT}: `streams catalog upgrade`" in said(capsys, "show")
    assert f"was upgraded from {FIRST} ({NEXT})" in said(capsys, "upgrade")
    assert "has this version already" in said(capsys, "upgrade")


def test_there_may_be_nothing_to_upgrade(home: Home, capsys: pytest.CaptureFixture[str]):
    assert "no catalog to upgrade" in said(capsys, "upgrade", status=1)
