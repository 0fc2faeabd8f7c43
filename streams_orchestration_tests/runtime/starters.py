"""Another process that holds the start lock of an application until it is told to release it."""

from __future__ import annotations

import subprocess
import sys
from types import TracebackType

from streams_orchestration.runtime.storage.home import Home

_CODE = """
import sys
from pathlib import Path
from streams_orchestration.runtime.catalog.start_lock import lock_start
from streams_orchestration.runtime.storage.home import Home
with lock_start(Home(Path(sys.argv[1])), sys.argv[2], "streams run"):
    print("locked", flush=True)
    sys.stdin.readline()
"""


class Starting:
    """A context manager; the process is gone afterwards."""

    def __init__(self, home: Home, application: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _CODE, str(home.root), application],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.pid = self._process.pid

    def __enter__(self) -> Starting:
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "locked\n"
        return self

    def release(self) -> None:
        """Have it release the lock and end."""
        self._process.communicate("\n")

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()
        self._process.communicate()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
