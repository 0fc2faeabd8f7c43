"""Panes of event time over a topic of Kafka that is fed while faults happen, one partition of which is idle by turns.

What is wanted is worked out by DuckDB over all messages of the topic. Tuples of a partition that was idle may be late,
so panes are kept open for long, and their last firings count.
"""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from streams_orchestration_tests.chaos.counterparts import Counterpart
from streams_orchestration_tests.chaos.operators import fed_file
from streams_orchestration_tests.chaos.pairs import KEYS, PERIODS, Pair
from streams_orchestration_tests.chaos.shapes import Shape, Tuples, node, sink
from streams_orchestration_tests.servers import kafka

PARTITIONS = 4
TURN = 25
"""Rounds in which one partition gets no messages."""
ROUND_SECONDS, A_ROUND = 0.2, 12
"""The seconds of a round, and the messages of a partition in it."""
TICKS, BEHIND = 40, 500
"""Milliseconds of event time between two messages of a partition, and by how much one may be out of order."""
PANE = 2_000
SQL = f"""SELECT k, "at" // {PANE} * {PANE} AS start, count(*) AS n, CAST(sum(n) AS BIGINT) AS total
          FROM topic GROUP BY ALL"""


@dataclass(frozen=True)
class FedPanes(Pair):
    """An application whose wanted results are known when all is over."""

    wanted: Callable[[], Tuples] = list

    def results(self, home: Any) -> dict[str, Tuples]:
        """Return the last firing of each pane, which must have come behind all earlier ones, each of them once."""
        firings: dict[tuple[str, int], dict[int, tuple[Any, ...]]] = {}
        again: Tuples = []
        for k, start, n, total, nth in Shape.results(self, home)["Out"]:
            known = firings.setdefault((k, start), {})
            again += [(k, start, f"firing {nth} twice")] if nth in known else []
            known[nth] = (k, start, n, total)
        missing = [(*pane, "firings are missing") for pane, known in firings.items() if max(known) >= len(known)]
        return {"Out": [*(known[max(known)] for known in firings.values()), *again, *missing]}


class Feeding(threading.Thread):
    """Sends messages until a file exists, and says with another one that they were the last."""

    def __init__(self, server: kafka.Broker, topic: str, hurry: Path, choose: random.Random) -> None:
        super().__init__(daemon=True)
        self._server, self._topic, self._hurry, self._choose = server, topic, hurry, choose
        self.over = threading.Event()

    def run(self) -> None:
        """Let one partition after the other be idle."""
        turn = 0
        while not self._hurry.exists() and not self.over.wait(ROUND_SECONDS):
            idle = turn // TURN % PARTITIONS
            # the broker may be away; the results follow from the messages that it has
            with contextlib.suppress(Exception):
                self._send(turn, [partition for partition in range(PARTITIONS) if partition != idle])
            turn += 1
        fed_file(self._hurry).touch()

    def _send(self, turn: int, partitions: list[int]) -> None:
        values, to = list[bytes](), list[int]()
        for number in range(turn * A_ROUND, (turn + 1) * A_ROUND):
            for partition in partitions:
                at = number * TICKS + BEHIND - self._choose.randrange(BEHIND)
                row = {"at": at, "k": f"k{number % KEYS}", "n": number * PARTITIONS + partition}
                values.append(json.dumps(row).encode())
                to.append(partition)
        self._server.send(self._topic, values, partition=to)


@contextmanager
def kafka_to_panes(choose: random.Random, place: Path) -> Iterator[FedPanes]:
    """Yield a broker behind one proxy, and a thread that feeds a topic of it until the faults are over."""
    directory, hurry = place / "broker", place / "hurry"
    directory.mkdir()
    with kafka.broker(directory) as server, closing(server.proxy()) as proxy:
        topic = server.topic(PARTITIONS, "rows")
        feeding = Feeding(server, topic, hurry, choose)

        def wanted() -> Tuples:
            feeding.join()
            rows = pa.Table.from_pylist([json.loads(value) for value in server.values(topic)])
            with duckdb.connect() as connection:
                connection.register("topic", rows)
                return connection.sql(SQL).fetchall()

        source = {
            "name": "Rows",
            "operator": "FedKafka",
            "outputs": [{"stream": "Rows", "schema": "at bigint, k string, n bigint"}],
            "parameters": {"brokers": server.proxied_address, "topic": topic},
            "annotations": {
                "consistent": {
                    "trigger": "periodic", "period": choose.choice(PERIODS), "maxConsecutiveResetAttempts": 1000,
                },
                "eventTime": {"eventTimeAttribute": "at", "lag": BEHIND / 1000, "idleAfter": 2.0},
            },
        }  # fmt: skip
        panes = node(
            "Panes", "Aggregate", "Rows", schema="k string, start bigint, n bigint, total bigint, nth bigint",
            parameters={
                "window": f"timeInterval, intervalDuration({PANE / 1000}), discardAge(100000.0), partitioned",
                "partitionBy": ["k"],
                "output": {"start": "intervalStart()", "n": "Count()", "total": "Sum(n)", "nth": "paneIndex()"},
            },
        )  # fmt: skip
        feeding.start()
        try:
            server_outside = Counterpart(proxy, server.kill, server.start)
            out = sink("Out", "Panes")
            yield FedPanes("kafka_panes", [source, panes], (), server_outside, lambda _target: out, wanted=wanted)
        finally:
            feeding.over.set()
            feeding.join()


FED: dict[str, Callable[[random.Random, Path], AbstractContextManager[FedPanes]]] = {"kafka_panes": kafka_to_panes}
