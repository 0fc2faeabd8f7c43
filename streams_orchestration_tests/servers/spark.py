"""A standalone Spark cluster from the installed package: a master, and workers that start executors."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

from streams_orchestration.runtime.engine.spark.spark_home import spark_home
from streams_orchestration_tests.servers.jars import free_port, wait_for_port

MASTER = "org.apache.spark.deploy.master.Master"
WORKER = "org.apache.spark.deploy.worker.Worker"
START_SECONDS = 60.0


class Cluster:
    """A master, and workers with one core each.

    Args:
        directory: of logs and of the workers' files.
        host: where the master listens.
    """

    def __init__(self, directory: Path, host: str = "127.0.0.1") -> None:
        self.directory, self.host, self.port = directory, host, free_port()
        self.properties = f"spark.authenticate true\nspark.authenticate.secret {secrets.token_hex(16)}\n"
        """Properties that the processes of the cluster and the hosts on it have in common."""
        self.conf = directory / "cluster.conf"
        """The file with them, for `STREAMS_SPARK_CONF`."""
        self.conf.touch(mode=0o600)
        self.conf.write_text(self.properties)
        self.workers: list[subprocess.Popen[bytes]] = []
        self._master: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """For `STREAMS_MASTER`."""
        return f"spark://{self.host}:{self.port}"

    def start(self) -> None:
        """Have the master listen."""
        self._master = self._run("master", self.host, [MASTER, "--port", str(self.port)])
        wait_for_port(self.port, self._master, START_SECONDS, self.directory / "master.log", self.host)

    def add_worker(self, host: str | None = None, prefix: Sequence[str] = ()) -> None:
        """Add a worker.

        Args:
            host: its address; that of the master when None.
            prefix: of its command, which takes it to another machine.
        """
        number = len(self.workers)
        place = self.directory / f"worker-{number}"
        options = ["--cores", "1", "--memory", "1g", "--work-dir", str(place), self.address]
        self.workers.append(self._run(place.name, host or self.host, [WORKER, *options], prefix))

    def executors(self) -> list[psutil.Process]:
        """Return the JVMs that run tasks now."""
        living = [worker for worker in self.workers if worker.poll() is None]
        children = [child for worker in living for child in psutil.Process(worker.pid).children(recursive=True)]
        return [child for child in children if _runs(child, "CoarseGrainedExecutorBackend")]

    def kill_executor(self, number: int) -> None:
        """End one of the executors with its Python processes."""
        executors = self.executors()
        if executors:
            one = executors[number % len(executors)]
            for process in (*one.children(recursive=True), one):
                process.kill()

    def stop(self) -> None:
        """End all of it."""
        for process in (*self.workers, *filter(None, [self._master])):
            members = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
            process.kill()
            for member in members:
                member.kill()
            process.wait()

    def _run(
        self, name: str, host: str, arguments: Sequence[str], prefix: Sequence[str] = ()
    ) -> subprocess.Popen[bytes]:
        environment = os.environ | {
            "SPARK_HOME": str(spark_home()),
            "SPARK_LOCAL_IP": host,
            "SPARK_DAEMON_MEMORY": "256m",
        }
        command = [
            *prefix,
            str(spark_home() / "bin" / "spark-class"),
            *arguments[:1],
            "--host",
            host,
            "--webui-port",
            "0",
            "--properties-file",
            str(self.conf),
        ]
        with (self.directory / f"{name}.log").open("ab") as log:
            return subprocess.Popen([*command, *arguments[1:]], env=environment, stdout=log, stderr=log)


def _runs(process: psutil.Process, name: str) -> bool:
    try:
        return any(name in word for word in process.cmdline()) and "java" in process.name()
    except psutil.Error:
        return False


@contextmanager
def cluster(directory: Path, workers: int, host: str = "127.0.0.1") -> Iterator[Cluster]:
    """Yield a cluster with workers on this machine, gone afterwards.

    Args:
        directory: see `Cluster`.
        workers: how many.
        host: where the master listens, on loopback unless it says something else.
    """
    made = Cluster(directory, host)
    try:
        made.start()
        for _ in range(workers):
            made.add_worker()
        yield made
    finally:
        made.stop()
