"""The JVM of a host, as far as it can be seen without Java: a program in its place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError

from streams_orchestration.runtime.engine.spark.jvm import start_jvm


@pytest.fixture
def submit(tmp_path: Path) -> Path:
    """Stands in for the program that starts Spark; its text is to be written."""
    home = tmp_path / "spark"
    program = home / "bin" / "spark-submit"
    program.parent.mkdir(parents=True)
    program.touch(0o700)
    return program


@pytest.mark.parametrize("below", ["own", ""])
def test_it_works_in_the_directory_of_its_host_and_has_the_settings(below: str, submit: Path, tmp_path: Path):
    submit.write_text('#!/bin/sh\npwd > "$SPARK_HOME/said"\necho "$@" >> "$SPARK_HOME/said"\n')
    own = tmp_path / "own"
    own.mkdir()
    jvm = start_jvm({"spark.master": "local[2]", "spark.x": "a b"}, submit.parents[1], own if below else None)
    assert jvm.process.wait(60) == 0
    where, arguments = (tmp_path / "spark" / "said").read_text().splitlines()
    assert where == str(own if below else Path.cwd())
    assert arguments == "--conf spark.master=local[2] --conf spark.x=a b pyspark-shell"


def test_one_that_ends_before_it_can_be_connected_to_is_an_error(submit: Path):
    submit.write_text("#!/bin/sh\nexit 1\n")
    jvm = start_jvm({}, submit.parents[1])
    with pytest.raises(PySparkRuntimeError, match="JAVA_GATEWAY_EXITED"):
        jvm.gateway()
    assert not jvm.connection.parent.exists()


def test_nothing_of_pyspark_is_imported_before_the_jvm_is_started():
    code = "import streams_orchestration.runtime.engine.spark.engine, sys; sys.exit('pyspark' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
