"""What a stage of the compilation is. Each stage's package has one value of it, in its module `stage`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.compilation import Progress, Stages
from streams_orchestration.compiler.misleading import Subject
from streams_orchestration.compiler.sections.terms import Document, Section, Terms
from streams_orchestration.model.diagnostics import Diagnostic

LOGICAL = "logical_graph"
PARALLEL = "parallel_expanded_graph"
REGIONS = "consistent_region_map"
FUSION = "fusion_plan"
THREADS = "thread_plan"
COPIES = "copy_plan"
DEPLOYMENT = "deployment_plan"


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of a summary."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]


Summary = dict[str, int | str | Mapping[str, Any] | Rows]
"""What is worth showing of a stage's result, by name: counts, words, JSON values, tables."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage: from the results of earlier stages to one more, and all that is known of that result as such."""

    name: str
    field: str
    """Where its result stands in `Progress` and `Compilation`."""
    result: type
    inputs: tuple[str, ...]
    """Names of the stages that it reads; the first stage reads the application."""
    description: str
    compute: Callable[[Progress], tuple[Any, list[Diagnostic]]]
    """The result, and what is wrong with the application; from the results of the stages that it reads."""
    subject: Subject | None
    """What its findings are about. None: it finds nothing, and needs an application without errors."""
    invariant: Callable[[Stages], Iterator[str]]
    """One sentence for each place where its result is not what its inputs ask for, which is a bug of the compiler.
    Its name and the first line of its docstring name and describe the condition."""
    summary: Callable[[Stages], Summary]
    key: str
    """Of its section of the plan document."""
    place: int
    """Of its section among those of the plan document."""
    section: Callable[[Stages, Terms], Section | None]
    """None where the document has none."""
    empty: Document | None
    """The section of an application with errors."""
    decisive: bool = False
    """Errors of this stage leave nothing that the stages behind it could judge."""

    @property
    def invariant_name(self) -> str:
        """The condition that must hold of its result, as a name."""
        return self.invariant.__name__

    @property
    def invariant_description(self) -> str:
        """The same in a sentence."""
        return (self.invariant.__doc__ or "").partition("\n")[0]
