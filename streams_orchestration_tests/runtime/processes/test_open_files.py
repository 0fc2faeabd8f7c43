"""A host that may have too few files open is refused with that reason, and one that may have more takes them."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest

from streams_orchestration.cli.machines import agent
from streams_orchestration.orchestration.ui import serve
from streams_orchestration.runtime.errors.errors import HostLaunchError, explained
from streams_orchestration.runtime.processes.open_files import (
    LEAST_FILES,
    WANTED_FILES,
    raise_open_files,
    require_open_files,
)
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.servers.jars import free_port


@pytest.fixture
def limits(monkeypatch: pytest.MonkeyPatch) -> dict[str, tuple[int, int]]:
    """The limits of this process, as they seem to be."""
    held = {"of files": (1024, 1 << 20)}
    monkeypatch.setattr(resource, "getrlimit", lambda _: held["of files"])
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: held.update({"of files": both}))
    return held


@pytest.mark.parametrize("soft", [64, LEAST_FILES - 1])
def test_too_few_files_are_the_reason_by_name(limits: dict[str, tuple[int, int]], soft: int):
    limits["of files"] = (soft, LEAST_FILES - 1)
    with pytest.raises(HostLaunchError, match=rf"host 0 of app .*{LEAST_FILES - 1} files open.*`ulimit -Hn"):
        require_open_files("host 0 of app")


@pytest.mark.parametrize("hard", [LEAST_FILES, resource.RLIM_INFINITY])
def test_a_low_limit_that_may_be_raised_is_enough(limits: dict[str, tuple[int, int]], hard: int):
    limits["of files"] = (64, hard)
    require_open_files("host 0 of app")
    raise_open_files()
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else hard
    assert limits["of files"] == (wanted, hard)


def test_a_higher_limit_stays(limits: dict[str, tuple[int, int]]):
    limits["of files"] = (1 << 16, 1 << 20)
    raise_open_files()
    assert limits["of files"] == (1 << 16, 1 << 20)


def test_agents_and_dagster_s_ui_refuse_too_low_a_limit_of_open_files(
    limits: dict[str, tuple[int, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    limits["of files"] = (64, 64)
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    monkeypatch.setenv("STREAMS_CATALOG", "postgresql://nobody@localhost:1/nothing")
    with pytest.raises(HostLaunchError, match=r"agent of this machine .* 64 files open"):
        agent("north", "", 1, 0)
    with pytest.raises(HostLaunchError, match=r"Dagster's UI .* 64 files open"):
        serve(Home(tmp_path), free_port(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_an_operator_that_may_open_no_more_files_is_told_so(number: int):
    text = explained(OSError(number, os.strerror(number), "/data/one"))
    assert "/data/one: Too many open files" in text
    assert "ulimit -n" in text
    assert "disk" not in text
