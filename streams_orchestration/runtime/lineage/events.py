"""Events of OpenLineage. This module is loaded only if the client of OpenLineage is installed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version

import attr
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState, set_producer
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    column_lineage_dataset,
    documentation_job,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    processing_engine_run,
    schema_dataset,
)

from streams_orchestration.compiler.column_uses import ColumnUse, Uses
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime.lineage.flows import About, DataColumn, Flows, WrittenDataset
from streams_orchestration.runtime.lineage.progress import EventName

PRODUCER = f"https://pypi.org/project/streams-orchestration/{version('streams-orchestration')}/"
set_producer(PRODUCER)
UNITS = "streams_units"
"""Name of the product's own run facet."""


@attr.define
class UnitFacet:
    """A unit of recovery and its last cut."""

    name: str
    state: str
    epoch: int
    """The last complete epoch; 0 before the first one."""
    completedAt: str | None = None  # noqa: N815  the facets' way
    """The time at which `epoch` was complete, as `time_of` writes it; None without a complete epoch."""


@attr.define
class UnitsRunFacet(RunFacet):
    """The units of recovery of an application."""

    units: list[UnitFacet]


def run_event(
    name: EventName,
    run: str,
    about: About,
    at: float,
    *,
    units: list[UnitFacet] | None = None,
    rows: Mapping[str, int] | None = None,
    error: str | None = None,
) -> RunEvent:
    """Make a run event.

    Args:
        name: type of the event.
        run: id of the run.
        about: the application.
        at: time of the event in unix seconds.
        units: the current units of recovery; None or empty to leave them out.
        rows: rows that sinks have published since the run began, by the name of the sink; None for no counts.
        error: the reason why a unit is no longer reset, in which secrets are hidden; None without one.
    """
    engine = processing_engine_run.ProcessingEngineRunFacet(
        version("pyspark"), "Spark", version("streams-orchestration")
    )
    facets: dict[str, RunFacet] = {"processing_engine": engine}
    if units:
        facets[UNITS] = UnitsRunFacet(units)
    if error is not None:
        facets["errorMessage"] = error_message_run.ErrorMessageRunFacet(masked(error), "PYTHON")
    flows = about.flows or Flows({}, {})
    return RunEvent(
        eventType=RunState[name],
        eventTime=time_of(at),
        run=Run(run, facets),
        job=Job(about.namespace, about.application, _job_facets(about)),
        inputs=[InputDataset(*each, facets=_schema(ddl)) for each, ddl in flows.inputs.items()],
        outputs=[_output(*each, output, rows or {}) for each, output in flows.outputs.items()],
        producer=PRODUCER,
    )


def time_of(at: float) -> str:
    """Return unix seconds in ISO 8601, UTC, with milliseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def _job_facets(about: About) -> dict[str, JobFacet]:
    facets: dict[str, JobFacet] = {"jobType": job_type_job.JobTypeJobFacet("STREAMING", "STREAMS", "APPLICATION")}
    if about.description:
        facets["documentation"] = documentation_job.DocumentationJobFacet(masked(about.description))
    return facets


def _schema(ddl: str | None) -> dict[str, DatasetFacet]:
    if ddl is None:
        return {}
    fields = [schema_dataset.SchemaDatasetFacetFields(each.name, each.type) for each in parse_schema(ddl).attributes]
    return {"schema": schema_dataset.SchemaDatasetFacet(fields)}


def _output(namespace: str, name: str, output: WrittenDataset, rows: Mapping[str, int]) -> OutputDataset:
    facets = _schema(output.schema)
    columns = {
        column: column_lineage_dataset.Fields(_input_fields(uses)) for column, uses in output.columns.items() if uses
    }
    if columns or output.influences:
        facets["columnLineage"] = column_lineage_dataset.ColumnLineageDatasetFacet(
            columns, _input_fields(output.influences)
        )
    counted = [rows[operator] for operator in output.operators if operator in rows]
    statistics = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(sum(counted))
    return OutputDataset(
        namespace, name, facets=facets, outputFacets={"outputStatistics": statistics} if counted else {}
    )


def _input_fields(uses: Uses[DataColumn]) -> list[column_lineage_dataset.InputField]:
    return [
        column_lineage_dataset.InputField(*dataset, column, [_transformation(way) for way in sorted(ways)])
        for (dataset, column), ways in sorted(uses.items())
    ]


def _transformation(way: ColumnUse) -> column_lineage_dataset.Transformation:
    return column_lineage_dataset.Transformation(way.type, way.subtype or None)
