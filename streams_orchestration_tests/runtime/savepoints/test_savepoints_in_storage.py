"""Savepoints in an object store: whole or not there, and for every machine that has the storage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli import main
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.operators.storage.port import StorageAwayError, StorageRefusedError
from streams_orchestration.operators.storage.remote import RemoteStorage
from streams_orchestration.runtime.savepoints import creating
from streams_orchestration.runtime.savepoints.atomic_places import find_savepoint, list_savepoints, remove_savepoint
from streams_orchestration.runtime.savepoints.copying import export_savepoint, import_savepoint
from streams_orchestration.runtime.savepoints.manifest import SavepointError, read_manifest
from streams_orchestration.runtime.storage import remote_store
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import collect_garbage
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.redeployed import counts, expected_counts, run_some, visits
from streams_orchestration_tests.runtime.saved import begun, take
from streams_orchestration_tests.runtime.stored import store_in
from streams_orchestration_tests.servers.s3 import BUCKET, S3

pytestmark = pytest.mark.parametrize("s3", ["moto"], indirect=True)  # S3Proxy lists directories as objects


@pytest.fixture
def directory(s3: S3, monkeypatch: pytest.MonkeyPatch) -> str:
    return store_in(s3, monkeypatch)


@pytest.fixture
def local(directory: str, tmp_path: Path) -> LocalApplication:
    application = LocalApplication(Home(tmp_path / "home"), visits(tmp_path, 2, 3), source_limit=4)
    run_some(application, 4)
    return application


def give_up_catalog(s3: S3, directory: str) -> None:
    """Let the storage be that of another catalog, as where the first one is gone for good."""
    s3.system().delete_file(f"{BUCKET}/{directory}/installation")


def put(s3: S3, directory: str) -> list[str]:
    return [name.removeprefix(f"{directory}/") for name in s3.names(f"{directory}/savepoints")]


def test_another_machine_starts_from_it_whatever_became_of_the_application(
    s3: S3, directory: str, local: LocalApplication, tmp_path: Path
):
    created = take(local)
    assert str(created.place) == f"s3://{BUCKET}/{directory}/savepoints/app/point"
    local.run()
    collect_garbage(local.catalog, local.name, local.programs)
    before = counts(local)
    deploy(local.home, deployable(local.compilation), fresh=True)
    give_up_catalog(s3, directory)
    machine = Home(tmp_path / "machine")
    place = find_savepoint(machine, "point")
    other = begun(machine, visits(tmp_path, 2, 3), place)
    other.run()
    assert max(counts(other).values()) == max(before.values()) == max(expected_counts().values())
    assert read_manifest(place) == created.manifest
    assert not list(local.home.root.rglob("manifest.json"))


def test_the_command_line_takes_lists_shows_and_removes_it_on_any_machine(
    s3: S3, directory: str, local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):  # fmt: skip
    take(local)
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "machine"))
    for command, wanted in {"list": "app/point", "show": f"s3://{BUCKET}/{directory}/savepoints/app/point"}.items():
        assert main(["savepoint", command, *(["point"] if command == "show" else [])]) == 0
        assert wanted in capsys.readouterr().out
    assert main(["savepoint", "export", "point", str(tmp_path / "exported")]) == 0
    assert main(["savepoint", "remove", "app/point"]) == 0
    assert put(s3, directory) == []
    assert main(["savepoint", "import", str(tmp_path / "exported"), "again"]) == 0
    (again,) = list_savepoints(local.home)
    assert (again.name, find_savepoint(local.home, str(again))) == ("again", again)


class Failing:
    """Requests of one kind fail from the n-th on; of a put the file may be there all the same."""

    def __init__(self, patch: pytest.MonkeyPatch, method: str, survived: int, error: type[Exception]) -> None:
        self.left, self.error = survived, error
        patch.setattr(remote_store, "RETRY_SECONDS", 0.0)
        patch.setattr(RemoteStorage, method, self._failing(getattr(RemoteStorage, method)))

    def _failing(self, request: Callable[..., Any]) -> Callable[..., Any]:
        def call(storage: RemoteStorage, place: str, *arguments: Any) -> Any:
            self.left -= 1
            if self.left >= 0 or "/savepoints/" not in "".join([place, *map(str, arguments)]):
                return request(storage, place, *arguments)
            if self.error is StorageAwayError:
                request(storage, place, *arguments)
            message = f"{place}: it does not answer"
            raise self.error(message)

        return call


ERRORS = {StorageAwayError: "nothing is lost", StorageRefusedError: "STREAMS_STORAGE_OPTIONS, the rights"}
CASES = [
    pytest.param("put", 1, StorageAwayError, id="the manifest times out"),
    pytest.param("copy", 0, StorageRefusedError, id="a state is refused", marks=pytest.mark.deep),
    pytest.param("put", 0, StorageAwayError, id="the plan times out", marks=pytest.mark.deep),
]


@pytest.mark.parametrize(("method", "survived", "error"), CASES)
def test_a_put_that_fails_leaves_nothing_and_names_the_file_and_the_remedy(
    s3: S3, directory: str, local: LocalApplication, monkeypatch: pytest.MonkeyPatch, method: str, survived: int,
    error: type[Exception],
):  # fmt: skip
    take(local)
    whole = put(s3, directory)
    with monkeypatch.context() as patch:
        step = creating.read_cut

        def then_fail(*arguments: Any) -> Any:
            Failing(patch, method, survived, error)
            return step(*arguments)

        patch.setattr(creating, "read_cut", then_fail)
        with pytest.raises(SavepointError, match=rf"s3://{BUCKET}/{directory}/.*: it does not answer.*{ERRORS[error]}"):
            take(local, "other")
    assert put(s3, directory) == whole
    local.run()
    assert counts(local) == expected_counts()


def test_files_of_a_killed_process_are_no_savepoint_and_are_swept(
    s3: S3, directory: str, local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    take(local)
    whole = put(s3, directory)

    class KilledError(BaseException):
        """Nothing that the process would clean up is cleaned up."""

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(creating, "write_manifest", killed)
        patch.setattr(type(local.home.store), "remove_all", lambda *_: None)
        with pytest.raises(KilledError):
            take(local, "other")
    assert len(put(s3, directory)) > len(whole)
    assert [place.name for place in list_savepoints(local.home)] == ["point"]
    take(local, "third")
    assert [place.name for place in list_savepoints(local.home)] == ["point", "third"]
    assert [name for name in put(s3, directory) if "/point/" in name] == whole
    assert not [name for name in put(s3, directory) if "/other/" in name]


def test_a_name_is_taken_once_and_one_that_is_removed_is_free(
    s3: S3, directory: str, local: LocalApplication, tmp_path: Path
):
    take(local)
    with pytest.raises(SavepointError, match="app has a savepoint point already"):
        take(local)
    export_savepoint(local.home, "point", tmp_path / "exported")
    assert import_savepoint(local.home, tmp_path / "exported").new is False
    assert remove_savepoint(local.home, "point") == "app/point"
    take(local)


def test_a_damaged_file_is_named_by_its_address(s3: S3, directory: str, local: LocalApplication, tmp_path: Path):
    place = take(local).place
    damaged = next(name for name in put(s3, directory) if name.endswith(".state"))
    s3.put(f"{directory}/{damaged}", b"x")
    give_up_catalog(s3, directory)
    with pytest.raises(SavepointError, match=rf"s3://{BUCKET}/{directory}/{damaged} is damaged: it has 1 of \d+ bytes"):
        begun(Home(tmp_path / "other"), visits(tmp_path, 2, 3), place)


def test_a_storage_that_is_not_there_is_named(directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_STORAGE", "s3://nowhere/streams")
    with pytest.raises(
        SavepointError, match=r"s3://nowhere/streams/savepoints.*no bucket or container nowhere.*Correct"
    ):
        list(list_savepoints(Home(tmp_path)))
