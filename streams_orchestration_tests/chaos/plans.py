"""Plans of one application that give the same results: what a redeploy may bring in the middle of its data."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.chaos.shapes import TOGETHER, Shape

KEYED = {"Aggregate": ("in0",), "Columns": ("in0",), "Totals": ("in0",), "Pairing": ("in0", "in1"), "Filter": ("in0",)}
"""Operators whose tuples may be split by their keys, with their input ports."""
MOST_CHANNELS = 4
FAR: dict[str, Any] = {"placement": {"hostExlocation": "far", "partitionIsolation": True}}
TRIES = 20
"""Random changes that do not compile, as two that contradict each other, before there is an error."""


class Plans:
    """One plan after the other of an application, each made from the one before.

    Args:
        shape: the application.
        choose: what chance decides by.
        place: a directory for specs.
        hurry: see `Shape.spec`.
    """

    def __init__(self, shape: Shape, choose: random.Random, place: Path, hurry: Path) -> None:
        self._shape, self._choose, self._hurry = shape, choose, hurry
        self._spec = place / f"{shape.name}-changed.yaml"

    def another(self) -> PlannedCompilation:
        """Return a plan with other widths, PEs, hosts and parameters."""
        for _ in range(TRIES):
            graph = _varied(self._shape.graph, self._choose, in_order=self._shape.in_order)
            shape = replace(self._shape, graph=graph)
            self._spec.write_text(yaml.safe_dump(shape.spec(self._hurry)), encoding="utf-8")
            try:
                compilation = compile_spec(self._spec, _options(shape, self._choose))
            except ApplicationError:
                continue
            self._shape = shape
            return _decoupled(compilation, self._spec, self._choose) if self._choose.random() < 0.3 else compilation
        message = f"{self._shape.name}: no change of {TRIES} compiles"
        raise AssertionError(message)


def _options(shape: Shape, choose: random.Random) -> Options:
    if choose.random() < 0.3:
        return Options(fusion="legacy")
    return Options(fusion="manual", pes=choose.randint(1, len(shape.graph)))


def _varied(graph: list[dict[str, Any]], choose: random.Random, *, in_order: bool) -> list[dict[str, Any]]:
    varied = [_operator(each, choose, in_order=in_order) if choose.random() < 0.4 else each for each in graph]
    varied = _placed(varied, choose) if choose.random() < 0.3 else varied
    return _parted(varied) if any(map(_is_together, varied)) and choose.random() < 0.5 else varied


def _is_together(node: dict[str, Any]) -> bool:
    return node.get("config") == TOGETHER


def _parted(graph: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Operators that must share a PE may have PEs of their own."""
    return [{**each, "config": {}} if _is_together(each) else each for each in graph]


def _operator(node: dict[str, Any], choose: random.Random, *, in_order: bool) -> dict[str, Any]:
    """Another width, and other parameters of the same meaning."""
    changed = dict(node)
    ports = () if in_order else KEYED.get(node["operator"], ())
    width = choose.randint(1, MOST_CHANNELS)
    if ports:
        annotations = {name: value for name, value in node.get("annotations", {}).items() if name != "parallel"}
        if width > 1:
            split = [{"port": port, "attributes": ["k"]} for port in ports]
            annotations["parallel"] = {"width": width, "partitionBy": split}
        changed["annotations"] = annotations
    if node["operator"] == "Filter":
        condition = node["parameters"]["filter"]
        changed["parameters"] = {"filter": choose.choice((condition, f"({condition})", f"not (not ({condition}))"))}
    if node["operator"] == "Paced":
        pace = choose.choice((0.9, 1.0, 1.1))
        changed["parameters"] = node["parameters"] | {"period": round(node["parameters"]["period"] * pace, 5)}
    return changed


def _placed(graph: list[dict[str, Any]], choose: random.Random) -> list[dict[str, Any]]:
    """Move a sink to another host than the first source, or back."""
    if any(each.get("config") == FAR for each in graph):
        return [{**each, "config": {}} if each.get("config") == FAR else each for each in graph]
    free = [each["name"] for each in graph if not each.get("config")]
    sources = [each["name"] for each in graph if each["operator"] == "Paced" and each["name"] in free]
    sinks = [each["name"] for each in graph if each["operator"] == "FileSink" and each["name"] in free]
    apart = {sources[0], choose.choice(sinks)} if sources and sinks else set()
    return [{**each, "config": FAR} if each["name"] in apart else each for each in graph]


def _decoupled(compilation: PlannedCompilation, spec: Path, choose: random.Random) -> PlannedCompilation:
    """Return the plan with some operators of a PE moved to another machine, if that is allowed."""
    logical, physical, fusion = compilation.logical, compilation.physical, compilation.fusion
    shared = [pe.operators for pe in fusion.pes if len(pe.operators) > 1]
    if not shared:
        return compilation
    away = [operator for operator in choose.choice(shared) if choose.random() < 0.5]
    machines = {physical.operators[operator].name: 1 for operator in away}
    decision = Assignment(logical.application, fusion_fingerprint(logical, physical, fusion), machines)
    try:
        return compile_spec(spec, replace(compilation.options, decoupling=decision))
    except ApplicationError:
        return compilation
