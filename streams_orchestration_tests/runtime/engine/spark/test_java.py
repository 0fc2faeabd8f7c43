from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.engine.spark.java import java_version, require_java
from streams_orchestration.runtime.errors.errors import JavaError


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15\nOpenJDK Runtime Environment', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21" 2023-09-19', 21),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "26-ea" 2026-03-17', 26),
        ("Unable to locate a Java Runtime.", None),
    ],
)
def test_feature_release_is_read(output: str, version: int | None):
    assert java_version(output) == version


def a_java(home: Path, body: str) -> Path:
    program = home / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{body}\n")
    program.chmod(0o755)
    return program


def test_java_home_goes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = a_java(tmp_path / "a b", """echo 'openjdk version "17.0.1"' >&2""")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "a b"))
    assert require_java() == program


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("""echo 'openjdk version "11.0.2"' >&2""", "is Java 11"),
        (
            "echo 'Unable to locate a Java Runtime.' >&2; exit 1",
            "is not a working Java: Unable to locate a Java Runtime.",
        ),
    ],
)
def test_too_old_and_broken_ones_are_refused(body: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    program = a_java(tmp_path, body)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError) as raised:
        require_java()
    assert f"{program} {message}" in str(raised.value)
    assert "sudo apt-get install openjdk-17-jre-headless" in str(raised.value)
    assert "brew install openjdk@17" in str(raised.value)


def test_a_missing_one_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError, match=r"JAVA_HOME is .* no bin/java"):
        require_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError, match="no `java` was found on the PATH"):
        require_java()
