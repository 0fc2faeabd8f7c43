"""Settings are checked before anything starts, and belong to the deployment."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import NotDeployableError, StreamsRuntimeError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.processes.processes import process_started
from streams_orchestration.runtime.settings.settings import SettingError, Settings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.runtime import locked
from streams_orchestration_tests.runtime.applications import totals, write_rows

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setenv("STREAMS_SOURCE_LIMIT", "7")
    home = Home(tmp_path / "home")
    locked.deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3))))
    return home


def application(home: Home) -> str:
    return list_applications(Catalog(home))[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("STREAMS_SOURCE_LIMIT", "abc"),
        ("STREAMS_SOURCE_LIMIT", "0"),
        ("STREAMS_SOURCE_LIMIT", "-5"),
        ("STREAMS_DRIVER_MEMORY", "lots"),
        ("STREAMS_DRIVER_MEMORY", "2"),
        ("STREAMS_COMPRESSION", "gzip"),
        ("STREAMS_METRICS", "no"),
        ("STREAMS_HANG_LIMIT", "15s"),
        ("STREAMS_MASTER", "north:7077"),
        ("STREAMS_MASTER", "mesos://north"),
        ("STREAMS_MASTER", "gpu= yarn"),
        ("STREAMS_SPARK_CONF", "/no/such/file"),
        ("STREAMS_SAMPLES", "101"),
        ("STREAMS_SAMPLES", "-1"),
        ("STREAMS_SAMPLE_MASK", "iban,card"),
        ("STREAMS_LOG_SIZE", "64 MB"),
        ("STREAMS_LOG_SIZE", "-1"),
    ],
)
def test_a_bad_one_is_named_with_its_value(name: str, value: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingError, match=f"{name}={value}"):
        Settings.from_environment()


def test_a_master_with_a_password_is_refused_without_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_MASTER", "gpu=k8s://https://me:planted@north:6443")
    with pytest.raises(SettingError, match="an address without a user and password") as error:
        Settings.from_environment()
    assert "planted" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "size"), [("", 64 << 20), ("0", 0), ("4096", 4096), ("10k", 10 << 10), ("2G", 2 << 30)]
)
def test_the_size_of_logs_is_in_bytes_or_has_a_unit(text: str, size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_LOG_SIZE", text)
    assert Settings.from_environment().log_size == size


def test_settings_are_kept_with_the_deployment(home: Home, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("STREAMS_SOURCE_LIMIT")
    with Catalog(home).read() as connection:
        kept = Settings(**connection.scalars(select(tables.application.c.settings)).one())
    assert kept == Settings(source_limit=7)


def test_a_bad_one_leaves_what_is_deployed_alone(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_DRIVER_MEMORY", "lots")
    with pytest.raises(SettingError):
        locked.deploy(home, deployable(totals(tmp_path / "rows.parquet")), fresh=True)
    assert list_applications(Catalog(home))


def test_a_fresh_deployment_of_a_running_application_is_refused(home: Home, tmp_path: Path):
    this = process_of_this_test()
    with Catalog(home).write() as connection:
        connection.execute(update(tables.host).values(pid=this[0], process_started=this[1], state="RUNNING"))
    with pytest.raises(NotDeployableError, match="is running"):
        locked.deploy(home, deployable(totals(tmp_path / "rows.parquet")), fresh=True)


def test_a_stopped_application_is_not_reset(home: Home):
    cancel_application(Catalog(home), application(home), 1.0)
    before = read_status(Catalog(home), application(home))
    with pytest.raises(StreamsRuntimeError, match="is stopped; run or deploy it again"):
        reset_unit(Catalog(home), application(home), before.units[0].name, force=True)
    assert read_status(Catalog(home), application(home)) == before


def process_of_this_test() -> tuple[int, float]:
    started = process_started(os.getpid())
    assert started is not None
    return os.getpid(), started
