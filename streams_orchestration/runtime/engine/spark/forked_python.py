"""Replaces `python` where Spark starts one: requests a process with ready imports from its host's fork server.

Run by its path, as `python -I -S forked_python.py DIRECTORY -m MODULE ...`; it imports nothing but a few modules of the
standard library. Its arguments, environment, working directory and standard streams are given to the forked process,
whose exit status becomes its own. Where no fork server answers, or no module is to be run, it becomes an ordinary
Python.
"""

import contextlib
import marshal
import os
import signal
import socket
import sys

ANSWER_SECONDS = 60.0
"""Seconds within which a fork server must answer, imports included; otherwise an ordinary Python is started."""


def main(directory: str, arguments: list[str]) -> int:
    """Request a forked process, wait for its end, and return its exit status; pass SIGTERM on to it.

    If no server answers, or with a program other than `-m MODULE`, this process becomes an ordinary Python. If the
    server ends after its answer, the forked process is killed, and the status is 1.
    """
    connection = _connect(directory) if arguments[:1] == ["-m"] else None
    pid = None if connection is None else _request(connection, arguments)
    if connection is None or pid is None:
        os.execv(sys.executable, [sys.executable, *arguments])  # noqa: S606  this Python, with the arguments of this process

    def terminate(_signal: int, _frame: object) -> None:
        os.kill(pid, signal.SIGTERM)

    signal.signal(signal.SIGTERM, terminate)
    connection.settimeout(None)
    status = connection.recv(4)
    if len(status) < 4:  # the server is gone, and nothing else knows of its processes
        _kill(pid)
        return 1
    return int.from_bytes(status, "little")


def _connect(directory: str) -> socket.socket | None:
    here = os.getcwd()  # noqa: PTH109 (pathlib takes longer to import than all of this)
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(ANSWER_SECONDS)
    try:
        os.chdir(directory)  # the path of a socket may not have more than some 100 bytes
        connection.connect("socket")
    except OSError:
        return None
    finally:
        os.chdir(here)
    return connection


def _request(connection: socket.socket, arguments: list[str]) -> int | None:
    """Request a forked process, and return its pid; None if the connection fails, or ends without an answer."""
    directory = os.getcwdb()  # noqa: PTH109
    request = marshal.dumps((arguments, dict(os.environb), directory))
    try:
        socket.send_fds(connection, [len(request).to_bytes(4, "little")], [0, 1, 2])
        connection.sendall(request)
        pid = connection.recv(4)
    except OSError:
        return None
    return int.from_bytes(pid, "little") if len(pid) == 4 else None


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
