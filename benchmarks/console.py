"""The console's page with 5,000 operators in Chromium: until it is drawn, until it has reacted, what it costs open.

The application is made up and its values change with every request, so that the catalog is in none of these figures.
Nothing where there is no browser.
"""

from __future__ import annotations

import random
import shutil
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.harness import Row
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.console.snapshots import snapshot
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.observing.metrics import ApplicationMetrics, OperatorMetrics, PortMetrics
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.console.conftest import served
from streams_orchestration_tests.console.deployed import large
from streams_orchestration_tests.runtime.readings import host_status, pe_status

WATCH = """
addEventListener('DOMContentLoaded', () => {
  window.drawnAt = 0;
  new MutationObserver(() => requestAnimationFrame(() => setTimeout(() => { window.drawnAt = performance.now(); })))
    .observe(document.body, {attributes: true, attributeFilter: ['data-drawn']});
});
"""
"""Notes when a drawing is on the screen: behind the frame after it was made."""
ARRIVED = "performance.getEntriesByType('resource').find((e) => e.name.includes('/graph?')).responseEnd"
ACT = """async (selector) => {
  const begin = performance.now();
  window.drawnAt = 0;
  document.querySelector(selector).dispatchEvent(new MouseEvent('click', {bubbles: true}));
  while (!window.drawnAt) await new Promise((done) => setTimeout(done, 5));
  return window.drawnAt - begin;
}"""
SEARCH = """async (text) => {
  const begin = performance.now();
  const search = document.querySelector('#search');
  search.value = text;
  search.dispatchEvent(new Event('input'));
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begin;
}"""
MOVE = """async ([way, frames]) => {
  const canvas = document.querySelector('.canvas');
  const times = [];
  const send = (type, clientX) =>
    canvas.dispatchEvent(new PointerEvent(type, {pointerId: 1, clientX, clientY: 300, bubbles: true}));
  canvas.setPointerCapture = () => undefined;
  if (way === 'pan') send('pointerdown', 600);
  let last = performance.now();
  for (let frame = 0; frame < frames; frame++) {
    if (way === 'pan') send('pointermove', 600 - 9 * frame);
    else {
      const deltaY = frame < frames / 2 ? -40 : 40;
      canvas.dispatchEvent(new WheelEvent('wheel', {deltaY, clientX: 600, clientY: 300}));
    }
    await new Promise((done) => requestAnimationFrame(done));
    times.push(performance.now() - last);
    last = performance.now();
  }
  if (way === 'pan') send('pointerup', 600);
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.9)];
}"""
"""A script that moves or zooms the view, and returns the milliseconds that nine of ten frames take at most."""
SECOND = 1000.0
SHOWN, ACTED = 2.0, 0.5
"""The most seconds until the page is drawn, and until it has reacted."""


class MadeUp(SnapshotReader):
    """Shows one application that is deployed nowhere."""

    def __init__(self, made: Compilation) -> None:
        super().__init__(Home.default())
        self.made = made
        self.name = made.logical.application
        self.random = random.Random(17)

    def applications(self) -> tuple[str, ...]:
        return (self.name,)

    def compilation(self, application: str) -> Compilation:
        return self.made

    def snapshot(self, application: str) -> dict[str, Any]:
        now = clock.now()
        host = host_status(launched_at=now, heartbeat_at=now)
        names = [each.name for each in self.made.physical.operators]
        pes = tuple(
            pe_status(pe.id, operators=[names[each] for each in pe.operators], unit=f"pe-{pe.id}", committed_at=now)
            for pe in self.made.fusion.pes
        )
        status = ApplicationStatus(self.name, "RUNNING", "made up", "life", 1.0, (host,), pes, (), Path(), ())
        operators = tuple(
            self._measured(each.name, self.made.fusion.pe_of[each.index]) for each in self.made.physical.operators
        )
        return snapshot(status, ApplicationMetrics(self.name, "", now, True, (), operators, (), (), ()), {}, now)

    def _measured(self, name: str, pe: int) -> OperatorMetrics:
        rate = self.random.uniform(0, 1e5)
        return OperatorMetrics(
            name, pe, 0, 0, (), (PortMetrics(0, 0, 0, 0, 0, rate),), 0, 0, 0, (), self.random.random(), rate
        )


def rows(*, quick: bool = False) -> list[Row]:
    """Return the times of the page against their limits; none without a browser."""
    programs = ("chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    chromium = next(filter(None, map(shutil.which, programs)), None)
    if chromium is None or find_spec("playwright") is None:
        return []
    from playwright.sync_api import sync_playwright

    made = large()
    with served(MadeUp(made)) as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            return [
                *_shown(browser, address, 1 if quick else 3),
                *_used(browser, address),
                *_open(browser, address, quick),
            ]
        finally:
            browser.close()


def _page(browser: Any, address: str) -> Any:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.add_init_script(WATCH)
    page.goto(address)
    page.wait_for_selector("[data-drawn]", timeout=60_000)
    _settle(page)
    return page


def _settle(page: Any) -> None:
    while not page.evaluate("window.drawnAt"):
        time.sleep(0.02)


def _shown(browser: Any, address: str, times: int) -> list[Row]:
    """Return the best of some loads, since other work on the machine can only add time."""
    taken: list[float] = []
    for _ in range(times):
        page = _page(browser, address)
        taken.append(page.evaluate(f"window.drawnAt - ({ARRIVED})") / SECOND)
        page.close()
    return [Row("console: 5,000 operators, from their arrival to the screen", min(taken), "s", SHOWN, 1.0)]


def _used(browser: Any, address: str) -> list[Row]:
    page = _page(browser, address)
    figures = {"a composite of 98 is unfolded": page.evaluate(ACT, '[data-fold="/C0"]')}
    figures["it is folded"] = page.evaluate(ACT, '[data-fold="/C0"]')
    figures["a search"] = page.evaluate(SEARCH, "C49.F9")
    figures["the view moves"] = page.evaluate(MOVE, ["pan", 40])
    figures["the view zooms"] = page.evaluate(MOVE, ["zoom", 40])
    for _ in range(4):
        figures["all is unfolded"] = page.evaluate(ACT, ".zoom button:last-child")
    figures["all unfolded, the view moves"] = page.evaluate(MOVE, ["pan", 40])
    figures["all unfolded, the view zooms"] = page.evaluate(MOVE, ["zoom", 40])
    page.close()
    return [Row(f"console: {what}", value / SECOND, "s", ACTED) for what, value in figures.items()]


def _open(browser: Any, address: str, quick: bool) -> list[Row]:
    """Return the processor time of the browser's processes while a page is open and nobody touches it."""
    page = _page(browser, address)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        return next(
            each["value"]
            for each in session.send("Performance.getMetrics")["metrics"]
            if each["name"] == "TaskDuration"
        )

    time.sleep(2)
    begun, began = busy(), time.monotonic()
    time.sleep(10 if quick else 30)
    cores = (busy() - begun) / (time.monotonic() - began)
    page.close()
    return [Row("console: an open page with values of 5,000 operators", cores, "cores", 0.01, 1.0)]
