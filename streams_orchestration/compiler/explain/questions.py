"""Answers questions about an application: finds the operator, PE, region, stream, splitter or code that they name."""

from __future__ import annotations

import re

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.explain.codes import code_explanation, is_code
from streams_orchestration.compiler.explain.deployment import stage_explanation
from streams_orchestration.compiler.explain.explanation import Explanation, UnknownSubjectError
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.explain.operators import operator_explanation, pair_explanation, port_explanation
from streams_orchestration.compiler.explain.parts import (
    parallel_explanation,
    pe_explanation,
    splitter_explanation,
    stream_explanation,
)
from streams_orchestration.compiler.explain.regions import region_explanation
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.model.names import nearest

_NUMBERED = re.compile(r"(pe|region)[\s_-]*(\d+)", re.IGNORECASE)
_NAMED = re.compile(r"(operator|stream|splitter|region)\s+(\S+)", re.IGNORECASE)
_PAIR = re.compile(r"(.+?)\s*(?:->|\.\.|\s)\s*(\S+)")
_PORT = re.compile(r"(.+)[.:](\d+)")


def explain(compilation: Compilation, what: str) -> Explanation:
    """Answer a question about a compiled application.

    Args:
        compilation: the application.
        what: an operator (`Out[0].A`, or `Out.A` for its replicas), two of them (`A B`, `A -> B`, `A..B`), an input
            port (`A.0`, `A:0`), `PE 1`, `region 0` (consistent) or the name of a parallel region, a stream, a
            splitter's id, a stage (`deployment_plan`), or a diagnostic code. A name with several meanings is written
            with its kind before it, as in `stream X`.

    Raises:
        UnknownSubjectError: the application has nothing of that name, number or port, or there is no such code.
        ImplementationError: the class of the operator can no longer be imported.
    """
    return _Question(CompilationIndex(compilation)).answer(" ".join(what.split()))


class _Question:
    def __init__(self, lookup: CompilationIndex) -> None:
        self._lookup = lookup
        self._regions = {region.name: region.index for region in lookup.logical.regions}

    def answer(self, what: str) -> Explanation:
        if is_code(what):
            return code_explanation(what, self._lookup.compilation.diagnostics)
        return (
            self.numbered(what)
            or self.named(what)
            or self.port(what)
            or self.prefixed(what)
            or self.pair(what)
            or self.stage(what)
            or self.unknown(what)
        )

    def numbered(self, what: str) -> Explanation | None:
        match = _NUMBERED.fullmatch(what)
        if match is None or what in self._lookup.by_name or what in self._lookup.replicas:
            return None
        kind, number = match.group(1).lower(), int(match.group(2))
        regions = range(len(self._lookup.compilation.regions.expanded))
        there = self._lookup.pes.keys() if kind == "pe" else regions
        if number not in there:
            noun = "PE" if kind == "pe" else "consistent region"
            message = (
                f"there is no {noun} {number}; {f'the last is {max(there)}' if there else 'the application has none'}"
            )
            raise UnknownSubjectError(message)
        return pe_explanation(self._lookup, number) if kind == "pe" else region_explanation(self._lookup, number)

    def operators(self, name: str) -> list[int]:
        if name in self._lookup.by_name:
            return [self._lookup.by_name[name]]
        return self._lookup.replicas.get(name, [])

    def named(self, name: str, kind: str = "") -> Explanation | None:
        lookup = self._lookup
        if kind in ("", "operator") and self.operators(name):
            return operator_explanation(lookup, self.operators(name))
        if kind in ("", "stream") and name in lookup.streams:
            return stream_explanation(lookup, name)
        if kind in ("", "splitter") and name in lookup.splitters:
            return splitter_explanation(lookup, lookup.splitters[name])
        if kind in ("", "region") and name in self._regions:
            return parallel_explanation(lookup, self._regions[name])
        return None

    def prefixed(self, what: str) -> Explanation | None:
        match = _NAMED.fullmatch(what)
        if match is None:
            return None
        kind, name = match.group(1).lower(), match.group(2)
        found = self.named(name, kind)
        if found is None and not self.operators(match.group(1)):
            return self.unknown(name, kind)
        return found

    def port(self, what: str) -> Explanation | None:
        match = _PORT.fullmatch(what)
        operators = self.operators(match.group(1)) if match is not None else []
        if match is None or not operators:
            return None
        port, inputs = int(match.group(2)), self._lookup.model(operators[0]).inputs
        if port >= len(inputs):
            message = f"{match.group(1)} has no input port {port}; it has {len(inputs)}"
            raise UnknownSubjectError(message)
        return port_explanation(self._lookup, operators[0], port)

    def pair(self, what: str) -> Explanation | None:
        match = _PAIR.fullmatch(what)
        if match is None:
            return None
        first, second = self.operators(match.group(1)), self.operators(match.group(2))
        for name, operators in zip(match.groups(), (first, second), strict=True):
            if not operators and (first or second):
                self.unknown(name)
        return pair_explanation(self._lookup, first, second) if first and second else None

    def stage(self, what: str) -> Explanation | None:
        stage = BY_NAME.get(what)
        return stage_explanation(self._lookup, stage) if stage is not None else None

    def unknown(self, what: str, kind: str = "") -> Explanation:
        lookup = self._lookup
        known = {*lookup.by_name, *lookup.replicas, *lookup.streams, *lookup.splitters, *self._regions, *BY_NAME}
        message = f"the application has {f'no {kind}' if kind else 'nothing'} called {what}{nearest(what, known)}"
        raise UnknownSubjectError(message)
