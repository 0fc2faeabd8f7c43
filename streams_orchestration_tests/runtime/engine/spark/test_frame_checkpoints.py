"""Spark's checkpoint as a stored state: what is kept of it, given second names, and made a checkpoint again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from streams_orchestration.compiler.redeployment.states import StateFacts
from streams_orchestration.runtime.engine.spark.frames.checkpoints import (
    CheckpointError,
    continue_after,
    last_batch,
    link_checkpoint,
    name_own_schemas,
    needed,
    restore_checkpoint,
    watermark_of,
)
from streams_orchestration.runtime.programs.batches import StoredState
from streams_orchestration.runtime.redeployment.deployed_plan import stored_facts
from streams_orchestration.runtime.savepoints.manifest import SavedFile
from streams_orchestration.runtime.storage.directories import Directories, directories_of
from streams_orchestration.runtime.storage.home import Home

STORE = "state/0/0"
ALWAYS = ["metadata", "state/0/_metadata/metadata", "state/0/_stateSchema/default/0_a", f"{STORE}/SSTs/1-a.sst"]


def checkpoint_of(directory: Path, paths: list[str]) -> Path:
    for path in paths:
        place = directory / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(path)
    return directory


def batches(last: int) -> list[str]:
    """Return the files of a query that has made batches up to `last`, without any stored whole."""
    logs = [f"{log}/{batch}" for log in ("offsets", "commits") for batch in range(last + 1)]
    return [*ALWAYS, *logs, *(f"{STORE}/{batch + 1}_a.changelog" for batch in range(last + 1))]


def files(directory: Path) -> dict[str, str]:
    return {path.relative_to(directory).as_posix(): path.read_text() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("offsets/5", True),
        ("offsets/4", True),
        ("offsets/3", False),
        ("offsets/6", False),
        ("commits/6", False),
        ("offsets/.5.crc", True),
        ("offsets/.6.crc", False),
        ("offsets/.5.ab12.tmp", False),
        ("offsets/..5.ab12.tmp.crc", False),
        (f"{STORE}/6_a.changelog", True),
        (f"{STORE}/7_a.changelog", False),
        (f"{STORE}/6_a.changelog.crc", True),
        (f"{STORE}/.7_a.changelog.crc", False),
        (f"{STORE}/left-keyToNumValues/6_a.zip", True),
        (f"{STORE}/left-keyToNumValues/7_a.zip", False),
        ("state/0/_metadata/v2/5", True),
        ("state/0/_metadata/v2/6", False),
        *((path, True) for path in ALWAYS),
    ],
)
def test_only_files_that_the_batch_needs_are_kept(path: str, kept: bool):
    assert (path in needed([path], 5)) is kept


def test_the_last_two_whole_versions_of_a_store_are_kept_with_their_changes():
    whole = [f"{STORE}/{version}_a.zip" for version in (2, 4, 6, 9)]
    changes = [f"{STORE}/{version}_a.changelog" for version in range(1, 10)]
    other = ["state/1/0/1_a.changelog"]
    actual = set(needed([*whole, *changes, *other], 6))
    assert actual == {*whole[1:3], *changes[3:7], *other}


@given(last=st.integers(0, 8), cut=st.integers(0, 8))
def test_a_checkpoint_that_ran_on_is_as_if_it_had_not(last: int, cut: int):
    cut = min(cut, last)
    assert needed(batches(last), cut) == needed(batches(cut), cut)
    assert last_batch(needed(batches(last), cut)) == cut


def directories(home: Path) -> Directories:
    return directories_of(Home(home), "app", 0)


def test_a_stored_checkpoint_comes_back_whatever_becomes_of_the_query(tmp_path: Path):
    live = checkpoint_of(tmp_path / "live", batches(3))
    stored = link_checkpoint(live, directories(tmp_path), "g1-b3", "Windows", 3, None)
    wanted = {path: path for path in needed(batches(3), 3)}
    (live / "commits/3").unlink()
    checkpoint_of(live, ["offsets/4"])
    restore_checkpoint(Home(tmp_path).store, stored, tmp_path / "again")
    assert files(tmp_path / "again") == wanted


def test_a_file_that_stays_keeps_its_name_and_one_that_was_recreated_gets_another(tmp_path: Path):
    live = checkpoint_of(tmp_path / "live", batches(3))
    first = link_checkpoint(live, directories(tmp_path), "g1-b3", "Windows", 3, None)
    new = live / "new"
    new.write_text("of another query")
    os.replace(new, live / "commits/3")  # noqa: PTH105
    second = link_checkpoint(live, directories(tmp_path), "g2-b3", "Windows", 7, first)
    assert {file.batch for file in second.files if "commits~3" in file.path} == {7}
    assert {file for file in second.files if "commits~3" not in file.path} <= set(first.files)


def test_a_link_that_is_gone_is_recreated(tmp_path: Path):
    live = checkpoint_of(tmp_path / "live", batches(1))
    first = link_checkpoint(live, directories(tmp_path), "g1-b1", "Windows", 1, None)
    (tmp_path / first.files[0].path).unlink()
    second = link_checkpoint(live, directories(tmp_path), "g1-b2", "Windows", 2, first)
    restore_checkpoint(Home(tmp_path).store, second, tmp_path / "again")
    assert set(files(tmp_path / "again")) == set(needed(batches(1), 1))


@pytest.mark.parametrize("harm", ["gone", "altered", "cut short"])
def test_a_checkpoint_that_is_damaged_is_refused_by_the_name_of_its_operator(tmp_path: Path, harm: str):
    live = checkpoint_of(tmp_path / "live", batches(1))
    stored = link_checkpoint(live, directories(tmp_path), "g1-b1", "Windows", 1, None)
    path = tmp_path / stored.files[-1].path
    text = path.read_text()
    path.unlink()
    if harm != "gone":
        path.write_text("x" * len(text) if harm == "altered" else "")
    with pytest.raises(CheckpointError, match=r"operator Windows: its state .* --fresh"):
        restore_checkpoint(Home(tmp_path).store, stored, tmp_path / "again")


def test_a_checkpoint_without_a_batch_is_no_state(tmp_path: Path):
    live = checkpoint_of(tmp_path / "live", ALWAYS)
    with pytest.raises(CheckpointError, match="has no batch"):
        link_checkpoint(live, directories(tmp_path), "g1-b1", "Windows", 1, StoredState("Windows", ()))


@pytest.mark.parametrize("sources", [1, 3])
def test_a_checkpoint_stands_at_the_batch_of_the_catalog_that_names_it(tmp_path: Path, sources: int):
    live = checkpoint_of(tmp_path / "live", [*batches(3), "offsets/.3.crc"])
    head = 'v1\n{"batchWatermarkMs":5,"conf":{"a":"{b}"}}'
    before = "\n".join([head, *['{"batch": 8}'] * sources, "-"])
    (live / "offsets/3").write_text(before)
    stored = link_checkpoint(live, directories(tmp_path), "g1-b8", "Windows", 8, None)
    restore_checkpoint(Home(tmp_path).store, stored, again := tmp_path / "again")
    continue_after(again, 8)
    assert (again / "offsets/.3.crc").exists()
    continue_after(again, 21)
    assert (again / "offsets/3").read_text() == "\n".join([head, *['{"batch": 21}'] * sources, "-"])
    assert (live / "offsets/3").read_text() == before
    assert set(files(again)) == set(needed(batches(3), 3))


def test_a_savepoint_names_the_place_of_every_file(tmp_path: Path):
    live = checkpoint_of(tmp_path / "live", batches(2))
    stored = link_checkpoint(live, directories(tmp_path), "g1-b2", "Windows", 2, None)
    assert stored_facts(Home(tmp_path).store, stored) == StateFacts(None, sum(file.size for file in stored.files))
    saved = [
        SavedFile(name=f"states/0-{number}.state", size=file.size, checksum=file.checksum, place=file.place)
        for number, file in enumerate(stored.files)
    ]
    assert {file.place for file in saved} == set(needed(batches(2), 2))


@pytest.mark.parametrize("place", ["/etc/passwd", "../commits/1", "state/../../1"])
def test_a_file_of_a_savepoint_stays_in_its_checkpoint(place: str):
    with pytest.raises(ValidationError, match="not a path in a checkpoint"):
        SavedFile(name="states/0-0.state", size=1, checksum=1, place=place)


def test_the_watermark_is_that_of_the_last_commit(tmp_path: Path):
    live = checkpoint_of(tmp_path / "live", batches(2))
    assert watermark_of(checkpoint_of(tmp_path / "new", ["commits/.0.crc"])) is None
    for batch, milliseconds in ((1, 0), (2, 1_500)):
        (live / f"commits/{batch}").write_text(f'v2\n{{"nextBatchWatermarkMs":{milliseconds},"stateUniqueIds":{{}}}}')
    assert watermark_of(live) == 1500
    (live / "commits/2").unlink()
    assert watermark_of(live) is None


def test_a_checkpoint_that_was_restored_names_its_own_schemas(tmp_path: Path):
    metadata = tmp_path / "new" / "state" / "0" / "_metadata" / "v2"
    metadata.mkdir(parents=True)
    before = 'v2\n{"stateSchemaFilePaths":["file:/old/pe-3-g1/checkpoint/state/0/_stateSchema/default/0_a"]}'
    (tmp_path / "stored").write_text(before)
    (metadata / "2").hardlink_to(tmp_path / "stored")
    (metadata / ".2.crc").write_text("sum")
    name_own_schemas(tmp_path / "new")
    wanted = before.replace("/old/pe-3-g1/checkpoint", str(tmp_path / "new"))
    assert {path.name: path.read_text() for path in metadata.iterdir()} == {"2": wanted}
    assert (tmp_path / "stored").read_text() == before
