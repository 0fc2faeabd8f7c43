"""The page of plans, and large pictures, as a browser shows them. Skipped where there is no browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.console.exporting import draw_html
from streams_orchestration.console.plans.compilers import Compilers
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.console.browsing import AXE, MARKS, UNTOUCHABLE, Seen, axe, browser, operator
from streams_orchestration_tests.console.conftest import served
from streams_orchestration_tests.console.deployed import Deployed, large
from streams_orchestration_tests.console.plans.specs import write_spec

pytestmark = MARKS


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a console with a spec that is not deployed."""
    directory = tmp_path_factory.mktemp("plans")
    home = Home(directory / "home")
    with served(SnapshotReader(home), compilers=Compilers(home, (write_spec(directory),))) as each:
        yield f"{each}/compile"


def test_a_width_is_changed_and_the_plans_are_compared(browser: Any, plans: str):
    seen = Seen(browser)
    page = seen.open(plans)
    seen.expect(".stage").to_have_count(len(STAGES))
    seen.expect(operator("P[2]")).to_have_count(0)
    width = page.locator('[name="width:P"]')
    width.fill("3")
    width.press("Enter")
    seen.expect("#comparison").to_contain_text("2 -> 3")
    seen.expect("#comparison").to_contain_text("All state is kept.")
    seen.expect('[aria-label="parallel_expanded_graph"] .changed').to_have_text(["4 → 5", "4 → 6"])
    seen.expect(operator("P[2]")).to_have_count(1)
    page.locator('[name="option:fusion"]').select_option("legacy")
    seen.expect("#comparison").to_contain_text("automatic -> legacy")
    page.locator('[data-stage="logical_graph"]').click()
    seen.expect(".leaf.operator").to_have_count(3)
    page.locator(operator("P")).click()
    seen.expect(".panel h2").to_have_text("Operator P")
    seen.expect(".panel").to_contain_text("rule")
    page.locator(".panel .close").click()
    assert seen.complaints == []
    width.fill("0")
    width.press("Enter")
    seen.expect(".problems").to_contain_text("'P=0' is not PATTERN=N with a whole number N of at least 1")
    page.locator("#undo").click()
    seen.expect(".problems").to_be_hidden()
    seen.expect('[name="width:P"]').to_have_value("2")
    page.context.close()


@pytest.mark.deep
def test_on_a_phone_what_comes_of_a_choice_is_seen(browser: Any, plans: str):
    seen = Seen(browser, 390, touch=True)
    page = seen.open(plans)
    width = page.locator('[name="width:P"]')
    width.fill("3")
    width.press("Enter")
    seen.expect("#comparison").to_contain_text("2 -> 3")
    seen.expect("#comparison").to_be_in_viewport(ratio=0.9)
    assert page.evaluate(UNTOUCHABLE) == []
    width.fill("0")
    width.press("Enter")
    seen.expect(".problems").to_contain_text("'P=0' is not PATTERN=N with a whole number N of at least 1")
    seen.expect(".problems").to_be_in_viewport(ratio=1)
    page.context.close()


@pytest.mark.deep
def test_on_a_phone_what_is_selected_in_a_plan_stays_in_view(browser: Any, plans: str):
    seen = Seen(browser, 390, touch=True)
    page = seen.open(plans)
    page.locator("#unfold").dispatch_event("click")
    for name in ("Src", "Out"):
        page.locator(operator(name)).press("Enter")
        seen.expect(".panel h2").to_have_text(f"Operator {name}")
        seen.expect(operator(name)).to_be_in_viewport(ratio=1)
        page.locator(".panel .close").click()
    page.context.close()


def test_from_the_plan_of_an_application_back_to_it(browser: Any, tmp_path: Path):
    application = Deployed(tmp_path)
    spec = write_spec(tmp_path)
    with served(SnapshotReader(application.home), compilers=Compilers(application.home, (spec,))) as address:
        seen = Seen(browser)
        page = seen.open(f"{address}/compile?application=app")
        back = page.get_by_role("link", name="Running")
        assert back.get_attribute("href") == "/?application=app"
        page.locator("#spec").select_option(str(spec))
        seen.expect(".stage").not_to_have_count(0)
        back.click()
        seen.expect("#state").to_have_text("RUNNING")
        assert page.url == f"{address}/?application=app"
        page.context.close()


@pytest.mark.deep
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_plans_are_accessible(browser: Any, plans: str, width: int, scheme: str):
    if not AXE.is_file():
        pytest.skip("needs axe, which `make page` installs")
    seen = Seen(browser, width, scheme)
    page = seen.open(plans)
    page.locator('[name="width:P"]').fill("4")
    page.locator('[name="width:P"]').press("Enter")
    seen.expect("#comparison").to_contain_text("2 -> 4")
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


@pytest.mark.deep
def test_five_thousand_operators_in_one_file(browser: Any, tmp_path: Path):
    file = tmp_path / "large.html"
    file.write_text(draw_html(large()), encoding="utf-8")
    seen = Seen(browser)
    page = seen.open(file.as_uri())
    shown = page.locator("[data-id]").count()
    assert 50 < shown < 200, "composites, not operators"
    page.locator("#search").fill("C49.F97")
    page.locator("#search").press("Enter")
    seen.expect(".panel h2").to_have_text("Operator C49.F97")
    seen.expect(f"{operator('C49.F97')}.selected").to_have_count(1)
    assert seen.complaints == []
    page.context.close()


@pytest.mark.deep
def test_all_of_five_thousand_operators_is_seen_from_far_away(browser: Any, tmp_path: Path):
    file = tmp_path / "large.html"
    file.write_text(draw_html(large()), encoding="utf-8")
    seen = Seen(browser)
    page = seen.open(file.as_uri())
    seen.expect(".distant").to_be_hidden()
    unfold = page.locator("#unfold")
    for _ in range(3):
        before = page.evaluate("document.body.dataset.drawn")
        unfold.click()
        seen.expect(f'body:not([data-drawn="{before}"])').to_have_count(1)
    assert page.evaluate("Number(document.body.dataset.drawn)") > 5000
    seen.expect(".distant").to_be_visible()
    assert 0 < page.locator("[data-id]").count() <= 120, "the largest ones are reached with the keyboard"
    page.locator("[data-id]").first.focus()
    page.keyboard.press("ArrowDown")
    seen.expect(":focus[data-id]").to_have_count(1)
    frame = page.locator(".box.pe .frame").first.bounding_box()
    page.mouse.click(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2)
    seen.expect(".panel h2").to_be_visible()
    page.locator("#search").fill("C49.F97")
    page.locator("#search").press("Enter")
    seen.expect(".panel h2").to_have_text("Operator C49.F97")
    seen.expect(".distant").to_be_hidden()
    seen.expect(f"{operator('C49.F97')}.selected").to_have_count(1)
    assert seen.complaints == []
    page.context.close()


__all__ = ["browser"]
