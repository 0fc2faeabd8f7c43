"""DirectoryScan: each file once, in order, and the same ones again from any offset."""

from __future__ import annotations

import os
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.standard.files.directory_scan import DirectoryScan
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.servers.proxy import Proxy
from streams_orchestration_tests.servers.s3 import BUCKET, S3

NAMES = st.sampled_from(["a", "b", "c", ".d", "e.csv"])
COMING = st.lists(st.lists(st.tuples(NAMES, st.integers(1, 5)), max_size=4), max_size=5)
"""The files written between two scans: names with the seconds of their time."""


def write(directory: Path, name: str, second: int = 1) -> None:
    (directory / name).write_text("x" * second)
    os.utime(directory / name, (second, second))


def scan(place: Path | str, schema: str = "file string", *, trigger: bool = False, **parameters: Any):
    wanted = {"directory": str(place)} | parameters
    return OperatorHarness(DirectoryScan, outputs=[schema], parameters=wanted, trigger=trigger)


def scanned(harness: OperatorHarness, offset: Offset, limit: int = 10) -> Offset:
    """Scan once, at once, and submit what was found."""
    harness.operator.due = 0.0  # type: ignore[attr-defined]
    offset = harness.produce(offset, limit).offset
    while offset["waiting"]:
        offset = harness.produce(offset, limit).offset
    return offset


def found(harness: OperatorHarness) -> list[str]:
    return [path.rpartition("/")[2] for (path,) in harness.rows()]


@given(coming=COMING, limit=st.integers(1, 3), restarts=st.booleans(), by=st.sampled_from(["date", "name"]))
@examples(60)
def test_each_file_once_in_the_order_of_each_look(
    tmp_path_factory: Any, coming: list[Any], limit: int, restarts: bool, by: str
):
    directory: Path = tmp_path_factory.mktemp("files")
    harness, offset, there, wanted = scan(directory, sortBy=by), dict[str, Any](), dict[str, int](), list[str]()
    for files in coming:
        before = dict(there)
        for name, second in files:
            write(directory, name, second)
            there[name] = second
        new = [(second if by == "date" else 0, name) for name, second in there.items() if before.get(name) != second]
        wanted += [name for _, name in sorted(new)]
        offset = scanned(harness, offset, limit)
        if restarts:
            harness.restart()
    assert found(harness) == wanted


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_files_that_a_scan_has_found_are_submitted_again_from_its_offset(tmp_path: Path, limit: int):
    for number, name in enumerate("abc", 1):
        write(tmp_path, name, number)
    harness = scan(tmp_path)
    offset = harness.produce({}, 10).offset
    assert harness.rows() == []
    write(tmp_path, "0", 1)
    (tmp_path / "b").unlink()
    for _ in range(2):
        again = scan(tmp_path)
        following = offset
        while following["waiting"]:
            following = again.produce(following, limit).offset
        assert found(again) == ["a", "b", "c"]


def test_a_directory_is_looked_at_again_after_a_while(tmp_path: Path):
    harness = scan(tmp_path, sleepTime=100)
    offset = harness.produce({}).offset
    pause = harness.operator.pause()  # type: ignore[attr-defined]
    assert 90 < pause <= 100
    write(tmp_path, "a")
    assert harness.produce(offset).offset == offset == {"known": {}, "waiting": []}


def test_a_file_that_is_gone_and_comes_again_is_new(tmp_path: Path):
    write(tmp_path, "a")
    harness = scan(tmp_path)
    offset = scanned(harness, {})
    (tmp_path / "a").unlink()
    offset = scanned(harness, offset)
    write(tmp_path, "a")
    assert scanned(harness, offset)["known"] == {"a": 1_000_000_000}
    assert found(harness) == ["a", "a"]


def test_parameters_say_which_files_count(tmp_path: Path):
    for number, name in enumerate((".a.csv", "b.csv", "c.txt", "d.csv"), 1):
        write(tmp_path, name, number)
    (tmp_path / "e.csv").mkdir()
    harness = scan(tmp_path, pattern=r"\.csv$", ignoreDotFiles=True, order="descending")
    scanned(harness, {})
    assert found(harness) == ["d.csv", "b.csv"]
    later = scan(tmp_path, ignoreExistingFilesAtStartup=True)
    offset = scanned(later, {})
    write(tmp_path, "f", 6)
    scanned(later, offset)
    assert found(later) == ["f"]


def test_metadata_of_a_file_become_attributes(tmp_path: Path):
    write(tmp_path, "a", 3)
    facts = {"at": "modified", "bytes": "size", "file": "path", "of": "directory", "short": "name"}
    harness = scan(tmp_path, "file string, short string, of string, bytes bigint, at timestamp", metadata=facts)
    scanned(harness, {})
    assert harness.rows() == [(str(tmp_path / "a"), "a", str(tmp_path), 3, datetime.fromtimestamp(3, UTC))]


def test_a_scan_may_end_with_the_files_that_are_there(tmp_path: Path):
    write(tmp_path, "a")
    harness = scan(tmp_path, until="latest")
    offset, exhausted = harness.produce({})
    assert not exhausted
    assert harness.produce(offset).exhausted
    (tmp_path / "a").unlink()
    assert scan(tmp_path, until="latest").produce({}).exhausted


def test_an_epoch_of_a_region_that_it_drives_ends_with_every_file(tmp_path: Path):
    for name in "abc":
        write(tmp_path, name)
    harness = scan(tmp_path, trigger=True)
    scanned(harness, {})
    assert (found(harness), harness.consistent) == (["a", "b", "c"], 3)


def test_a_directory_that_is_gone_holds_up(tmp_path: Path):
    (tmp_path / "in").mkdir()
    harness = scan(tmp_path / "in")
    (tmp_path / "in").rmdir()
    assert harness.produce({}) == ({}, False)
    assert harness.operator.pause() == 0.5  # type: ignore[attr-defined]
    (tmp_path / "in").mkdir()
    write(tmp_path / "in", "a")
    scanned(harness, {})
    assert found(harness) == ["a"]


def test_an_object_store_is_a_directory(s3: S3):
    directory = uuid.uuid4().hex
    addresses = [s3.put(f"{directory}/{name}", b"x") for name in ("b", "a")]
    s3.put(f"{directory}/inner/c", b"x")
    proxy = Proxy(int(s3.endpoint.rpartition(":")[2]))
    try:
        proxy.cut()
        storage = {**s3.storage, "endpoint": f"http://127.0.0.1:{proxy.port}"}
        harness = scan(f"s3://{BUCKET}/{directory}/", storage=storage, sortBy="name")
        assert harness.produce({}) == ({}, False)
        proxy.open()
        scanned(harness, {})
    finally:
        proxy.close()
    assert harness.rows() == [(address,) for address in sorted(addresses)]


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "no directory": ("file string", {"directory": "/nowhere"}, "/nowhere: this directory does not exist"),
    "a number": ("n int", {}, "metadata: n is int, but string is expected for path"),
    "several attributes": ("file string, n bigint", {}, "metadata: n has no value"),
    "an attribute that is not there": (
        "file string",
        {"metadata": {"fil": "path"}},
        "no attribute fil; the nearest is",
    ),
    "a size as text": (
        "file string",
        {"metadata": {"file": "size"}},
        "file is string, but bigint is expected for size",
    ),
    "no pattern": ("file string", {"pattern": "("}, "is not a regular expression"),
    "many repetitions": ("file string", {"pattern": "a{99999999999}"}, "a number of repetitions is too large"),
    "a deep pattern": ("file string", {"pattern": "(" * 5000 + ")" * 5000}, "it is nested too deeply"),
    "a storage of this machine": ("file string", {"storage": {"region": "x"}}, "storage is for addresses"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_a_directory_scan_are_refused(tmp_path: Path, case: str):
    schema, parameters, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        scan(tmp_path, schema, **parameters)


def test_names_and_links_that_are_not_files_hide_no_other_file(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    write(tmp_path, "a")
    (tmp_path / "itself").symlink_to(tmp_path / "itself")
    (tmp_path / "nowhere").symlink_to(tmp_path / "absent")
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")).write_text("x")
    harness = scan(tmp_path)
    offset = scanned(harness, {})
    scanned(harness, offset)
    assert found(harness) == ["a"]
    [record] = caplog.records
    assert "the name '\\udcff.csv' of a file is not UTF-8 text, so the file is left out" in record.getMessage()
