"""Savepoints from which nothing begins, and why; what is there stays as it is."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.redeployment import state_migration
from streams_orchestration.runtime.redeployment.deployed_plan import DropStateError
from streams_orchestration.runtime.savepoints import restoring
from streams_orchestration.runtime.savepoints.atomic_places import find_savepoint, list_savepoints, local_place
from streams_orchestration.runtime.savepoints.copying import export_savepoint, import_savepoint
from streams_orchestration.runtime.savepoints.manifest import MANIFEST, SavepointError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.units.reading import list_applications
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import restore
from streams_orchestration_tests.runtime.redeployed import COUNT, kept_of, run_some, visits
from streams_orchestration_tests.runtime.saved import begun, take


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def taken(directory: Path) -> LocalApplication:
    """An application that runs, with the savepoint `point`."""
    local = LocalApplication(Home(directory / "home"), visits(directory, 2, 3), source_limit=4)
    run_some(local, 4)
    take(local)
    return local


@pytest.fixture
def exported(taken: LocalApplication, tmp_path: Path) -> Path:
    export_savepoint(taken.home, "point", tmp_path / "exported")
    return tmp_path / "exported"


def edit(directory: Path, *, sealed: bool = True, **changes: Any) -> None:
    """Write other values into the manifest, with a checksum that fits or not."""
    path = directory / MANIFEST
    content = json.loads(path.read_text()) | changes
    if sealed:
        del content["checksum"]
        content["checksum"] = zlib.crc32(json.dumps(content, sort_keys=True).encode())
    path.write_text(json.dumps(content))


def state_of(directory: Path) -> Path:
    return sorted((directory / "states").iterdir())[0]


def replaced(path: Path) -> Path:
    """Return the path of a file that has another name now."""
    path.rename(path.parent / "kept")
    return path


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening, contextlib.chdir(path.parent):
        listening.bind(path.name)


def plan_of(directory: Path, content: bytes) -> None:
    edit(directory, plan={"name": "plan.json", "size": len(content), "checksum": zlib.crc32(content)})
    (directory / "plan.json").write_bytes(content)


Change = Callable[[Path], object]
DAMAGES: dict[str, tuple[Change, str]] = {
    "no manifest": (lambda d: (d / MANIFEST).unlink(), "is not a savepoint: it has no manifest.json"),
    "no JSON": (lambda d: (d / MANIFEST).write_text("{"), "manifest.json is damaged: it is not a JSON document"),
    "a list": (lambda d: (d / MANIFEST).write_text("[]"), "is not a savepoint: its manifest.json has no schemaVersion"),
    "edited": (lambda d: edit(d, sealed=False, epoch=99), "manifest.json is damaged: it was altered"),
    "other values": (lambda d: edit(d, epoch="many"), "manifest.json is damaged: 1 of its values"),
    "a path": (
        lambda d: edit(d, plan={"name": "../plan.json", "size": 1, "checksum": 1}),
        "manifest.json is damaged: 1 of its values",
    ),
    "newer": (
        lambda d: edit(d, schemaVersion=2, product="7.0"),
        r"schema version 2, made by version 7\.0 of the product; this one reads up to 1",
    ),
    "a file gone": (lambda d: state_of(d).unlink(), r"states/0-0\.state is damaged: it is gone"),
    "cut short": (
        lambda d: state_of(d).write_bytes(state_of(d).read_bytes()[:-1]),
        r"states/0-0\.state is damaged: it has \d+ of \d+ bytes",
    ),
    "altered": (
        lambda d: state_of(d).write_bytes(b"x" + state_of(d).read_bytes()[1:]),
        r"states/0-0\.state is damaged: it was altered",
    ),
    "a link": (lambda d: replaced(d / MANIFEST).symlink_to(d / "plan.json"), "damaged: it is a symbolic link"),
    "a link to a state": (
        lambda d: replaced(state_of(d)).symlink_to(d / "kept"),
        r"states/0-0\.state is damaged: it is a symbolic link",
    ),
    "a device": (
        lambda d: replaced(state_of(d)).symlink_to("/dev/zero"),
        r"states/0-0\.state is damaged: it is a symbolic link",
    ),
    "a named pipe": (lambda d: os.mkfifo(replaced(d / MANIFEST)), r"manifest\.json is damaged: it is a named pipe"),
    "a pipe for a state": (
        lambda d: os.mkfifo(replaced(state_of(d))),
        r"states/0-0\.state is damaged: it is a named pipe",
    ),
    "a socket": (lambda d: bound(replaced(d / "plan.json")), r"plan\.json is damaged: it is a socket"),
    "a directory": (lambda d: replaced(d / "plan.json").mkdir(), r"plan\.json is damaged: it is a directory"),
    "states elsewhere": (
        lambda d: (d / "states").rename(d / "elsewhere") and (d / "states").symlink_to(d / "elsewhere"),
        r"states/0-0\.state is damaged: .*states is a symbolic link",
    ),
    "a manifest without end": (
        lambda d: os.truncate(d / MANIFEST, 1 << 40),
        r"manifest\.json is damaged: it has 1099511627776 bytes, but may have at most \d+",
    ),
    "a state without end": (
        lambda d: os.truncate(state_of(d), 1 << 40),
        r"states/0-0\.state is damaged: it has 1099511627776 of \d+ bytes",
    ),
    "nested deeply": (lambda d: (d / MANIFEST).write_text("[" * 100_000), "manifest.json is damaged: it is nested too"),
    "a plan that is nested deeply": (
        lambda d: plan_of(d, b'{"a":' * 100_000),
        r"plan\.json is damaged: it is not a JSON document, or nested too deeply",
    ),
    "another encoding": (
        lambda d: (d / MANIFEST).write_bytes((d / MANIFEST).read_text().encode("utf-16")),
        "manifest.json is damaged: it is not encoded as UTF-8",
    ),
    "half of a character": (
        lambda d: edit(d, product="\ud800"),
        "manifest.json is damaged: it is not encoded as UTF-8",
    ),
    "a number of thousands of digits": (
        lambda d: (d / MANIFEST).write_text('{"schemaVersion": ' + "9" * 5000 + "}"),
        "manifest.json is damaged: it is not a JSON document",
    ),
    "less than no bytes": (
        lambda d: edit(d, plan={"name": "plan.json", "size": -1, "checksum": 1}),
        "manifest.json is damaged: 1 of its values",
    ),
    "another plan": (lambda d: (d / "plan.json").write_text("{}"), r"plan\.json is damaged"),
    "a plan of another version": (
        lambda d: plan_of(d, b"{}"),
        r"plan\.json: the plan was made by version .* of the product, and this version cannot read it",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_a_savepoint_is_named(damage: str, exported: Path, directory: Path, tmp_path: Path):
    change, message = DAMAGES[damage]
    change(exported)
    home = Home(tmp_path / "other")
    with pytest.raises(SavepointError, match=message):
        restore(home, deployable(visits(directory, 2, 3)), local_place(exported))
    assert list_applications(Catalog(home)) == ()
    if "plan" not in damage or damage == "another plan":  # a plan that is whole may go to where its version is
        with pytest.raises(SavepointError, match=message):
            import_savepoint(home, exported)
        assert not list(home.root.glob("savepoints/*/*"))


def other_types(directory: Path) -> PlannedCompilation:
    """Return the operators over a narrower column."""
    file = write_rows(directory / "rows.parquet", COUNT)
    graph = [
        source("Rows", file, outputs=[{"stream": "Rows", "schema": "k string, n int"}]),
        node("Kept", "DeDuplicate", "Rows", schema="k string, n int", parameters={"key": ["n"]}),
        sink("Out", "Kept"),
    ]
    return compiled(graph)


def wide_types(directory: Path) -> PlannedCompilation:
    file = write_rows(directory / "rows.parquet", COUNT)
    return compiled(
        [source("Rows", file), node("Kept", "DeDuplicate", "Rows", parameters={"key": ["n"]}), sink("Out", "Kept")]
    )


def test_other_types_are_named_both(directory: Path, tmp_path: Path):
    local = LocalApplication(Home(tmp_path / "home"), wide_types(directory), source_limit=4)
    run_some(local, 3)
    place = take(local).place
    with pytest.raises(SavepointError, match=r"(?s)does not fit the present spec of app.*n was bigint, and is int"):
        restore(Home(tmp_path / "other"), deployable(other_types(directory)), place)


def test_state_is_lost_by_name_only(taken: LocalApplication, directory: Path, tmp_path: Path):
    place = find_savepoint(taken.home, "point")
    unkeyed = visits(directory, 3, 3, kept=["n"])
    with pytest.raises(
        SavepointError, match=r"app/point does not fit the present spec of app, so state would be lost:\n  Count"
    ):
        restore(Home(tmp_path / "other"), deployable(unkeyed), place)
    with pytest.raises(DropStateError, match="app/point: "):
        restore(Home(tmp_path / "other"), deployable(unkeyed), place, drop_state=["Out"])
    begun(Home(tmp_path / "other"), unkeyed, place, "Counted.Kept").run()


def test_a_savepoint_of_another_application_needs_a_name(taken: LocalApplication, directory: Path, tmp_path: Path):
    file = write_rows(directory / "rows.parquet", COUNT)
    other = compiled([source("Rows", file), sink("Out", "Rows")], application="other")
    with pytest.raises(SavepointError, match=r"app/point is a savepoint of app, and the spec describes other.*--name"):
        restore(Home(tmp_path / "other"), deployable(other), find_savepoint(taken.home, "point"))


def test_a_deployed_application_is_not_replaced_by_a_savepoint(taken: LocalApplication, directory: Path):
    before = kept_of(taken)
    with pytest.raises(SavepointError, match=r"app is deployed and would continue.*--fresh.*--name OTHER"):
        restore(taken.home, deployable(visits(directory, 2, 3)), find_savepoint(taken.home, "point"))
    assert kept_of(taken) == before


def test_a_full_disk_leaves_nothing(
    taken: LocalApplication, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place, home = find_savepoint(taken.home, "point"), Home(tmp_path / "other")
    files = [0]

    def full(store: Store, *_: object) -> None:
        files[0] += 1
        if files[0] > 2:
            raise OSError(errno.ENOSPC, "No space left on device", store.root)

    for name in ("keep", "write"):
        monkeypatch.setattr(Store, name, full)
    with pytest.raises(SavepointError, match=r"was not started from app/point: .* No space left on device"):
        restore(home, deployable(visits(directory, 2, 3)), place)
    assert list_applications(Catalog(home)) == ()
    assert not list(home.root.rglob("*.state"))


def test_a_killed_restore_may_be_repeated(
    taken: LocalApplication, directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home, plan, place = Home(tmp_path / "other"), visits(directory, 2, 3), find_savepoint(taken.home, "point")
    export_savepoint(taken.home, str(place), tmp_path / "exported")
    own = import_savepoint(home, tmp_path / "exported").place

    class KilledError(BaseException):
        """The process is gone: nothing that it would clean up is cleaned up."""

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(state_migration, "remove_files", lambda *_: None)
        patch.setattr(restoring, "insert_application", killed)
        with pytest.raises(KilledError):
            restore(home, deployable(plan), own)
    assert list((home.data("app") / "states").rglob("*.state"))
    restore(home, deployable(plan), own)


@pytest.mark.parametrize("name", ["a**", "*", ".."])
def test_only_the_savepoints_of_the_application_are_listed(taken: LocalApplication, name: str):
    assert list(list_savepoints(taken.home, name)) == []
    assert [path.name for path in list_savepoints(taken.home, "app")] == ["point"]


NAMES: dict[str, tuple[str, str]] = {
    "misspelt": ("pont", "pont: no savepoint has this name, and it is not a directory; the nearest is point"),
    "of another application": ("apt/point", "the nearest is app/point"),
    "no path": ("x" * 5000, "no savepoint has this name"),
    "no text": ("a\0b", "no savepoint has this name"),
    "a directory": (".", "is not a savepoint: it has no manifest.json"),
}


@pytest.mark.parametrize("case", NAMES)
def test_a_name_that_is_not_there(taken: LocalApplication, tmp_path: Path, case: str):
    name, message = NAMES[case]
    with pytest.raises(StreamsRuntimeError, match=message):
        export_savepoint(taken.home, name, tmp_path / "exported")


def test_a_directory_that_cannot_be(taken: LocalApplication, tmp_path: Path):
    with pytest.raises(SavepointError, match="cannot be read: File name too long"):
        export_savepoint(taken.home, "point", tmp_path / ("x" * 5000))


def test_several_of_one_name_are_told_apart(taken: LocalApplication, exported: Path, tmp_path: Path):
    home = Home(tmp_path / "home")
    import_savepoint(home, exported)
    edit(exported, application="later")
    import_savepoint(home, exported)
    with pytest.raises(SavepointError, match="point is the name of several savepoints: name one of app/point, later/p"):
        find_savepoint(home, "point")
    assert find_savepoint(home, "point", "later").application == "later"
    assert find_savepoint(home, "app/point").application == "app"


def test_directories_that_are_taken(taken: LocalApplication, exported: Path, tmp_path: Path):
    with pytest.raises(SavepointError, match="exported is not empty"):
        export_savepoint(taken.home, "point", exported)
    with pytest.raises(SavepointError, match="is a file"):
        export_savepoint(taken.home, "point", exported / MANIFEST)
    (tmp_path / "empty").mkdir()
    export_savepoint(taken.home, "point", tmp_path / "empty")
    assert import_savepoint(taken.home, tmp_path / "empty").new is False
    edit(exported, id="another")
    with pytest.raises(SavepointError, match="app has a savepoint point already"):
        import_savepoint(taken.home, exported)
    assert import_savepoint(taken.home, exported, "renamed").manifest.title == "app/renamed"


def test_an_import_without_room_on_the_disk_is_refused_before_it_is_read(exported: Path, tmp_path: Path):
    """The file is sparse, so it takes no room where it is."""
    state, huge = state_of(exported), 1 << 43
    os.truncate(state, huge)
    states = json.loads((exported / MANIFEST).read_text())["states"]
    for file in (file for each in states for file in each["files"] if file["name"] == f"states/{state.name}"):
        file["size"] = huge
    edit(exported, states=states)
    with pytest.raises(SavepointError, match=r"has no room: the savepoint has \d{13} bytes, and \d+ are free"):
        import_savepoint(Home(tmp_path / "other"), exported)
