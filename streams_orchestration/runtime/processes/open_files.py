"""The limit of open files of a process; with too few files a JVM fails with misleading errors."""

from __future__ import annotations

import resource

from streams_orchestration.runtime.errors.errors import HostLaunchError

LEAST_FILES = 512
"""The least number of open files for a host, whose JVM needs them for Spark's jars and connections."""
WANTED_FILES = 4096
"""The number of open files to which a host raises its own limit, if that is allowed."""


def require_open_files(who: str) -> None:
    """Refuse to start a process that would be allowed too few open files.

    The message names the process to start by the words `who`.

    Raises:
        HostLaunchError: the hard limit of this process, which its children inherit, is too low.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < LEAST_FILES:
        message = (
            f"{who} could not be started: it may have {hard} files open, and needs at least {LEAST_FILES}. "
            f"Raise the limit where this command or the agent runs: `ulimit -Hn {WANTED_FILES}`, or LimitNOFILE of its "
            "service"
        )
        raise HostLaunchError(message)


def raise_open_files() -> None:
    """Raise the limit of this process, and so of its children, towards `WANTED_FILES` as far as that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_FILES if hard == resource.RLIM_INFINITY else min(WANTED_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
