from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

from streams_orchestration.orchestration.timeline import draw_timeline
from streams_orchestration.runtime.catalog.rows import UnitEventRow
from streams_orchestration.runtime.catalog.states import EventKind
from streams_orchestration.runtime.observing.recoveries import find_recoveries
from streams_orchestration.runtime.units.unit_status import Cut
from streams_orchestration_tests.orchestration.statuses import NOW, running
from streams_orchestration_tests.runtime.readings import changed, unit_event


def event(at: float, kind: EventKind, seconds: float | None = None, cause: str | None = None) -> UnitEventRow:
    return unit_event(NOW + at, kind, 1, 7, 0, seconds, cause)


KILLED = (
    event(-60, "unhealthy", 2.0, "host 0 is <gone>"),
    event(-59.5, "taken up"),
    event(-54, "reset began", cause="host 0 is <gone>"),
    event(-51, "reset done", 3.0),
    event(-50.2, "first commit"),
)
BY_HAND = (event(-30, "reset began"), event(-28, "reset done", 2.0))


def test_events_make_recoveries_with_their_phases():
    killed, by_hand = find_recoveries((*KILLED, *BY_HAND))
    assert {name: round(seconds, 3) for name, seconds in killed.phases.items()} == {
        "detect": 2.0,
        "decide": 0.5,
        "hosts": 5.5,
        "restart": 3.0,
        "first commit": 0.8,
    }
    assert (killed.began, killed.ended, killed.epoch) == (NOW - 62, NOW - 50.2, 7)
    assert (by_hand.began, by_hand.ended, by_hand.cause) == (NOW - 30, NOW - 28, None)


def test_an_attempt_that_fails_is_one_of_its_own():
    first, second = find_recoveries(
        (*KILLED[:3], event(-20, "reset began"), event(-10, "reset done"), event(-9, "first commit"))
    )
    assert (first.ended, second.ended) == (None, NOW - 9)
    assert [each.given_up for each in find_recoveries((KILLED[0], event(-1, "attempts used up")))] == [True]


def test_a_recovery_without_its_first_event_is_left_out():
    assert find_recoveries(KILLED[3:]) == ()


def test_the_picture_has_every_cut_every_recovery_and_what_is_lost():
    lost = event(-5, "cut lost", cause="the state of Sum is gone")
    unit = changed(running().units[0], events=(*KILLED, *BY_HAND, lost), reset_count=2)
    cuts = {"region-0": tuple(Cut(number, NOW - 80 + 5 * number, 0.25) for number in range(1, 4))}
    svg = draw_timeline(running(units=(unit,)), cuts, NOW)
    titles = [element.text or "" for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]
    assert [title for title in titles if title.startswith("epoch ")] == [
        f"epoch {number} complete, 0.25 s after it began to drain" for number in (1, 2, 3)
    ]
    assert "host 0 is <gone>" in titles
    assert "the state of Sum is gone" in titles
    assert "hosts 5.50 s: until all hosts run, and are back at the cut" in titles
    texts = [element.text for element in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert {"region-0", "11.8 s", "2.0 s", "it was requested"} <= set(texts)


def shown(svg: str, what: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{{http://www.w3.org/2000/svg}}{what}")]


def test_a_recovery_of_long_ago_is_listed_with_its_day_and_does_not_stretch_the_picture():
    day = 86400.0
    past = tuple(replace(each, at=each.at - 3 * day) for each in KILLED)
    cuts = {"region-0": (Cut(4000, NOW - 200, 0.1), Cut(4001, NOW - 2, 0.1))}
    svg = draw_timeline(running(units=(changed(running().units[0], events=past, reset_count=1),)), cuts, NOW)
    texts = shown(svg, "text")
    assert "2027-01-15 07:44:59 to 08:00:00 UTC" in texts
    assert "12 Jan 07:58:58, epoch 7" in texts
    assert "earlier epochs are not kept" in shown(svg, "title")


def test_a_recovery_that_goes_on_is_shown_from_its_beginning():
    open_one = tuple(replace(each, at=each.at - 3600.0) for each in KILLED[:2])
    svg = draw_timeline(running(units=(changed(running().units[0], events=open_one),)), {}, NOW)
    assert "2027-01-15 06:58:57 to 08:00:00 UTC" in shown(svg, "text")


def test_the_picture_of_what_has_ended_ends_with_its_last_commit():
    cuts = {"region-0": (Cut(3, NOW - 1, 0.1),)}
    assert draw_timeline(running(state="STOPPED"), cuts, NOW + 3600) == draw_timeline(
        running(state="STOPPED"), cuts, NOW - 1
    )


def test_an_application_without_regions_has_a_picture_too():
    unit = changed(running().units[0], region=None)
    assert "no consistent region" in draw_timeline(running(units=(unit,)), {}, NOW)
