"""The cases of `regions.yaml` as specs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def spec_of(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return the spec of one case. An operator `x` inside the composite `C` becomes `C.x`; all other names are kept."""
    return _Spec(case).document()


class _Spec:
    def __init__(self, case: Mapping[str, Any]) -> None:
        self._case = case
        self._ops: Mapping[str, Any] = case["ops"]
        self._composites: Mapping[str, Any] = case.get("composites", {})
        self._operators: dict[str, Any] = {}
        self._submission: dict[str, Any] = {}

    def document(self) -> dict[str, Any]:
        main = [self._composite(name) for name in self._composites if self._members(name)]
        main += [self._operator(name) for name, op in self._ops.items() if "c" not in op]
        definitions = {f"{name}Definition": self._definition(name) for name in self._composites if self._members(name)}
        return {
            "specVersion": 1,
            "application": "case",
            "submission": self._submission,
            "operators": self._operators,
            "composites": definitions,
            "graph": main,
        }

    def _members(self, composite: str) -> list[str]:
        return [name for name, op in self._ops.items() if op.get("c") == composite]

    def _crossing(self, composite: str) -> tuple[list[str], list[str]]:
        """Streams that enter a composite, and streams of it that are read outside."""
        members = self._members(composite)
        entering: dict[str, None] = {}
        leaving: dict[str, None] = {}
        for name, op in self._ops.items():
            for producer in (producer for port in op.get("in", ()) for producer in port):
                if name in members and producer not in members:
                    entering[producer] = None
                if name not in members and producer in members:
                    leaving[producer] = None
        return list(entering), list(leaving)

    def _composite(self, name: str) -> dict[str, Any]:
        entering, leaving = self._crossing(name)
        config = self._composites[name]
        invocation = {
            "name": name,
            "operator": f"{name}Definition",
            "inputs": entering,
            "outputs": leaving,
            "annotations": self._annotations(config.get("ann", {}), config),
        }
        if config.get("checkpoint"):
            invocation["config"] = {"checkpoint": {"periodic": 1.0}}
        return invocation

    def _definition(self, name: str) -> dict[str, Any]:
        entering, leaving = self._crossing(name)
        return {
            "inputs": entering,
            "outputs": leaving,
            "graph": [self._operator(member) for member in self._members(name)],
        }

    def _operator(self, name: str) -> dict[str, Any]:
        op = self._ops[name]
        ports: list[list[str]] = op.get("in", [])
        read = any(name in port for other in self._ops.values() for port in other.get("in", ()))
        controls = op.get("control", ())
        kind = op["k"]
        if kind not in ("Custom", "Export"):
            kind = f"{kind}_{name}"
            self._operators[kind] = {
                "inputs": [{"control": port in controls} for port in range(len(ports))],
                "outputs": [{}] if read or "out" in op else [],
            }
        return {
            "name": name,
            "operator": kind,
            "inputs": [{"streams": streams, "control": port in controls} for port, streams in enumerate(ports)],
            "annotations": self._annotations(op.get("ann", {}), op),
            "parameters": {"streamId": name} if kind == "Export" else {},
            **({"outputs": [name]} if kind == "Custom" and (read or "out" in op) else {}),
        }

    def _annotations(self, written: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        if "consistent" in written:
            result["consistent"] = {key: self._value(value) for key, value in written["consistent"].items()}
        if "autonomous" in written:
            result["autonomous"] = True
        if "parallel" in config:
            result["parallel"] = {"width": self._value(config["parallel"], "int32")}
        return result

    def _value(self, value: Any, kind: str = "float64") -> Any:
        if not isinstance(value, dict):
            return value
        declared = self._submission.setdefault(value["sub"], {"type": kind})
        if "default" in value:
            declared["default"] = value["default"]
        return f"${{{value['sub']}}}"
