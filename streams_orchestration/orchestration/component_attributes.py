"""The attributes of the component that are more than values, and its scaffold."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
from typing import Any

import dagster as dg

from streams_orchestration.orchestration.region_widths import Rescaling
from streams_orchestration.orchestration.resource import StreamsResource
from streams_orchestration.orchestration.yaml_schema import Checked

EXAMPLE = """\
specVersion: 1
application: {name}
graph:
  - name: Numbers
    operator: Beacon
    parameters: {{iterations: 36000, period: 0.1, output: {{n: IterationCount()}}}} # an hour
    outputs: [{{stream: Numbers, schema: "n bigint"}}]
  - name: Results
    operator: FileSink
    inputs: [Numbers]
    parameters: {{file: numbers.csv, format: csv}}
"""
_VARIABLE = re.compile(r"\s*\{\{\s*env(?:\.(\w+)|\(\s*['\"](\w+)['\"]\s*\))\s*\}\}\s*")


class StreamsApplicationScaffolder(dg.Scaffolder[Any]):
    """The scaffolder that writes `defs.yaml` and a small application beside it."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        """Write the files of a new component, for `dg scaffold defs`. Raises OSError if a file cannot be written."""
        dg.scaffold_component(request, {"spec": "application.yaml"})
        name = request.target_path.name.replace("-", "_")
        (request.target_path / "application.yaml").write_text(EXAMPLE.format(name=name))


class Rescale(Checked, Rescaling, dg.Model):
    """The policy by which the sensor `APP__rescale` changes the width of a parallel region."""


def beside_the_yaml(context: dg.ResolutionContext, spec: str) -> str:
    """Return the path of a spec that is named relative to the component's YAML."""
    return str(context.resolve_source_relative_path(context.resolve_value(spec, as_type=str)))


def text_or_variable(context: dg.ResolutionContext, text: str | None) -> Any:
    """Return the text of a setting; if it is only a reference to a variable, return a `dg.EnvVar`, read when needed.

    None stays None.

    The value of a variable may be secret, so definitions do not contain it.
    """
    variable = _VARIABLE.fullmatch(text or "")
    if variable:
        return dg.EnvVar(variable[1] or variable[2])
    return None if text is None else context.resolve_value(text, as_type=str)


class ResourceAttributes(dg.Model):
    """The settings of `StreamsResource` in YAML."""

    home: str | None = None
    catalog: str | None = None
    storage: str | None = None
    storage_options: str | None = None
    master: str | None = None
    driver_memory: str | None = None
    spark_conf: str | None = None


def given_resource(context: dg.ResolutionContext, given: Any) -> Any:
    """Return the resource that a component's YAML describes, or the value of a template variable unchanged."""
    if not isinstance(given, ResourceAttributes):
        return given  # the value of a template variable
    values = {name: text_or_variable(context, text) for name, text in given if text is not None}
    return StreamsResource(**values)
