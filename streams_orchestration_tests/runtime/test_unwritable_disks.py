"""A disk that cannot be written: what is said, and what goes on all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.errors.errors import HostLaunchError
from streams_orchestration.runtime.hosts.launcher import HostStart, launch_host
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import remove_files


def test_a_file_that_cannot_be_removed_is_logged_and_stops_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    held, file = tmp_path / "held", tmp_path / "file"
    (held / "something").mkdir(parents=True)
    file.write_bytes(b"x")
    assert remove_files(Home(tmp_path).store, [str(held), str(file), str(tmp_path / "gone")]) == 2
    assert not file.exists()
    assert f"{held}, which is no longer needed, cannot be removed" in caplog.text


@pytest.mark.usefixtures("java_is_installed")
def test_a_host_whose_log_cannot_be_made_is_named(tmp_path: Path):
    home = Home(tmp_path / "home")
    home.root.mkdir()
    (home.root / "logs").write_text("a file in the place of a directory")
    with pytest.raises(HostLaunchError, match=r"host 0 of app could not be started: .*logs"):
        launch_host(HostStart(home, "app", 0, "i", tmp_path, EngineSettings()))
