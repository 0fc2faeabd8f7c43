"""A Kafka broker in KRaft mode. `python -m streams_orchestration_tests.servers.kafka` runs one for people."""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from streams_orchestration_tests.servers.jars import NotToBeHadError, RestartableServer, free_port, jars, wait_for_port
from streams_orchestration_tests.servers.proxy import Proxy
from streams_orchestration_tests.waiting import until

KAFKA = "org.apache.kafka:kafka_2.13:4.1.0"
START_SECONDS = 180.0
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
USER, PASSWORD = "loader", "planted-kafka-password"
PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},BEHIND://127.0.0.1:{behind},\
CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL://127.0.0.1:{sasl},BEHIND://127.0.0.1:{proxy}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT,BEHIND:PLAINTEXT,CONTROLLER:PLAINTEXT
listener.name.sasl.sasl.enabled.mechanisms=PLAIN
listener.name.sasl.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
allow.everyone.if.no.acl.found=true
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={logs}
auto.create.topics.enable={auto_create}
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=1000
log.initial.task.delay.ms=500
"""
PROMPT: dict[str, Any] = {"fetch.wait.max.ms": 10}
"""Settings of a client that reads: the broker answers a fetch soon if there are no messages.

By default, all further requests of the client would be answered up to half a second later, behind that fetch."""


def inner_cluster(topic: str) -> tuple[Any, str]:
    """Return a producer that has a cluster with a topic within itself, and the address of the cluster."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1, "log_level": 0})
    broker = next(iter(producer.list_topics(topic, timeout=60).brokers.values()))
    return producer, f"{broker.host}:{broker.port}"


class Broker(RestartableServer):
    """One broker that runs, stops and runs again.

    Args:
        directory: of its files.
        port: where it listens; any free one when None.
        auto_create: it makes topics that clients ask for.
    """

    def __init__(self, directory: Path, port: int | None = None, *, auto_create: bool = False) -> None:
        self.directory, self.auto_create = directory, auto_create
        self.port, self.sasl_port = port or free_port(), free_port()
        self.behind_port, self.proxy_port = free_port(), free_port()
        """A further one, which clients are told to reach at the port of a proxy."""

    @property
    def address(self) -> str:
        """For clients: `host:port`."""
        return f"127.0.0.1:{self.port}"

    @property
    def sasl_address(self) -> str:
        """The same, with credentials."""
        return f"127.0.0.1:{self.sasl_port}"

    @property
    def proxied_address(self) -> str:
        """The same, through the proxy of `proxy`."""
        return f"127.0.0.1:{self.proxy_port}"

    def proxy(self) -> Proxy:
        """Return a proxy in front of it."""
        return Proxy(self.behind_port, self.proxy_port)

    @property
    def login(self) -> dict[str, str]:
        """Settings of a client with credentials, whose password is in the variable `TEST_KAFKA`."""
        return {
            "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER,
            "sasl.password": "${env:TEST_KAFKA}",
        }  # fmt: skip

    def create(self) -> None:
        """Write the settings, and format the directory."""
        settings = self.directory / "server.properties"
        ports = {"port": self.port, "sasl": self.sasl_port, "controller": free_port()}
        ports |= {"behind": self.behind_port, "proxy": self.proxy_port}
        named = {"user": USER, "password": PASSWORD, "auto_create": str(self.auto_create).lower()}
        text = PROPERTIES.format(**ports, **named, logs=self.directory / "logs")
        settings.write_text(text)
        command = self._command("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(settings))
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=START_SECONDS)
        if done.returncode:
            message = f"the directory of the broker cannot be formatted: {done.stdout}{done.stderr}"
            raise RuntimeError(message)

    def start(self) -> None:
        """Start, and return when clients are served."""
        log = self.directory / "broker.log"
        with log.open("ab") as output:
            command = self._command("kafka.Kafka", str(self.directory / "server.properties"))
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.process = process
        wait_for_port(self.port, process, START_SECONDS, log)
        self.admin().list_topics(timeout=START_SECONDS)

    def _command(self, program: str, *arguments: str) -> list[str]:
        options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{jars(KAFKA)}/*"]
        return ["java", *options, program, *arguments]

    def admin(self) -> Any:
        """Return a client for topics, independent of the product."""
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": f"127.0.0.1:{self.port}"})

    def topic(self, partitions: int = 1, name: str = "", **settings: str) -> str:
        """Make a topic, and return its name once the broker says that it exists."""
        from confluent_kafka.cimpl import NewTopic

        name = name or f"t{uuid.uuid4().hex[:12]}"
        new = NewTopic(name, partitions, 1, config={key.replace("_", "."): value for key, value in settings.items()})
        admin = self.admin()  # ends what it does when it is collected
        admin.create_topics([new])[name].result(START_SECONDS)

        def is_there() -> bool:
            known = admin.list_topics(name, timeout=START_SECONDS).topics.get(name)
            return known is not None and not known.error

        until(is_there, f"the topic {name} is not there", START_SECONDS)
        return name

    def widen(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        from confluent_kafka.cimpl import NewPartitions

        admin = self.admin()  # ends what it does when it is collected
        admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(START_SECONDS)

    def delete(self, topic: str) -> None:
        """Delete a topic with its messages; comes back once the broker has it no more, which may be a moment later."""
        admin = self.admin()  # ends what it does when it is collected
        admin.delete_topics([topic])[topic].result(START_SECONDS)

        def is_gone() -> bool:
            return topic not in admin.list_topics(timeout=START_SECONDS).topics

        until(is_gone, f"the topic {topic} is still there", START_SECONDS)

    def topics(self) -> set[str]:
        """Return the names of all topics."""
        return set(self.admin().list_topics(timeout=START_SECONDS).topics)

    def allow_only(self, topic: str, operation: str) -> None:
        """Allow the user with credentials one operation on a topic."""
        kafka: Any = importlib.import_module("confluent_kafka.admin")
        right = kafka.AclBinding(
            kafka.ResourceType.TOPIC, topic, kafka.ResourcePatternType.LITERAL, f"User:{USER}", "*",
            kafka.AclOperation[operation], kafka.AclPermissionType.ALLOW,
        )  # fmt: skip
        admin = self.admin()  # ends what it does when it is collected
        for future in admin.create_acls([right]).values():
            future.result(START_SECONDS)

    def send(self, topic: str, values: list[Any], **options: Any) -> None:
        """Write messages; options of `produce`, each a value or a list of one for each message."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": f"127.0.0.1:{self.port}", "linger.ms": 5})
        for number, value in enumerate(values):
            of_this = {name: each[number] if isinstance(each, list) else each for name, each in options.items()}
            producer.produce(topic, value, **of_this)
            producer.poll(0)
        assert producer.flush(60) == 0

    def messages(self, topic: str) -> list[Any]:
        """Return all messages of committed transactions, partition by partition, in order."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        consumer = Consumer({
            "bootstrap.servers": f"127.0.0.1:{self.port}", "group.id": uuid.uuid4().hex, "enable.partition.eof": True,
            "isolation.level": "read_committed", "enable.auto.commit": False, **PROMPT,
        })  # fmt: skip
        messages: list[Any] = []
        try:
            partitions = sorted(consumer.list_topics(topic, timeout=60).topics[topic].partitions)
            consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in partitions])
            ended: set[int] = set()

            def all_have_ended() -> bool:
                for message in consumer.consume(1000, 0.05):
                    error: Any = message.error()
                    if error is None:
                        messages.append(message)
                    elif error.code() == KafkaError._PARTITION_EOF:
                        ended.add(cast("int", message.partition()))
                return len(ended) == len(partitions)

            until(all_have_ended, lambda: f"of {topic} only {ended} of {partitions} are read", 60.0, pause=0.0)
        finally:
            consumer.close()
        return sorted(messages, key=lambda message: (message.partition(), message.offset()))

    def values(self, topic: str) -> list[bytes]:
        """Return the values of these messages."""
        return [message.value() for message in self.messages(topic)]


@contextmanager
def broker(directory: Path, port: int | None = None, *, auto_create: bool = False) -> Iterator[Broker]:
    """Yield a broker that runs; arguments as of `Broker`.

    Raises:
        NotToBeHadError: its programs cannot be had here.
    """
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        message = "confluent-kafka is not installed"
        raise NotToBeHadError(message) from None
    server = Broker(directory, port, auto_create=auto_create)
    server.create()
    try:
        server.start()
        yield server
    finally:
        server.kill()


def main() -> None:
    """Run a broker until Ctrl-C."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--topics", nargs="*", default=[], help="NAME or NAME:PARTITIONS, made at the beginning")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka-") as directory:
        try:
            with broker(Path(directory), options.port) as server:
                for topic in options.topics:
                    name, _, partitions = topic.partition(":")
                    server.topic(int(partitions or 1), name)
                sys.stdout.write(f"Kafka serves {server.address}; Ctrl-C ends it, and drops what it holds\n")
                sys.stdout.flush()
                while server.process is not None and server.process.poll() is None:
                    time.sleep(1)
        except KeyboardInterrupt:
            pass
        except NotToBeHadError as error:
            sys.exit(f"no Kafka here: {error}")


if __name__ == "__main__":
    main()
