"""`specs/clicks.yaml` as a user runs it: from Kafka to Kafka and to a lake table, on Spark, with servers that die."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import deltalake
import pytest

from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.commands import SPECS, finish, kill_host, streams, wait_for
from streams_orchestration_tests.servers.kafka import Broker

pytestmark = [pytest.mark.java, pytest.mark.deep, pytest.mark.usefixtures("no_host_stays")]

CLICKS, PAGES, A_WINDOW = 40_000, 7, 100


def click(number: int) -> dict[str, Any]:
    page = f"/page/{number % PAGES}"
    return {"visitor": f"v{number}", "page": page, "robot": number % 10 == 3, "milliseconds": float(number % 1000)}


def has_completed(epochs: int, status: ApplicationStatus) -> bool:
    return min(unit.completed_epoch for unit in status.units) >= epochs


def test_clicks_are_counted_and_kept_once_though_a_host_and_the_broker_are_killed(kafka: Broker, tmp_path: Path):
    clicks = [click(number) for number in range(CLICKS)]
    values = [json.dumps(each).encode() for each in clicks] + [b"no click"]
    kafka.topic(4, "clicks")
    kafka.topic(2, "counts")
    kafka.send("clicks", values, partition=[number % 4 for number in range(len(values))])
    home, table = Home(tmp_path / "home"), tmp_path / "table"
    given = [f"brokers={kafka.address}", f"table={table}"]
    arguments = [part for each in given for part in ("--set", each)]
    with streams(home, "run", str(SPECS / "clicks.yaml"), *arguments, limit=1_000) as process:
        kill_host(wait_for(home, lambda status: has_completed(1, status), "clicks"))
        wait_for(home, lambda status: has_completed(2, status), "clicks")
        kafka.kill()
        kafka.start()
        finish(process)

    people = [each for each in clicks if not each["robot"]]
    wanted = Counter(each["page"] for each in people)
    counts = [json.loads(value) for value in kafka.values("counts")]
    assert sum((Counter({each["page"]: each["clicks"]}) for each in counts), Counter()) == wanted
    assert Counter(each["page"] for each in counts) == {page: -(-n // A_WINDOW) for page, n in wanted.items()}
    total = sum(each["clicks"] * each["milliseconds"] for each in counts)
    assert total == pytest.approx(sum(each["milliseconds"] for each in people), rel=1e-9)
    kept = deltalake.DeltaTable(table).to_pyarrow_table()
    assert sorted(kept.column("visitor").to_pylist()) == sorted(each["visitor"] for each in people)
    assert kept.column("at").null_count == 0
