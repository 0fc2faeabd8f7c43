"""A guard of the catalog's write lock: no test passes in which a transaction that writes touches files or processes.

Processes that a test starts - hosts, their workers, commands - are watched, too: `guarded/sitecustomize.py` begins the
guard in them, and what it finds fails the test that runs.

The interpreter reports each such call before it is made (`sys.addaudithook`). Files of the database are opened in C and
are not reported. Three things are not reported and guarded here by themselves: checks of a file, which the product does
by `Path.stat`, waits, and requests to an object store, which are made in C++.
"""

from __future__ import annotations

import functools
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CATALOG = "streams_orchestration.runtime.catalog.catalog"
WORLD = "streams_orchestration.world"
REMOTE_STORE = "streams_orchestration.runtime.storage.remote_store"
EVENTS = {
    *("open", "os.listdir", "os.scandir", "os.mkdir", "os.rmdir", "os.remove", "os.rename", "os.link", "os.symlink"),
    *("os.truncate", "os.chmod", "os.utime", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "os.exec"),
    *("os.system", "os.kill", "os.killpg", "subprocess.Popen", "shutil.rmtree", "shutil.copyfile", "shutil.move"),
    *("socket.connect", "socket.getaddrinfo", "tempfile.mkstemp", "tempfile.mkdtemp", "import"),
}
"""Audit events of the interpreter; `import` is one only where a module is loaded."""
_found: list[str] = []
_watched: list[bool] = []
"""Empty while the test that runs is not watched."""
_reports: list[Path] = []
"""The file to which processes that tests have started report; of the process of the tests the one that it reads."""
_started_by_a_test: list[bool] = []
_reading = [0]
"""Bytes of the reports that were read."""
_noting = threading.local()


class UnderWriteLockError(Exception):
    """A transaction that writes does what others would wait for."""


def watch() -> None:
    """Begin; it lasts as long as the process."""
    sys.addaudithook(_check_event)
    Path.stat = _guarded(Path.stat)  # type: ignore[method-assign]
    time.sleep = _guarded(time.sleep)
    if (world := sys.modules.get(WORLD)) is not None:
        world.sleep = time.sleep  # type: ignore[attr-defined]


def watch_children() -> None:
    """Have the Python processes that this one starts from now on watched."""
    number, report = tempfile.mkstemp(prefix="write-turns-")
    os.close(number)
    _reports.append(Path(report))
    guard = str(Path(__file__).parent / "guarded")
    paths = [guard, *(each for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each not in ("", guard))]
    os.environ |= {"STREAMS_TEST_WRITE_TURNS": report, "PYTHONPATH": os.pathsep.join(paths)}


def watch_here(report: Path) -> None:
    """Watch this process, which a test has started; it reports what it finds, and prevents nothing."""
    _reports.append(report)
    _started_by_a_test.append(True)
    _watched.append(True)
    watch()


def end() -> None:
    """Remove the reports of the processes that this one has started."""
    for report in _reports:
        report.unlink(missing_ok=True)


def watch_stores() -> None:
    """Guard requests to object stores, if their module is loaded by now."""
    store = getattr(sys.modules.get(REMOTE_STORE), "RemoteStore", None)
    if store is not None and not hasattr(store.attempt, "__wrapped__"):
        store.attempt = _guarded(store.attempt)


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def guarded(*arguments: Any, **more: Any) -> Any:
        if has_turn() and not _is_own("stat", arguments):
            refuse(f"{function.__qualname__}{arguments!r}")
        return function(*arguments, **more)

    return guarded


@contextmanager
def watched() -> Iterator[None]:
    """Watch what is done within the block."""
    _watched.append(True)
    try:
        yield
    finally:
        _watched.clear()


def found() -> list[str]:
    """Return what was done under the lock since the last call, each with its place."""
    found = [*_found]
    _found.clear()
    for report in _reports:
        with report.open("rb") as file:
            file.seek(_reading[0])
            found += file.read().decode().splitlines()
            _reading[0] = file.tell()
    return found


def _check_event(event: str, arguments: tuple[Any, ...]) -> None:
    if event in EVENTS and has_turn() and not _is_own(event, arguments):
        refuse(f"{event}{arguments!r}")


def has_turn() -> bool:
    """Return True if this thread is in such a transaction, of a catalog that may not be loaded yet."""
    if getattr(_noting, "held", False):
        return False
    catalog = sys.modules.get(CATALOG)
    asked = getattr(catalog, "has_turn", None) if _watched else None
    return asked is not None and asked()


def refuse(what: str) -> None:
    """Note a call of the product, and prevent it.

    A test may do as it likes in a transaction of its own. The catalog is upgraded while nobody uses it, and the
    migrations are files.
    """
    place, frames = "/streams_orchestration/", []
    frame = sys._getframe()
    while frame is not None:
        name = frame.f_code.co_filename
        frames += [f"{name.rpartition(place)[2]}:{frame.f_lineno}"] if place in name else []
        frame = frame.f_back
    if not frames or frames[0].startswith("runtime/catalog/migrations/"):
        return
    message = f"under the catalog's write lock: {what[:200]} at {' < '.join(frames[:6])}"
    if _started_by_a_test:
        _report(" ".join(message.splitlines()))
        return
    _found.append(message)
    raise UnderWriteLockError(message)


def _report(line: str) -> None:
    _noting.held = True
    try:
        with _reports[0].open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
    except FileNotFoundError:
        pass  # the tests are over
    finally:
        _noting.held = False


def _is_own(event: str, arguments: tuple[Any, ...]) -> bool:
    """Return True if a call waits for nothing, or is not a part of an application that runs.

    The kernel's table of processes is in memory. The interpreter reads the source of a traceback.
    """
    path = str(arguments[0]) if arguments else ""
    return path.startswith("/proc/") or (event == "open" and path.endswith(".py"))
