"""Brokers of Debian's packages that are told what was taken: Mosquitto, Redis, NATS; each on a port of this machine."""

from __future__ import annotations

import asyncio
import shutil
import signal
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.standard.systems.mqtt_source import MQTTSource
from streams_orchestration.operators.standard.systems.nats_source import NATSSource
from streams_orchestration.operators.standard.systems.redis_source import RedisSource
from streams_orchestration_tests.servers.jars import wait_for_port

PASSWORD = "planted-secret-of-the-test"
TIMEOUT_SECONDS = 20.0


class Broker:
    """One that keeps what it has over a crash, and wants a password where it is told so."""

    command: ClassVar[str]
    scheme: ClassVar[str]
    source: ClassVar[type[JournalSource]]
    parameters: ClassVar[dict[str, Any]]
    origin: ClassVar[str]
    once: ClassVar[bool] = True
    """True if a redelivered message is recognized."""
    position: ClassVar[str] = ""
    """Parameter with the name under which the broker keeps the position."""

    def __init__(self, directory: Path, *, guarded: bool = False) -> None:
        self.directory, self.guarded = directory, guarded
        directory.mkdir(parents=True, exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.port = taken.getsockname()[1]
        self.url = f"{self.scheme}://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    @classmethod
    def why_not(cls) -> str | None:
        """Return the reason why the broker cannot be started; None if it can."""
        return None if shutil.which(cls.command) else f"{cls.command} is not installed"

    def start(self) -> None:
        said = self.directory / "log"
        with said.open("ab") as log:
            command = [str(shutil.which(self.command)), *self.arguments()]
            self.process = subprocess.Popen(command, cwd=self.directory, stdout=log, stderr=log)
        wait_for_port(self.port, self.process, TIMEOUT_SECONDS, said)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Send a signal, and wait for the end; a server that misses its signal while it comes up is killed."""
        if self.process is not None:
            self.process.send_signal(how)
            try:
                self.process.wait(TIMEOUT_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(TIMEOUT_SECONDS)
            self.process = None

    def arguments(self) -> Sequence[str]:
        raise NotImplementedError

    def prepare(self) -> None:
        """Make what the source reads."""

    def make_anew(self) -> None:
        """Delete what the source reads, and make it anew."""

    def send(self, values: Sequence[bytes]) -> None:
        """Send, and wait until the broker has them."""
        raise NotImplementedError


class Mosquitto(Broker):
    command, scheme, source = "mosquitto", "mqtt", MQTTSource
    parameters: ClassVar[dict[str, Any]] = {"topics": ["in/#"], "clientId": "tests"}
    origin = "in/a"
    once = False

    def arguments(self) -> Sequence[str]:
        lines = [f"listener {self.port} 127.0.0.1", "persistence true", f"persistence_location {self.directory}/"]
        lines += ["allow_anonymous false" if self.guarded else "allow_anonymous true", "user root"]
        (self.directory / "mosquitto.conf").write_text("\n".join([*lines, ""]))
        return ["-c", "mosquitto.conf"]

    def make_anew(self) -> None:
        """Forget all sessions, while it does not run."""
        (self.directory / "mosquitto.db").unlink(missing_ok=True)

    def send(self, values: Sequence[bytes]) -> None:
        from paho.mqtt.client import Client
        from paho.mqtt.enums import CallbackAPIVersion

        client = Client(CallbackAPIVersion.VERSION2)
        client.connect("127.0.0.1", self.port)
        client.loop_start()
        for sent in [client.publish(self.origin, value, qos=1) for value in values]:
            sent.wait_for_publish(TIMEOUT_SECONDS)
        client.disconnect()
        client.loop_stop()


class Redis(Broker):
    command, scheme, source = "redis-server", "redis", RedisSource
    parameters: ClassVar[dict[str, Any]] = {"stream": "in"}
    origin = "in"
    position = "group"

    def arguments(self) -> Sequence[str]:
        guard = ["--requirepass", PASSWORD + "-other"] if self.guarded else []
        return ["--port", str(self.port), "--bind", "127.0.0.1", "--appendonly", "yes", "--appendfsync", "always",
                "--dir", str(self.directory), *guard]  # fmt: skip

    def make_anew(self) -> None:
        import redis

        with redis.Redis(port=self.port) as client:
            client.delete(self.origin)

    def send(self, values: Sequence[bytes]) -> None:
        import redis

        with redis.Redis(port=self.port) as client:
            for value in values:
                client.xadd(self.origin, {"data": value})


class Nats(Broker):
    command, scheme, source = "nats-server", "nats", NATSSource
    parameters: ClassVar[dict[str, Any]] = {"stream": "IN"}
    origin = "in.a"
    position = "consumer"

    def arguments(self) -> Sequence[str]:
        guard = ["--user", "somebody", "--pass", "another"] if self.guarded else []
        return ["-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", str(self.directory), *guard]

    def prepare(self) -> None:
        asyncio.run(self._do([], make=True))

    def make_anew(self) -> None:
        async def delete() -> None:
            import nats

            client = await nats.connect(self.url)
            await client.jetstream().delete_stream("IN")
            await client.close()

        asyncio.run(delete())
        self.prepare()

    def send(self, values: Sequence[bytes]) -> None:
        asyncio.run(self._do(values, make=False))

    async def _do(self, values: Sequence[bytes], *, make: bool) -> None:
        import nats

        client = await nats.connect(self.url)
        try:
            context = client.jetstream()
            if make:
                await context.add_stream(name="IN", subjects=["in.*"])
            for value in values:
                await context.publish(self.origin, value)
        finally:
            await client.close()


BROKERS: dict[str, type[Broker]] = {each.command: each for each in (Mosquitto, Redis, Nats)}
