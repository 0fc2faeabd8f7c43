"""The page as a browser shows it: Debian's Chromium, driven by Playwright. Skipped where there is no browser."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import insert

from streams_orchestration.console.exporting import draw_html
from streams_orchestration.console.plans.compilers import Compilers
from streams_orchestration.console.reader import Reader
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.observing.masking import HIDDEN
from streams_orchestration.runtime.settings import SAMPLE_MASK, SAMPLES
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.console.conftest import served
from streams_orchestration_tests.console.deployed import CAUSE, Deployed, large
from streams_orchestration_tests.console.plans.specs import write_spec

playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright for Python")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
AXE = Path(__file__).parents[2] / "streams_orchestration/console/page/node_modules" / "axe-core" / "axe.min.js"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium, as `apt-get install chromium` brings it"),
    pytest.mark.xdist_group("browser"),
]
PATIENCE = 60_000
"""Milliseconds: a busy machine is slow, and what never comes fails the test."""


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    made = Deployed(tmp_path_factory.mktemp("browser"))
    made.work()
    return made


@pytest.fixture(scope="module")
def address(application: Deployed) -> Iterator[str]:
    with served(Reader(application.home)) as each:
        yield each


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # the sandbox needs rights that a container may not give; the page is our own
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield launched
        launched.close()


class Seen:
    """A page, and what the browser complained about."""

    def __init__(self, browser: Any, width: int = 1280, scheme: str = "light") -> None:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        context.set_default_timeout(PATIENCE)
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

    def expect(self, selector: str) -> Any:
        playwright.expect.set_options(timeout=PATIENCE)
        return playwright.expect(self.page.locator(selector))


@pytest.fixture
def seen(browser: Any, address: str) -> Iterator[Seen]:
    each = Seen(browser)
    each.open(address)
    yield each
    assert each.complaints == [], "the policy refuses something, or the script fails"
    each.page.context.close()


def operator(name: str) -> str:
    return f'[data-id="op:{name}"]'


def test_the_graph_shows_what_runs(seen: Seen):
    seen.expect("#state").to_have_text("RUNNING")
    seen.expect(".leaf.operator").to_have_count(8)
    seen.expect(f"{operator('Rows')} .value").to_contain_text("/s")
    seen.expect(".wire.serialize").not_to_have_count(0)


def test_a_pe_folds_and_unfolds(seen: Seen):
    seen.page.locator('[data-fold="pe:0"]').click()
    seen.expect(operator("Rows")).to_have_count(0)
    seen.expect('[data-fold="pe:0"]').to_have_attribute("aria-expanded", "false")
    seen.page.locator('[data-fold="pe:0"]').press("Enter")
    seen.expect(operator("Rows")).to_have_count(1)


def test_what_is_searched_for_is_unfolded_and_chosen(seen: Seen):
    seen.page.locator("text=fold all").first.click()
    seen.expect(operator("PerKey[1].Totals")).to_have_count(0)
    seen.page.locator("#search").fill("PerKey[1].Tot")
    seen.page.locator("#search").press("Enter")
    seen.expect(".panel h2").to_have_text("Operator PerKey[1].Totals")
    seen.expect(operator("PerKey[1].Totals")).to_have_class("leaf operator region-0 selected")
    seen.page.locator("#search").fill("nothing of the kind")
    seen.expect(".hits").to_contain_text("Nothing of that name")


def test_from_a_failure_to_its_cause(seen: Seen, application: Deployed):
    with application.failed(1):
        seen.expect(".banner").to_contain_text(CAUSE)
        seen.expect("#state").to_have_text("FAILED")
        seen.page.locator(".banner button").click()
        seen.expect(".panel h2").to_have_text("PE 1")
        seen.expect(".panel .trouble").to_have_text(CAUSE)
        seen.expect('.failed[data-id="pe:1"]').to_have_count(1)
    seen.expect(".banner").to_be_hidden()


def test_what_is_on_a_host_that_is_gone_is_red(seen: Seen, application: Deployed):
    with application.gone():
        seen.expect(".banner").to_contain_text("host 0")
        for pe in range(3):
            seen.expect(f'.failed[data-id="pe:{pe}"]').to_have_count(1)
        seen.page.locator(".banner button").click()
        seen.expect(".panel .trouble").to_contain_text("is gone")
        seen.page.locator("#tab-regions").click()
        seen.expect(".timeline .broken").to_have_count(1)
    seen.expect(".timeline .broken").to_have_count(0)


def test_numbers_of_channels_that_meet_do_not_lie_on_each_other(browser: Any, tmp_path: Path):
    application = Deployed(tmp_path, width=4, pes=2)
    application.work()
    with served(Reader(application.home)) as address:
        seen = Seen(browser)
        page = seen.open(address)
        seen.expect(f"{operator('Out')} .value").to_contain_text("/s")
        frames = [each.bounding_box() for each in page.locator(".rate:not(:empty)").all()]
        page.context.close()
    assert [pair for pair in itertools.combinations(frames, 2) if overlap(*pair)] == []


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(
        one[at] < other[at] + other[size] and other[at] < one[at] + one[size]
        for at, size in (("x", "width"), ("y", "height"))
    )


def test_tuples_of_a_stream_are_shown_as_text(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(SAMPLES, "5")
    monkeypatch.setenv(SAMPLE_MASK, "n")
    texts = ["<script>document.title = 'run'</script>", "<img src=x onerror=alert(1)>"] * 20
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"k": texts, "n": [1] * len(texts)}), file)
    application = Deployed(tmp_path, file=file)
    application.local.step(application.local.programs[0])
    with served(Reader(application.home)) as address:
        seen = Seen(browser)
        page = seen.open(f"{address}/?application=app&stream=Doubled")
        seen.expect(".sample th").to_have_text(["k string", "n int64"])
        seen.expect(".sample tbody tr").to_have_count(5)
        seen.expect(".sample tbody tr:first-child td:last-child").to_have_text(HIDDEN)
        assert set(page.locator(".sample td:first-child").all_text_contents()) <= set(texts)
        assert page.locator(".sample img, .sample script").count() == 0
        seen.expect(".sample p").to_contain_text("of batch 0 of PE 0, in epoch 1")
        assert page.title() == "app · Streams console"
        assert seen.complaints == []
        page.context.close()


def test_a_reset_arrives(seen: Seen, application: Deployed):
    seen.page.locator("#tab-regions").click()
    seen.expect(".unit").to_have_count(1)
    seen.expect(".unit table").to_have_count(0)
    seen.expect("[data-reset]").to_have_count(0)
    now = clock.now()
    row = {"application": application.name, "unit": "region-0", "generation": 1, "epoch": 1, "attempts": 0}
    with application.local.catalog.write() as connection:
        for number, (kind, cause) in enumerate((("unhealthy", CAUSE), ("reset began", CAUSE), ("reset done", None))):
            moment = {"number": 1000 + number, "at": now - 3 + number, "kind": kind, "cause": cause, "seconds": 0.5}
            connection.execute(insert(tables.unit_event).values(row | moment))
    seen.expect(".unit table").to_contain_text(CAUSE)
    seen.expect(".timeline .broken").not_to_have_count(0)


def test_a_region_is_reset_from_the_page(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("streams_orchestration.runtime.deployment.reset.launch", lambda *_, **__: ())
    with served(Reader(Deployed(tmp_path).home), actions=True) as acting:
        seen = Seen(browser)
        page = seen.open(acting)
        page.on("dialog", lambda dialog: dialog.accept())
        page.locator("#tab-regions").click()
        page.locator('[data-reset="region-0"]').click()
        seen.expect(".note").to_contain_text("goes back to its last complete epoch")
        seen.expect(".unit").to_contain_text("1; 1 of 5 attempts")
        page.context.close()


def test_nothing_is_reset_that_is_complete(browser: Any, tmp_path: Path):
    application = Deployed(tmp_path)
    with served(Reader(application.home), actions=True) as acting:
        seen = Seen(browser)
        page = seen.open(acting)
        page.locator("#tab-regions").click()
        seen.expect("[data-reset]").to_have_count(1)
        application.set(tables.unit, state="COMPLETED")
        seen.expect(".unit .chip").to_have_text("COMPLETED")
        seen.expect("[data-reset]").to_have_count(0)
        page.context.close()


def test_from_what_runs_to_what_was_written_and_back(seen: Seen):
    seen.page.locator(operator("PerKey[0].Totals")).click()
    seen.page.locator("#view").select_option("logical")
    seen.expect(f"{operator('PerKey.Totals')}.selected").to_have_count(1)
    seen.page.locator("#view").select_option("physical")
    seen.expect(operator("PerKey[0].Totals")).to_have_count(1)


def test_a_link_leads_to_a_pe(seen: Seen, address: str):
    seen.open(f"{address}/?application=app&pe=2")
    seen.expect(".panel h2").to_have_text("PE 2")
    seen.expect('.selected[data-id="pe:2"]').to_have_count(1)


def test_everything_is_reached_with_the_keyboard(seen: Seen):
    seen.page.locator(operator("Rows")).focus()
    seen.page.keyboard.press("ArrowRight")
    seen.expect(":focus").not_to_have_attribute("data-id", "op:Rows")
    seen.page.locator(operator("Doubled")).focus()
    seen.page.keyboard.press("Enter")
    seen.expect(".panel h2").to_have_text("Operator Doubled")
    seen.expect(".panel").to_contain_text("rule")
    seen.page.keyboard.press("Escape")
    seen.expect(".panel").to_be_hidden()
    seen.page.keyboard.press("/")
    seen.expect("#search").to_be_focused()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), pytest.param(390, "dark", marks=pytest.mark.deep)])
def test_it_is_accessible(browser: Any, address: str, width: int, scheme: str):
    if not AXE.is_file():
        pytest.skip("needs axe, which `make page` installs")
    seen = Seen(browser, width, scheme)
    page = seen.open(address)
    seen.expect("#state").not_to_be_empty()
    page.locator(operator("Doubled")).press("Enter")
    seen.expect(".panel h2").to_be_visible()
    findings = [*axe(page)]
    page.keyboard.press("Escape")
    page.locator("#tab-regions").click()
    seen.expect(".unit").to_have_count(1)
    findings += axe(page)
    assert findings == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


def axe(page: Any) -> list[str]:
    """Serious findings of axe."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    violations = page.evaluate("axe.run()")["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
    ]


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a console with a spec that is not deployed."""
    directory = tmp_path_factory.mktemp("plans")
    home = Home(directory / "home")
    with served(Reader(home), compilers=Compilers(home, (write_spec(directory),))) as each:
        yield f"{each}/compile"


def test_a_width_is_changed_and_the_plans_are_compared(browser: Any, plans: str):
    seen = Seen(browser)
    page = seen.open(plans)
    seen.expect(".stage").to_have_count(7)
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
    seen.expect(".problems").to_contain_text("'P=0' is not PATTERN=N, N from 1")
    page.locator("#as-written").click()
    seen.expect(".problems").to_be_hidden()
    seen.expect('[name="width:P"]').to_have_value("2")
    page.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), pytest.param(1280, "light", marks=pytest.mark.deep)])
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


def test_all_of_five_thousand_operators_is_seen_from_far_away(browser: Any, tmp_path: Path):
    file = tmp_path / "large.html"
    file.write_text(draw_html(large()), encoding="utf-8")
    seen = Seen(browser)
    page = seen.open(file.as_uri())
    seen.expect(".distant").to_be_hidden()
    unfold = page.locator(".zoom").get_by_text("unfold", exact=True)
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
    frame = page.locator('.box.pe [data-id^="pe:"]').first.locator("xpath=..").bounding_box()
    page.mouse.click(frame["x"] + frame["width"] / 2, frame["y"] + frame["height"] / 2)
    seen.expect(".panel h2").to_be_visible()
    page.locator("#search").fill("C49.F97")
    page.locator("#search").press("Enter")
    seen.expect(".panel h2").to_have_text("Operator C49.F97")
    seen.expect(".distant").to_be_hidden()
    seen.expect(f"{operator('C49.F97')}.selected").to_have_count(1)
    assert seen.complaints == []
    page.context.close()
