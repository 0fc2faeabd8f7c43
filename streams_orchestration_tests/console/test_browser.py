"""The page as a browser shows it: Debian's Chromium, driven by Playwright. Skipped where there is no browser."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import insert, update

from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.model.secrets import HIDDEN
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.settings.settings import SAMPLE_MASK, SAMPLES
from streams_orchestration_tests.console.browsing import (
    AXE,
    MARKS,
    Seen,
    address,
    application,
    axe,
    browser,
    operator,
    seen,
)
from streams_orchestration_tests.console.conftest import served
from streams_orchestration_tests.console.deployed import CAUSE, Deployed
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import in_event_time, lines, through
from streams_orchestration_tests.servers.proxy import Proxy

pytestmark = MARKS


def test_the_graph_shows_what_runs(seen: Seen):
    seen.expect("#state").to_have_text("RUNNING")
    seen.expect(".leaf.operator").to_have_count(8)
    seen.expect(f"{operator('Rows')} .value").to_contain_text("/s")
    seen.expect(".wire.serialize").not_to_have_count(0)


@pytest.mark.deep
def test_a_pe_folds_and_unfolds(seen: Seen):
    seen.page.locator('[data-fold="pe:0"]').click()
    seen.expect(operator("Rows")).to_have_count(0)
    seen.expect('[data-fold="pe:0"]').to_have_attribute("aria-expanded", "false")
    seen.page.locator('[data-fold="pe:0"]').press("Enter")
    seen.expect(operator("Rows")).to_have_count(1)


def test_the_operator_that_a_search_finds_is_unfolded_and_selected(seen: Seen):
    seen.page.locator("#fold-all").click()
    seen.expect(operator("PerKey[1].Totals")).to_have_count(0)
    seen.page.locator("#search").fill("PerKey[1].Tot")
    seen.page.locator("#search").press("Enter")
    seen.expect(".panel h2").to_have_text("Operator PerKey[1].Totals")
    seen.expect(operator("PerKey[1].Totals")).to_have_class("leaf operator region-0 selected")
    seen.page.locator("#search").fill("nothing of the kind")
    seen.expect(".hits").to_contain_text("No operator, stream, PE or region has this name")


def test_from_a_failure_to_its_cause(seen: Seen, application: Deployed):
    with application.failed(1):
        seen.expect(".banner").to_contain_text(CAUSE)
        seen.expect("#state").to_have_text("FAILED")
        seen.page.locator(".banner button").click()
        seen.expect(".panel h2").to_have_text("PE 1")
        seen.expect(".panel .trouble").to_have_text(CAUSE)
        seen.expect('.failed[data-id="pe:1"]').to_have_count(1)
    seen.expect(".banner").to_be_hidden()


def test_pes_on_a_host_that_is_gone_are_shown_as_failed(seen: Seen, application: Deployed):
    with application.gone():
        seen.expect(".banner").to_contain_text("host 0")
        for pe in range(3):
            seen.expect(f'.failed[data-id="pe:{pe}"]').to_have_count(1)
        seen.page.locator(".banner button").click()
        seen.expect(".panel .trouble").to_contain_text("is gone")
        seen.page.locator("#tab-regions").click()
        seen.expect(".timeline .broken").to_have_count(1)
    seen.expect(".timeline .broken").to_have_count(0)


@pytest.mark.deep
def test_numbers_of_channels_that_meet_do_not_lie_on_each_other(browser: Any, tmp_path: Path):
    application = Deployed(tmp_path, width=4, pes=2)
    application.work()
    with served(SnapshotReader(application.home)) as address:
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
    with served(SnapshotReader(application.home)) as address:
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


def test_from_a_watermark_that_stands_to_the_input_that_holds_it(browser: Any, tmp_path: Path):
    for name, text in {"Left": "1000 a 1\n9000 a 2\n", "Right": ""}.items():
        (tmp_path / name).write_text(text)
    graph = [lines(name, tmp_path / name) for name in ("Left", "Right")]
    graph += [through("Both", "Union", "Left", "Right"), sink("Out", "Both")]
    application = Deployed(tmp_path, compilation=in_event_time(graph))
    application.work()
    with served(SnapshotReader(application.home)) as address:
        seen = Seen(browser)
        page = seen.open(f"{address}/?application=app&operator=Left")
        seen.expect(".panel dl").to_contain_text("1970-01-01 00:00:09.000 UTC")
        seen.page.goto(f"{address}/?application=app&operator=Out")
        seen.expect(".panel dl").to_contain_text("waits for stream Both, which has no watermark yet")
        page.locator(".panel dl button, .panel dl a").get_by_text("Right", exact=True).click()
        seen.expect(".panel h2").to_have_text("Operator Right")
        seen.expect(".panel dl").to_contain_text("waits for its first time: no tuple has come yet")
        assert seen.complaints == []
        page.context.close()


SILENT_MILLISECONDS = 11_000
"""Milliseconds without an event after which the page connects again, on the page's own clock."""


def test_a_page_whose_network_is_silent_says_so_and_connects_again_by_itself(browser: Any, application: Deployed):
    proxies: list[Proxy] = []

    def through(port: int) -> int:
        proxies.append(Proxy(port))
        return proxies[0].port

    with served(SnapshotReader(application.home), through=through) as address:
        seen = Seen(browser)
        seen.page.clock.install()
        page = seen.open(address)
        seen.expect("#state").to_have_text("RUNNING")
        proxies[0].silence()
        page.clock.fast_forward(SILENT_MILLISECONDS)
        seen.expect("#state").to_contain_text("RUNNING at ")
        seen.expect(".note").to_contain_text("Not live: all values are from ")
        proxies[0].open()
        page.clock.fast_forward(SILENT_MILLISECONDS)
        seen.expect("#state").to_have_text("RUNNING")
        seen.expect(".note").to_have_text("")
        page.context.close()
        proxies[0].close()


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


@pytest.mark.usefixtures("no_hosts")
def test_a_region_is_reset_from_the_page(browser: Any, tmp_path: Path):
    with served(SnapshotReader(Deployed(tmp_path).home), actions=True) as acting:
        seen = Seen(browser)
        page = seen.open(acting)
        page.on("dialog", lambda dialog: dialog.accept())
        page.locator("#tab-regions").click()
        page.locator('[data-reset="region-0"]').click()
        seen.expect(".note").to_contain_text("goes back to its last complete epoch")
        seen.expect(".unit").to_contain_text("1; 1 of 5 allowed")
        page.context.close()


@pytest.mark.deep
def test_nothing_is_reset_that_is_complete(browser: Any, tmp_path: Path):
    application = Deployed(tmp_path)
    with served(SnapshotReader(application.home), actions=True) as acting:
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


UNLABELLED = """() => [...document.querySelectorAll('select, input, button, summary, [role=button]')]
  .filter((each) => each.checkVisibility())
  .filter((each) => !(each.labels
    ? [...each.labels].some((label) => label.checkVisibility() && label.innerText.replace(each.innerText, '').trim())
      || each.innerText && !each.matches('select')
    : each.textContent.trim() || each.ariaLabel))
  .map((each) => each.outerHTML.slice(0, 100))"""
"""Controls without a name; selects and inputs need one that is seen."""


def test_a_region_is_chosen_from_the_list_and_from_what_is_in_it(seen: Seen, address: str):
    page = seen.page
    page.locator("#tab-regions").click()
    page.locator(".unit h3 button").click()
    seen.expect(".panel h2").to_have_text("Region 0")
    seen.expect(".panel").to_contain_text("rule")
    seen.expect(".regions").to_be_visible()
    page.locator("#tab-graph").click()
    members = page.locator(".leaf.region-0").count()
    assert members > 1
    seen.expect(".leaf.in-region").to_have_count(members)
    page.locator(operator("Doubled")).click()
    seen.expect(".panel h2").to_have_text("Operator Doubled")
    seen.expect(".leaf.in-region").to_have_count(0)
    page.locator(".panel dl").get_by_role("button", name="Region 0").click()
    seen.expect(".panel h2").to_have_text("Region 0")
    page.locator(".panel dl").get_by_role("button", name="PE 2").click()
    seen.expect(".panel h2").to_have_text("PE 2")
    page.locator("#search").fill("region 0")
    page.locator("#search").press("Enter")
    seen.expect(".panel h2").to_have_text("Region 0")
    page.reload()
    seen.expect(".panel h2").to_have_text("Region 0")


@pytest.mark.deep
def test_a_long_cause_is_one_line_until_it_is_unfolded(seen: Seen, application: Deployed):
    page = seen.page
    with application.failed(1):
        application.set(tables.pe, tables.pe.c.id == 1, error=CAUSE * 20)
        page.locator("#tab-regions").click()
        seen.expect(".unit.broken .trouble").to_contain_text(CAUSE)
        cause = page.locator(".unit .trouble summary")
        line = cause.bounding_box()["height"]
        assert line < 50
        seen.expect(".unit .trouble p").to_be_hidden()
        cause.click()
        seen.expect(".unit .trouble p").to_contain_text("streams reset")
        assert cause.bounding_box()["height"] > 3 * line
        page.evaluate("document.querySelector('.unit.broken').dataset.seen = ''")
        seen.until("!document.querySelector('.unit.broken').matches('[data-seen]')")
        seen.expect(".unit .trouble p").to_be_visible()


def test_every_control_has_a_name_and_is_there_only_where_it_does_something(seen: Seen):
    page = seen.page
    for control in ("#heat", "#view", "#search", "#fold-all"):
        seen.expect(control).to_be_visible()
    seen.expect("#application").to_have_count(0)
    assert page.evaluate(UNLABELLED) == []
    page.get_by_text("Legend").click()
    seen.expect(".legend").to_contain_text("dot: the operator splits its stream")
    page.locator("#tab-regions").click()
    seen.expect(".unit").to_have_count(1)
    for control in ("#heat", "#view", "#search", "#fold-all"):
        seen.expect(control).to_be_hidden()
    assert page.evaluate(UNLABELLED) == []
    page.keyboard.press("/")
    seen.expect("#search").to_be_focused()


@pytest.mark.deep
def test_the_timeline_begins_with_the_deployment(browser: Any, tmp_path: Path):
    application = Deployed(tmp_path)
    application.work()
    now = clock.now()
    with application.local.catalog.write() as connection:
        connection.execute(update(tables.application).values(deployed_at=now - 600))
        connection.execute(update(tables.epoch).values(completed_at=now - 590, seconds=0.5))
    with served(SnapshotReader(application.home)) as address:
        seen = Seen(browser)
        page = seen.open(address)
        page.locator("#tab-regions").click()
        for span in ("1 h", "24 h", "since deployment"):
            page.locator("#span").select_option(span)
            works, cut = (page.locator(f".timeline .{each}").first.bounding_box() for each in ("works", "cut"))
            assert cut["x"] - works["x"] < works["width"] / 20, span
        page.context.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), pytest.param(390, "dark", marks=pytest.mark.deep)])
def test_the_page_is_accessible(browser: Any, address: str, width: int, scheme: str):
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


__all__ = ["address", "application", "browser", "seen"]
