"""The JVM of a host's session: started before PySpark is imported, since it takes longest to come up."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.runtime.settings import EngineSettings

POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True)
class Jvm:
    """A JVM that comes up."""

    process: subprocess.Popen[bytes]
    connection: Path
    """The file that it writes when it can be connected to."""

    def gateway(self) -> Any:
        """PySpark's connection to it, once it is up.

        Raises:
            PySparkRuntimeError: it has ended.
        """
        from pyspark.errors import PySparkRuntimeError
        from pyspark.java_gateway import launch_gateway

        while not self.connection.exists():
            if self.process.poll() is not None:
                shutil.rmtree(self.connection.parent, ignore_errors=True)
                raise PySparkRuntimeError(errorClass="JAVA_GATEWAY_EXITED", messageParameters={})
            time.sleep(POLL_SECONDS)
        port, size, secret = _parted(self.connection.read_bytes())
        shutil.rmtree(self.connection.parent, ignore_errors=True)
        known = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret[:size].decode()}
        os.environ.update(known)  # PySpark then connects to a JVM that is there, and starts none
        try:
            gateway: Any = launch_gateway()
        finally:
            for name in known:
                del os.environ[name]
        gateway.proc = self.process
        return gateway


def _parted(written: bytes) -> tuple[int, int, bytes]:
    """Port, length of the secret, secret."""
    return int.from_bytes(written[:4]), int.from_bytes(written[4:8]), written[8:]


def start_jvm(
    settings: Mapping[str, str],
    home: Path,
    directory: Path | None = None,
    engine: EngineSettings | None = None,
    environment: Mapping[str, str] | None = None,
) -> Jvm:
    """Start the JVM of a session as PySpark would, and return at once. It ends with this process.

    Args:
        settings: of the session.
        home: the directory of Spark.
        directory: the JVM's working directory, which gets the files that a JVM writes unasked; that of this process
            when None.
        engine: with a file of properties, which the JVM reads itself: they are on no command line.
        environment: variables for it, and so for its Python processes, beside those of this process.
    """
    connection = Path(tempfile.mkdtemp()) / "connection"
    arguments = submit_arguments(settings, engine or EngineSettings())
    what = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    process = subprocess.Popen(
        [home / "bin" / "spark-submit", *arguments, *what],
        stdin=subprocess.PIPE,  # the JVM ends when it is closed
        cwd=directory,
        env=os.environ
        | (environment or {})
        | {"SPARK_HOME": str(home), "SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection)},
        preexec_fn=_ignore_interrupts,  # noqa: PLW1509  no other thread runs yet
    )
    return Jvm(process, connection)


def submit_arguments(settings: Mapping[str, str], engine: EngineSettings) -> list[str]:
    """Return the arguments of `spark-submit`: every setting outside of the file of properties, and that file."""
    private = engine.properties().items()
    shown = [(name, value) for name, value in settings.items() if (name, value) not in private]
    file = ["--properties-file", engine.conf] if engine.conf else []
    return [*file, *(argument for name, value in shown for argument in ("--conf", f"{name}={value}"))]


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
