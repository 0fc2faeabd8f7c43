"""From Kafka to Kafka through the runtime: every message once, over resets, deaths and sleepers."""

from __future__ import annotations

import contextlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publishing import outstanding
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled
from streams_orchestration_tests.runtime.faults import KilledError, kill_at
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.servers.kafka import PROMPT, Broker

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 60


def application(
    kafka: Broker, tmp_path: Path, target: str | None = None, **parameters: Any
) -> tuple[LocalApplication, str]:
    source, target = kafka.topic(3), target or kafka.topic(2)
    values = [json.dumps({"k": f"k{number % 5}", "n": number}).encode() for number in range(COUNT)]
    kafka.send(source, values, partition=[number % 3 for number in range(COUNT)])
    graph = [
        {
            "name": "Rows", "operator": "KafkaSource", "outputs": [{"stream": "Rows", "schema": "Row"}],
            "parameters": {"brokers": kafka.address, "client": PROMPT, "topic": source, "until": "latest"},
            "annotations": {"consistent": {"trigger": "periodic", "period": 1.0}},
        },
        {
            "name": "Out", "operator": "KafkaSink", "inputs": ["Rows"],
            "parameters": {"brokers": kafka.address, "topic": target, "key": "k"} | parameters,
        },
    ]  # fmt: skip
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 5), target


def there(kafka: Broker, topic: str) -> list[int]:
    return sorted(json.loads(value)["n"] for value in kafka.values(topic))


def test_every_message_is_there_once_at_the_end(kafka: Broker, tmp_path: Path):
    local, target = application(kafka, tmp_path)
    local.run()
    assert there(kafka, target) == list(range(COUNT))
    status = read_status(local.catalog, local.name)
    assert (status.sinks[0].rows, status.sinks[0].place) == (COUNT, f"{target} at {kafka.address}")


def test_two_installations_with_an_application_of_the_same_name_do_not_fence_each_other(kafka: Broker, tmp_path: Path):
    one, target = application(kafka, tmp_path / "test")
    other, _ = application(kafka, tmp_path / "production", target)
    for local in (one, other, one, other):
        local.commit(boundary=True)
        local.publish()
    for local in (one, other):
        local.run()
    assert there(kafka, target) == sorted([*range(COUNT)] * 2)


def test_a_topic_that_was_deleted_and_made_again_gets_all_that_was_not_delivered(kafka: Broker, tmp_path: Path):
    local, target = application(kafka, tmp_path)
    local.commit(boundary=True)
    local.publish()
    delivered = there(kafka, target)
    kafka.delete(target)
    local.commit(boundary=True)
    with pytest.raises(
        OutputError, match=rf"operator Out: topic {target} at {kafka.address}: .*; create the topic"
    ) as error:
        local.publish()
    assert error.value.permanent
    kafka.topic(2, target)
    local.deliverers = make_deliverers(local.catalog, local.name, local.programs)
    local.run()
    assert sorted((*delivered, *there(kafka, target))) == list(range(COUNT))


@pytest.mark.covering
@pytest.mark.parametrize("visibility", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize(
    "seed", [0, 1, pytest.param(2, marks=pytest.mark.deep), pytest.param(3, marks=pytest.mark.deep)]
)
def test_resets_deaths_and_sleepers_lose_and_repeat_nothing(
    kafka: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, visibility: str
):
    local, target = application(kafka, tmp_path, visibility=visibility)
    chance = random.Random(seed)
    # a reset takes nothing back that is seen uncommitted, so the replay would come to it
    disturbances = ("die", "sleep", "go on", "reset")[: 4 if visibility == "read_committed" else 3]
    (program,) = local.programs
    sleepers: list[Any] = []
    for _ in range(8):
        if local.plan(program) is None:
            break
        local.commit(boundary=chance.random() < 0.6)
        match chance.choice(disturbances):
            case "die":
                with monkeypatch.context() as patch:
                    kill_at(patch, chance.randint(1, 6))
                    with contextlib.suppress(KilledError):
                        local.publish()
                local.deliverers = make_deliverers(local.catalog, local.name, local.programs)
            case "sleep":
                rows = outstanding(local.catalog, local.name, deliveries=True).deliveries
                sleepers.append((local.deliverers["Out"], rows))
                local.deliverers = make_deliverers(local.catalog, local.name, local.programs)
            case "reset":
                reset_unit(local.catalog, local.name, "region-0")
                local.report_running()
            case _:
                local.publish()
    local.publish()
    for sleeper, rows in sleepers:  # they wake up long after their deliveries were due
        try:
            sleeper.deliver(rows)
        except OutputError as error:
            assert not error.permanent
    for _ in range(2):
        try:
            local.run()
            break
        except OutputError:  # fenced by a sleeper: the next try takes over again
            local.deliverers = make_deliverers(local.catalog, local.name, local.programs)
    assert there(kafka, target) == list(range(COUNT))
