"""The process of a host. It starts its engine first, and imports the rest of the product meanwhile.

Run as `python -m streams_orchestration.runtime.hosts.host_process --home DIR --application NAME --host N
--incarnation ID`. Without an application, the process is a standby: it waits until an application is assigned to it.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from streams_orchestration import world
from streams_orchestration.operators.loading.import_path import import_from
from streams_orchestration.runtime.engine.port import Engine, EngineStart
from streams_orchestration.runtime.logs.secret_redaction import hide_secrets
from streams_orchestration.runtime.processes.open_files import raise_open_files
from streams_orchestration.runtime.settings.settings import LOCAL, EngineSettings, SettingError
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from streams_orchestration.runtime.hosts.host import Host

ENGINE_END_SECONDS = 1.0
"""Seconds that a failed host waits for its engine to end, to report the engine's end as the reason."""

TERMINATION_SECONDS = 5.0
"""The most seconds that a terminated host waits for the catalog, to report its end."""

STANDBY = ".standby"
"""Placeholder for the application's name in the engine of a standby."""

log = logging.getLogger("streams.host")


def main(arguments: list[str] | None = None, make_engine: Callable[[EngineStart], Engine] | None = None) -> int:
    """Run a host until its PEs are complete or no longer wanted, and report its end in the catalog.

    A host that is no longer wanted, whose catalog is missing, or that fails before it has joined, reports nothing. A
    standby first waits until it is assigned to a host, and ends with its agent.

    Args:
        arguments: the command line's arguments; None for the arguments of this process.
        make_engine: starts the engine of the host; None for Spark.

    Returns:
        The exit status: 1 if the host failed or was terminated, otherwise 0.

    Raises:
        SystemExit: the arguments or a setting of the engine cannot be used.
        OSError: the log of the host that a standby becomes cannot be opened.
        Exception: the engine does not start.
    """
    options = _options(arguments)
    hide_secrets()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s", stream=sys.stderr)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    raise_open_files()
    home = Home(options.home)
    settings = EngineSettings(options.memory, options.master, options.spark_conf, options.queries)
    if options.application is None:
        start = EngineStart(home, STANDBY, world.randbelow(1 << 31), world.new_id(), settings)
    else:
        start = EngineStart(home, options.application, options.host, options.incarnation, settings)
    engine = _start_spark(start) if make_engine is None else make_engine(start)
    from streams_orchestration.runtime.catalog.outage import Outage
    from streams_orchestration.runtime.errors.errors import CatalogMissingError, StreamsRuntimeError
    from streams_orchestration.runtime.hosts.host import Host
    from streams_orchestration.runtime.hosts.presence import UnwantedHostError

    if start.application == STANDBY:
        if options.ready is not None:
            world.Thread(target=_say_ready, args=(engine, options.ready), daemon=True).start()
        assigned = _await_assignment(start)
        if assigned is None:
            return 0
        start = assigned
    host: Host | None = None
    try:
        host = Host(home, start.application, start.host, start.incarnation, engine)
        _listen(host)
        state = host.run()
        reason = "it received SIGTERM" if state == "FAILED" else None
        outage = Outage(TERMINATION_SECONDS) if host.terminated else host.outage
        outage.through(functools.partial(host.presence.report_end, state, reason))
        log.info("host %s of %s: %s", start.host, start.application, state)
        engine.stop()
        if state == "COMPLETED":
            engine.tidy(host.presence.wanted)
        return 0 if state != "FAILED" else 1
    except (UnwantedHostError, CatalogMissingError) as error:
        log.warning("%s; it ends", error)
        if host is not None:
            with contextlib.suppress(Exception):
                host.stop_all()
        return 0
    except Exception as error:
        log.exception("host %s of %s failed", start.host, start.application)
        if host is not None:
            with contextlib.suppress(Exception):
                cause = host.catalog.explained(error)
                reason = str(cause) if isinstance(cause, StreamsRuntimeError) else f"{type(cause).__name__}: {cause}"
                log.error("%s", reason)
                host.presence.report_failure(host.engine_end(ENGINE_END_SECONDS) or reason.splitlines()[0], error)
        return 1


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run PEs of one application. `streams deploy` starts this program.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--memory", required=True)
    parser.add_argument("--master", default=LOCAL)
    parser.add_argument("--spark-conf", default="")
    parser.add_argument("--queries", action="store_true")
    parser.add_argument(
        "--application",
        help="the application; without it the process is a standby, and reads the application from standard input",
    )
    parser.add_argument("--ready", type=int, help="file descriptor on which a standby reports that its engine is up")
    parser.add_argument("--host", type=int)
    parser.add_argument("--incarnation")
    return parser.parse_args(arguments)


def _say_ready(engine: Engine, descriptor: int) -> None:
    try:
        engine.wait()
        with contextlib.suppress(BrokenPipeError):  # the standby is a host already, or its agent has ended
            os.write(descriptor, b"1")
    except Exception as error:  # noqa: BLE001  raised again when it is to be a host
        log.error("the engine of this standby does not start: %s", error)
    os.close(descriptor)


def _await_assignment(standby: EngineStart) -> EngineStart | None:
    """Wait for the host that this standby becomes, and redirect the output to that host's log.

    Modules are imported from the directory of the host's spec, too, from now on.

    Returns:
        The start of the assigned host; None if the agent has ended.
    """
    line = sys.stdin.readline()
    if not line:
        return None
    wanted = json.loads(line)
    import_from(wanted["base"])
    start = replace(standby, application=wanted["application"], host=wanted["host"], incarnation=wanted["incarnation"])
    place = start.home.host_log(start.application, start.host)
    place.parent.mkdir(parents=True, exist_ok=True)
    before = str(Path("/proc/self/fd/2").readlink()) if sys.platform == "linux" else "the log of its agent"
    output = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        os.dup2(output, stream.fileno())
    os.close(output)
    log.info("a standby is host %s of %s now; Spark's own lines are in %s", start.host, start.application, before)
    return start


def _start_spark(start: EngineStart) -> Engine:
    from streams_orchestration.runtime.engine.spark.engine import SparkEngine

    try:
        return SparkEngine(start)
    except SettingError as error:
        log.error("%s", error)
        raise SystemExit(1) from error


def _listen(host: Host) -> None:
    def terminate(_signal: int, _frame: FrameType | None) -> None:
        host.terminate()

    signal.signal(signal.SIGTERM, terminate)


if __name__ == "__main__":
    status = main()
    logging.shutdown()
    # threads of an engine that has ended must not keep a finished host alive
    os._exit(status)
