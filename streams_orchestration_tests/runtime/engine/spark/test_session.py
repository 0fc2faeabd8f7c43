"""The session of a host, as far as it can be seen without a JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.engine.spark import session


@pytest.mark.parametrize("below", ["own", None])
def test_files_that_a_jvm_writes_unasked_go_to_the_directory_of_its_host(
    below: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    class StartedError(Exception):
        pass

    def launch(_conf: object, popen: dict[str, Any]) -> None:
        started.append(popen["cwd"])
        raise StartedError

    started: list[Path | None] = []
    monkeypatch.setattr(session, "launch_gateway", launch)
    directory = None if below is None else tmp_path / below
    with pytest.raises(StartedError):
        session.spark_session(session.session_settings("demo", tmp_path / "spark", memory="1g"), directory)
    assert started == [directory]
