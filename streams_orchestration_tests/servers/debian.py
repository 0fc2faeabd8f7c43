"""Servers of Debian's packages: on a socket in a directory that is removed with them, never on the network."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from streams_orchestration_tests.waiting import until

START_SECONDS = 60.0


@dataclass
class DebianServer:
    """A server that runs, stops and runs again."""

    directory: Path
    process: subprocess.Popen[Any] | None = None
    default_stop: ClassVar[signal.Signals] = signal.SIGTERM
    """Ends all sessions."""
    unreachable: ClassVar[type[Exception]]
    """The error that the driver raises until the server is up."""

    def create(self) -> None:
        """Fill the directory."""
        raise NotImplementedError

    def start(self) -> None:
        """Start it, and wait until it can be connected to."""
        raise NotImplementedError

    def stop(self, how: signal.Signals | None = None) -> None:
        """End it; another signal than the usual one is a crash."""
        assert self.process is not None
        self.process.send_signal(self.default_stop if how is None else how)
        self.process.wait(START_SECONDS)

    def _spawn(self, command: Sequence[str], connect: Callable[[], Any], **user: Any) -> None:
        said = self.directory / "log"
        with said.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True, **user,
            )  # fmt: skip
        self.process = process

        def is_up() -> bool:
            try:
                connect().close()
            except self.unreachable:
                if process.poll() is not None:
                    raise
                return False
            return True

        until(is_up, lambda: f"the server does not come up: {said.read_text(errors='replace')[-2000:]}", START_SECONDS)


Made = TypeVar("Made", bound=DebianServer)


@contextmanager
def running(make: Callable[[Path], Made], prefix: str) -> Iterator[Made]:
    """Yield a server in a directory of its own, gone afterwards with all it had."""
    directory = Path(tempfile.mkdtemp(prefix=prefix))
    made = make(directory)
    try:
        made.create()
        made.start()
        yield made
    finally:
        if made.process is not None and made.process.poll() is None:
            made.stop()
        shutil.rmtree(directory, ignore_errors=True)
