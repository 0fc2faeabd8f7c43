"""Redeploys, and faults that hit them in each of their phases."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.documents import dump
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.redeployment.deployed_plan import preview_redeploy
from streams_orchestration_tests.chaos.faults import (
    EVERYTHING,
    FAULTS,
    Fault,
    Happened,
    Scene,
    crash_counterpart,
    crash_server,
    end_sessions,
    fill_disk,
    kill_host,
    kill_jvm,
    kill_python,
    lock_catalog,
    request_reset,
    reset_by_hand,
    resume,
)
from streams_orchestration_tests.chaos.redeployer import PLACES
from streams_orchestration_tests.chaos.storage_faults import STORAGE_FAULTS

REDEPLOY_SECONDS = 300.0
"""The seconds in which a redeploy must have ended, whatever happens to it."""
REFUSED = "RedeployRefusedError"
"""The error of a refused redeploy, which is a violation: all plans keep their state."""
FIRST_EPOCH = "first epoch"
"""A place, too: the redeploy is done, and the new plan has completed no epoch."""
OUTSIDE = ("hold", "drain", "carry", "reload", FIRST_EPOCH)
"""Places where the redeploy holds no lock of the catalog."""


class Redeployer:
    """A redeploy to another plan, in a process of its own, that waits at a place."""

    def __init__(self, scene: Scene, place: str) -> None:
        wanted = scene.plans.another()
        acted = {
            each.unit
            for each in preview_redeploy(Catalog(scene.home), deployable(wanted)).units
            if each.action != "run on"
        }
        self.units = tuple(sorted(acted))
        self.place = place
        scene.count += 1
        plan = scene.place / f"plan-{scene.count}.json"
        plan.write_bytes(dump(wanted))
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        command = [sys.executable, "-m", "streams_orchestration_tests.chaos.redeployer"]
        with (scene.place / "redeploys.log").open("ab") as errors:
            self.process = subprocess.Popen(
                [*command, str(scene.home.root), str(plan), place],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()
        self._scene = scene
        self.last = ""

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line.strip())
        self._lines.put("")

    def reach(self) -> bool:
        """Wait until it is at its place; False when it ends before, or need not go there."""
        if self.place == FIRST_EPOCH:
            self.end()
            return True
        self.last = self._lines.get(timeout=REDEPLOY_SECONDS)
        return self.last == f"at {self.place}"

    def proceed(self) -> None:
        """Let it proceed from its place."""
        assert self.process.stdin is not None
        if self.process.poll() is None:
            self.process.stdin.close()

    def end(self) -> None:
        """Wait for its end, and for what it says."""
        while self.process.poll() is None or not self._lines.empty():
            line = self._lines.get(timeout=REDEPLOY_SECONDS)
            self.last = line or self.last
            if not line:
                break
        self.process.wait(REDEPLOY_SECONDS)

    def came(self, *, undisturbed: bool) -> str:
        """Return the result of the redeploy in words; note violations."""
        try:
            reported = json.loads(self.last)
        except ValueError:
            reported = {"error": f"status {self.process.returncode}", "message": self.last}
        if "error" not in reported:
            return f"{self.place}: {reported['verdict']} in {reported['seconds'] or 0:.1f} s"
        text = f"{self.place}: {reported['error']}: {reported['message']}"
        crashed = (self.process.returncode or 0) > 0
        complete = reported["error"] == "NotDeployableError"
        if reported["error"] == REFUSED or crashed or (undisturbed and not complete):
            self._scene.wrong.append(f"redeploy, {text}")
        return text


def redeploy(scene: Scene) -> Happened:
    """Redeploy without another fault."""
    redeployer = Redeployer(scene, "nowhere")
    redeployer.end()
    return Happened(redeployer.came(undisturbed=scene.calm()), redeployer.units)


def kill_redeploy(scene: Scene) -> Happened:
    """In one of its phases."""
    redeployer = Redeployer(scene, scene.choose.choice(PLACES))
    reached = redeployer.reach()
    redeployer.process.kill()
    redeployer.process.wait()
    return Happened(f"{redeployer.place}, {'killed' if reached else redeployer.last}", redeployer.units)


def two_redeploys(scene: Scene) -> Happened:
    """Begin a redeploy while another one is in one of its phases."""
    first = Redeployer(scene, scene.choose.choice(PLACES))
    first.reach()
    second = Redeployer(scene, "nowhere") if first.place != "switch" else None
    first.proceed()
    first.end()
    reported = [first.came(undisturbed=scene.calm())]
    units = set(first.units)
    if second is not None:
        second.end()
        reported.append(second.came(undisturbed=False))
        units = {EVERYTHING}
    return Happened("; ".join(reported), tuple(units))


def pause_python_across_a_redeploy(scene: Scene) -> Happened:
    """Make a zombie: its commit comes after the switch."""
    process, units = scene.python()
    unit = scene.choose.choice(units)
    process.suspend()
    try:
        request_reset(scene, unit)
        redeployer = Redeployer(scene, "nowhere")
        redeployer.end()
    finally:
        resume(process)
    return Happened(f"Python process {process.pid}, {redeployer.came(undisturbed=False)}",
                    (*units, *redeployer.units))  # fmt: skip


def pause_host_across_a_redeploy(scene: Scene) -> Happened:
    """It sees the new plan late."""
    host, units = scene.host()
    redeployer = Redeployer(scene, scene.choose.choice(("carry", "switch", "reload")))
    redeployer.reach()
    try:
        host.suspend()
        redeployer.proceed()
        redeployer.end()
        time.sleep(scene.choose.uniform(0, 3))
    finally:
        resume(host)
    return Happened(f"host {host.pid}, {redeployer.came(undisturbed=False)}", (*units, *redeployer.units))


def in_a_redeploy(fault: Fault, places: tuple[str, ...] = (*PLACES, FIRST_EPOCH)) -> Fault:
    """Cause a fault in one of the phases of a redeploy, which goes on."""

    def happens(scene: Scene) -> Happened:
        redeployer = Redeployer(scene, scene.choose.choice(places))
        pause = scene.choose.uniform(0, 0.5)
        results: list[Happened] = []
        thread = threading.Thread(target=_into, args=(lambda: fault(scene), results))
        reached = redeployer.reach()
        if reached:
            thread.start()
            time.sleep(pause)
            redeployer.proceed()
            thread.join()
        redeployer.end()
        reported = redeployer.came(undisturbed=not results and scene.calm())
        if not results:
            return Happened(f"{reported} (and nothing happened to it)", redeployer.units)
        return Happened(f"{results[0].what}, {reported}", (*results[0].units, *redeployer.units))

    return happens


def _into(call: Callable[[], Happened], results: list[Happened]) -> None:
    try:
        results.append(call())
    except LookupError:
        return  # there is nothing to do it to


REDEPLOYS: dict[str, tuple[int, Fault]] = {
    "redeploy": (6, redeploy),
    "kill redeploy": (4, kill_redeploy),
    "two redeploys at once": (1, two_redeploys),
    "pause Python process across a redeploy": (3, pause_python_across_a_redeploy),
    "pause host across a redeploy": (2, pause_host_across_a_redeploy),
    "kill host in a redeploy": (4, in_a_redeploy(kill_host)),
    "kill JVM in a redeploy": (2, in_a_redeploy(kill_jvm)),
    "kill Python process in a redeploy": (4, in_a_redeploy(kill_python)),
    "reset in a redeploy": (2, in_a_redeploy(reset_by_hand, OUTSIDE)),
    "lock catalog in a redeploy": (1, in_a_redeploy(lock_catalog, OUTSIDE)),
    "fill disk in a redeploy": (2, in_a_redeploy(fill_disk)),
    "end sessions in a redeploy": (4, in_a_redeploy(end_sessions)),
    "crash PostgreSQL in a redeploy": (2, in_a_redeploy(crash_server)),
    "crash counterpart in a redeploy": (2, in_a_redeploy(crash_counterpart)),
}
KINDS = FAULTS | STORAGE_FAULTS | REDEPLOYS
"""Name -> how often it comes, and what it does."""
