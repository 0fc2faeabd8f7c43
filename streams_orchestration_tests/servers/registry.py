"""Schema registries: Apicurio, which is a real one, and one that a test can take away or have refuse."""

from __future__ import annotations

import contextlib
import json
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from streams_orchestration_tests.servers.http import serving
from streams_orchestration_tests.servers.jars import free_port, program, wait_for_port

APICURIO = "io.apicurio:apicurio-registry-app:3.0.9:tar.gz:all"
START_SECONDS = 180.0


@dataclass
class SmallRegistry:
    """A registry with a minimal interface: no schema is checked, none is refused unless a test says so."""

    address: str = ""
    answers: list[tuple[int, Any]] = field(default_factory=list)
    """Statuses and bodies of the next answers."""
    schemas: list[dict[str, Any]] = field(default_factory=list)
    """By their numbers, from 1 on."""
    subjects: dict[str, list[int]] = field(default_factory=dict)
    """The schemas of the versions."""
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Method, path and headers."""

    def add(self, text: str, kind: str = "AVRO", subject: str = "", references: Any = ()) -> int:
        """Add a schema; return its number."""
        body = {"schema": text, "schemaType": kind, "references": list(references)}
        if body not in self.schemas:
            self.schemas.append(body)
        number = self.schemas.index(body) + 1
        if subject and number not in self.subjects.setdefault(subject, []):
            self.subjects[subject].append(number)
        return number

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        """Status and body."""
        if self.answers:
            return self.answers.pop(0)
        unknown = 404, {"error_code": 40401, "message": "not there"}
        match path.strip("/").split("/"):
            case ["schemas", "ids", number] if method == "GET":
                known = 0 < int(number) <= len(self.schemas)
                return (200, self.schemas[int(number) - 1]) if known else unknown
            case ["subjects", subject, "versions"] if method == "POST":
                return 200, {"id": self.add(body["schema"], body.get("schemaType", "AVRO"), subject)}
            case ["subjects", subject, "versions", version] if method == "GET":
                versions = self.subjects.get(subject, [])
                at = len(versions) if version == "latest" else int(version)
                if not 0 < at <= len(versions):
                    return unknown
                number = versions[at - 1]
                return 200, {"subject": subject, "version": at, "id": number, **self.schemas[number - 1]}
            case _:
                return unknown


@contextlib.contextmanager
def small_registry() -> Iterator[SmallRegistry]:
    """Yield one on a free port of this machine."""
    state = SmallRegistry()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            state.requests.append((self.command, self.path, dict(self.headers)))
            status, content = state.answer(self.command, self.path, body)
            text = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:
            """Write nothing."""

    with serving(Handler) as state.address:
        yield state


def _unpack(directory: Path) -> None:
    (archive,) = directory.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(directory, filter="data")
    archive.unlink()


@contextlib.contextmanager
def apicurio(directory: Path) -> Iterator[str]:
    """Apicurio with its schemas in memory; gives the address of its interface.

    Raises:
        NotToBeHadError: it cannot be had here.
    """
    (jar,) = program(APICURIO, _unpack).glob("*-runner.jar")
    port, log = free_port(), directory / "registry.log"
    options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dquarkus.http.host=127.0.0.1"]
    command = ["java", *options, f"-Dquarkus.http.port={port}", "-jar", str(jar)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, cwd=directory, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        wait_for_port(port, process, START_SECONDS, log)
        yield f"http://127.0.0.1:{port}/apis/ccompat/v7"
    finally:
        process.kill()
        process.wait()
