"""Files by their addresses: in the state directory, in a mounted one, in an object store."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams_orchestration.operators.storage.port import StorageAwayError, StorageRefusedError
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.errors.errors import StorageSettingError
from streams_orchestration.runtime.storage import remote_store
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.remote_store import AWAY, REFUSED
from streams_orchestration.runtime.storage.store import HERE, Store, StoreError, remove_files
from streams_orchestration.runtime.storage.stores import store_at
from streams_orchestration_tests.runtime.stored import options_of
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.servers.s3 import BUCKET, S3
from streams_orchestration_tests.stepped_clock import SteppedClock


@pytest.fixture
def remote(s3: S3, tmp_path: Path) -> Store:
    return store_at(tmp_path / "home", f"s3://{BUCKET}/{uuid.uuid4().hex}/below", options_of(s3))


@pytest.fixture(params=["local", "mounted"])
def near(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return store_at(tmp_path / "home", str(tmp_path / "mounted") if request.param == "mounted" else "", "")


def both(test: Callable[[Store, Path], None]) -> tuple[Callable[..., None], Callable[..., None]]:
    """Return a test with files of this machine, and the same with an object store."""

    def here(near: Store, tmp_path: Path) -> None:
        test(near, tmp_path)

    @pytest.mark.parametrize("s3", ["moto"], indirect=True)  # S3Proxy lists directories as objects
    def there(remote: Store, tmp_path: Path) -> None:
        test(remote, tmp_path)

    return here, there


def a_file_is_there_by_its_address_until_it_is_removed(store: Store, tmp_path: Path):
    store.write("data/app/a/one", b"1")
    store.write("data/app/b/two", b"22")
    assert (store.read("data/app/a/one"), store.size("data/app/b/two")) == (b"1", 2)
    assert store.below("data/app") == ["data/app/a/one", "data/app/b/two"]
    assert store.sizes("data/app") in (None, {"data/app/a/one": 1, "data/app/b/two": 2})
    assert remove_files(store, ["data/app/a/one", "data/app/a/never"]) == 2
    with pytest.raises(FileNotFoundError, match="No such file") as missing:
        store.read("data/app/a/one")
    assert "one" in str(missing.value.filename)
    store.remove_all("data/app")
    assert store.below("data/app") == []


def a_file_of_this_machine_stays_here(store: Store, tmp_path: Path):
    store.write(f"{HERE}data/one", b"1")
    assert (tmp_path / "home/data/one").read_bytes() == store.read(f"{HERE}data/one") == b"1"
    assert store.below(f"{HERE}data") == [f"{HERE}data/one"]
    assert store.below("data") == ([f"{HERE}data/one"] if store.address else ["data/one"])
    assert store.size(str(tmp_path / "home/data/one")) == 1, "an absolute path is one of this machine"


def a_file_comes_and_goes_with_all_its_bytes(store: Store, tmp_path: Path):
    (tmp_path / "home").mkdir(exist_ok=True)
    (tmp_path / "home/first").write_bytes(b"x" * 10_000)
    store.keep(tmp_path / "home/first", "states/kept")
    (tmp_path / "home/first").unlink()
    store.fetch("states/kept", tmp_path / "home/back")
    store.remove("states/kept")
    assert (tmp_path / "home/back").read_bytes() == b"x" * 10_000


def a_place_that_can_be_used_is_proved_and_left_as_it_was(store: Store, _: Path):
    store.check()
    assert store.below("") == []


test_files_near, test_files_there = both(a_file_is_there_by_its_address_until_it_is_removed)
test_files_of_this_machine_near, test_files_of_this_machine_there = both(a_file_of_this_machine_stays_here)
test_bytes_near, test_bytes_there = both(a_file_comes_and_goes_with_all_its_bytes)
test_proof_near, test_proof_there = both(a_place_that_can_be_used_is_proved_and_left_as_it_was)


def test_a_directory_that_is_removed_during_a_search_is_passed_over(near: Store, monkeypatch: pytest.MonkeyPatch):
    for name in ("kept", "removed"):
        near.write(f"data/{name}/file", b"1")
    scandir, removed = os.scandir, Path(near.root, "data", "removed")

    def removing(place: str) -> object:
        if Path(place) == removed and removed.exists():
            (removed / "file").unlink()
            removed.rmdir()
        return scandir(place)

    monkeypatch.setattr(os, "scandir", removing)
    assert near.below("data") == ["data/kept/file"]


@pytest.mark.slow
@pytest.mark.usefixtures("one_attempt")
def test_a_storage_that_is_away_is_tried_again_and_then_named(
    tmp_path: Path, stepped_sleep: SteppedClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(remote_store, "RETRY_SECONDS", 0.35)
    options = f"endpoint=http://127.0.0.1:{free_port()} region=us-east-1 anonymous=True"
    store = store_at(tmp_path, "s3://bucket/p", options)
    with pytest.raises(StoreError, match=r"s3://bucket/p/data/x: cannot be reached: .*nothing is lost") as error:
        store.write("data/x", b"1")
    assert error.value.strerror == str(error.value)
    assert stepped_sleep.pauses == [0.1, 0.2]
    stepped_sleep.pauses.clear()
    with pytest.raises(StoreError, match="cannot be reached"):
        store.hasty().size("data/x")
    assert remove_files(store, ["data/x", "data/y"]) == 0
    assert not stepped_sleep.pauses, "what a host does beside its work waits for nothing"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StorageRefusedError("refused: no", "s3://b/p/.none"), f"s3://b/p (endpoint http://x): refused: no. {REFUSED}"),
        (StorageAwayError("away: no", "s3://b/p/.none"), f"s3://b/p (endpoint http://x): away: no. {AWAY}"),
        (StorageRefusedError("S3: is not set"), f"s3://b/p (endpoint http://x): S3: is not set. {REFUSED}"),
    ],
)
def test_a_storage_that_cannot_be_used_at_the_start_is_named_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
):
    def listed(_address: str) -> None:
        raise error

    monkeypatch.setattr(remote_store, "remote_storage", lambda *_, **__: SimpleNamespace(listed=listed))
    with pytest.raises(StoreError) as raised:
        store_at(tmp_path, "s3://b/p", "endpoint=http://x region=r anonymous=True").reach()
    assert str(raised.value) == message


@dataclass(frozen=True)
class Unreliable(Store):
    """A store that loses the answers to some removals, each after some seconds."""

    lost: tuple[int, ...] = ()
    """The numbers of these removals."""
    seconds: float = 0.0
    clock: SteppedClock = field(default_factory=SteppedClock)
    asked: list[str] = field(default_factory=list[str])

    def remove(self, address: str) -> None:
        self.asked.append(address)
        super().remove(address)
        if len(self.asked) - 1 in self.lost:
            self.clock.now += self.seconds
            message = "the connection was lost before the answer came"
            raise StoreError(message)


@pytest.mark.parametrize(
    ("lost", "seconds", "asked", "gone"),
    [
        pytest.param((0, 1, 4), 0.0, 9, 6, id="lost answers here and there"),
        pytest.param(range(5), 0.0, 5, 0, id="a storage that refuses everything"),
        pytest.param(range(1, 9), 0.0, 6, 1, id="a storage that is away from then on"),
        pytest.param((2,), 5.0, 3, 2, id="a storage that lets wait"),
    ],
)
def test_a_lost_answer_skips_one_removal_and_a_storage_that_is_away_skips_the_rest(
    lost: Iterable[int],
    seconds: float,
    asked: int,
    gone: int,
    tmp_path: Path,
    stepped: SteppedClock,
    caplog: pytest.LogCaptureFixture,
):
    store = Unreliable(str(tmp_path), str(tmp_path), tuple(lost), seconds, stepped)
    names = [f"data/{number}" for number in range(9)]
    for name in names:
        store.write(name, b"1")
    assert remove_files(store, names) == gone
    assert store.asked == names[:asked]
    assert ("and other files" in caplog.text) == (asked < len(names))


@pytest.mark.parametrize(
    ("place", "options", "wanted"),
    [
        ("relative/path", "", "STREAMS_STORAGE=relative/path: an absolute path"),
        ("/mounted", "region=x", "an absolute path, without options"),
        ("", "region=x", "STREAMS_STORAGE_OPTIONS is set and STREAMS_STORAGE is not"),
        ("s4://bucket/a", "", "this kind of storage is not known"),
        ("s3://bucket/a", "region", "options are written like"),
        ("s3://bucket/a", "secretKey=planted", "it contains a secret"),
        ("s3://bucket/a", "regoin=x", "Extra inputs"),
        ("gs://bucket/a", "region=x", "region cannot be combined with gs://"),
    ],
)
def test_wrong_storage_settings_are_refused_without_their_secrets(
    place: str, options: str, wanted: str, tmp_path: Path
):
    with pytest.raises(StorageSettingError, match=wanted) as error:
        store_at(tmp_path, place, options)
    assert "planted" not in str(error.value)


def test_a_storage_that_holds_the_files_of_another_catalog_is_refused_until_its_mark_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "mounted"
    monkeypatch.setenv("STREAMS_STORAGE", str(place))
    for _ in range(2):
        create_catalog(Home(tmp_path / "production"))
    with pytest.raises(StorageSettingError, match=f"{place} holds the files of another catalog") as error:
        create_catalog(Home(tmp_path / "test"))
    assert f"remove {place}/installation" in str(error.value)
    (place / "installation").unlink()
    create_catalog(Home(tmp_path / "test"))


def test_a_deployment_names_a_storage_that_refuses(s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_STORAGE", "s3://no-such-bucket/p")
    monkeypatch.setenv("STREAMS_STORAGE_OPTIONS", options_of(s3))
    with pytest.raises(StorageSettingError, match=r"STREAMS_STORAGE: s3://no-such-bucket/p cannot be used: .*bucket"):
        create_catalog(Home(tmp_path))
