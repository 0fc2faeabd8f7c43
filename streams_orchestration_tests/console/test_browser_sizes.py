"""Pages of all sizes can be read, hit and seen in a browser. Skipped if there is no browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.runtime.catalog import tables
from streams_orchestration_tests.console.browsing import (
    MARKS,
    UNTOUCHABLE,
    Seen,
    address,
    application,
    browser,
    operator,
)  # fmt: skip
from streams_orchestration_tests.console.conftest import served
from streams_orchestration_tests.console.deployed import CAUSE, Deployed, long_names

pytestmark = MARKS


TEXTS = """() => [...document.querySelectorAll('body *')]
  .filter((each) => each.checkVisibility({visibilityProperty: true}) && !each.matches('option, title, script, noscript')
    && [...each.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim()))
  .map((each) => [
    parseFloat(getComputedStyle(each).fontSize) * (each instanceof SVGTextElement ? each.getScreenCTM().a : 1),
    each.textContent,
  ])"""
"""Each text that is shown, with the pixels of its letters on the screen."""
INSIDE = """([inner, outer]) => {
  const box = document.querySelector(outer).getBoundingClientRect();
  return [...document.querySelectorAll(inner)].filter((each) => {
    const {left, top, right, bottom} = each.getBoundingClientRect();
    return left < box.left || top < box.top || right > box.right || bottom > box.bottom;
  }).map((each) => each.dataset.id);
}"""
"""Names of shapes that are not wholly in a part of the page."""
WHOLE = """(id) => {
  const [shape, view] = [`[data-id="${id}"]`, '.canvas'].map((each) => document.querySelector(each));
  const title = shape.getBoundingClientRect();
  const frame = [...document.querySelectorAll('.frame')].map((each) => each.getBoundingClientRect())
    .filter((each) => each.left <= title.left && each.top <= title.top && each.bottom >= title.bottom)
    .sort((one, other) => one.width * one.height - other.width * other.height)[0];
  const box = view.getBoundingClientRect();
  const starts = frame.left >= box.left && frame.top >= box.top;
  return starts && (frame.bottom <= box.bottom || frame.top < box.top + 40) && title.bottom < box.bottom;
}"""
"""All of a box is in the view, or its beginning is at the beginning of the view."""


def small_texts(page: Any) -> list[Any]:
    return [each for each in page.evaluate(TEXTS) if each[0] < 10.99]


def test_on_a_phone_the_graph_goes_downwards_and_can_be_read(browser: Any, address: str, application: Deployed):
    seen = Seen(browser, 390, touch=True)
    page = seen.open(address)
    seen.expect(f"{operator('Rows')} .value").to_contain_text("/s")
    rows, doubled = (page.locator(operator(name)).bounding_box() for name in ("Rows", "Doubled"))
    assert doubled["y"] > rows["y"] + rows["height"]
    assert small_texts(page) == []
    page.locator("#fit-graph").click()
    seen.until(f"({INSIDE})(['.leaf', '.canvas']).length === 0")
    assert small_texts(page) == []
    for _ in range(6):
        page.get_by_label("Zoom out").click()
    assert small_texts(page) == []
    page.locator("#fit-graph").click()
    with application.failed(1):
        seen.expect(".banner").to_be_visible()
        seen.until(f"({INSIDE})(['.leaf', '.canvas']).length === 0")
    page.locator("#tab-regions").click()
    seen.expect(".unit").to_have_count(1)
    assert small_texts(page) == []
    page.context.close()


def test_on_a_phone_every_control_is_large_enough_for_a_finger(browser: Any, address: str, application: Deployed):
    seen = Seen(browser, 390, touch=True)
    page = seen.open(address)
    assert page.evaluate(UNTOUCHABLE) == []
    page.locator('[data-fold="pe:0"]').tap()
    seen.expect('[data-fold="pe:0"]').to_have_attribute("aria-expanded", "false")
    with application.failed(1):
        page.locator(".banner button").tap()
        seen.expect(".panel h2").to_have_text("PE 1")
        assert page.evaluate(UNTOUCHABLE) == []
        page.locator("#tab-regions").tap()
        seen.expect(".unit.broken").to_have_count(1)
        assert page.evaluate(UNTOUCHABLE) == []
    page.context.close()


@pytest.mark.deep
def test_on_a_phone_a_long_cause_leaves_the_way_to_its_pe_and_the_graph_in_view(
    browser: Any, address: str, application: Deployed
):
    seen = Seen(browser, 390, touch=True)
    page = seen.open(address)
    with application.failed(1):
        application.set(tables.pe, tables.pe.c.id == 1, error=CAUSE * 20)
        seen.expect(".banner button").to_be_in_viewport(ratio=1)
        page.locator(".banner button").click()
        seen.expect(".panel .trouble").to_contain_text(CAUSE)
        assert page.locator(".canvas").bounding_box()["height"] > 150
        page.locator(".banner summary").click()
        seen.expect(".banner details p").to_contain_text("streams reset")
    page.context.close()


@pytest.mark.deep
@pytest.mark.parametrize(("width", "touch"), [(390, True), (1024, False)])
def test_a_selected_operator_stays_in_the_view(browser: Any, address: str, width: int, touch: bool):
    seen = Seen(browser, width, touch=touch)
    page = seen.open(address)
    page.locator("#unfold").dispatch_event("click")
    for name in ("Rows", "PerKey[1].Totals", "Out"):
        page.locator("#search").fill(name)
        page.locator("#search").press("Enter")
        seen.expect(".panel h2").to_have_text(f"Operator {name}")
        shown = f"({INSIDE})(['.leaf.selected', '.canvas']).length === 0"
        seen.until(shown)
        x, y = (page.locator(operator(name)).bounding_box()[each] + 9 for each in ("x", "y"))
        assert page.evaluate(f"document.elementFromPoint({x}, {y}).closest('.selected') !== null"), (
            "the panel covers it"
        )
        page.locator(".panel .close").click()
        page.locator(operator(name)).press("Enter")
        seen.expect(".panel").to_be_visible()
        seen.until(shown)
    page.context.close()


@pytest.mark.parametrize(("width", "touch"), [pytest.param(390, True, marks=pytest.mark.deep), (1280, False)])
def test_all_of_a_pe_is_in_the_view_from_wherever_it_is_chosen(browser: Any, address: str, width: int, touch: bool):
    seen = Seen(browser, width, touch=touch)
    page = seen.open(address)
    page.locator("#unfold").dispatch_event("click")
    whole = f"({WHOLE})('pe:2')"

    def begin(zooms: int = 0) -> None:
        page.locator(".panel .close").click()
        page.locator("#search").fill("Rows")
        page.locator("#search").press("Enter")
        page.locator(".panel .close").click()
        for _ in range(zooms):
            page.get_by_label("Zoom in").click()

    page.goto(f"{address}/?application=app&pe=2")
    seen.expect(".panel h2").to_have_text("PE 2")
    seen.until(whole)
    begin()
    page.locator('[data-id="pe:2"]').press("Enter")
    seen.expect(".panel h2").to_have_text("PE 2")
    seen.until(whole)
    begin()
    page.locator("#search").fill("PE 2")
    page.locator("#search").press("Enter")
    seen.until(whole)
    begin(zooms=1)
    page.locator("#tab-regions").click()
    page.locator(".unit").get_by_text("PE 2").click()
    seen.until(whole)
    page.context.close()


__all__ = ["address", "application", "browser"]


UNDER_DOTS = """() => [...document.querySelectorAll('.leaf')].map((each) => [
    each.querySelector('.name').getBoundingClientRect(), each.querySelector('.mark')?.getBoundingClientRect(),
    each.querySelector('.name').textContent,
  ]).filter(([name, mark]) => mark && name.right > mark.left).map(([name, mark, text]) => text)"""
"""Names that reach under the dots of their shapes."""


@pytest.mark.deep
def test_on_a_phone_long_names_end_before_the_dots_of_their_shapes(browser: Any, tmp_path: Path):
    made = Deployed(tmp_path, compilation=long_names())
    with served(SnapshotReader(made.home)) as address:
        seen = Seen(browser, 390, touch=True)
        page = seen.open(address)
        page.locator("#unfold").dispatch_event("click")
        seen.expect(".leaf .mark").not_to_have_count(0)
        for button in ("Zoom in", "Zoom out"):
            for _ in range(6):
                page.get_by_label(button).click()
                assert page.evaluate(UNDER_DOTS) == []
                assert small_texts(page) == []
        page.context.close()
