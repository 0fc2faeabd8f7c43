"""KafkaSource in event time: a clock for each partition, of which one is idle, through resets and redeploys (EV52)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration import world
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.instances import WATERMARK
from streams_orchestration.runtime.tasks.state_files import read_state
from streams_orchestration_tests.runtime.applications import PERIODIC, sink
from streams_orchestration_tests.runtime.event_times import in_event_time, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.servers.kafka import PROMPT, Broker

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

PARTITIONS, IDLE_AFTER = 4, 20.0
Sent = tuple[int, int, int]
"""Partition, event time, number."""


@dataclass
class Ahead:
    """The clock of this machine, with seconds that a test adds."""

    more: float = 0.0


@pytest.fixture
def ahead(monkeypatch: pytest.MonkeyPatch) -> Ahead:
    added, right = Ahead(), world.monotonic
    monkeypatch.setattr(world, "monotonic", lambda: right() + added.more)
    return added


def graph(kafka: Broker, topic: str, width: int = 1, **parameters: Any) -> list[dict[str, Any]]:
    parallel = {"parallel": {"width": width}} if width > 1 else {}
    note = {"eventTimeAttribute": "at", "minimumGap": 0.0, "idleAfter": IDLE_AFTER}
    source = {
        "name": "Rows", "operator": "KafkaSource", "outputs": [{"stream": "Rows", "schema": "T"}],
        "parameters": {"brokers": kafka.address, "client": PROMPT, "topic": topic, **parameters},
        "annotations": PERIODIC | {"eventTime": note} | parallel,
    }  # fmt: skip
    return [source, through("Met", "Meeting", "Rows", schema="Met"), sink("Out", "Met")]


def send(kafka: Broker, topic: str, sent: Iterable[Sent]) -> None:
    rows = list(sent)
    values = [json.dumps({"at": at, "k": f"p{partition}", "n": n}).encode() for partition, at, n in rows]
    kafka.send(topic, values, partition=[partition for partition, *_ in rows])


def in_step(first: int, last: int, partitions: Sequence[int]) -> list[Sent]:
    """Messages that are in order in each partition, and numbered."""
    return [(partition, 10 * at, 100 * at + partition) for at in range(first, last) for partition in partitions]


def read_all(local: LocalApplication, count: int) -> None:
    """Step the application until its source has read so many messages in all."""
    for _ in range(200):
        views = [read_view(local.catalog, program) for program in local.programs]
        offsets = [offset for view in views for offset in view.position.sources.values()]
        if sum(sum(topic.values()) for offset in offsets for topic in offset.get("next", {}).values()) >= count:
            return
        local.turn()
    pytest.fail(f"the source has not read {count} messages")


def decisions(local: LocalApplication) -> list[Any]:
    views = (read_view(local.catalog, program) for program in local.programs)
    return [decision for view in views for found in view.position.idle.values() for decision in found]


def met_by_rows(local: LocalApplication) -> list[dict[str, Any]]:
    """Return the tuples that came out, with the watermark that each has met."""
    rows = [row for path in local.published("Out") for row in pq.read_table(path).to_pylist()]
    return [row for row in rows if row["k"] != "end"]


def watermark_of(local: LocalApplication, operator: str = "Met") -> int | None:
    """Return the watermark in the newest state of an operator."""
    for program in local.programs:
        if (stored := read_view(local.catalog, program).states.get(operator)) is not None:
            return read_state(local.home.store, stored)[WATERMARK]["watermark"]
    return None


def until_idle(kafka: Broker, topic: str, local: LocalApplication, ahead: Ahead, begin: int) -> int:
    """Go on with all partitions but the last one until that is idle. Return the number of messages of each."""
    for at in range(begin, begin + 10 * int(IDLE_AFTER)):
        if decisions(local):
            return at
        send(kafka, topic, in_step(at, at + 1, range(PARTITIONS - 1)))
        ahead.more += 1.0
        local.turn()
    pytest.fail("the partition is not idle")


def test_an_idle_partition_holds_nothing_up_and_a_reset_repeats_that(kafka: Broker, tmp_path: Path, ahead: Ahead):
    topic, others = kafka.topic(PARTITIONS), range(PARTITIONS - 1)
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph(kafka, topic), fusion="manual", pes=2), 50)
    send(kafka, topic, in_step(1, 20, range(PARTITIONS)))
    read_all(local, 19 * PARTITIONS)
    local.turn()
    assert watermark_of(local) == 190
    local.trigger()
    send(kafka, topic, in_step(20, 30, others))
    read_all(local, 19 * PARTITIONS + 10 * len(others))
    local.turn()
    assert watermark_of(local) == 190, "the last partition holds it"
    last = until_idle(kafka, topic, local, ahead, 30)
    read_all(local, 19 * PARTITIONS + (last - 20) * len(others))
    local.turn()
    before = watermark_of(local)
    assert before == 10 * (last - 1)
    assert [each.idle for each in decisions(local)] == [(f"{topic}/{PARTITIONS - 1}",)]

    reset_unit(local.catalog, local.name, local.units[0], force=True)
    local.source_limit = 7
    assert watermark_of(local) == 190
    read_all(local, 19 * PARTITIONS + (last - 20) * len(others))
    local.turn(2)
    assert watermark_of(local) == before
    assert len(decisions(local)) == 1

    send(kafka, topic, [(PARTITIONS - 1, 10 * last + 50, 0), (0, 10 * last + 90, 0)])
    read_all(local, 19 * PARTITIONS + (last - 20) * len(others) + 2)
    local.turn()
    assert watermark_of(local) == before, "the partitions 1 and 2 hold it, the last one is not idle any more"


def test_a_channel_without_partitions_holds_nothing_up(kafka: Broker, tmp_path: Path):
    topic = kafka.topic(2)
    plan = in_event_time(graph(kafka, topic, 3), fusion="manual", pes=2)
    local = LocalApplication(Home(tmp_path / "home"), plan, 50)
    send(kafka, topic, in_step(1, 20, range(2)))
    read_all(local, 38)
    local.turn()
    assert watermark_of(local) == 190


@pytest.mark.parametrize("widths", [(1, 3), (3, 2)])
def test_partitions_take_their_times_to_other_channels(kafka: Broker, tmp_path: Path, widths: Sequence[int]):
    topic = kafka.topic(PARTITIONS)
    first, second = (in_event_time(graph(kafka, topic, width), fusion="manual", pes=2) for width in widths)
    local = LocalApplication(Home(tmp_path / "home"), first, 50)
    send(kafka, topic, [*in_step(1, 5, range(PARTITIONS)), *in_step(5, 20, range(PARTITIONS - 1))])
    read_all(local, 4 * PARTITIONS + 15 * (PARTITIONS - 1))
    local.turn()
    assert watermark_of(local) == 40
    redeploy(local, second)
    send(kafka, topic, in_step(19, 20, [PARTITIONS - 1]))
    read_all(local, 4 * PARTITIONS + 15 * (PARTITIONS - 1) + 1)
    local.turn()
    assert watermark_of(local) == 190, "the other partitions are where they were"


@pytest.mark.parametrize("limit", [7, 50])
def test_a_partition_that_is_added_holds_the_watermark_where_it_is(
    kafka: Broker, tmp_path: Path, ahead: Ahead, limit: int
):
    """It makes no tuple of the others late. Partition 1 is idle by then, and stays so; a reset repeats all of that."""
    topic = kafka.topic(2)
    plan = in_event_time(graph(kafka, topic, discovery=0.001), fusion="manual", pes=2)
    local = LocalApplication(Home(tmp_path / "home"), plan, limit)
    send(kafka, topic, in_step(1, 20, range(2)))
    read_all(local, 38)
    local.trigger()
    local.turn(2)
    last = 20
    while not decisions(local):
        send(kafka, topic, in_step(last, last + 1, [0]))
        last += 1
        ahead.more += 1.0
        local.turn()
    read_all(local, 38 + last - 20)
    local.turn()
    reached = 10 * (last - 1)
    assert watermark_of(local) == reached

    kafka.widen(topic, 3)
    local.turn(3)
    send(kafka, topic, in_step(last, last + 5, [0]))
    read_all(local, 38 + last + 5 - 20)
    local.turn()
    assert watermark_of(local) == reached, "the new partition holds it"
    send(kafka, topic, [(2, 5, 0), (2, reached + 20, 0)])
    read_all(local, 38 + last + 5 - 20 + 2)
    local.turn()
    assert watermark_of(local) == reached + 20, "partition 1 is idle"

    reset_unit(local.catalog, local.name, local.units[0], force=True)
    read_all(local, 38 + last + 5 - 20 + 2)
    local.turn(2)
    assert watermark_of(local) == reached + 20
    for row in met_by_rows(local):
        assert row["at"] >= row["watermark"] or row["k"] == "p2", row
