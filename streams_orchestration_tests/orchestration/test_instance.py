from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from streams_orchestration.orchestration.instance import dagster_instance
from streams_orchestration.runtime.storage.home import Home

pytestmark = pytest.mark.slow


def test_settings_of_the_user_hold_where_output_is_not_captured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "dagster.yaml").write_text("run_retries: {enabled: true}\n")
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    managers = set()
    for captured in (True, False):
        with dagster_instance(Home(tmp_path / "home"), captured=captured) as instance:
            assert instance.run_retries_enabled
            assert Path(instance.storage_directory()).is_relative_to(tmp_path)
            managers.add(type(instance.compute_log_manager).__name__)
    assert managers == {"LocalComputeLogManager", "NoOpComputeLogManager"}


def test_a_storage_of_another_version_is_migrated_and_a_new_one_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    upgraded: list[str] = []
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setattr(dg.DagsterInstance, "upgrade", lambda instance: upgraded.append(instance.root_directory))
    home = Home(tmp_path)
    with dagster_instance(home):
        assert upgraded == []
    (home.dagster / ".migrated").write_text("0.1")
    for _ in range(2):
        with dagster_instance(home):
            assert upgraded == [str(home.dagster)]
