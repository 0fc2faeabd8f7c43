"""The settings of a session whose tasks run in the executors of a Spark cluster, and the files that executors get.

The driver is in the host, whatever the cluster is (client mode). Executors have Spark, the packages of
`requirements.lock` and the state directory at the same path; the product itself is sent to them.
"""

from __future__ import annotations

import shlex
import sys
import zipfile
from collections.abc import Iterable, Mapping
from importlib.util import cache_from_source
from pathlib import Path

from streams_orchestration.runtime.engine.spark.owner_sockets import DRIVER
from streams_orchestration.runtime.engine.spark.owners import DIRECTORY
from streams_orchestration.runtime.engine.spark.session_settings import ONE_THREAD
from streams_orchestration.runtime.settings.settings import EngineSettings

PYTHON = "./python"
"""The path of Python for the driver's JVM and for executors, relative to their working directories: a script in each.
"""
PACKAGE = "streams_orchestration.zip"
SETTINGS = {
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    "spark.locality.wait": "0s",
    "spark.executor.heartbeatInterval": "5s",
    "spark.network.timeout": "30s",
    "spark.network.timeoutInterval": "2s",
}
"""Settings of every session on a cluster.

No task is retried, since other processes may have its results already; lost executors are noticed early.
"""


def cluster_settings(
    local: Mapping[str, str], engine: EngineSettings, shipped: Iterable[Path], workers: Path
) -> dict[str, str]:
    """Return the settings of a session on a cluster.

    Properties of the engine's file replace all other settings except the master; its `spark.files` are sent as well.

    Args:
        local: the settings of a session on this machine.
        engine: the engine's settings, with the address of the cluster and properties for it.
        shipped: the files that every executor gets in its working directory.
        workers: the directory in which the workers of the host announce themselves.

    Raises:
        SettingError: the file of properties cannot be used.
    """
    own = engine.properties()
    driver = own.get("spark.driver.host", local["spark.driver.host"])
    environment = {**ONE_THREAD, DIRECTORY: str(workers), DRIVER: driver}
    files = [*map(str, shipped), *filter(None, [own.get("spark.files")])]
    return {
        **local,
        **SETTINGS,
        "spark.driver.bindAddress": driver,
        **{f"spark.executorEnv.{name}": value for name, value in environment.items()},
        **own,
        "spark.files": ",".join(files),
        "spark.master": engine.master,
    }


def ship(directory: Path, python: str | None) -> tuple[Path, Path]:
    """Write the files that executors get, and return them: the script that runs Python, and the product for it.

    Args:
        directory: the directory for the files, which is created; existing files are replaced.
        python: the path of Python in the executors, or in an archive; None for the Python of this process.

    Raises:
        OSError: a file cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    package = Path(__file__).parents[3]
    archive, script = directory / PACKAGE, directory / Path(PYTHON).name
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                place = path.relative_to(package.parent)
                packed.write(path, place)
                compiled = Path(cache_from_source(str(path))) if path.suffix == ".py" else path
                if compiled != path and compiled.exists():  # saves executors the time to compile it
                    packed.write(compiled, place.with_suffix(".pyc"))
    script.write_text(
        "#!/bin/sh\n"
        f'PYTHONPATH="$PWD/{PACKAGE}${{PYTHONPATH:+:$PYTHONPATH}}"\n'
        "export PYTHONPATH\n"
        f'exec {shlex.quote(python or sys.executable)} "$@"\n'
    )
    script.chmod(0o700)
    return script, archive
