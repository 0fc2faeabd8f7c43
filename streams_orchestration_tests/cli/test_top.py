"""`streams top`: what is slow and what has failed, on a terminal with htop's keys, elsewhere as a table."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import io
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import RenderableType
from textual import app as textual_app
from textual import pilot as textual_pilot
from textual._wait import wait_for_idle
from textual.pilot import Pilot
from textual.widgets import Input, Static

from streams_orchestration.cli import main
from streams_orchestration.cli.terminal import rendered
from streams_orchestration.cli.top.rows import COLUMNS, Row, TableView, rows_of
from streams_orchestration.cli.top.screen import Screen
from streams_orchestration.cli.top.table import once
from streams_orchestration.runtime import api
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.observing.metrics import CustomMetric
from streams_orchestration.runtime.observing.snapshots import ObservedApplication, Snapshot
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration_tests.cli.made_up import NOW, metrics, operator_metrics, pe, status, unit
from streams_orchestration_tests.fake_functions import replace_function

SOON = functools.partial(wait_for_idle, max_sleep=0.1)
"""The wait behind each key. Where other threads of the worker work it would last a second; the screen is awaited."""
UNITS = (unit(pes=(0,)), unit(name="pe-1", region=None, pes=(1,), reset_count=2))
PES = (pe(0, operators=("In", "Slow")), pe(1, unit="pe-1", operators=("Out",)))
OPERATORS = (
    operator_metrics("In", cores=0.1, custom=(CustomMetric("lag", "gauge", 70, ""),), tuples_per_second=5.0),
    operator_metrics("Slow", cores=0.9, tuples_per_second=1.0),
    operator_metrics("Out", cores=0.5, pe=1, tuples_per_second=3.0),
)


def snapshot(**facts: Any) -> Snapshot:
    observed = status(**{"units": UNITS, "pes": PES} | facts)
    measured = metrics(operators=OPERATORS)
    return Snapshot(NOW, (ObservedApplication(observed, measured, find_failures(observed, NOW)),), (), 1, 2)


FAILED = snapshot(pes=(PES[0], pe(1, unit="pe-1", operators=("Out",), state="FAILED", error="boom")))


def names(rows: list[Row]) -> list[str]:
    return [row.name for row in rows]


def test_rows_are_a_tree_by_region_with_what_works_most_first():
    assert names(TableView().of(rows_of(snapshot()))) == [
        *("flights", "region-0", "PE 0", "Slow", "In"),
        *("PE 1", "Out"),
    ]


def test_a_region_and_an_application_have_what_their_pes_have_together():
    rows = {row.name: row for row in rows_of(snapshot())}
    assert rows["PE 0"].cores == rows["region-0"].cores == pytest.approx(1.0)
    assert rows["flights"].cores == pytest.approx(1.5)
    assert rows["flights"].resets == 2
    assert (rows["PE 1"].lag, rows["PE 1"].lag_seconds, rows["In"].lag) == (4500, 12.0, 70)


def test_a_pe_is_as_far_behind_in_event_time_as_the_operator_that_is_most():
    found = {"In": (NOW - 5, False), "Slow": (NOW - 90, False), "Out": (None, True)}
    times = tuple(
        api.OperatorEventTime(name, 0, watermark, None, ended, 1, 0, "source", "", None)
        for name, (watermark, ended) in found.items()
    )
    query = operator_metrics("Query", pe=1, custom=(CustomMetric("watermark", "gauge", NOW - 7, ""),))
    observed = ObservedApplication(
        status(units=UNITS, pes=PES), metrics(operators=(*OPERATORS, query), event_time=times), ()
    )
    rows = {row.name: row.event_time_behind for row in rows_of(Snapshot(NOW, (observed,), (), 1, 2))}
    assert rows == {
        "flights": 90, "region-0": 90, "PE 0": 90, "PE 1": 7, "In": 5, "Slow": 90, "Out": None, "Query": 7,
    }  # fmt: skip


def test_operators_that_were_not_measured_have_no_figures():
    unmeasured = Snapshot(
        NOW, (ObservedApplication(status(pes=PES, units=UNITS), metrics(operators=(), pes=()), ()),), (), 1, 2
    )
    rows = [row for row in rows_of(unmeasured) if row.kind == "operator"]
    assert {(row.name, row.cores, row.rate) for row in rows} == {(n, None, None) for n in ("In", "Slow", "Out")}


def test_the_row_of_a_failed_pe_has_the_cause_and_the_remedy():
    rows = {row.name: row for row in rows_of(FAILED)}
    assert "boom" in rows["PE 1"].problem
    assert "streams reset flights --unit pe-1" in rows["PE 1"].problem
    assert rows["flights"].problem == "1 of 2 units failed"
    assert rows["region-0"].problem == ""


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (TableView(tree=False), ["Slow", "Out", "In"]),
        (TableView(tree=False, inverted=True), ["In", "Out", "Slow"]),
        (TableView(tree=False, column="name"), ["In", "Out", "Slow"]),
        (TableView(tree=False, column="tuples/s"), ["In", "Out", "Slow"]),
        (TableView(tree=False, column="behind"), ["In", "Out", "Slow"]),
        (TableView(tree=False, words="REGION-0"), ["Slow", "In"]),
        (TableView(words="slow"), ["flights", "region-0", "PE 0", "Slow"]),
        (TableView(words="nothing has these"), []),
    ],
)
def test_rows_are_arranged(view: TableView, expected: list[str]):
    assert names(view.of(rows_of(snapshot()))) == expected


@given(
    cores=st.lists(st.none() | st.floats(0, 9), min_size=1, max_size=8),
    column=st.sampled_from([column.title for column in COLUMNS]),
    inverted=st.booleans(),
    tree=st.booleans(),
)
def test_no_view_loses_a_row_or_puts_one_before_its_parent(
    cores: list[float | None], column: str, inverted: bool, tree: bool
):
    rows = [Row(("a",), "application"), Row(("a", "PE 0"), "pe")]
    rows += [Row(("a", "PE 0", f"O{n}"), "operator", cores=value) for n, value in enumerate(cores)]
    shown = TableView(column, inverted, tree).of(rows)
    assert {row.path for row in shown} == {row.path for row in rows if tree or row.kind == "operator"}
    places = {row.path: place for place, row in enumerate(shown)}
    assert all(places[path[:-1]] < place for path, place in places.items() if path[:-1] in places)
    if column == "CPU":
        values = [row.cores for row in shown if row.kind == "operator"]
        known = [value for value in values if value is not None]
        assert values == [*sorted(known, reverse=not inverted), *[None] * (len(values) - len(known))]


def test_numbers_in_names_count_as_numbers():
    rows = [Row(("a", f"PE {number}"), "operator") for number in (10, 2, 1)]
    assert names(TableView(tree=False, column="name").of(rows)) == ["PE 1", "PE 2", "PE 10"]


def test_sorting_goes_round_the_columns():
    view = TableView()
    for _ in COLUMNS:
        view = view.moved(1)
    assert view == TableView()
    assert view.moved(1).moved(-1) == view


def played(
    play: Callable[[Pilot[None], Screen], Awaitable[None]], shown: Snapshot, *later: Snapshot | Exception
) -> None:
    """Play with the screen, without a terminal; `refresh_snapshot` gives the later snapshots."""
    coming = iter(later)

    def read() -> Snapshot:
        following = next(coming)
        if isinstance(following, Exception):
            raise following
        return following

    async def run() -> None:
        screen = Screen(shown, read, 3600.0)
        async with screen.run_test(size=(120, 30)) as pilot:
            await play(pilot, screen)

    with pytest.MonkeyPatch.context() as patch:
        for module in (textual_app, textual_pilot):
            patch.setattr(module, "wait_for_idle", SOON)
        asyncio.run(run())


async def refreshed(pilot: Pilot[None], screen: Screen) -> None:
    screen.refresh_snapshot()
    await screen.workers.wait_for_complete()
    await pilot.pause()


def text_of(screen: Screen, name: str) -> str:
    return rendered(cast(RenderableType, screen.query_one(name, Static).content), colour=False)


@pytest.mark.slow
def test_keys_are_those_of_htop():
    async def play(pilot: Pilot[None], screen: Screen) -> None:
        assert names(screen.shown) == ["flights", "region-0", "PE 0", "Slow", "In", "PE 1", "Out"]
        await pilot.press("f5")
        assert names(screen.shown) == ["Slow", "Out", "In"]
        await pilot.press("I")
        assert names(screen.shown) == ["In", "Out", "Slow"]
        await pilot.press("I", "N")
        assert screen.view.column == "name"
        await pilot.press("f6")
        assert screen.view.column == "state"
        await pilot.press("less_than_sign", "t")
        assert (screen.view.column, screen.view.tree) == ("name", True)
        await pilot.press("slash", *"slow")
        assert names(screen.shown) == ["flights", "region-0", "PE 0", "Slow"]
        await pilot.press("enter")
        assert screen.focused is screen.table
        assert not screen.query_one(Input).display
        await pilot.press("escape")
        assert len(screen.shown) == 7
        await pilot.press("h")
        assert "sort by processor" in text_of(screen, "#detail")
        await pilot.press("q")
        assert not screen.is_running

    played(play, snapshot())


def test_keys_that_come_before_the_screen_are_no_words_of_a_filter():
    async def play(pilot: Pilot[None], screen: Screen) -> None:
        assert screen.query_one(Input).disabled
        assert screen.focused is screen.table
        screen.query_one(Input).focus()
        await pilot.press("t")
        assert (screen.view.tree, screen.view.words) == (False, "")

    played(play, snapshot())


def test_the_cursor_stays_with_its_row_and_says_what_is_wrong_with_it():
    async def play(pilot: Pilot[None], screen: Screen) -> None:
        await pilot.press(*["down"] * 5)
        assert screen.selected is not None
        assert screen.selected.name == "PE 1"
        await refreshed(pilot, screen)
        assert screen.selected.name == "PE 1"
        assert "boom" in text_of(screen, "#detail")
        assert "1 unit failed" in text_of(screen, "#head")
        await pilot.press("N", "I")
        assert screen.selected is not None
        assert screen.selected.name == "PE 1"

    played(play, snapshot(), FAILED)


def test_a_catalog_that_is_away_is_said_and_the_rows_stay():
    async def play(pilot: Pilot[None], screen: Screen) -> None:
        await refreshed(pilot, screen)
        assert "the catalog is away" in text_of(screen, "#head")
        assert len(screen.shown) == 7
        await refreshed(pilot, screen)
        assert "the catalog is away" not in text_of(screen, "#head")

    played(play, snapshot(), CatalogUnavailableError("the catalog is away"), snapshot())


def test_a_held_screen_is_not_refreshed():
    async def play(pilot: Pilot[None], screen: Screen) -> None:
        await pilot.press("Z")
        await refreshed(pilot, screen)
        assert not any(row.problem for row in screen.shown)
        await pilot.press("Z")
        await refreshed(pilot, screen)
        assert any(row.problem for row in screen.shown)

    played(play, snapshot(), FAILED)


def test_no_control_character_of_a_name_or_an_error_reaches_the_terminal():
    hostile = "\x1b]52;c;ZXZpbA==\x07\x1b]8;;http://else.where\x07\x9b2J\u202e\u200f"
    bad = pe(1, unit="pe-1", operators=("Out",), state="FAILED", error=f"boom{hostile}")
    custom = (CustomMetric("errors", "counter", 1, hostile),)
    measured = metrics(operators=(operator_metrics("Out", pe=1, custom=custom), operator_metrics(f"In{hostile}")))
    observed = status(units=UNITS, pes=(PES[0], bad))
    shown = Snapshot(NOW, (ObservedApplication(observed, measured, find_failures(observed, NOW)),), (), 1, 2)

    async def play(pilot: Pilot[None], screen: Screen) -> None:
        screen.show(shown, f"the catalog is away {hostile}")
        screen.table.move_cursor(row=next(place for place, row in enumerate(screen.shown) if "boom" in row.problem))
        await pilot.pause()
        lines = ["".join(each.text for each in strip) for strip in screen.screen._compositor.render_strips()]
        assert any("boom" in line for line in lines)
        assert not {each for line in lines for each in line if not each.isprintable()}

    played(play, shown)


def test_nothing_deployed_is_shown():
    async def play(pilot: Pilot[None], screen: Screen) -> None:
        assert "nothing is deployed" in text_of(screen, "#head")
        await pilot.press("down", "f5", "I", "slash", "x", "escape")
        assert screen.shown == []

    played(play, Snapshot(NOW, (), (), 1, 2))


def test_many_rows_are_cut_and_said_to_be():
    many = tuple(operator_metrics(f"Op{number}") for number in range(1200))
    observed = ObservedApplication(status(pes=(pe(0),), units=(unit(pes=(0,)),)), metrics(operators=many), ())

    async def play(pilot: Pilot[None], screen: Screen) -> None:
        assert len(screen.shown) == 1000
        assert "more: / filters" in text_of(screen, "#head")

    played(play, Snapshot(NOW, (observed,), (), 1, 2))


def test_without_a_terminal_the_table_is_written_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    replace_function(monkeypatch, api, "read_snapshot", lambda _catalog, _application: FAILED)
    replace_function(monkeypatch, api, "open_catalog", lambda home, _: api.Catalog(home))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["top", "flights"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == " ".join(column.title for column in COLUMNS).split()
    assert [line.split()[0] for line in lines[1:4]] == ["flights", "region-0", "PE"]
    assert any("boom" in line for line in lines)
    assert not any("\x1b" in line for line in lines)


def test_without_a_terminal_the_extra_is_not_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert main(["top"]) == 0


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    replace_function(monkeypatch, api, "read_snapshot", lambda _catalog, _application: snapshot())
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    assert main(["top"]) == 1
    assert "pip install 'streams-orchestration[top]'" in capsys.readouterr().err


def test_an_application_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["top", "nobody"]) == 1


def test_the_table_of_nothing_says_so():
    assert rendered(once(Snapshot(NOW, (), (), 1, 2)), colour=False) == "Nothing is deployed.\n"
