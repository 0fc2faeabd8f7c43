"""The results of the stages for one application, complete (`Compilation`) or so far (`Progress`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from streams_orchestration.compiler.deployment_plan import DeploymentPlan
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.query_columns import QueryColumns, is_same_query
from streams_orchestration.compiler.stage_results import CopyPlan, EventTimeMap, FusionPlan, RegionMap, ThreadPlan
from streams_orchestration.model.application import Application
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Compilation:
    """The result of every stage for one application, and the warnings."""

    logical: LogicalGraph
    physical: PhysicalGraph
    regions: RegionMap
    event_time: EventTimeMap
    fusion: FusionPlan
    threads: ThreadPlan
    copies: CopyPlan
    options: Options
    diagnostics: tuple[Diagnostic, ...] = ()
    deployment: DeploymentPlan | None = None
    """The deployment plan; None until the last stage has run."""
    query_columns: tuple[QueryColumns, ...] = ()
    """The columns of operators that are Spark queries; empty until Spark analyses them for a deployment."""

    @property
    def plan(self) -> DeploymentPlan:
        """The deployment plan.

        Raises:
            ValueError: the last stage has not run.
        """
        return need(self.deployment)

    def with_columns_of(self, deployed: Compilation) -> Compilation:
        """Return the compilation with the query columns of an earlier one, for Spark queries that are unchanged.

        All other queries have no columns afterwards.
        """
        before = {each.name: each for each in deployed.logical.operators}
        same = {
            each.name
            for each in self.logical.operators
            if each.name in before and is_same_query(each, before[each.name])
        }
        return replace(self, query_columns=tuple(each for each in deployed.query_columns if each.operator in same))


@dataclass(frozen=True, slots=True)
class Progress:
    """The results of the stages so far; None for each stage that has not run."""

    options: Options
    application: Application | None = None
    """The input of the first stage."""
    logical: LogicalGraph | None = None
    physical: PhysicalGraph | None = None
    regions: RegionMap | None = None
    event_time: EventTimeMap | None = None
    fusion: FusionPlan | None = None
    threads: ThreadPlan | None = None
    copies: CopyPlan | None = None
    deployment: DeploymentPlan | None = None
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def compilation(self) -> Compilation:
        """The compilation, with the deployment plan if it exists.

        Raises:
            ValueError: a stage other than the deployment stage has not run.
        """
        return Compilation(
            logical=need(self.logical),
            physical=need(self.physical),
            regions=need(self.regions),
            event_time=need(self.event_time),
            fusion=need(self.fusion),
            threads=need(self.threads),
            copies=need(self.copies),
            options=self.options,
            diagnostics=self.diagnostics,
            deployment=self.deployment,
        )


Stages = Progress | Compilation
"""The results of some stages or of all."""


class CompileError(ApplicationError):
    """The application could be read, but has errors.

    `done` holds the results of the stages that could be computed all the same.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], done: Progress) -> None:
        super().__init__(diagnostics)
        self.done = done


def need(result: Result | None) -> Result:
    """Return the result of an earlier stage.

    Raises:
        ValueError: that stage has not run.
    """
    if result is None:
        message = "a stage of the compiler was computed before a stage whose result it reads"
        raise ValueError(message)
    return result
