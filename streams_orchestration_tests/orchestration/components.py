"""Helpers for tests of components in a sandbox of Dagster, and of applications that are connected."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import dagster as dg
import yaml

from streams_orchestration.orchestration import StreamsApplicationComponent

EXPORTING = """\
specVersion: 1
application: {name}
schemas: {{Row: "n bigint"}}
graph:
  - {{name: Rows, operator: Beacon, outputs: [{{stream: Rows, schema: Row}}], parameters: {{iterations: 3}}}}
  - {{name: Out, operator: Export, inputs: [Rows], parameters: {{properties: {{level: {level}}}}}}}
"""
IMPORTING = """\
specVersion: 1
application: reader
schemas: {Row: "n bigint"}
graph:
  - {name: In, operator: Import, outputs: [{stream: In, schema: Row}], parameters: {subscription: level >= 2}}
  - {name: Kept, operator: FileSink, inputs: [In], parameters: {file: kept}}
"""


def loading(sandbox: Any) -> str:
    """Return the error, with its causes, that keeps definitions from being loaded; empty when there is none."""
    try:
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
    except Exception as error:  # noqa: BLE001  Dagster has many
        return "".join(traceback.format_exception(error))
    return ""


def scaffolded(sandbox: Any, name: str, spec: str, /, **attributes: object) -> Path:
    """Write a component with these attributes into a sandbox, and return its directory."""
    path = sandbox.scaffold_component(component_cls=StreamsApplicationComponent, defs_path=name)
    (path / "application.yaml").write_text(spec)
    written = yaml.safe_load((path / "defs.yaml").read_text())
    written["attributes"] |= attributes
    (path / "defs.yaml").write_text(yaml.safe_dump(written))
    return path
