"""The JVM of a session: started before PySpark is imported, since its start takes longest."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streams_orchestration.runtime.engine.spark.session_settings import JAVA_OPTIONS
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.processes.forks import keep_from_forks
from streams_orchestration.runtime.settings.settings import EngineSettings

POLL_SECONDS = 0.01
_TELLING = re.compile(r"Error|Exception|Unrecognized|Could not|[Cc]annot|Too many")
FRAMES = (
    "Error occurred during initialization of VM",
    "Error: Could not create the Java Virtual Machine.",
    "Error: A fatal exception has occurred. Program will exit.",
)
"""Lines of a JVM's output that surround the line with the reason of its end."""
OUTPUT_BYTES = 64 << 10
"""The most bytes at the end of a JVM's output that are searched for the reason of its end."""


@dataclass(frozen=True, slots=True)
class Jvm:
    """A JVM that was started and may not be up yet."""

    process: subprocess.Popen[bytes]
    connection: Path
    """The file that the JVM writes when it accepts connections."""
    output: OutputMark
    """The position at which the output of the JVM begins."""

    def await_gateway(self) -> Any:
        """Wait until the JVM is up, and return PySpark's connection to it; call this once, since its file is removed.

        The wait has no limit while the JVM runs. PySpark's own errors are raised as they are.

        Raises:
            StreamsRuntimeError: the JVM has ended; the message has the reason, if the output shows it.
        """
        from pyspark.java_gateway import launch_gateway  # pyright: ignore[reportUnknownVariableType]

        while not self.connection.exists():
            if (status := self.process.poll()) is not None:
                raise StreamsRuntimeError(self._ended(status))
            time.sleep(POLL_SECONDS)
        port, size, secret = _connection_parts(self.connection.read_bytes())
        self.connection.unlink()
        known = {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": secret[:size].decode()}
        os.environ.update(known)  # PySpark then connects to the running JVM, and starts none
        try:
            gateway: Any = launch_gateway()
        finally:
            for name in known:
                del os.environ[name]
        gateway.proc = self.process
        return gateway

    def _ended(self, status: int) -> str:
        reason = telling_line(self.output.since())
        why = f": {reason}" if reason else "; its output says why"
        return f"Java has ended with status {status} before Spark was up{why}"


def _connection_parts(written: bytes) -> tuple[int, int, bytes]:
    """Return the port, the length of the secret, and the secret from the bytes of the JVM's connection file."""
    return int.from_bytes(written[:4]), int.from_bytes(written[4:8]), written[8:]


@dataclass(frozen=True, slots=True)
class OutputMark:
    """A position in the output of a JVM: in a file of its own, or in the standard error of this process."""

    file: Path | None
    """The file that the output goes to; None if the standard error is not a file, or its file is not known."""
    size: int

    @classmethod
    def here(cls) -> OutputMark:
        """Return the current end of the standard error; a mark without a file if that is not a file."""
        with contextlib.suppress(OSError):
            file = Path("/proc/self/fd/2").readlink()
            if file.is_file():
                return cls(file, file.stat().st_size)
        return cls(None, 0)

    def since(self) -> str:
        """Return the output after the mark, at most the last `OUTPUT_BYTES`; empty if the file cannot be read."""
        if self.file is None:
            return ""
        try:
            with self.file.open("rb") as written:
                written.seek(max(self.size, self.file.stat().st_size - OUTPUT_BYTES))
                return written.read().decode(errors="replace")
        except OSError:
            return ""


def telling_line(output: str) -> str:
    """Return the line of a JVM's output that probably says why it ended; empty if there is no output.

    It is the last line with a word such as `Error`, or else the last line that is not of a stack trace.
    """
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    lines = [line for line in lines if line not in FRAMES]
    errors = [line for line in lines if _TELLING.search(line)]
    return (errors[-1:] or lines[-1:] or [""])[0].removeprefix("Caused by: ")


def start_jvm(
    settings: Mapping[str, str],
    home: Path,
    private: Path,
    directory: Path | None = None,
    engine: EngineSettings | None = None,
    environment: Mapping[str, str] | None = None,
    output: Path | None = None,
) -> Jvm:
    """Start the JVM of a session as PySpark would, and return at once.

    The JVM ends with this process, and ignores interrupts from the terminal.

    Args:
        settings: the settings of the session.
        home: the directory of Spark.
        private: the session's `PrivateDirectory`.
        directory: the JVM's working directory, which gets the files that a JVM writes unasked; None for the working
            directory of this process.
        engine: settings with a file of properties, which the JVM reads itself, so that they are on no command line.
        environment: variables for the JVM and its Python processes, in addition to the environment of this process.
        output: the file for the output of the JVM and its Python processes, which is appended to; None for the streams
            of this process.

    Raises:
        SettingError: the file of properties cannot be used.
        OSError: Spark cannot be run, or the output file cannot be opened.
    """
    connection = private / "connection"
    options = f'{settings.get(JAVA_OPTIONS, "")} "-Djava.io.tmpdir={private}"'
    arguments = submit_arguments({**settings, JAVA_OPTIONS: options.strip()}, engine or EngineSettings())
    what = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    written = None if output is None else output.open("ab")  # a log that is rotated is appended to
    mark = OutputMark.here() if output is None else OutputMark(output, output.stat().st_size)
    process = subprocess.Popen(
        [home / "bin" / "spark-submit", *arguments, *what],
        stdin=subprocess.PIPE,  # the JVM ends when it is closed
        stdout=written,
        stderr=written,
        cwd=directory,
        env={
            **_own_address(settings),
            **os.environ,
            **(environment or {}),
            "SPARK_HOME": str(home),
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": str(connection),
        },
        preexec_fn=_ignore_interrupts,  # noqa: PLW1509  no other thread runs yet
    )
    assert process.stdin is not None
    keep_from_forks(process.stdin)
    if written is not None:
        written.close()
    return Jvm(process, connection, mark)


def _own_address(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variable that keeps Spark from looking up this machine's name, which may not resolve.

    There is none if the session listens on all addresses, or its address is not set.
    """
    address = settings.get("spark.driver.bindAddress", "")
    return {} if address in ("", "0.0.0.0", "::") else {"SPARK_LOCAL_IP": address}  # noqa: S104  not bound here


def submit_arguments(settings: Mapping[str, str], engine: EngineSettings) -> list[str]:
    """Return the arguments of `spark-submit`: the file of properties, and every setting that is not in it.

    Raises:
        SettingError: the file of properties cannot be used.
    """
    private = engine.properties().items()
    shown = [(name, value) for name, value in settings.items() if (name, value) not in private]
    file = ["--properties-file", engine.conf] if engine.conf else []
    return [*file, *(argument for name, value in shown for argument in ("--conf", f"{name}={value}"))]


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
