"""Whether a state still means the same to an operator whose class, parameters or input streams have changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import ValidationError

from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.operators.contract import Operator

_WIDER = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint",),
    "float": ("double",),
}
"""Type of an attribute -> those that hold all its values."""


def lost_meaning(old: OperatorProgram, new: OperatorProgram, kind: type[Operator], *, alike: bool) -> str:
    """Why a state cannot be kept, whatever the channels; empty when it can.

    Args:
        old: the operator as it is deployed, of any of its channels.
        new: as it is wanted, of the same channel where there is one.
        kind: its class now.
        alike: parameters that hold channel functions may differ, since channels go into one another.
    """
    if old.implementation != new.implementation:
        return f"was made by {old.implementation}, and {new.implementation} takes its place"
    if len(old.query) != len(new.query) or (not alike and old.query != new.query):
        return f"was made by one query of {', '.join(old.query)}; it would be one of {', '.join(new.query)}"
    before, after = (dict(each.parameters) for each in (old, new))
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if changed and not alike and not _means_the_same(kind, before, after):
        noun = "parameter" if len(changed) == 1 else "parameters"
        return f"was made under another value of the {noun} {', '.join(changed)}, and may mean something else now"
    if len(old.inputs) != len(new.inputs):
        return f"was made of {len(old.inputs)} input streams, and there are {len(new.inputs)}"
    if new.query and old.inputs != new.inputs:
        port = next(port for port, pair in enumerate(zip(old.inputs, new.inputs, strict=True)) if pair[0] != pair[1])
        return f"is Spark's, and was made of tuples of input port {port} with other attributes"
    held = kind.state_attributes(_parameters(kind, after))
    for port, (former, present) in enumerate(zip(old.inputs, new.inputs, strict=True)):
        if problem := _narrowed(former, present, held):
            return f"was made of tuples of input port {port} {problem}"
    return ""


def conversions(old: OperatorProgram, new: OperatorProgram, kind: type[Operator]) -> str:
    """Which attributes that a kept state may hold get a wider type, as `n from int to bigint`; empty when none does."""
    held = kind.state_attributes(_parameters(kind, dict(new.parameters)))
    wider: dict[str, str] = {}
    for former, present in zip(old.inputs, new.inputs, strict=True):
        after = _types(present)
        for name, was in _types(former).items():
            if (held is None or name in held) and after.get(name, was) != was:
                wider[name] = f"{name} from {was} to {after[name]}"
    return ", ".join(wider.values())


def _parameters(kind: type[Operator], values: Mapping[str, Any]) -> Any:
    try:
        return kind.Parameters.model_validate(values)
    except ValidationError:
        return None


def _means_the_same(kind: type[Operator], before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    former, present = _parameters(kind, before), _parameters(kind, after)
    return former is not None and present is not None and kind.keeps_state(former, present)


def _narrowed(before: str, after: str, held: Collection[str] | None) -> str:
    """What attributes have become that a state with the former ones cannot be brought to, if anything."""
    if before == after:
        return ""
    former, present = _types(before), _types(after)
    for name, kind in former.items():
        if held is not None and name not in held:
            continue
        if name not in present:
            return f"that had {name}, which was {kind}; there is no such attribute any more"
        if present[name] not in (kind, *_WIDER.get(kind, ())):
            return f"whose {name} was {kind}, and is {present[name]}"
    return ""


def _types(ddl: str) -> dict[str, str]:
    return {each.name: each.type for each in parse_schema(ddl).attributes}
