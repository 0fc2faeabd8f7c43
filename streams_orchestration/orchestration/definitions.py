"""The code location: every application under `specs/`, and every one that was compiled into the state directory.

`workspace.yaml` names this module. STREAMS_SPECS names the directory of specs, STREAMS_HOME the state directory.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import dagster as dg

from streams_orchestration.compiler.stage import LOGICAL
from streams_orchestration.model.python_file import specs_in
from streams_orchestration.orchestration.application import built_alone, watched_specs
from streams_orchestration.orchestration.connected_lineages import connection_of, links
from streams_orchestration.orchestration.instance import OWN_WARNING
from streams_orchestration.orchestration.jobs import any_reset_job, reset_job
from streams_orchestration.orchestration.resource import HomeLike, resource_of
from streams_orchestration.orchestration.sensors import failed_units_sensor
from streams_orchestration.orchestration.spec_state import WatchedSpec, specs_sensor
from streams_orchestration.runtime import api


def build_definitions(specs: Path, home: HomeLike, resource_key: str | None = None) -> dg.Definitions:
    """Return the definitions of all applications, each built separately.

    An application that cannot be built shows its error at its asset `spec`, and does not affect the others. An
    application that was compiled from a spec elsewhere is included even if that spec is gone, since it may be running.

    Args:
        specs: the directory of specs; it need not exist.
        home: the state directory, or a `StreamsResource` with one.
        resource_key: the key of the resource; by default `streams`, or a name made from another directory's path.

    Raises:
        StateDirectoryError: a file is where the state directory is, or would be.
        VariableMissingError: a setting of the resource is a variable that is not set.
    """
    resource = resource_of(home)
    key = resource_key or resource.key()
    watched = watched_specs(specs_in(specs))
    for name, path in _compiled(resource.directory()):
        watched.setdefault(name, WatchedSpec(name, (path,)))
    parts: dict[str, dg.Definitions] = {}
    for name, spec in watched.items():
        watched[name], parts[name] = built_alone(spec, resource, key)
    connect = connection_of([each for part in parts.values() for each in links(part.assets or (), "exports")])
    for name, part in parts.items():
        if any(connect(spec) != spec for spec in links(part.assets or (), "imports")):
            watched[name], parts[name] = built_alone(watched[name], resource, key, change=connect)
    resets = {name: reset_job(name, key, watched[name].keys) for name in parts}
    keys = {name: spec.keys for name, spec in watched.items()}
    sensors = [failed_units_sensor(resets, keys, others=any_reset_job(key), key=key), specs_sensor(watched)]
    return dg.Definitions.merge(*parts.values(), dg.Definitions(sensors=sensors, resources={key: resource}))


def _compiled(home: api.Home) -> Iterator[tuple[str, Path]]:
    """Yield the name and the path of the spec of each application in the artifact store, except unreadable ones."""
    for document in sorted(home.artifacts.glob(f"*/{LOGICAL}.json")):
        try:
            yield document.parent.name, Path(json.loads(document.read_bytes())["spec"])
        except (OSError, ValueError, KeyError, TypeError):
            continue


warnings.filterwarnings("ignore", OWN_WARNING)
api.hide_secrets()
defs = dg.Definitions.merge(
    build_definitions(Path(os.environ.get("STREAMS_SPECS") or "specs").absolute(), None),
    dg.Definitions(executor=dg.in_process_executor),
)
