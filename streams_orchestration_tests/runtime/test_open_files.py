"""A host that may have too few files open is refused with that reason, and one that may have more takes them."""

from __future__ import annotations

import errno
import os
import resource

import pytest

from streams_orchestration.runtime.errors import HostLaunchError, explained
from streams_orchestration.runtime.open_files import LEAST_FILES, WANTED_FILES, raise_open_files, require_open_files


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


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_an_operator_that_may_open_no_more_files_is_told_so(number: int):
    text = explained(OSError(number, os.strerror(number), "/data/one"))
    assert "/data/one: Too many open files" in text
    assert "ulimit -n" in text
    assert "disk" not in text
