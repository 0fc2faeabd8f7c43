"""The Kafka job in Bytewax: `python -m benchmarks.peers.bytewax_kafka BROKERS SOURCE TARGET PROCESSES`.

Bytewax's own Kafka source and sink, which share the partitions out to the workers, one in every process. The last line
printed is JSON with when the first messages came and when all were written.
"""

# pyright: reportMissingImports=false, reportUntypedFunctionDecorator=false
# (only `make bench` installs Bytewax)

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bytewax.operators as op
from bytewax.connectors.kafka import KafkaSink, KafkaSinkMessage, KafkaSource
from bytewax.dataflow import Dataflow
from bytewax.testing import cluster_main

from benchmarks.peers.bytewax_flow import free_addresses

Total = tuple[int, float, int]
"""Clicks, seconds, most milliseconds."""
SEEN: list[int] = []
"""Messages that this process has read."""
STARTED: list[float] = []
"""The time at which messages began to come."""


def flow(brokers: str, source: str, target: str) -> Dataflow:
    """Return a flow that reads, filters, derives, reduces by key, and writes."""
    result = Dataflow("kafka")
    messages = op.input("messages", result, KafkaSource([brokers], [source], tail=False, batch_size=1000))
    derived = op.flat_map_batch("derived", messages, people)
    totals = op.reduce_final("totals", derived, add)
    op.output("out", op.map("texts", totals, message), KafkaSink([brokers], target))
    return result


def people(messages: list[Any]) -> list[tuple[str, Total]]:
    """Return the clicks of people, by page and minute."""
    if not STARTED:
        STARTED.append(time.time())
    SEEN.append(len(messages))
    pairs = []
    for each in messages:
        click = json.loads(each.value)
        if not click["robot"]:
            milliseconds = click["milliseconds"]
            key = f"{click['page']},{click['at'] // 60_000}"
            pairs.append((key, (1, milliseconds / 1000, milliseconds)))
    return pairs


def add(one: Total, other: Total) -> Total:
    """Return the sum of two totals."""
    return one[0] + other[0], one[1] + other[1], max(one[2], other[2])


def message(total: tuple[str, Total]) -> KafkaSinkMessage[bytes, bytes]:
    """Return the message for a total."""
    page, minute = total[0].split(",")
    clicks, seconds, longest = total[1]
    value = {"page": page, "minute": int(minute), "clicks": clicks, "seconds": seconds, "longest": longest}
    return KafkaSinkMessage(page.encode(), json.dumps(value).encode())


def lead(brokers: str, source: str, target: str, processes: str) -> None:
    """Start the other processes, be the first one."""
    addresses = free_addresses(int(processes))
    with TemporaryDirectory() as directory:
        arguments = (brokers, source, target, " ".join(addresses), directory)
        command = [sys.executable, "-m", "benchmarks.peers.bytewax_kafka", "follow", *arguments]
        others = [subprocess.Popen([*command, str(number)]) for number in range(1, len(addresses))]
        follow(*arguments, "0")
        if any(other.wait() for other in others):
            sys.exit("a Bytewax process failed")
        ended = time.time()
        parts = [json.loads(path.read_text()) for path in Path(directory).iterdir()]
        print(json.dumps([(min(part["began"] for part in parts), 0), (ended, sum(part["seen"] for part in parts))]))


def follow(brokers: str, source: str, target: str, addresses: str, directory: str, number: str) -> None:
    """Run one process of the cluster."""
    cluster = addresses.split()
    cluster_main(flow(brokers, source, target), cluster if len(cluster) > 1 else [], int(number))
    Path(directory, number).write_text(json.dumps({"began": STARTED[0], "seen": sum(SEEN)}))


if __name__ == "__main__":
    if sys.argv[1] == "follow":
        follow(*sys.argv[2:])
    else:
        lead(*sys.argv[1:])
