"""The output of a session's JVM goes to the file that its starter names."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.engine.spark.jvm import start_jvm


@pytest.mark.slow
def test_the_output_of_the_jvm_is_appended_to_the_named_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text("#!/bin/sh\necho out\necho error >&2\n")
    submit.chmod(0o755)
    output = tmp_path / "spark.log"
    for _ in range(2):  # it appends, so that the file can be rotated
        start_jvm({}, tmp_path, tmp_path, output=output).process.wait(60)
    assert output.read_text() == "out\nerror\nout\nerror\n"
    start_jvm({}, tmp_path, tmp_path).process.wait(60)
    assert capfd.readouterr() == ("out\n", "error\n")
