"""A host writes down that it does not reach the storage, once, and that it does again."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import CatalogLostError
from streams_orchestration.runtime.hosts.storage_watch import StorageWatch
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.storage.stores import store_at
from streams_orchestration_tests.runtime.stored import options_of
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.servers.s3 import BUCKET, S3

AWAY = "here", "gone"


class Reports:
    """The reports that a host has written into its row; the catalog may be away."""

    def __init__(self) -> None:
        self.all: list[tuple[str | None, float | None]] = []
        self.away = False

    def __call__(self, error: str | None, since: float | None) -> None:
        if self.away:
            raise CatalogLostError(*AWAY)
        self.all.append((error, since))


def remote(tmp_path: Path, place: str, options: str) -> Store:
    return store_at(tmp_path / "home", place, options)


def nobody(tmp_path: Path, _: S3) -> tuple[Store, str]:
    endpoint = f"http://127.0.0.1:{free_port()}"
    store = remote(tmp_path, "s3://bucket/p", f"endpoint={endpoint} region=us-east-1 anonymous=True")
    return store, rf"s3://bucket/p \(endpoint {endpoint}\): cannot be reached: .*nothing is lost"


def no_bucket(tmp_path: Path, s3: S3) -> tuple[Store, str]:
    return remote(tmp_path, "s3://nowhere/p", options_of(s3)), r"endpoint http.*no bucket or container nowhere.*Correct"


def not_mounted(tmp_path: Path, _: S3) -> tuple[Store, str]:
    return remote(tmp_path, str(tmp_path / "mounted"), ""), "mounted: this directory does not exist. Check that it"


CASES: list[Callable[[Path, S3], tuple[Store, str]]] = [nobody, no_bucket, not_mounted]


@pytest.mark.usefixtures("one_attempt")
@pytest.mark.parametrize("s3", ["moto"], indirect=True)
@pytest.mark.parametrize("case", CASES)
def test_a_storage_that_is_away_is_named_once_and_since_when(
    case: Callable[[Path, S3], tuple[Store, str]], s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store, message = case(tmp_path, s3)
    times = iter([1000.0, 2000.0])
    monkeypatch.setattr(clock, "now", lambda: next(times))
    reports = Reports()
    watch = StorageWatch(store, reports)
    watch.check_storage()
    watch.check_storage()
    ((error, since), *again) = reports.all
    assert since == 1000.0
    assert not again or again[0][1] == since, "the words of a library may differ, not the time"
    assert error is not None and re.search(message, error)


def test_a_storage_that_is_back_is_reported_and_the_next_outage_counts_from_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    times = iter([1000.0, 2000.0])
    monkeypatch.setattr(clock, "now", lambda: next(times))
    mounted, reports = tmp_path / "mounted", Reports()
    watch = StorageWatch(store_at(tmp_path / "home", str(mounted), ""), reports)
    for there in (True, False, True, False):
        mounted.mkdir() if there else mounted.rmdir() if mounted.exists() else None
        watch.check_storage()
    assert [since for _, since in reports.all] == [None, 1000.0, None, 2000.0]


def test_a_report_is_repeated_if_the_catalog_was_away(tmp_path: Path):
    reports = Reports()
    watch = StorageWatch(store_at(tmp_path / "home", str(tmp_path / "mounted"), ""), reports)
    reports.away = True
    watch.check_storage()
    reports.away = False
    watch.check_storage()
    ((error, since),) = reports.all
    assert error is not None and since is not None


def test_a_reachable_store_is(s3: S3, tmp_path: Path):
    reports = Reports()
    store = remote(tmp_path, f"s3://{BUCKET}/p", options_of(s3))
    StorageWatch(store, reports).check_storage()
    assert reports.all == [(None, None)]
