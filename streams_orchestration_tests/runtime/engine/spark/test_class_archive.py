"""The archive of Spark's classes: written once, used then, never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from streams_orchestration.runtime.engine.spark import class_archive
from streams_orchestration.runtime.engine.spark.class_archive import MAX_ARCHIVES, ClassArchive
from streams_orchestration.runtime.engine.spark.spark_home import spark_home

HOME = spark_home()


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "java"
    path.write_text("a program")
    return path


def written(archive: ClassArchive) -> ClassArchive:
    """Let a JVM write the archive."""
    assert archive.writes is not None
    archive.writes.write_bytes(b"classes")
    archive.keep()
    return archive


def test_the_first_jvm_writes_it_and_the_next_ones_use_it(java: Path, tmp_path: Path):
    first = ClassArchive.find(java, "-Xmx1g", HOME, tmp_path / "cache")
    assert first.options == ""
    assert not first.path.exists()
    written(first)
    second = ClassArchive.find(java, "-Xmx1g", HOME, tmp_path / "cache")
    assert second.writes is None
    assert f"-XX:SharedArchiveFile={first.path}" in second.options


def test_another_java_and_other_options_have_their_own(java: Path, tmp_path: Path):
    paths = {ClassArchive.find(java, options, HOME, tmp_path).path for options in ("-Xmx1g", "-Xmx2g")}
    os.utime(java, (1.0, 1.0))
    paths.add(ClassArchive.find(java, "-Xmx1g", HOME, tmp_path).path)
    assert len(paths) == 3


def test_a_jvm_that_was_killed_leaves_none(java: Path, tmp_path: Path):
    archive = ClassArchive.find(java, "", HOME, tmp_path / "cache")
    archive.keep()
    assert archive.writes is not None
    for name in ("", ".classlist"):
        archive.writes.with_name(f"{archive.writes.name}{name}").write_text("half of it")
    archive.drop()
    assert list((tmp_path / "cache").iterdir()) == []
    assert not archive.path.exists()
    assert ClassArchive.find(java, "", HOME, tmp_path).writes is not None


def test_without_room_none_is_written(java: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(class_archive, "FREE_BYTES", 2**62)
    archive = ClassArchive.find(java, "", HOME, tmp_path)
    assert (archive.writes, archive.options) == (None, "")


def test_a_directory_that_cannot_be_made_is_no_error(java: Path, tmp_path: Path):
    (tmp_path / "file").touch()
    archive = ClassArchive.find(java, "", HOME, tmp_path / "file" / "cache")
    assert (archive.writes, archive.options) == (None, "")


def test_only_the_last_ones_are_kept(java: Path, tmp_path: Path):
    made = [written(ClassArchive.find(java, f"-Xmx{number}g", HOME, tmp_path)) for number in range(1, MAX_ARCHIVES + 3)]
    left = sorted(tmp_path.glob("spark-*.jsa"))
    assert len(left) == MAX_ARCHIVES
    assert made[-1].path in left


def test_an_archive_that_is_in_use_is_kept(java: Path, tmp_path: Path):
    made = [written(ClassArchive.find(java, f"-Xmx{number}g", HOME, tmp_path)) for number in range(1, MAX_ARCHIVES + 1)]
    for hour, archive in enumerate(made):
        os.utime(archive.path, (3600.0 * hour, 3600.0 * hour))
    used = ClassArchive.find(java, "-Xmx1g", HOME, tmp_path)
    newest = written(ClassArchive.find(java, "-Xmx9g", HOME, tmp_path))
    assert sorted(tmp_path.glob("spark-*.jsa")) == sorted([used.path, newest.path])
