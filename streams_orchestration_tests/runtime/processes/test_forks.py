"""A child that code of a user forks lets go of what only its parent may have, and keeps the rest."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

SOCKETS_OF_BEFORE = """
import os, signal, socket
from streams_orchestration.runtime.processes.forks import keep_from_forks, keep_sockets_from_forks
ours, peer = socket.socketpair()
copy, (read, write) = os.dup(ours.fileno()), os.pipe()
keep_sockets_from_forks()
pipe = os.fdopen(write, "wb")
keep_from_forks(pipe)
mine, its = socket.socketpair()
keep_sockets_from_forks()
child = os.fork()
if not child:
    opened = os.open(os.devnull, os.O_RDONLY)
    its.sendall(b"taken" if opened in (ours.fileno(), copy, write) else b"other")
    if not os.fork():
        its.sendall(b" again")
        os._exit(0)
    os.wait()
    its.sendall(b".")
    while True:
        signal.pause()
heard = b""
while not heard.endswith(b"."):
    heard += mine.recv(20)
print(heard.decode())
ours.close()
os.close(copy)
pipe.close()
peer.settimeout(30)
print("ended" if peer.recv(1) == b"" else "open", "ended" if os.read(read, 1) == b"" else "open")
os.kill(child, signal.SIGKILL)
"""


def test_the_end_of_a_process_is_seen_though_its_child_lives() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SOCKETS_OF_BEFORE], check=True, stdout=subprocess.PIPE, text=True, timeout=60
    )
    assert run.stdout.splitlines() == ["other again.", "ended ended"]
