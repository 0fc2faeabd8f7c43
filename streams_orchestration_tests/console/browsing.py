"""A browser for tests of the pages: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration_tests.console.conftest import served
from streams_orchestration_tests.console.deployed import Deployed

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one has no user interface of its own, which the others load for each page that nobody sees."""
CHROMIUM = next(filter(None, map(shutil.which, PROGRAMS)), None)
AXE = Path(__file__).parents[2] / "streams_orchestration/console/page/node_modules" / "axe-core" / "axe.min.js"
MARKS = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium, as `make servers` installs it"),
    pytest.mark.xdist_group("browser"),
]
TIMEOUT_MILLISECONDS = 60_000
"""Milliseconds: a busy machine is slow, and what never comes fails the test."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # the sandbox needs rights that a container may not give; the page is our own
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Seen:
    """A page, and what the browser complained about."""

    def __init__(self, browser: Any, width: int = 1280, scheme: str = "light", *, touch: bool = False) -> None:
        context = browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, has_touch=touch, is_mobile=touch
        )
        context.set_default_timeout(TIMEOUT_MILLISECONDS)
        self.page = context.new_page()
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complain(message.type, message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def complain(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.complaints.append(text)

    def open(self, address: str) -> Any:
        self.page.goto(address)
        self.expect("[data-id]").not_to_have_count(0)
        return self.page

    def until(self, expression: str) -> None:
        """Wait until an expression of JavaScript is true.

        `wait_for_function` evaluates texts in the page when it asks again, which the policy of the page refuses.
        """
        end = time.monotonic() + TIMEOUT_MILLISECONDS / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            self.page.evaluate("new Promise(requestAnimationFrame)")

    def expect(self, selector: str) -> Any:
        playwright.expect.set_options(timeout=TIMEOUT_MILLISECONDS)
        return playwright.expect(self.page.locator(selector))


def operator(name: str) -> str:
    return f'[data-id="op:{name}"]'


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    made = Deployed(tmp_path_factory.mktemp("browser"))
    made.work()
    return made


@pytest.fixture(scope="module")
def address(application: Deployed) -> Iterator[str]:
    with served(SnapshotReader(application.home)) as each:
        yield each


@pytest.fixture
def seen(browser: Any, address: str) -> Iterator[Seen]:
    each = Seen(browser)
    each.open(address)
    yield each
    assert each.complaints == [], "the policy refuses something, or the script fails"
    each.page.context.close()


UNTOUCHABLE = """() => [...document.querySelectorAll('select, input, button, summary, a, [role=button]')]
  .filter((each) => each.checkVisibility())
  .map((each) => each.matches('[type=checkbox]') ? each.closest('label') : each)
  .map((each) => [each.getBoundingClientRect(), each.outerHTML.slice(0, 120)])
  .filter(([{width, height}]) => Math.min(width, height) < 39.5)
  .map(([{width, height}, text]) => `${width} x ${height}: ${text}`)"""
"""Controls that are too small for a finger."""


def axe(page: Any) -> list[str]:
    """Serious findings of axe."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate("axe.run()")["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]
