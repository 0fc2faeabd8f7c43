"""The ways between a machine and the servers: one leads nowhere, or packets on it are late and lost.

The system's own queues that do this are seldom there; a network device whose packets a process carries is.
"""

from __future__ import annotations

import contextlib
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

DEVICE = Path("/dev/net/tun")
_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_MOST_BYTES = 1 << 16


def ip(*words: str) -> None:
    """Change the network of this machine, or, with `-n SPACE`, of another one."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def nowhere(space: str, address: str) -> Iterator[None]:
    """No packet from a network namespace gets to an address, and none comes back to say so."""
    with _device("nowhere", space):
        ip("-n", space, "route", "add", f"{address}/32", "dev", "nowhere")
        yield


@contextlib.contextmanager
def worse(space: str, address: str, delay: float, loss: float) -> Iterator[None]:
    """Packets from and to a network namespace are late, overtake each other, and are lost.

    Args:
        space: the namespace, which has a default route.
        address: its own.
        delay: seconds, on average; half to one and a half of it.
        loss: the part of the packets, 0 to 1.
    """
    here = f"{space}w"[-15:]
    with _device("worse", space) as inner, _device(here) as outer, _carried(inner, outer, delay, loss):
        for half in ("0.0.0.0/1", "128.0.0.0/1"):
            ip("-n", space, "route", "add", half, "dev", "worse", "src", address)
        ip("route", "add", f"{address}/32", "dev", here)
        yield


@contextlib.contextmanager
def _device(name: str, space: str | None = None) -> Iterator[int]:
    """Yield a network device that gives its packets to this process; it goes with all its routes."""
    packets = os.open(DEVICE, os.O_RDWR | os.O_NONBLOCK)
    try:
        fcntl.ioctl(packets, _TUNSETIFF, struct.pack("16sH14x", name.encode(), _IFF_TUN | _IFF_NO_PI))
        if space is not None:
            ip("link", "set", name, "netns", space)
        ip(*(["-n", space] if space is not None else []), "link", "set", name, "up")
        yield packets
    finally:
        os.close(packets)


@contextlib.contextmanager
def _carried(one: int, other: int, delay: float, loss: float) -> Iterator[None]:
    """Packets of each device come out of the other one."""
    ended, end = os.pipe()
    thread = threading.Thread(target=_carry, args=(one, other, ended, delay, loss), daemon=True)
    thread.start()
    try:
        yield
    finally:
        os.close(end)
        thread.join()
        os.close(ended)


def _carry(one: int, other: int, ended: int, delay: float, loss: float) -> None:
    choose, across = random.Random(1), {one: other, other: one}
    late: list[tuple[float, int, int, bytes]] = []
    for number in range(1 << 62):
        patience = max(late[0][0] - time.monotonic(), 0.0) if late else None
        ready, _, _ = select.select([one, other, ended], [], [], patience)
        if ended in ready:
            return
        for device in ready:
            with contextlib.suppress(OSError):
                packet = os.read(device, _MOST_BYTES)
                if choose.random() >= loss:
                    at = time.monotonic() + delay * choose.uniform(0.5, 1.5)
                    heapq.heappush(late, (at, 2 * number + (device == other), across[device], packet))
        while late and late[0][0] <= time.monotonic():
            _, _, device, packet = heapq.heappop(late)
            with contextlib.suppress(OSError):
                os.write(device, packet)
