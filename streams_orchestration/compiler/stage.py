"""The type of a stage. Each stage's package has one value of this type, in its module `stage`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.misleading import Subject
from streams_orchestration.compiler.sections.terms import Document, Section, Terms
from streams_orchestration.model.diagnostics import Diagnostic

LOGICAL = "logical_graph"
PARALLEL = "parallel_expanded_graph"
REGIONS = "consistent_region_map"
EVENT_TIME = "event_time_map"
FUSION = "fusion_plan"
THREADS = "thread_plan"
COPIES = "copy_plan"
DEPLOYMENT = "deployment_plan"


@dataclass(frozen=True, slots=True)
class SummaryRows:
    """A table in the summary of a stage's result."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]


Summary = dict[str, int | str | Mapping[str, Any] | SummaryRows]
"""The facts of a stage's result that Dagster and `streams explain` show, by name."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage: the function that computes one result from earlier results, and the checks and views of its result."""

    name: str
    result: type[Any]
    """The type of the stage's result, by which `Progress` holds it."""
    inputs: tuple[str, ...]
    """Names of the stages whose results this stage reads; the first stage reads the application."""
    description: str
    compute: Callable[[Progress], tuple[Any, list[Diagnostic]]]
    """The function from the results of the stages in `inputs` to the result and the findings."""
    subject: Subject | None
    """The subject of the findings; None for a stage without findings, which runs only if there are no errors."""
    invariant: Callable[[Progress], Iterator[str]]
    """The check of the result against the inputs. It yields a sentence for each contradiction, which is a bug of the
    compiler. Its name, and the first line of its docstring, are shown to users as the name of the condition."""
    summary: Callable[[Progress], Summary]
    key: str
    """The key of the stage's section in the plan document."""
    place: int
    """The position of the stage's section in the plan document."""
    section: Callable[[Progress, Terms], Section | None]
    """The function that makes the stage's section of the plan document; it returns None if the stage has no section."""
    empty: Document | None
    """The stage's section in the plan document of an application with errors; None for no section."""
    decisive: bool = False
    """True if no later stage runs after an error of this one."""

    @property
    def invariant_name(self) -> str:
        """The name of the condition that the stage's result must meet."""
        return self.invariant.__name__

    @property
    def invariant_description(self) -> str:
        """The condition that the stage's result must meet, in a sentence: the first line of the check's docstring."""
        return (self.invariant.__doc__ or "").partition("\n")[0]
