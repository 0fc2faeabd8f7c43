"""Hosts that receive are killed: what a sender was told of is in the files once, and no secret is anywhere."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.healers import ByHand
from streams_orchestration_tests.chaos.surroundings import environment
from streams_orchestration_tests.servers.jars import free_port

SECRET = "planted-secret-of-the-test"
KILLS = 4
PATIENCE = 90.0


def spec(tcp: int, http: int) -> dict[str, Any]:
    """Both kinds of sources, each with a sink of its own."""
    own = {
        "Lines": ("TCPSource", {"port": tcp, "acknowledge": True}),
        "Posts": ("HttpSource", {"port": http, "token": "${env:PLANTED}"}),
    }
    graph: list[dict[str, Any]] = []
    for name, (kind, parameters) in own.items():
        graph += [
            {"name": name, "operator": kind, "outputs": [{"stream": name, "schema": "Row"}], "parameters": parameters,
             "annotations": {"consistent": {"trigger": "periodic", "period": 0.5}}},
            {"name": f"{name}Out", "operator": "FileSink", "inputs": [name],
             "parameters": {"file": f"{name}Out", "format": "jsonl", "closeMode": "batch"}},
        ]  # fmt: skip
    return {"specVersion": 1, "application": "received", "schemas": {"Row": "n bigint"}, "graph": graph}


def until(done: Callable[[], Any]) -> Any:
    """What it gives, as soon as that is something."""
    end = time.monotonic() + PATIENCE
    while not (given := done()):
        assert time.monotonic() < end, "it does not come to that"
        time.sleep(0.05)
    return given


def say(port: int, number: int) -> bool:
    """One line; whether it was acknowledged."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), 10) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(b'{"n": %d}\n' % number)
        return answers.readline() == b"1\n"
    return False


def post(port: int, number: int) -> bool:
    """One request, under a key; whether it was taken."""
    headers = {"Idempotency-Key": f"n{number}", "Content-Type": "application/json", "Authorization": f"Bearer {SECRET}"}
    with contextlib.suppress(requests.RequestException):
        answer = requests.post(f"http://127.0.0.1:{port}/", b'{"n": %d}' % number, headers=headers, timeout=10)
        return answer.status_code == 202
    return False


def there(home: Home, sink: str) -> Counter[int]:
    parts = (home.results("received") / sink).glob("part-*")
    return Counter(json.loads(line)["n"] for part in parts for line in part.read_text().splitlines())


def host_pid(home: Home) -> int | None:
    h = tables.host
    with Catalog(home).read() as connection:
        return connection.scalar(select(h.c.pid).where(h.c.application == "received", h.c.state == "RUNNING"))


@pytest.mark.deep
def test_what_was_acknowledged_is_there_once_after_hosts_were_killed(tmp_path: Path):
    home, chance = Home(tmp_path / "home"), random.Random(1)
    tcp, http = free_port(), free_port()
    path = tmp_path / "received.yaml"
    path.write_text(yaml.safe_dump(spec(tcp, http)))
    lines, posts = list[int](), list[int]()
    again = Counter[int]()
    with environment(home, None, "local"):
        os.environ["PLANTED"] = SECRET
        try:
            with ByHand(home, "received", path, chance):
                number = 0
                for kill in range(KILLS + 1):
                    for _ in range(40):
                        number += 1
                        while not say(tcp, number):
                            again[number] += 1
                            time.sleep(0.05)
                        lines.append(number)
                        until(lambda number=number: post(http, number))
                        posts.append(number)
                    if kill < KILLS:
                        os.kill(until(lambda: host_pid(home)), signal.SIGKILL)
                until(lambda: there(home, "PostsOut").keys() == set(posts))
                until(lambda: there(home, "LinesOut").keys() == set(lines))
        finally:
            cancel(home, "received", 20.0)
    assert there(home, "PostsOut") == Counter(posts)  # a key makes what is posted again the same
    doubled = {each: count for each, count in there(home, "LinesOut").items() if count > 1}
    assert all(
        count <= 1 + again[each] for each, count in doubled.items()
    )  # a line that nobody answered was said again
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert [each for each in files if SECRET.encode() in each.read_bytes()] == []
