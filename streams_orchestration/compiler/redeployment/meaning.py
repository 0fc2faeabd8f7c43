"""The checks that a stored state still means the same after the operator's class, parameters or inputs have changed."""

from __future__ import annotations

import functools
import json
from collections.abc import Collection, Mapping
from typing import Any, cast

from pydantic import ValidationError

from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.model.programs import without_places
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.expressions.expression import noted
from streams_orchestration.operators.loading.import_path import LOGIC_SUFFIX

_WIDER = {
    "tinyint": ("smallint", "int", "bigint"),
    "smallint": ("int", "bigint"),
    "int": ("bigint",),
    "utinyint": ("usmallint", "uint", "ubigint", "smallint", "int", "bigint"),
    "usmallint": ("uint", "ubigint", "int", "bigint"),
    "uint": ("ubigint", "bigint"),
    "float": ("double",),
}
"""Type of an attribute -> the types that hold all its values."""


Expressions = Collection[tuple[str, str, str]]
"""(parameter, text, canonical text) of each expression of an operator."""


def lost_meaning(
    old: OperatorProgram, new: OperatorProgram, kind: type[Operator], known: Expressions, *, alike: bool
) -> str:
    """Return why a state cannot be kept, whatever the channels; the text is empty if it can.

    Expressions are compared by their canonical texts over the same input streams.

    Args:
        old: the program of the deployed operator in any of its channels.
        new: the program of the new operator, in the same channel if it exists.
        kind: the class of the new operator.
        known: the expressions of the deployed operator.
        alike: parameters with channel functions may differ, since states of channels are merged.
    """
    if old.implementation.removesuffix(LOGIC_SUFFIX) != new.implementation.removesuffix(LOGIC_SUFFIX):
        return f"was made by {old.implementation}, which is replaced by {new.implementation}"
    if len(old.query) != len(new.query) or (not alike and old.query != new.query):
        return f"was made by one query of {', '.join(old.query)}; it would be one of {', '.join(new.query)}"
    if new.query and old.time_zone != new.time_zone:
        return f"is Spark's, and was made {_zones(old, new)}"
    present = expressions_of(new, new, kind)
    former = known if old.inputs == new.inputs else expressions_of(old, new, kind)
    before = _canonical(old.parameters, former if present else ())
    after = _canonical(new.parameters, present)
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    if changed and not alike and not _means_the_same(kind, before, after):
        if _canonical(old.parameters, ()) == _canonical(new.parameters, ()) and old.time_zone != new.time_zone:
            return f"was made {_zones(old, new)}, and means something else there: {', '.join(changed)}"
        noun = "parameter" if len(changed) == 1 else "parameters"
        return f"was made under another value of the {noun} {', '.join(changed)}, and may mean something else now"
    if len(old.inputs) != len(new.inputs):
        return f"was made of {len(old.inputs)} input streams, but now there are {len(new.inputs)}"
    if new.query and old.inputs != new.inputs:
        port = next(port for port, pair in enumerate(zip(old.inputs, new.inputs, strict=True)) if pair[0] != pair[1])
        return f"is Spark's, and was made of tuples of input port {port} with other attributes"
    held = kind.state_attributes(_parameters(kind, dict(new.parameters)))
    for port, (former, present) in enumerate(zip(old.inputs, new.inputs, strict=True)):
        if problem := _narrowed(former, present, held):
            return f"was made of tuples of input port {port} {problem}"
    return ""


def _zones(old: OperatorProgram, new: OperatorProgram) -> str:
    return f"in the time zone {old.time_zone}, which would be {new.time_zone}"


def expressions_of(program: OperatorProgram, ports: OperatorProgram, kind: type[Operator]) -> Expressions:
    """Return the expressions of one program, typed over the input streams of another.

    The check of the operator's class notes them. There are none if the check fails, such as if they do not fit.
    """
    text = json.dumps(program.parameters, sort_keys=True, default=str)
    return _noted(kind, text, ports.inputs, ports.outputs, ports.ports, program.time_zone)


@functools.lru_cache(maxsize=256)
def _noted(
    kind: type[Operator],
    parameters: str,
    inputs: tuple[str, ...],
    outputs: tuple[str | None, ...],
    ports: tuple[str, ...],
    time_zone: str,
) -> Expressions:
    with noted() as notes:
        try:
            context = OperatorContext.declared("", inputs, outputs, ports=ports, time_zone=time_zone)
            kind.check(context, kind.Parameters.model_validate(json.loads(parameters)))
        except Exception:  # noqa: BLE001  whatever the code of a user's operator raises
            return ()
    return tuple(notes)


def _canonical(parameters: Mapping[str, Any], expressions: Expressions) -> dict[str, Any]:
    """Return parameters with the canonical texts of their expressions, and without the places of their SPL code."""
    texts: dict[str, dict[str, str]] = {}
    for parameter, text, canonical in expressions:
        texts.setdefault(parameter.partition(".")[0], {})[text] = canonical
    return {name: _replaced(value, texts.get(name, {})) for name, value in without_places(parameters).items()}


def _replaced(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _replaced(each, texts) for key, each in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_replaced(each, texts) for each in cast("list[Any]", value)]
    return texts.get(value, value) if isinstance(value, str) else value


def conversions(old: OperatorProgram, new: OperatorProgram, kind: type[Operator]) -> str:
    """Return the attributes of a kept state that get a wider type, as `n from int to bigint`; empty if none does."""
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
    """Return a phrase about the first attribute whose new type cannot hold the stored values.

    The phrase is empty if there is no such attribute.
    """
    if before == after:
        return ""
    former, present = _types(before), _types(after)
    for name, kind in former.items():
        if held is not None and name not in held:
            continue
        if name not in present:
            return f"that had {name}, which was {kind}; this attribute no longer exists"
        if present[name] not in (kind, *_WIDER.get(kind, ())):
            return f"whose {name} was {kind}, and is {present[name]}"
    return ""


def _types(ddl: str) -> dict[str, str]:
    return {each.name: each.type for each in parse_schema(ddl).attributes}
