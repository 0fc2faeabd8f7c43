from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from streams_orchestration.orchestration.ui import UserInterfaceError, serve
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.servers.jars import free_port

SERVE = """
import sys
from pathlib import Path
from streams_orchestration.orchestration.ui import serve
from streams_orchestration.runtime.storage.home import Home
sys.exit(serve(Home(Path(sys.argv[1])), int(sys.argv[2]), Path(sys.argv[3])))
"""

MUTATION = "mutation{setNuxSeen}"
IN_QUERY = f"/graphql?query={MUTATION}"
JSON = {"Content-Type": "application/json"}
SOCKET = {
    "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "graphql-ws",
}  # fmt: skip
REQUESTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "mutation of an own page": ("POST", "/graphql", JSON | {"Origin": "http://127.0.0.1:PORT"}),
    "mutation of a program": ("POST", "/graphql", JSON),
    "web socket of an own page": ("GET", "/graphql", SOCKET | {"Origin": "http://127.0.0.1:PORT"}),
    "form of another page": ("POST", IN_QUERY, {"Content-Type": "text/plain", "Origin": "http://example.org"}),
    "form of a page that hides itself": ("POST", IN_QUERY, {"Content-Type": "text/plain"}),
    "image of another page": ("GET", IN_QUERY, {"Sec-Fetch-Site": "cross-site"}),
    "name that was made an address of this machine": ("POST", "/graphql", JSON | {"Host": "example.org:PORT"}),
    "web socket of another page": ("GET", "/graphql", SOCKET | {"Origin": "http://example.org"}),
}
ANSWERS = {
    "mutation of an own page": 200, "mutation of a program": 200, "web socket of an own page": 101,
    "form of another page": 403, "form of a page that hides itself": 415, "image of another page": 403,
    "name that was made an address of this machine": 421, "web socket of another page": 403,
}  # fmt: skip


def status(port: int, method: str, path: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    sent = {name: value.replace("PORT", str(port)) for name, value in headers.items()}
    with contextlib.closing(connection):
        connection.request(method, path, json.dumps({"query": MUTATION}) if method == "POST" else None, sent)
        return connection.getresponse().status


def test_a_port_that_is_taken_is_said_before_anything_starts(home: Home, spec: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(UserInterfaceError, match=f"port {port} on 127.0.0.1 cannot be used"):
            serve(home, port, spec.parent)
    assert not home.root.exists()


@pytest.mark.slow
def test_the_ui_serves_its_own_pages_on_the_loopback_address_and_stops_with_all_its_processes(home: Home, spec: Path):
    port = free_port()
    environment = {key: value for key, value in os.environ.items() if key != "DAGSTER_HOME"}
    arguments = [sys.executable, "-c", SERVE, str(home.root), str(port), str(spec.parent)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert process.stdout is not None
        assert f"http://127.0.0.1:{port}" in process.stdout.readline()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/server_info", timeout=10) as answer:
            assert answer.status == 200
        assert {name: status(port, *request) for name, request in REQUESTS.items()} == ANSWERS
        children = psutil.Process(process.pid).children(recursive=True)
        addresses = {c.laddr.ip for child in children for c in child.net_connections("tcp") if c.status == "LISTEN"}
        assert addresses == {"127.0.0.1"}
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
        _, left = psutil.wait_procs(children, 10)
        assert left == []
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30)
