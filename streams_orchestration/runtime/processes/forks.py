"""Closes inherited descriptors in child processes that a user's code forks from this process.

Such a child inherits every descriptor of its worker. As long as the child lives, the sockets of a worker that has ended
would stay open, and processes that wait for the worker's end would wait for ever. So the child closes the descriptors
that are registered here. Their numbers then refer to the null device, so that no file which the child opens gets one of
them.
"""

from __future__ import annotations

import contextlib
import os
import stat
import weakref
from pathlib import Path
from typing import Protocol

_DESCRIPTORS = Path("/dev/fd")


class Descriptor(Protocol):
    """An object with a descriptor: a socket, a connection, a pipe or an open file."""

    def fileno(self) -> int:
        """Return the object's descriptor."""
        ...


class _Kept:
    """The descriptors that children must not keep."""

    def __init__(self) -> None:
        self.objects: weakref.WeakSet[Descriptor] = weakref.WeakSet()
        self.sockets: frozenset[int] = frozenset()
        """Inodes of sockets that are not objects of the product; duplicates of a descriptor have the same inode."""
        self.watched = self.taken = False

    def leave(self) -> None:
        """Replace the registered descriptors by the null device in a process that was just forked, and forget them."""
        numbers = [number for number, inode in _sockets() if inode in self.sockets] if self.sockets else []
        for each in list(self.objects):
            with contextlib.suppress(OSError, ValueError):  # the object is closed
                numbers.append(each.fileno())
        self.objects, self.sockets = weakref.WeakSet(), frozenset()
        if numbers:
            null = os.open(os.devnull, os.O_RDWR)
            for number in numbers:
                with contextlib.suppress(OSError):
                    os.dup2(null, number, inheritable=False)
            os.close(null)


_KEPT = _Kept()


def keep_from_forks(descriptor: Descriptor) -> None:
    """Make children that this process forks from now on close a descriptor, as long as its object exists here."""
    _watch()
    _KEPT.objects.add(descriptor)


def keep_sockets_from_forks() -> None:
    """Make forked children close all sockets that are open now, and their duplicates.

    Only the first call has an effect, also in children, because sockets opened later are meant for the children.
    """
    if not _KEPT.taken:
        _watch()
        _KEPT.taken, _KEPT.sockets = True, frozenset(inode for _, inode in _sockets())


def _watch() -> None:
    if not _KEPT.watched:
        _KEPT.watched = True
        os.register_at_fork(after_in_child=_KEPT.leave)


def _sockets() -> list[tuple[int, int]]:
    """Return the descriptors of this process that are sockets, with their inodes; none if the system lists none."""
    found: list[tuple[int, int]] = []
    with contextlib.suppress(OSError):
        for each in _DESCRIPTORS.iterdir():
            with contextlib.suppress(OSError):  # the descriptor of the listing itself is closed
                state = os.fstat(int(each.name))
                if stat.S_ISSOCK(state.st_mode):
                    found.append((int(each.name), state.st_ino))
    return found
