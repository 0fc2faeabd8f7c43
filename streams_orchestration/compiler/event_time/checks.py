"""Checks of event time: graphs that meet, windows and parameters that need it, and results that come too late."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil

from streams_orchestration.compiler.event_time.ends import EventTimeIndex
from streams_orchestration.compiler.event_time.growth import Reach
from streams_orchestration.compiler.event_time.uses import (
    WINDOWED,
    EventTimeUse,
    keeps_places,
    may_use,
    uses_of,
    windows_in,
)
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.time_attributes import attribute_type
from streams_orchestration.compiler.walks import reached, reversed_
from streams_orchestration.model.containers import is_mapping, is_true
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.operators.event_time.clause import (
    IntervalWindow,
    WindowClauseError,
    misordered,
    refuse_event_time_parts,
)

_TIMELY = re.compile(r"\s*(paneTime|Max)\s*\(", re.IGNORECASE)
"""Pattern of `paneTime(` and `Max(`, the expressions of an Aggregate whose results are not late downstream (EV37)."""
_END = re.compile(r"\s*intervalEnd\s*\(")
_SHOWN = 3
_MANY_PANES = 10_000


def check_event_time(logical: LogicalGraph, reaches: Sequence[Reach]) -> list[Diagnostic]:
    """Return the findings on the event-time graphs of an application, and on the parameters that need event time."""
    return list(_Checks(logical, reaches).findings())


def _at(operator: LogicalOperator, code: str, message: str, parameter: str = "") -> Diagnostic:
    return Diagnostic.of(code, message, operator=operator.name, location=operator.location_of(parameter))


class _Checks:
    def __init__(self, logical: LogicalGraph, reaches: Sequence[Reach]) -> None:
        self.logical = logical
        self.index = EventTimeIndex(logical, reaches)
        self.using: dict[int, list[EventTimeUse]] = {}
        """The parameters that need event time, by operator."""
        self.faulty: list[int] = []
        """The operators with a wrong window clause. The corrected clause might need event time."""
        self.doubtful = self._behind_faults()

    def _behind_faults(self) -> set[int]:
        """Return the operators downstream of faulty annotations and Imports.

        Event time might reach them once corrected.
        """
        reaches = self.index.reaches
        consumers: dict[int, list[int]] = {operator.index: [] for operator in self.logical.operators}
        for each in self.logical.connections:
            consumers[each.source].append(each.target)
        valid = {start.operator for reach in reaches for start in reach.starts}
        taken = {each.name for reach in reaches for each in reach.imports}
        annotated = {operator.index for operator in self.logical.operators if operator.event_time is not None}
        links = [each for each in self.logical.imports if "eventTime" in each.parameters and each.name not in taken]
        return reached([*(annotated - valid), *(each.operator for each in links)], consumers)

    def findings(self) -> Iterator[Diagnostic]:
        yield from self.meetings()
        for operator in self.logical.operators:
            yield from self.clauses(operator)
        for number, uses in self.using.items():
            for use in uses:
                yield from self.need(self.logical.operators[number], use)
        yield from self.promises()
        yield from self.interleaved()
        for reach in self.index.reaches:
            yield from self.loops(reach)
            yield from self.behind_annotations(reach)

    def meetings(self) -> Iterator[Diagnostic]:
        """Yield a diagnostic where event times by two attributes meet: CDISP0868E at a port, else SO0802 (EV9).

        Operators that read such a port are left out.
        """
        of_port = self.index.of_port
        both = {port for port, met in of_port.items() if len(met) > 1}
        behind = {each.target for each in self.logical.connections if (each.source, each.source_port) in both}
        for number, met in sorted(self.index.of_operator.items()):
            if len(met) < 2 or number in behind:
                continue
            operator = self.logical.operators[number]
            one = met[0].time
            other = met[1].time
            port = next((port for port in range(len(operator.outputs)) if (number, port) in both), None)
            if port is None:
                yield _at(operator, "SO0802", f"{operator.name} gets event time by {one} and event time by {other}")
            else:
                message = f"event time by {one} and event time by {other} reach output port {port}, which has both"
                yield _at(operator, "CDISP0868E", message)

    def clauses(self, operator: LogicalOperator) -> Iterator[Diagnostic]:
        """Yield the findings on window clauses (EV14).

        Note the parameters that need event time in `using`, and an operator with a wrong clause in `faulty`.
        """
        try:
            uses = list(uses_of(operator))
            for text in windows_in(operator):
                if operator.kind not in WINDOWED:
                    refuse_event_time_parts(text)
                elif warning := misordered(text):
                    yield _at(operator, "CDISP0747W", f"the window {warning}", "window")
        except WindowClauseError as fault:
            self.faulty.append(operator.index)
            yield _at(operator, fault.code, f"the window {fault}", "window")
        else:
            if uses:
                self.using[operator.index] = uses

    def need(self, operator: LogicalOperator, use: EventTimeUse) -> Iterator[Diagnostic]:
        """Yield a finding unless event time arrives where a parameter needs it.

        Further findings are on lengths of time that are not whole ticks, and on windows with very many open panes. An
        operator that event time might reach once faults upstream are corrected has no findings.
        """
        entered = self.index.entered.get(operator.index, {})
        wanted = [port for port in use.ports if port not in entered]
        if not entered and operator.index in self.doubtful:
            return
        if not entered or (use.of_port and wanted):
            code = "CDISP0871E" if use.interval else "SO0806"
            where = f" at input port {wanted[0]}" if entered else ""
            reason = "" if entered else f": {self.index.why_not(operator.index)}"
            yield _at(operator, code, f"{use.shown} needs event time, but none arrives{where}{reason}", use.parameter)
            return
        reach = next(iter(entered.values()))
        for port in wanted:
            if not self.has_attribute(operator.index, port, reach):
                message = f"{use.shown}: the tuples of input port {port} have no attribute {reach.time}"
                yield _at(operator, "CDISP0872E", message, use.parameter)
        try:
            use.check_lengths(reach.time.ticks)
        except WindowClauseError as fault:
            yield _at(operator, fault.code, str(fault), use.parameter)
        else:
            yield from _many_panes(operator, use)

    def promises(self) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each sink with `completeWithin` that no event time reaches (EV67).

        Sinks that it might reach once faults upstream are corrected are left out.
        """
        for operator in self.logical.operators:
            missing = operator.complete_within is not None and not self.index.entered.get(operator.index)
            if missing and operator.index not in self.doubtful:
                reason = self.index.why_not(operator.index)
                yield _at(operator, "SO0806", f"completeWithin needs event time, but none arrives: {reason}")

    def interleaved(self) -> Iterator[Diagnostic]:
        """Yield a finding for each source that should read files in order of event time, but has no event time."""
        for operator in self.logical.operators:
            if _interleaves(operator) and operator.event_time is None:
                message = "interleave needs event time; name the times of the tuples in the annotation eventTime"
                yield _at(operator, "SO0806", message, "interleave")

    def has_attribute(self, operator: int, port: int, reach: Reach) -> bool:
        """Return True if all streams into a port have the event-time attribute with the type of its annotation.

        A stream of unknown type has not. A port without streams has it.
        """
        sources = (each[:2] for each in self.index.incoming(operator) if each.target_port == port)
        schemas = [self.logical.operators[source].outputs[number].schema for source, number in sources]
        schemas += (link.schema for link in self.logical.imports if (link.operator, link.port) == (operator, port))
        return all(attribute_type(schema, reach.time.attribute) == reach.time.type for schema in schemas)

    def loops(self, reach: Reach) -> Iterator[Diagnostic]:
        """Yield a warning for each connection that event time does not follow, since it would close a loop (EV12)."""
        for ends in reach.left_out:
            source, target = self.logical.operators[ends.source], self.logical.operators[ends.target]
            message = (
                f"the stream of {source.name} closes a loop at input port {ends.target_port}, where it has no "
                "watermarks"
            )
            yield _at(target, "SO0805", message)

    def behind_annotations(self, reach: Reach) -> Iterator[Diagnostic]:
        """Yield a warning for each annotation whose event time no operator downstream uses.

        Also warn about results that would be late, and about operators that would be called for every single tuple.
        """
        consumers: dict[int, list[int]] = {number: [] for number in sorted(reach.operators)}
        for ends in reach.connections:
            consumers[ends.source].append(ends.target)
        using = [number for number in self.using if number in reach.operators]
        leading = _leading(using, consumers)
        possible = [number for number in reach.operators if may_use(self.logical, self.logical.operators[number])]
        faulty = [number for number in self.faulty if number in reach.operators]
        promising = [each for each in reach.operators if self.logical.operators[each].complete_within is not None]
        useful = _leading((*using, *possible, *faulty, *promising), consumers)
        for start in reach.starts:
            operator = self.logical.operators[start.operator]
            if start.operator not in useful and not may_use(self.logical, operator) and not _interleaves(operator):
                yield _at(
                    operator, "SO0803", f"nothing downstream of {operator.name} uses the event time by {reach.time}"
                )
            elif start.minimum_gap == 0:
                yield from self.many_calls(operator, consumers)
        for number in sorted(reach.operators & leading):
            yield from self.late_result(self.logical.operators[number], reach)

    def late_result(self, operator: LogicalOperator, reach: Reach) -> Iterator[Diagnostic]:
        """Warn if the results of an Aggregate get an event time that is late for the operators downstream (EV37)."""
        output, attribute = operator.parameters.get("output", {}), reach.time.attribute
        if operator.kind != "Aggregate" or not operator.standard or operator.event_time or not is_mapping(output):
            return
        if not any((operator.index, port) in reach.ports for port in range(len(operator.outputs))):
            return
        text = output.get(attribute)
        if text is None or not _TIMELY.match(str(text)):
            given = f"is {text}" if text is not None else "is the time of its group"
            found = "put them into the next pane" if _END.match(str(text)) else "find them late"
            message = (
                f"the event time {attribute} of the results {given}, so operators downstream of {operator.name} {found}"
            )
            yield _at(operator, "SO0804", message, "output")

    def many_calls(self, operator: LogicalOperator, consumers: dict[int, list[int]]) -> Iterator[Diagnostic]:
        """Yield a warning if operators downstream of a `minimumGap` of 0 are called for each slice of tuples.

        The warning names at most `_SHOWN` of them.

        Args:
            operator: an operator with `minimumGap: 0`, which the caller has tested.
            consumers: operator -> those that its event-time connections lead to.
        """
        behind = [self.logical.operators[number] for number in sorted(reached(consumers[operator.index], consumers))]
        sliced = [each.name for each in behind if not self.takes_whole_batches(each)]
        if sliced:
            names = ", ".join(sliced[:_SHOWN]) + (" and others" if len(sliced) > _SHOWN else "")
            yield _at(operator, "SO0808", f"minimumGap is 0, and {names} would be called for every single tuple")

    def takes_whole_batches(self, operator: LogicalOperator) -> bool:
        """Return True if an operator is called with whole batches, whatever watermarks they hold.

        These are Spark queries, standard sinks that do not use event time, and operators for which `keeps_places`
        is true.
        """
        sink = operator.standard and not operator.outputs and operator.index not in self.using
        return sink or operator.engine == "dataframe" or keeps_places(operator)


def _interleaves(operator: LogicalOperator) -> bool:
    """Return True for a source that reads its files in order of event time."""
    reads_files = operator.standard and operator.kind == "FileSource" and not operator.inputs
    return reads_files and is_true(operator.parameters.get("interleave"))


def _many_panes(operator: LogicalOperator, use: EventTimeUse) -> Iterator[Diagnostic]:
    """Yield a warning if a window of intervals keeps `_MANY_PANES` panes or more open at a time (EV34)."""
    window = use.window
    if not isinstance(window, IntervalWindow):
        return
    panes = ceil((window.duration + window.discard_age) / window.period)
    if panes >= _MANY_PANES:
        message = f"{use.shown} keeps {panes:,} panes of each partition open, until the watermark has passed them"
        yield _at(operator, "SO0810", message, use.parameter)


def _leading(operators: Iterable[int], consumers: Mapping[int, Sequence[int]]) -> set[int]:
    """Return all operators upstream of the given ones."""
    producers = reversed_(consumers)
    return reached((source for operator in operators for source in producers[operator]), producers)
