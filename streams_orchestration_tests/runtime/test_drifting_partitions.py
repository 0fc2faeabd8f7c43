"""Partitions of a KafkaSource that are too far ahead of the others are not read until these have come near (EV65)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration import world
from streams_orchestration.operators.kafka import reader
from streams_orchestration.runtime import api
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.deployment.run_kinds import ENDLESS, RunKind
from streams_orchestration.runtime.queries.views import read_view
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import PERIODIC, sink
from streams_orchestration_tests.runtime.event_times import in_event_time
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.servers.kafka import PROMPT, inner_cluster

pytest.importorskip("confluent_kafka")

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

DRIFT, STEP, LIMIT, IDLE_AFTER = 100, 10, 5, 30.0
SLOW, FAST = 0, 1


@dataclass
class Topic:
    """A topic of two partitions in the cluster that the client library has within itself."""

    producer: Any
    brokers: str
    name: str

    def send(self, partition: int, first: int, last: int) -> None:
        for at in range(first, last, STEP):
            value = json.dumps({"at": at, "k": f"p{partition}", "n": at})
            self.producer.produce(self.name, value, partition=partition)
        assert self.producer.flush(60) == 0


@pytest.fixture
def topic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Topic]:
    for name, seconds in (("POLL_TIMEOUT_SECONDS", 0.005), ("FIRST_SECONDS", 0.2)):
        monkeypatch.setattr(reader, name, seconds)  # a cluster in this process answers at once
    monkeypatch.setattr(reader, "IDENTITY_SECONDS", 0.1)  # such a cluster knows no identities of topics
    producer, address = inner_cluster("times")
    yield Topic(producer, address, "times")


@dataclass
class Machine:
    """The clock of this machine, with seconds that a test adds."""

    more: float = 0.0


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    added, right = Machine(), world.monotonic
    monkeypatch.setattr(world, "monotonic", lambda: right() + added.more)
    return added


def application(directory: Path, topic: Topic, begins: RunKind = ENDLESS) -> LocalApplication:
    note = {"eventTimeAttribute": "at", "minimumGap": 0.0, "maxDrift": DRIFT / 1000, "idleAfter": IDLE_AFTER}
    source = {
        "name": "Rows", "operator": "KafkaSource", "outputs": [{"stream": "Rows", "schema": "T"}],
        "parameters": {"brokers": topic.brokers, "client": PROMPT, "topic": topic.name},
        "annotations": PERIODIC | {"eventTime": note},
    }  # fmt: skip
    plan = in_event_time([source, sink("Out", "Rows")], fusion="manual", pes=1)
    return LocalApplication(Home(directory / "home"), plan, LIMIT, begins=begins)


def read(local: LocalApplication) -> dict[int, int]:
    """Return the number of messages that were read of each partition; the mock cluster gives four to a topic."""
    (program,) = local.programs
    offset = read_view(local.catalog, program).position.sources["Rows"]
    found = offset.get("next", {}).get("times", {})
    return {partition: found.get(str(partition), 0) for partition in (SLOW, FAST)}


def read_until(local: LocalApplication, slow: int, fast: range) -> None:
    """Step until so many messages of both partitions were read, and on, to see that no more are."""
    for _ in range(1000):
        local.turn()
        if (found := read(local))[SLOW] == slow and found[FAST] in fast:
            break
    local.turn(20)
    assert read(local)[SLOW] == slow
    assert read(local)[FAST] in fast


def may_be_read(watermark: int) -> range:
    """Return the numbers of messages of a partition that may be read on up to a watermark: at most two batches more."""
    return range(watermark // STEP + 1, watermark // STEP + 2 + 2 * LIMIT)


def test_a_partition_far_ahead_waits_until_the_others_move(tmp_path: Path, topic: Topic):
    local = application(tmp_path, topic)
    topic.send(SLOW, 0, 21)
    read_until(local, 3, range(1))
    topic.send(FAST, 0, 2000)
    for reached, following in ((20, 71), (70, 301), (300, 2000)):
        read_until(local, reached // STEP + 1, may_be_read(reached + DRIFT))
        told = api.read_metrics(local.catalog, local.name).event_time[0]
        assert told.waiting == 1
        assert "1 partition further ahead than maxDrift not read" in told.why
        topic.send(SLOW, reached + STEP, following)
    read_until(local, 200, range(200, 201))


def after_idleness(local: LocalApplication, topic: Topic, machine: Machine) -> None:
    """Let all partitions but the fast one become idle, so that it is read to its end."""
    topic.send(SLOW, 0, 21)
    read_until(local, 3, range(1))
    topic.send(FAST, 0, 500)
    read_until(local, 3, may_be_read(20 + DRIFT))
    for _ in range(1000):
        if read(local)[FAST] == 50:
            return
        machine.more += 1.0
        local.turn()
    pytest.fail("it is not read to its end")


def test_a_partition_that_waits_is_not_idle_and_an_idle_one_holds_up_no_other(
    tmp_path: Path, topic: Topic, machine: Machine
):
    local = application(tmp_path, topic)
    after_idleness(local, topic, machine)
    decisions = read_view(local.catalog, local.programs[0]).position.idle["Rows"]
    first = next(each for each in decisions if "times/0" in each.idle)
    assert "times/1" not in first.idle


def test_a_reset_repeats_the_decision_of_a_clock_although_a_partition_is_far_ahead(
    tmp_path: Path, topic: Topic, machine: Machine
):
    """The replay is divided into smaller batches, so the fast partition meets its limit earlier."""
    local = application(tmp_path, topic)
    after_idleness(local, topic, machine)
    reset_unit(local.catalog, local.name, local.units[0], force=True)
    local.source_limit = 1
    read_until(local, 3, range(50, 51))


def test_a_partition_at_the_end_of_a_bounded_run_holds_up_no_other(tmp_path: Path, topic: Topic):
    topic.send(SLOW, 0, 21)
    topic.send(FAST, 0, 500)
    local = application(tmp_path, topic, RunKind(available_now=True))
    local.run(trigger_every=3)
    assert read(local) == {SLOW: 3, FAST: 50}
