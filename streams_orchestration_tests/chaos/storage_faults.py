"""Faults of the object store that holds the files which the catalog names."""

from __future__ import annotations

import time

from streams_orchestration_tests.chaos.faults import EVERYTHING, Fault, Happened, Scene
from streams_orchestration_tests.servers.faulty_s3 import Trouble

SHORT, LONG = (1.0, 8.0), (22.0, 30.0)
"""Seconds: less, and more than the product tries again."""


def _troubled(scene: Scene, trouble: Trouble, seconds: float) -> Happened:
    assert scene.storage is not None
    with scene.storage.troubled(trouble):
        time.sleep(seconds)
    return Happened(f"for {seconds:.1f} s", (EVERYTHING,))


def refuse_puts(scene: Scene) -> Happened:
    return _troubled(scene, Trouble(refuses_writes=True), scene.choose.uniform(*SHORT))


def refuse_puts_for_long(scene: Scene) -> Happened:
    return _troubled(scene, Trouble(refuses_writes=True), scene.choose.uniform(*LONG))


def hide_puts(scene: Scene) -> Happened:
    """Have writes take effect although the client sees an error."""
    return _troubled(scene, Trouble(hides_writes=True), scene.choose.uniform(*SHORT))


def hide_puts_for_long(scene: Scene) -> Happened:
    return _troubled(scene, Trouble(hides_writes=True), scene.choose.uniform(*LONG))


def slow_gets(scene: Scene) -> Happened:
    delay = scene.choose.uniform(0.3, 2.0)
    happened = _troubled(scene, Trouble(read_seconds=delay), scene.choose.uniform(*SHORT))
    return Happened(f"{delay:.1f} s each, {happened.what}", happened.units)


def stop_storage(scene: Scene) -> Happened:
    """Connections are taken, and nothing is answered."""
    assert scene.storage is not None
    seconds = scene.choose.uniform(*SHORT)
    with scene.storage.stopped():
        time.sleep(seconds)
    return Happened(f"for {seconds:.1f} s", (EVERYTHING,))


STORAGE_FAULTS: dict[str, tuple[int, Fault]] = {
    "refuse puts": (4, refuse_puts),
    "refuse puts for long": (2, refuse_puts_for_long),
    "hide puts": (4, hide_puts),
    "hide puts for long": (2, hide_puts_for_long),
    "slow gets": (3, slow_gets),
    "stop storage": (3, stop_storage),
}
"""Name -> how often it comes, and what it does."""
