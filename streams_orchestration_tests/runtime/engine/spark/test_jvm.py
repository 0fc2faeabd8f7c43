"""The JVM of a host, as far as it can be seen without Java: a program in its place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streams_orchestration.runtime.engine.spark.jvm import OutputMark, start_jvm
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError


@pytest.fixture
def submit(tmp_path: Path) -> Path:
    """Stands in for the program that starts Spark; its text is to be written."""
    home = tmp_path / "spark"
    program = home / "bin" / "spark-submit"
    program.parent.mkdir(parents=True)
    program.touch(0o700)
    return program


@pytest.mark.parametrize("below", ["own", ""])
def test_the_jvm_works_in_the_directory_of_its_host_and_has_the_settings(below: str, submit: Path, tmp_path: Path):
    submit.write_text('#!/bin/sh\npwd > "$SPARK_HOME/said"\necho "$@" >> "$SPARK_HOME/said"\n')
    own = tmp_path / "own"
    own.mkdir()
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": "-Xint", "spark.x": "a b"}
    jvm = start_jvm(settings, submit.parents[1], tmp_path, own if below else None)
    assert jvm.process.wait(60) == 0
    where, arguments = (tmp_path / "spark" / "said").read_text().splitlines()
    assert where == str(own if below else Path.cwd())
    options = f'spark.driver.extraJavaOptions=-Xint "-Djava.io.tmpdir={tmp_path}"'
    assert arguments == f"--conf spark.master=local[2] --conf {options} --conf spark.x=a b pyspark-shell"


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "WARNING: x\nCaused by: java.net.UnknownHostException: nowhere\n\tat java.net.X",
            "UnknownHostException: nowhere",
        ),
        (
            "Error occurred during initialization of VM\nCould not reserve enough space\n",
            "Could not reserve enough space",
        ),
        (
            "Unrecognized VM option 'X'\nError: Could not create the Java Virtual Machine.\n",
            "Unrecognized VM option 'X'",
        ),
        ("it says only this", "it says only this"),
        ("", "its output says why"),
    ],
)
def test_a_jvm_that_ends_before_it_can_be_connected_to_is_an_error_with_its_reason(
    submit: Path, tmp_path: Path, output: str, reason: str, monkeypatch: pytest.MonkeyPatch
):
    log = tmp_path / "log"
    log.write_text("an Error of before\n")
    submit.write_text(f"#!/bin/sh\ncat >> {log} << 'END'\n{output}\nEND\nexit 1\n")
    monkeypatch.setattr(OutputMark, "here", lambda: OutputMark(log, log.stat().st_size))
    jvm = start_jvm({}, submit.parents[1], tmp_path)
    with pytest.raises(StreamsRuntimeError, match="Java has ended with status 1 before Spark was up") as error:
        jvm.await_gateway()
    assert reason in str(error.value)


def test_the_jvm_need_not_look_up_the_name_of_this_machine(
    submit: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SPARK_LOCAL_IP", raising=False)
    submit.write_text('#!/bin/sh\necho "$SPARK_LOCAL_IP" > "$SPARK_HOME/said"\n')
    for address, known in (("127.0.0.1", "127.0.0.1"), ("10.0.0.7", "10.0.0.7"), ("0.0.0.0", "")):
        jvm = start_jvm({"spark.driver.bindAddress": address}, submit.parents[1], tmp_path)
        assert jvm.process.wait(60) == 0
        assert (tmp_path / "spark" / "said").read_text().strip() == known


def test_nothing_of_pyspark_is_imported_before_the_jvm_is_started():
    code = "import streams_orchestration.runtime.engine.spark.engine, sys; sys.exit('pyspark' in sys.modules)"
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
