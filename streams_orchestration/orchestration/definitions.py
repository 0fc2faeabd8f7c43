"""The code location: every application under `specs/`, and every one that was compiled into the state directory.

`workspace.yaml` names this module. STREAMS_SPECS names the directory of specs, STREAMS_HOME the state directory.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import dagster as dg

from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.model.python_file import specs_in
from streams_orchestration.orchestration.application import (
    SpecChange,
    application_name,
    build_application_definitions,
    name_of_file,
    resources_of,
)
from streams_orchestration.orchestration.connected_lineages import connection_of, links
from streams_orchestration.orchestration.instance import OWN_WARNING
from streams_orchestration.orchestration.jobs import RESET, cancel_job, reset_job
from streams_orchestration.orchestration.sensors import failed_units_sensor
from streams_orchestration.orchestration.spec_state import (
    SpecTimeoutError,
    WatchedSpec,
    faulty_definitions,
    specs_sensor,
)
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.hiding import hide_secrets
from streams_orchestration.runtime.storage.home import Home

logger = logging.getLogger(__name__)


def build_definitions(specs: Path, home: Home) -> dg.Definitions:
    """Definitions of all applications that there are, each built by itself.

    An application that cannot be built shows its error at its asset `spec`; the others are as they would be without it.

    Args:
        specs: directory of specs; it need not exist.
        home: state directory. Applications that were compiled into it from elsewhere are there too, even when their
            spec is gone, since they may be running.
    """
    watched = watched_specs(specs_in(specs))
    for name, path in _compiled(home):
        watched.setdefault(name, WatchedSpec(name, (path,)))
    parts: dict[str, dg.Definitions] = {}
    for name, spec in watched.items():
        watched[name], parts[name] = _built(spec, home)
    connect = connection_of(parts.values())
    for name, part in parts.items():
        if any(connect(spec) != spec for spec in links(part, "imports")):
            watched[name], parts[name] = _built(watched[name], home, connect)
    sensors = [failed_units_sensor({name: reset_job(name) for name in parts}, others=RESET), specs_sensor(watched)]
    return dg.Definitions.merge(
        *parts.values(), dg.Definitions(sensors=sensors, resources=resources_of(home), executor=dg.in_process_executor)
    )


def watched_specs(files: Iterable[Path]) -> dict[str, WatchedSpec]:
    """Return application -> its spec, with the problem where its name cannot be known, or is that of two files.

    Args:
        files: specs.
    """
    described: dict[str, list[Path]] = {}
    problems: dict[str, str] = {}
    for file in files:
        try:
            name = application_name(file)
        except SpecTimeoutError as error:
            name = name_of_file(file)
            problems[name] = str(error)
        described.setdefault(name, []).append(file)
    for name, paths in described.items():
        if len(paths) > 1:
            problems[name] = (
                f"{' and '.join(path.name for path in paths)} describe an application of this name: "
                "give all but one another name (`application:`), or move them to another directory"
            )
    return {name: WatchedSpec(name, tuple(paths), problems.get(name, "")) for name, paths in described.items()}


def _built(
    spec: WatchedSpec, home: Home, change: SpecChange = lambda asset: asset
) -> tuple[WatchedSpec, dg.Definitions]:
    """Return the definitions of an application, and its spec with the problem that keeps it from being built."""
    if not spec.problem:
        try:
            path = spec.files[0]
            return spec, build_application_definitions(path, home, name=spec.application, change=change, watched=False)
        except Exception as error:  # whatever it is, it must not take the other applications down
            logger.exception("%s cannot be built", spec.application)
            known = isinstance(error, SpecTimeoutError | StreamsRuntimeError)
            spec = replace(spec, problem=str(error) if known else f"{type(error).__name__}: {error}")
    return spec, faulty_definitions(spec, [cancel_job(spec.application)])


def _compiled(home: Home) -> Iterator[tuple[str, Path]]:
    """(application, spec) of everything in the artifact store."""
    for document in sorted(home.artifacts.glob(f"*/{LOGICAL}.json")):
        try:
            yield document.parent.name, Path(json.loads(document.read_bytes())["spec"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


warnings.filterwarnings("ignore", OWN_WARNING)
hide_secrets()
defs = build_definitions(Path(os.environ.get("STREAMS_SPECS") or "specs").absolute(), Home.default())
