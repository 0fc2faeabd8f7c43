"""The directory of Spark, whole and without its machine learning."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.engine.spark.spark_home import make_lean_home, spark_home

JARS = ("spark-core_2.13.jar", "spark-mllib_2.13.jar", "spark-mllib-local_2.13.jar")


@pytest.fixture
def spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Spark that the environment names."""
    home = tmp_path / "spark"
    for file in ("bin/spark-submit", *(f"jars/{jar}" for jar in JARS)):
        (home / file).parent.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(file)
    monkeypatch.setenv("SPARK_HOME", str(home))
    return home


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def test_spark_is_that_of_the_installed_package_unless_another_is_named(spark: Path, monkeypatch: pytest.MonkeyPatch):
    assert spark_home() == spark
    monkeypatch.delenv("SPARK_HOME")
    assert (spark_home() / "bin" / "spark-submit").is_file()


def test_a_lean_one_has_all_but_the_machine_learning(spark: Path, cache: Path):
    lean = make_lean_home(cache)
    assert (lean / "bin" / "spark-submit").read_text() == "bin/spark-submit"
    assert {jar.name for jar in (lean / "jars").iterdir()} == {"spark-core_2.13.jar", "spark-mllib-local_2.13.jar"}
    assert (lean / "jars" / "spark-core_2.13.jar").resolve() == spark / "jars" / "spark-core_2.13.jar"
    assert list(cache.iterdir()) == [lean]


def test_a_lean_home_is_made_once_for_a_spark_and_again_when_its_jars_change(spark: Path, cache: Path):
    lean = make_lean_home(cache)
    assert make_lean_home(cache) == lean
    (spark / "jars" / "connector.jar").touch()
    os.utime(spark / "jars", (1.0, 1.0))
    changed = make_lean_home(cache)
    assert changed != lean
    assert (changed / "jars" / "connector.jar").exists()
    assert lean.exists(), "a JVM may have been started with it, and loads classes later"


def test_a_home_of_a_spark_that_was_replaced_is_removed(spark: Path, cache: Path):
    lean = make_lean_home(cache)
    (spark / "jars" / JARS[0]).rename(spark / "jars" / "spark-core_2.14.jar")
    os.utime(spark / "jars", (1.0, 1.0))
    assert [make_lean_home(cache)] == list(cache.iterdir())
    assert not lean.exists()


@pytest.mark.usefixtures("spark")
def test_another_process_may_be_quicker(cache: Path, monkeypatch: pytest.MonkeyPatch):
    mkdtemp, others = tempfile.mkdtemp, list[Path]()

    def begun(**place: Any) -> str:
        monkeypatch.setattr(tempfile, "mkdtemp", mkdtemp)
        others.append(make_lean_home(cache))
        return mkdtemp(**place)

    monkeypatch.setattr(tempfile, "mkdtemp", begun)
    assert [make_lean_home(cache)] == others == list(cache.iterdir())


@pytest.mark.parametrize("unfit", ["no jars", "no directory"])
def test_spark_s_own_directory_is_used_if_no_lean_one_can_be_made(unfit: str, spark: Path, cache: Path):
    if unfit == "no jars":
        (spark / "jars").rename(spark / "elsewhere")
    else:
        cache.touch()
    assert make_lean_home(cache) == spark
