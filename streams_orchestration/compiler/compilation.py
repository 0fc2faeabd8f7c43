"""The results of the stages for one application: so far (`Progress`), or of all stages (`Compilation`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeVar

from streams_orchestration.compiler.deployment_plan import DeploymentPlan
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.query_columns import QueryColumns, is_same_query
from streams_orchestration.compiler.stage_results import CopyPlan, EventTimeMap, FusionPlan, RegionMap, ThreadPlan
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Progress:
    """The application and the results of the stages so far, by their types: `done[FusionPlan]`."""

    options: Options
    results: Mapping[type, Any] = field(default_factory=dict[type, Any])
    diagnostics: tuple[Diagnostic, ...] = ()

    def __getitem__(self, kind: type[Result]) -> Result:
        """Return the result of this type.

        Raises:
            ValueError: its stage has not run.
        """
        if kind not in self.results:
            message = f"a stage of the compiler was computed before a stage whose result it reads: {kind.__name__}"
            raise ValueError(message)
        return self.results[kind]

    def get(self, kind: type[Result]) -> Result | None:
        """Return the result of this type; None if its stage has not run."""
        return self.results.get(kind)

    def with_result(self, result: object) -> Progress:
        """Return the results with one added, or replaced if there was one of its type."""
        return replace(self, results={**self.results, type(result): result})

    @property
    def compilation(self) -> Compilation:
        """The compilation without a deployment plan.

        Raises:
            ValueError: a stage other than the deployment stage has not run.
        """
        return Compilation(
            logical=self[LogicalGraph],
            physical=self[PhysicalGraph],
            regions=self[RegionMap],
            event_time=self[EventTimeMap],
            fusion=self[FusionPlan],
            threads=self[ThreadPlan],
            copies=self[CopyPlan],
            options=self.options,
            diagnostics=self.diagnostics,
        )

    @property
    def planned(self) -> PlannedCompilation:
        """The compilation with its deployment plan.

        Raises:
            ValueError: a stage has not run.
        """
        return self.compilation.with_plan(self[DeploymentPlan])


@dataclass(frozen=True)
class Compilation:
    """The results of all stages but the last, for one application, and the warnings. It is stored with a deployment."""

    logical: LogicalGraph
    physical: PhysicalGraph
    regions: RegionMap
    event_time: EventTimeMap
    fusion: FusionPlan
    threads: ThreadPlan
    copies: CopyPlan
    options: Options
    diagnostics: tuple[Diagnostic, ...] = ()
    query_columns: tuple[QueryColumns, ...] = ()
    """The columns of operators that are Spark queries; empty until Spark analyses them for a deployment."""

    @property
    def progress(self) -> Progress:
        """The same results by their types, for functions that take the results of any number of stages."""
        results = self.logical, self.physical, self.regions, self.event_time, self.fusion, self.threads, self.copies
        return Progress(self.options, {type(each): each for each in results}, self.diagnostics)

    def with_plan(self, deployment: DeploymentPlan) -> PlannedCompilation:
        """Return the compilation with a deployment plan."""
        return PlannedCompilation(
            **{each.name: getattr(self, each.name) for each in fields(Compilation)}, deployment=deployment
        )

    def with_columns_of(self, deployed: Compilation) -> Self:
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


@dataclass(frozen=True, kw_only=True)
class PlannedCompilation(Compilation):
    """The results of all stages."""

    deployment: DeploymentPlan

    @property
    def progress(self) -> Progress:
        """The same results by their types."""
        return super().progress.with_result(self.deployment)


class CompileError(ApplicationError):
    """The application could be read, but has errors.

    `done` holds the results of the stages that could be computed all the same.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], done: Progress) -> None:
        super().__init__(diagnostics)
        self.done = done
