"""Owners of tasks: the worker process that runs a task keeps its operators and open files from batch to batch.

Spark gives a task to any idle worker, which passes it on to the owner over a socket. A task without an owner gets the
worker that owns the fewest tasks of the same level, since these run at the same time. Among equal workers, the one that
owns the fewest tasks of all levels is chosen. An owner that has ended is replaced; the operators are restored there as
after a reset.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import secrets
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from functools import cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil

from streams_orchestration.runtime.engine.spark.owner_sockets import (
    ACCEPT_RETRY_SECONDS,
    DRIVER,
    OwnerConnection,
    accepted,
    admit,
    connect,
    listen,
    pid_of,
    reachable,
)
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError, explained
from streams_orchestration.runtime.processes.forks import keep_from_forks
from streams_orchestration.runtime.processes.processes import is_here, machine_name, process_space
from streams_orchestration.runtime.queries.scratch import CLAIM

DIRECTORY = "STREAMS_WORKERS"
"""Environment variable: the directory in which the workers of a host announce themselves."""

CLAIMS = "claims"
"""Name of the file beside the registers of a query that a worker locks while it chooses an owner."""

REGISTER_LINES = 3
"""The number of lines of a register, which names an owner: its address, its key and its process space."""

EXECUTOR_OPTION = "--executor-id"
"""The option with which an executor's JVM is named, on every cluster."""

SILENT = "silent"
"""Directory beside the announcements of workers, with a file for each executor with a silent worker."""

LOST = "the Python process that ran the task, or its machine, has ended; the end of the host's log has the reason"

Work = Callable[[Any], Any]
"""A function that runs a request; both the request and the result can be pickled."""


class SilentOwnerError(StreamsRuntimeError):
    """The machine of an owner no longer sends data."""

    def __init__(self, connection: OwnerConnection) -> None:
        super().__init__(LOST)
        self.connection = connection


@cache
def executor_id() -> str:
    """Return the id of the cluster's executor that started this process; empty if none has, or it cannot be found."""
    with contextlib.suppress(psutil.Error):
        for parent in psutil.Process().parents() if os.environ.get(DRIVER) else ():
            words = parent.cmdline()
            if EXECUTOR_OPTION in words[:-1]:
                return words[words.index(EXECUTOR_OPTION) + 1]
    return ""


def forget_workers(workers: Path, living: Collection[str]) -> None:
    """Remove the announcements of workers in executors that the cluster has given up, although they may still run.

    `living` has the ids of the executors that still exist.
    """
    for each in tuple(workers.iterdir()) if workers.is_dir() else ():
        if (executor := each.name.partition("@")[2]) and executor not in living:
            each.unlink(missing_ok=True)


def take_silent(workers: Path) -> list[str]:
    """Return the ids of executors that `Owners.suspect` has marked as silent, and delete the marks."""
    silent = tuple((workers / SILENT).iterdir()) if (workers / SILENT).is_dir() else ()
    for each in silent:
        each.unlink(missing_ok=True)
    return [each.name for each in silent]


def owner_pids(registers: Iterable[str]) -> list[int]:
    """Return the pids in registers that name a process of this machine; skip incomplete registers."""
    lines = (register.split("\n") for register in registers)
    here = (line[0] for line in lines if len(line) == REGISTER_LINES and is_here(line[-1]))
    return [pid for address in here if (pid := pid_of(address)) is not None]


def _require_shared() -> None:
    """Raise StreamsRuntimeError if this machine of the cluster has not mounted the host's directory."""
    directory = Path(os.environ.get(DIRECTORY, "")).parent
    if os.environ.get(DRIVER) and not directory.is_dir():
        message = (
            f"{machine_name()} runs an executor but has no {directory}: executors write their answers to the state "
            "directory, even with STREAMS_STORAGE. Mount it at the same path on all machines of the cluster"
        )
        raise StreamsRuntimeError(message)


class Owners:
    """The connections of this process to owners of tasks, by the content of the owner's register."""

    def __init__(self) -> None:
        self._connections: dict[str, OwnerConnection] = {}

    def connect_to(self, owner: str) -> OwnerConnection | None:
        """Connect to an owner unless there is a connection to it already, and return the connection.

        None if the owner has ended, or does not prove within `HANDSHAKE_SECONDS` that it knows its key.
        """
        connection = self._connections.get(owner)
        if connection is not None and not connection.ended:
            return connection
        self._connections.pop(owner, None)
        address, key, space = owner.split("\n")
        connection = connect(address, bytes.fromhex(key)) if reachable(address, space) else None
        if connection is not None:
            self._connections[owner] = connection
        return connection

    def suspect(self, connection: OwnerConnection) -> None:
        """Mark the executor at the other end of a connection as silent, so that the host gives it no more tasks.

        Do nothing for a process that has announced itself outside of an executor, or is no longer announced.
        """
        owner = next((owner for owner, known in self._connections.items() if known is connection), None)
        workers = Path(os.environ.get(DIRECTORY, ""))
        for each in workers.glob("*@*"):
            with contextlib.suppress(OSError):
                if each.read_text() == owner:
                    (workers / SILENT).mkdir(exist_ok=True)
                    (workers / SILENT / each.name.partition("@")[2]).touch()


def send(connection: OwnerConnection, request: Any) -> None:
    """Send a request to an owner, which must have answered the previous one.

    Raises:
        StreamsRuntimeError: the owner has ended; a `SilentOwnerError` if its machine no longer answers.
    """
    try:
        connection.send(request)
    except OSError as error:
        raise _lost(connection, error) from error


def receive(connection: OwnerConnection) -> Any:
    """Wait for the answer of an owner to a request, and return it.

    Raises:
        StreamsRuntimeError: the owner has ended, or an error was raised while it ran the request; a `SilentOwnerError`
            if its machine no longer answers.
    """
    try:
        done, result = connection.receive()
    except (OSError, EOFError) as error:
        raise _lost(connection, error) from error
    if not done:
        raise StreamsRuntimeError(result)
    return result


def _lost(connection: OwnerConnection, error: OSError | EOFError) -> StreamsRuntimeError:
    unheard = (errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH)
    silent = isinstance(error, OSError) and error.errno in unheard
    return SilentOwnerError(connection) if silent else StreamsRuntimeError(LOST)


class Worker:
    """This process both as an owner of tasks, and as a worker that passes tasks on to other owners."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.address = ""
        """The text by which registers name this process as an owner; empty before it is announced."""
        self._owners = Owners()

    def run(self, register: Path, request: Any) -> Any:
        """Have the owner of a task run a request, and return the result; choose an owner if the task has none.

        An owner that cannot be reached is replaced. This process is announced before an owner is chosen. An owner on a
        machine that stops answering while it runs the request is marked as silent. If this process is the owner, errors
        of `work` pass unchanged. The file `register` names the owner of the task; its path is
        `.../QUERY/owners/LEVEL-PARTITION`.

        Raises:
            StreamsRuntimeError: the owner ended while it ran the task, or an error was raised there; or this executor's
                machine does not share the state directory.
            OSError: this process cannot be announced.
        """
        try:
            owner = register.read_text()
        except FileNotFoundError:
            owner = ""
        connection = self._owners.connect_to(owner) if owner and owner != self.address else None
        if connection is None and (not owner or owner != self.address):
            owner, connection = self._claim_owner(register)
        if connection is None:
            return self.work(request)
        try:
            send(connection, request)
            return receive(connection)
        except SilentOwnerError:
            self._owners.suspect(connection)
            raise

    def announce(self) -> None:
        """Open this worker's socket and announce it, so that it may own tasks; do nothing if that was done.

        Without a host, it is not announced to other workers.

        Raises:
            StreamsRuntimeError: the worker is in an executor whose machine does not share the state directory.
            OSError: the socket cannot be opened, or the announcement cannot be written.
        """
        if self.address:
            return
        _require_shared()
        self._listen()
        if directory := os.environ.get(DIRECTORY):
            Path(directory).mkdir(mode=0o700, exist_ok=True)  # not its parent, which goes when the host has ended
            executor = f"@{executor_id()}" if executor_id() else ""
            _write(Path(directory) / f"{os.getpid()}-{process_space()}{executor}", self.address)

    def _claim_owner(self, register: Path) -> tuple[str, OwnerConnection | None]:
        """Choose the owner of a task; return it and the connection to it, which is None if this process is the owner.

        This process is announced first. While the choice lasts, a claim file names it, so that the host watches it like
        an owner.
        """
        claim = register.with_name(f"{CLAIM}{register.name}")
        _write(claim, f"streams-{os.getpid()}-\n\n{process_space()}")
        try:
            self.announce()
            with (register.parent / CLAIMS).open("w") as file:
                keep_from_forks(file)  # a child would keep the lock
                fcntl.flock(file, fcntl.LOCK_EX)  # two workers that choose at once would choose the same one
                return self._choose_owner(register)
        finally:
            with contextlib.suppress(OSError):  # the claim of a process that has ended does not count
                claim.unlink()

    def _choose_owner(self, register: Path) -> tuple[str, OwnerConnection | None]:
        level = f"{register.name.partition('-')[0]}-"
        same_level: Counter[str] = Counter()
        all_levels: Counter[str] = Counter()
        # Path.glob fails if a query that ends removes its directory meanwhile
        for each in glob.glob("*/owners/*-*", root_dir=register.parents[2]):  # noqa: PTH207
            with contextlib.suppress(FileNotFoundError):
                other = register.parents[2] / each
                owner = other.read_text()
                all_levels[owner] += 1
                same_level[owner] += other.parent == register.parent and other.name.startswith(level)
        for owner in sorted(self._workers(), key=lambda owner: (same_level[owner], all_levels[owner])):
            connection = None if owner == self.address else self._owners.connect_to(owner)
            if connection is not None or owner == self.address:
                _write(register, owner)
                return owner, connection
            self._forget(owner)
        message = "this process is among the workers, and needs no connection to itself"
        raise AssertionError(message)

    def _workers(self) -> list[str]:
        """Return the addresses of all announced workers, with this process first."""
        addresses = [self.address]
        if directory := os.environ.get(DIRECTORY):
            for each in Path(directory).iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if each.name[0].isdecimal() and (address := each.read_text()) != self.address:
                        addresses.append(address)
        return addresses

    def _forget(self, owner: str) -> None:
        """Remove the announcement of a worker that cannot be reached, so that it is not chosen again."""
        directory = os.environ.get(DIRECTORY)
        for each in Path(directory).iterdir() if directory else ():
            with contextlib.suppress(OSError):
                if each.read_text() == owner:
                    each.unlink()

    def _listen(self) -> None:
        key = secrets.token_bytes(32)
        address, listener = listen()
        self.address = f"{address}\n{key.hex()}\n{process_space()}"
        threading.Thread(target=self._accept, args=(listener, key), daemon=True).start()

    def _accept(self, listener: socket.socket, key: bytes) -> None:
        while True:
            try:
                connection = accepted(listener)
            except OSError:  # the connecting process has gone
                continue
            try:
                threading.Thread(target=self._serve, args=(connection, key), daemon=True).start()
            except RuntimeError:  # no thread can be started now; who connects does so again
                connection.close()
                time.sleep(ACCEPT_RETRY_SECONDS)

    def _serve(self, connection: Connection, key: bytes) -> None:
        if not admit(connection, key):
            return
        while True:
            try:
                request = connection.recv()
            except (OSError, EOFError):
                return
            try:
                answer = True, self.work(request)
            except Exception as error:  # noqa: BLE001  goes to the client
                answer = False, explained(error)
            connection.send(answer)


def _write(path: Path, text: str) -> None:
    part = path.with_name(f"part{os.getpid()}.{path.name}")
    part.touch(mode=0o600)
    part.write_text(text)
    part.replace(path)
