"""The decisions of each stage about an application, with the rules behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.copies.copies import RULES
from streams_orchestration.compiler.explain.deployment import recovery_facts
from streams_orchestration.compiler.explain.event_time import graph_facts
from streams_orchestration.compiler.explain.explanation import Fact, Section, listed
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.explain.parts import parallel_explanation
from streams_orchestration.compiler.explain.passing import splitter_facts
from streams_orchestration.compiler.explain.placement import host_reasons, pe_reasons
from streams_orchestration.compiler.explain.regions import region_explanation
from streams_orchestration.compiler.explain.threads import lock_facts, queue_facts
from streams_orchestration.compiler.stage import (
    COPIES,
    DEPLOYMENT,
    EVENT_TIME,
    FUSION,
    LOGICAL,
    PARALLEL,
    REGIONS,
    THREADS,
)
from streams_orchestration.model.brief import plural

MAX_LISTED_DECISIONS = 60
"""The most decisions that are listed for a stage."""
_SHOWN = 12
Decision = tuple[str, tuple[Fact, ...]]


def decisions(compilation: Compilation) -> dict[str, tuple[Section, ...]]:
    """Return for every stage its decisions: a section for each subject, or for all subjects with equal decisions.

    A stage with more than `MAX_LISTED_DECISIONS` different decisions has one more section, which says that there are
    others.
    """
    lookup = CompilationIndex(compilation)
    return {stage: tuple(_grouped(decided(lookup))) for stage, decided in _DECIDED.items()}


def _grouped(decided: Iterable[Decision]) -> Iterator[Section]:
    """Join subjects with equal facts into one section; leave out subjects without facts.

    After `MAX_LISTED_DECISIONS` sections, one says that there are others. Of the subjects of a section,
    three are named.
    """
    subjects: dict[tuple[Fact, ...], list[str]] = {}
    more = False
    for subject, facts in decided:
        if not facts:
            continue
        if facts in subjects or len(subjects) < MAX_LISTED_DECISIONS:
            subjects.setdefault(facts, []).append(subject)
        else:
            more = True
    for facts, names in subjects.items():
        yield Section(listed(names, 3), facts)
    if more:
        yield Section(
            "More", (Fact(f"only {MAX_LISTED_DECISIONS} different decisions are listed, and there are others"),)
        )


def _logical(lookup: CompilationIndex) -> Iterator[Decision]:
    for name in lookup.logical.submission:
        how = "as set" if name in lookup.options.submission else "as declared"
        yield f"Submission-time value {name}", (Fact(how),)


def _parallel(lookup: CompilationIndex) -> Iterator[Decision]:
    for region in lookup.logical.regions:
        explanation = parallel_explanation(lookup, region.index)
        yield explanation.question, tuple(fact for each in explanation.sections for fact in each.facts)
    for splitter in lookup.physical.splitters[: MAX_LISTED_DECISIONS + 1]:
        yield f"Splitter {splitter.id}", tuple(splitter_facts(lookup, splitter))


def _regions(lookup: CompilationIndex) -> Iterator[Decision]:
    for region in lookup.compilation.regions.expanded[: MAX_LISTED_DECISIONS + 1]:
        explanation = region_explanation(lookup, region.index)
        yield explanation.question, tuple(fact for each in explanation.sections for fact in each.facts)


def _event_time(lookup: CompilationIndex) -> Iterator[Decision]:
    for graph in lookup.compilation.event_time.graphs[: MAX_LISTED_DECISIONS + 1]:
        yield f"Event-time graph {graph.index} by {graph.time}", tuple(graph_facts(lookup, graph))


def _fusion(lookup: CompilationIndex) -> Iterator[Decision]:
    for number in [*lookup.pes][: MAX_LISTED_DECISIONS + 1]:
        operators = lookup.names(lookup.pes[number].operators)
        why = (*pe_reasons(lookup, number), *host_reasons(lookup, number))
        yield f"PE {number}", (Fact(listed(operators, _SHOWN)), *why)


def _threads(lookup: CompilationIndex) -> Iterator[Decision]:
    for queue in lookup.compilation.threads.queues[: 4 * MAX_LISTED_DECISIONS]:
        where = f"Queue before {lookup.name(queue.operator)}.{queue.port}"
        yield where, tuple(queue_facts(lookup, queue.operator, queue.port))
    locked = (number for number, each in enumerate(lookup.compilation.threads.operators) if each.locked)
    for number, operator in enumerate(locked):
        if number > MAX_LISTED_DECISIONS:
            return
        yield f"Lock around {lookup.name(operator)}", tuple(lock_facts(lookup, operator))


def _copies(lookup: CompilationIndex) -> Iterator[Decision]:
    ways: dict[tuple[str, str], list[str]] = {}
    for each, how in zip(lookup.physical.connections, lookup.compilation.copies.connections, strict=True):
        name = f"{lookup.name(each.source)}.{each.source_port} to {lookup.name(each.target)}.{each.target_port}"
        ways.setdefault((how.passing, how.reason), []).append(name)
    for (passing, reason), names in ways.items():
        facts = Fact(reason, RULES[reason]), Fact(listed(names, _SHOWN))
        yield f"{passing}: {plural(len(names), 'connection')}", facts


def _deployment(lookup: CompilationIndex) -> Iterator[Decision]:
    if refusal := lookup.deployment.refusal:
        yield "It cannot run here", (Fact(refusal),)
    for number in [*lookup.pes][: MAX_LISTED_DECISIONS + 1]:
        yield f"PE {number}", tuple(recovery_facts(lookup, number))


_DECIDED: dict[str, Callable[[CompilationIndex], Iterable[Decision]]] = {
    LOGICAL: _logical,
    PARALLEL: _parallel,
    REGIONS: _regions,
    EVENT_TIME: _event_time,
    FUSION: _fusion,
    THREADS: _threads,
    COPIES: _copies,
    DEPLOYMENT: _deployment,
}
