"""The number of files that a process may have open: too few for a JVM end it with errors that name anything else."""

from __future__ import annotations

import resource

from streams_orchestration.runtime.errors import HostLaunchError

LEAST_FILES = 512
"""Files that a host needs: Spark's jars and connections of a JVM, which takes what the hard limit allows."""
WANTED_FILES = 4096
"""Files up to which a host raises its own limit, where that is allowed."""


def require_open_files(who: str) -> None:
    """Refuse to start what would have too few files.

    Args:
        who: what is to be started, in words.

    Raises:
        HostLaunchError: the hard limit of this process, which its children have too, is too low.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < LEAST_FILES:
        message = (
            f"{who} could not be started: it may have {hard} files open, and needs {LEAST_FILES} at least. "
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
