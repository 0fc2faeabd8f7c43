"""KafkaSource through redeploys: partitions go to other channels, and every message is read once."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.servers.kafka import PROMPT, Broker

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT, PARTITIONS, AT_ONCE = 200, 5, 7


def plan(kafka: Broker, topic: str, target: str, width: int) -> PlannedCompilation:
    parallel = {"parallel": {"width": width}} if width > 1 else {}
    source = {
        "name": "Rows", "operator": "KafkaSource", "outputs": [{"stream": "Rows", "schema": "Row"}],
        "parameters": {"brokers": kafka.address, "client": PROMPT, "topic": topic, "until": "latest"},
        "annotations": {"consistent": {"trigger": "periodic", "period": 1.0}} | parallel,
    }  # fmt: skip
    out = {
        "name": "Out", "operator": "KafkaSink", "inputs": ["Rows"],
        "parameters": {"brokers": kafka.address, "topic": target, "key": "k"},
    }  # fmt: skip
    return compiled([source, out], fusion="legacy")


def there(kafka: Broker, target: str) -> list[int]:
    return sorted(json.loads(value)["n"] for value in kafka.values(target))


@pytest.mark.parametrize("widths", [(1, 2, 3), pytest.param((5, 2), marks=pytest.mark.deep)])
def test_partitions_move_with_their_offsets(kafka: Broker, tmp_path: Path, widths: Sequence[int]):
    topic, target = kafka.topic(PARTITIONS), kafka.topic(2)
    values = [json.dumps({"k": f"k{number % 7}", "n": number}).encode() for number in range(COUNT)]
    kafka.send(topic, values, partition=[number % PARTITIONS for number in range(COUNT)])
    first, *others = (plan(kafka, topic, target, width) for width in widths)
    local = LocalApplication(Home(tmp_path / "home"), first, AT_ONCE)
    for wanted in others:
        for program in local.programs:
            local.step(program)
        before = len(there(kafka, target))
        redeploy(local, wanted)
        assert before < len(there(kafka, target)) < COUNT, "something was read, and something is left for the next"
    local.run()
    assert there(kafka, target) == list(range(COUNT))
