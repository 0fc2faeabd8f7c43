"""Who runs a task: one worker process, its owner, which keeps the operators and their open files from batch to batch.

Spark gives a task to whichever worker is idle. That one passes it on to the owner over a local socket, or becomes the
owner if there is none. An owner that has ended is replaced; the operators are restored there as after a reset.
"""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import Any

from streams_orchestration.runtime.errors import StreamsRuntimeError

Work = Callable[[Any], Any]
"""Runs a request; both it and what it gives can be pickled."""


class Worker:
    """This process as an owner of tasks, and as one that passes tasks on."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._address = ""
        self._connections: dict[str, Connection] = {}

    def run(self, register: Path, request: Any) -> Any:
        """Have a request run by the owner.

        Args:
            register: file that names the owner of the task.
            request: for `work`.

        Raises:
            StreamsRuntimeError: the owner ended while it ran the task.
        """
        try:
            owner = register.read_text()
        except FileNotFoundError:
            owner = ""
        if owner and owner == self._address:
            return self.work(request)
        connection = self._connect(owner) if owner else None
        if connection is None:
            self._claim(register)
            return self.work(request)
        try:
            connection.send(request)
            done, result = connection.recv()
        except (OSError, EOFError) as error:
            self._connections.pop(owner).close()
            message = "the Python process that ran the task has ended; look at the end of the host's log"
            raise StreamsRuntimeError(message) from error
        if not done:
            raise StreamsRuntimeError(result)
        return result

    def _connect(self, owner: str) -> Connection | None:
        """To the owner; None if it has ended."""
        connection = self._connections.get(owner)
        if connection is not None and not connection.poll():
            return connection
        # nobody sends anything unasked: what can be read is the end of the connection
        self._connections.pop(owner, None)
        address, key = owner.split("\n")
        try:
            self._connections[owner] = Client(address, "AF_UNIX", authkey=bytes.fromhex(key))
        except (OSError, EOFError):
            return None
        return self._connections[owner]

    def _claim(self, register: Path) -> None:
        if not self._address:
            self._listen()
        part = register.with_suffix(f".{os.getpid()}")
        part.touch(mode=0o600)
        part.write_text(self._address)
        part.replace(register)

    def _listen(self) -> None:
        name, key = f"streams-{os.getpid()}-{secrets.token_hex(8)}", secrets.token_bytes(32)
        # in Linux' own name space, where nothing is left behind
        address = f"\0{name}" if sys.platform == "linux" else str(Path(tempfile.gettempdir()) / name)
        listener = Listener(address, "AF_UNIX", authkey=key)
        self._address = f"{address}\n{key.hex()}"
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: Listener) -> None:
        while True:
            try:
                connection = listener.accept()
            except Exception:  # whoever it was did not know the key, or has gone
                continue
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: Connection) -> None:
        while True:
            try:
                request = connection.recv()
            except (OSError, EOFError):
                return
            try:
                answer = True, self.work(request)
            except Exception as error:
                answer = False, str(error) if isinstance(error, StreamsRuntimeError) else repr(error)
            connection.send(answer)
