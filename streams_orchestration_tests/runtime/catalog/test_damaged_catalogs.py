"""A catalog file whose bytes are not those that were written is named, whoever reads it, with what to do."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration import world
from streams_orchestration.cli import main
from streams_orchestration.runtime.catalog import sqlite
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.sqlite import SqliteDatabase
from streams_orchestration.runtime.errors.errors import CatalogDamagedError, CatalogError, CatalogUnavailableError
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.local import LocalApplication

REMEDY = "replace it by an earlier copy"


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state directory with an application that has run, whose catalog is in one file."""
    directory = tmp_path_factory.mktemp("deployed")
    application = LocalApplication(Home(directory / "home"), totals(write_rows(directory / "rows.parquet", 300)), 25)
    application.run()
    application.catalog.close()
    connection = sqlite3.connect(directory / "home" / "catalog.db")
    assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
    connection.close()
    return directory / "home"


@pytest.fixture
def home(deployed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    shutil.copytree(deployed, tmp_path / "home", ignore=shutil.ignore_patterns("catalog.db-*"))
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))
    return Home(tmp_path / "home")


def put(home: Home, content: bytes) -> None:
    """Put other bytes in the place of the catalog."""
    for path in home.root.glob("catalog.db-*"):
        path.unlink()
    home.catalog.write_bytes(content)


def with_page(content: bytes, page: int, fill: bytes) -> bytes:
    return content[: page * 4096] + fill.ljust(4096, b"\xa5") + content[(page + 1) * 4096 :]


PAGE = "a page of other bytes"
CONTENTS: dict[str, Callable[[bytes], bytes]] = {
    "no database": lambda _: b"my diary, " * 1000,
    "no bytes": lambda _: b"",
    "its first page": lambda content: content[:4096],
    "its first bytes": lambda content: content[:50],
    "half of it": lambda content: content[: len(content) // 8192 * 4096],
    PAGE: lambda content: with_page(content, 1, b""),
}
COMMANDS = (["status"], ["status", "app"], ["cancel", "app"], ["top"], ["machines"])


@pytest.mark.covering
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("content", [each for each in CONTENTS if each != PAGE])
def test_every_command_names_the_file_and_what_to_do(
    home: Home, content: str, command: list[str], capfd: pytest.CaptureFixture[str]
):
    put(home, CONTENTS[content](home.catalog.read_bytes()))
    status, said = main(command), capfd.readouterr().err
    assert status == 1
    assert f"{home.catalog}: the catalog is damaged: " in " ".join(said.split())
    assert REMEDY in " ".join(said.split())
    assert "not expected" not in said


@pytest.mark.parametrize("content", CONTENTS)
def test_nothing_is_deployed_on_a_damaged_catalog(home: Home, content: str):
    put(home, CONTENTS[content](home.catalog.read_bytes()))
    with pytest.raises(CatalogDamagedError, match=REMEDY):
        create_catalog(home)


@pytest.mark.parametrize("content", [each for each in CONTENTS if each != "no bytes"])
def test_a_host_ends_with_the_reason_before_it_does_anything(home: Home, content: str):
    put(home, CONTENTS[content](home.catalog.read_bytes()))
    with pytest.raises(CatalogDamagedError, match=REMEDY):
        Host(home, "app", 0, "incarnation", IdleEngine())


def test_a_directory_in_the_place_of_the_catalog_is_named_and_not_waited_for(tmp_path: Path):
    home = Home(tmp_path / "home")
    home.catalog.mkdir(parents=True)
    with pytest.raises(CatalogError, match="this is a directory") as raised, Catalog(home).read():
        pass
    assert not isinstance(raised.value, CatalogUnavailableError)


VALUES = {
    "no JSON": (b'{"k"', "a value is not JSON"),
    "no text": (b"\xff\xfe", "Could not decode to UTF-8 column 'settings'"),
}


@pytest.mark.parametrize("value", VALUES)
def test_a_value_that_nobody_has_written_is_not_shown(home: Home, value: str, capfd: pytest.CaptureFixture[str]):
    written, said = VALUES[value]
    with sqlite3.connect(home.catalog) as connection:
        connection.execute("UPDATE application SET settings = CAST(? AS TEXT)", (written + b"s3cret",))
    connection.close()
    assert main(["cancel", "app"]) == 1
    err = " ".join(capfd.readouterr().err.split())
    assert f"the catalog is damaged: {said}" in err
    assert "s3cret" not in err


def test_an_index_that_hides_a_row_is_found_behind_the_error_that_it_leads_to(home: Home):
    with sqlite3.connect(home.catalog) as connection:
        connection.execute("PRAGMA writable_schema = 1")
        other = "(SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_epoch_1')"
        connection.execute(f"UPDATE sqlite_master SET rootpage = {other} WHERE name = 'sqlite_autoindex_unit_1'")
    connection.close()
    with pytest.raises(CatalogDamagedError, match="index"), Catalog(home).read():
        _ = {}["region-0"]


def test_an_error_on_a_sound_catalog_stays_as_it_is(home: Home):
    with pytest.raises(KeyError, match="region-0"), Catalog(home).read():
        _ = {}["region-0"]


def test_reading_the_status_does_not_look_for_damage(home: Home, monkeypatch: pytest.MonkeyPatch):
    checks: list[str] = []
    monkeypatch.setattr(SqliteDatabase, "damage", lambda *_, **__: checks.append("check"))
    assert main(["status", "app"]) == 0
    assert checks == []


@pytest.mark.slow
@given(at=st.integers(0, 1 << 30), flipped=st.binary(min_size=1, max_size=300))
@examples(20)
def test_flipped_bytes_never_lead_to_an_error_that_is_not_expected(
    deployed: Path, tmp_path_factory: pytest.TempPathFactory, at: int, flipped: bytes
):
    home = Home(tmp_path_factory.mktemp("flipped") / "home")
    home.root.mkdir()
    (home.root / "data").symlink_to(deployed / "data")
    content = bytearray((deployed / "catalog.db").read_bytes())
    at %= len(content) - len(flipped)
    content[at : at + len(flipped)] = flipped
    home.catalog.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STREAMS_HOME", str(home.root))
        patch.setenv("STREAMS_TRACEBACK", "0")
        for command in COMMANDS[:3]:
            document = home.root / "said"
            with patch.context() as quiet, document.open("w") as said:
                quiet.setattr(sys, "stderr", said)
                quiet.setattr(sys, "stdout", said)
                status = main(command)
            assert status in (0, 1)
            assert "not expected" not in document.read_text()


def test_a_check_for_damage_that_takes_too_long_gives_the_findings_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "catalog.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (a)")
        connection.executemany(
            "INSERT INTO t VALUES (?)", ((None if row in (10, 900) else row,) for row in range(1000))
        )
        connection.execute("PRAGMA writable_schema = 1")
        connection.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE t (a NOT NULL)'")
        connection.commit()
    monkeypatch.setattr(sqlite, "CHECK_STEPS", 50)
    found: list[str | None] = []
    for seconds in (0.0, 20.0, 1e9):
        ticks = count()
        monkeypatch.setattr(sqlite, "CHECK_SECONDS", seconds)
        monkeypatch.setattr(world, "monotonic", lambda ticks=ticks: float(next(ticks)))
        found.append(SqliteDatabase(path, 1.0).damage())
    assert found == [None, "NULL value in t.a", "NULL value in t.a; NULL value in t.a"]
