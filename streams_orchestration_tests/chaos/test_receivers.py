"""Hosts that receive are killed: what a sender was told of is in the files once, and no secret is anywhere."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment.control import cancel_application
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.healers import ByHand
from streams_orchestration_tests.chaos.surroundings import environment
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.waiting import until

SECRET = "planted-secret-of-the-test"
KILLS = 4
TIMEOUT_SECONDS = 90.0


def spec(tcp: int, http: int) -> dict[str, Any]:
    """Return both kinds of sources, each with a sink of its own."""
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


def say(port: int, number: int) -> bool:
    """Send one line; return True if it was acknowledged."""
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", port), 10) as connection,
        connection.makefile("rb") as answers,
    ):
        connection.sendall(b'{"n": %d}\n' % number)
        return answers.readline() == b"1\n"
    return False


def post(port: int, number: int) -> bool:
    """Post one request under a key; return True if it was taken."""
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
def test_acknowledged_messages_are_published_once_after_hosts_were_killed(tmp_path: Path):
    home, chance = Home(tmp_path / "home"), random.Random(1)
    tcp, http = free_port(), free_port()
    path = tmp_path / "received.yaml"
    path.write_text(yaml.safe_dump(spec(tcp, http)))
    lines, posts = list[int](), list[int]()
    again = Counter[int]()

    def is_said(number: int) -> bool:
        answered = say(tcp, number)
        again[number] += not answered
        return answered

    def wait_for(sink: str, numbers: list[int]) -> None:
        until(lambda: there(home, sink).keys() == set(numbers), f"{sink} is not complete", TIMEOUT_SECONDS)

    with environment(home, None, "local"):
        os.environ["PLANTED"] = SECRET
        try:
            with ByHand(home, "received", path, chance):
                number = 0
                for kill in range(KILLS + 1):
                    for _ in range(40):
                        number += 1
                        until(partial(is_said, number), f"line {number} is not answered", TIMEOUT_SECONDS)
                        lines.append(number)
                        until(partial(post, http, number), f"request {number} is not taken", TIMEOUT_SECONDS)
                        posts.append(number)
                    if kill < KILLS:
                        os.kill(until(lambda: host_pid(home), "no host runs", TIMEOUT_SECONDS), signal.SIGKILL)
                wait_for("PostsOut", posts)
                wait_for("LinesOut", lines)
        finally:
            cancel_application(Catalog(home), "received", 20.0)
    assert there(home, "PostsOut") == Counter(posts)  # its key tells that a repeated post is the same one
    doubled = {each: count for each, count in there(home, "LinesOut").items() if count > 1}
    assert all(
        count <= 1 + again[each] for each, count in doubled.items()
    )  # a line that nobody answered was said again
    files = [each for each in tmp_path.rglob("*") if each.is_file()]
    assert [each for each in files if SECRET.encode() in each.read_bytes()] == []
