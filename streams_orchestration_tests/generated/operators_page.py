"""The page of all standard operators that run, `docs/standard-operators.md`, written from their models: `make docs`."""

from __future__ import annotations

import inspect
import json
import math
import textwrap
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from streams_orchestration.model.operators import InputPortModel, OperatorSignature, OutputPortModel
from streams_orchestration.model.standard import STANDARD as SIGNATURES
from streams_orchestration.model.streams_defaults import STREAMS_DEFAULTS
from streams_orchestration.operators.contract.operator import Operator, SourceOperator
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.standard.refused import refused_parameters

EXAMPLES = Path("docs/standard-operators.yaml")
_HEAD = """\
# Standard operators

Every standard operator that runs, with its ports, parameters and state. The [reference](reference.md) says what they
have in common, and [files and other systems](systems.md) how they read and write. [What IBM Streams does
otherwise](#differences-from-ibm-streams) is at the end.

This page is written by `make docs` from the models of the operators, and from the examples in
[`standard-operators.yaml`](standard-operators.yaml), which a test compiles, or runs; edit those.
"""
_DIFFERENCES = (
    "## Differences from IBM Streams",
    "",
    "What an operator does otherwise here when a parameter is left out, and the parameter with which it does the same.",
    "",
)
_NOT_START = {
    "Custom": "May be in a consistent region, but cannot start one.",
    "FileSource": "May be in a consistent region, and start one unless it has an input port.",
}
"""Sentences on starting a consistent region for operators whose parameters do not show that rule."""
_LIMITS = {"gt": "more than", "ge": "at least", "le": "at most", "lt": "less than"}
_WIDTH = 120


def operators_page() -> str:
    """Return the page as Markdown, the operators sorted by name.

    Raises:
        OSError: the examples cannot be read.
        ImplementationError: an operator cannot be imported.
    """
    examples = yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))
    kinds = {name: import_operator(STANDARD[name]) for name in sorted(STANDARD, key=str.lower)}
    rows = (f"| [{name}](#{name.lower()}) | {_paragraphs(kind)[0]} |" for name, kind in kinds.items())
    sections = (_section(name, kind, examples[name]) for name, kind in kinds.items())
    return "\n".join([_HEAD, "| operator | |", "|---|---|", *rows, "", *sections, *_differences()])


def _paragraphs(kind: type[Operator]) -> list[str]:
    """Return the paragraphs of the docstring of an operator, each in one line."""
    text = inspect.cleandoc(kind.__doc__ or "")
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def _differences() -> list[str]:
    """Return the section on what IBM Streams does otherwise by default."""
    rows = [
        f"| {each.operator} | {_escaped(each.here)} | {_escaped(each.streams)} | {_written(each.parameters)} |"
        for each in STREAMS_DEFAULTS
    ]
    return [*_DIFFERENCES, "| operator | here | in IBM Streams | as there with |", "|---|---|---|---|", *rows, ""]


def _written(parameters: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}: {json.dumps(value).strip(chr(34))}`" for name, value in parameters.items()) or "–"


def _section(name: str, kind: type[Operator], example: Mapping[str, Any]) -> str:
    signature = SIGNATURES[name]
    about = [textwrap.fill(each, _WIDTH, break_on_hyphens=False) + "\n" for each in _paragraphs(kind)]
    outputs = _ports(signature.outputs, signature.least_outputs, signature.most_outputs)
    facts = [
        f"Input ports: {_ports(signature.inputs, signature.least_inputs, signature.most_inputs)}",
        f"Output ports: {outputs}{'; one more with `onError: route`' if signature.routes_failures else ''}",
        f"State: {_state(kind)}",
        _region(name, signature),
    ]
    listed = [
        textwrap.fill(fact, _WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        for fact in facts
    ]
    return "\n".join([f"## {name}", "", *about, *listed, "", *_parameters(kind), *_refused(kind), *_example(example)])


def _ports(models: Sequence[InputPortModel] | Sequence[OutputPortModel], least: int, most: int | None) -> str:
    """Return the number of ports in words, with notes about control ports and window markers.

    Without `most`, the number has no limit.
    """
    count = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
    notes = [note for number, model in enumerate(models) for note in _port_notes(number, model)]
    return "; ".join([count if most != 0 else "none", *notes])


def _port_notes(number: int, model: InputPortModel | OutputPortModel) -> list[str]:
    if isinstance(model, InputPortModel):
        notes = {"is a control port": model.control, "takes window markers for its windows": model.window_bound}
    else:
        generates = model.generates_window_punctuation
        notes = {"makes window markers": generates, "passes window markers on": model.preserves_window_punctuation}
    return [f"port {number} {note}" for note, holds in notes.items() if holds]


def _state(kind: type[Operator]) -> str:
    if issubclass(kind, SourceOperator):
        kept = "its offset"
    elif kind.checkpoint is not Operator.checkpoint:
        kept = "kept at checkpoints"
    else:
        return "none"
    divided = kind.rescale is not Operator.rescale or bool(kind.state_keys)
    return f"{kept}; a redeploy with another width {'can divide it' if divided else 'cannot divide it'}"


def _region(name: str, signature: OperatorSignature) -> str:
    support = signature.consistent
    if name in _NOT_START:
        return _NOT_START[name]
    if not support.member:
        return f"Cannot be in a consistent region: {support.reason}."
    return f"May be in a consistent region{', and start one' if support.start else ', but cannot start one'}."


def _parameters(kind: type[Operator]) -> list[str]:
    fields = sorted(kind.Parameters.model_fields.items(), key=lambda item: not item[1].is_required())
    if not fields:
        return ["No parameters.", ""]
    rows = [f"| `{info.alias or name}` | {_type(info)} | {_default(info)} | {_cell(info)} |" for name, info in fields]
    return ["| parameter | type | default | |", "|---|---|---|---|", *rows, ""]


def _type(info: FieldInfo) -> str:
    texts = list(dict.fromkeys(_types(info.annotation)))
    for constraint in info.metadata:
        texts[-1] += "".join(
            f", {word} {getattr(constraint, name)}"
            for name, word in _LIMITS.items()
            if getattr(constraint, name, None) is not None
        )
    return " or ".join(texts)


def _types(annotation: Any) -> list[str]:
    """Return the types that an annotation allows, in words for the page."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _types(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return [text for argument in arguments if argument is not type(None) for text in _types(argument)]
    if origin is typing.Literal:
        return [", ".join(f"`{value}`" for value in arguments)]
    words = {str: "text", bool: "true or false", int: "integer", float: "number"}
    if annotation in words:
        return [words[annotation]]
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, Mapping | BaseModel):
        return ["mapping"]
    return ["list" if isinstance(kind, type) and issubclass(kind, Sequence) and kind is not str else "text"]


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if value is None or value in ("", [], {}):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _cell(info: FieldInfo) -> str:
    return _escaped(info.description or "")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _refused(kind: type[Operator]) -> list[str]:
    """Return a table of the parameters of IBM Streams that are not supported, with the reasons; empty without any."""
    refused = refused_parameters(kind)
    if not refused:
        return []
    rows = [f"| `{name}` | {_escaped(reason)} |" for name, reason in sorted(refused.items())]
    return ["| not here | instead |", "|---|---|", *rows, ""]


def _example(example: Mapping[str, Any]) -> list[str]:
    """Return the graph of an example, its files, and the tuples that it reads and submits."""
    files = [line for name, text in example.get("files", {}).items() for line in (f"# {name}", *text.splitlines(), "")]
    tuples = [
        f"{verb} {yaml.safe_dump(each, default_flow_style=True, width=math.inf, sort_keys=False).strip()}"
        for verb in ("reads", "submits")
        if (each := example.get(verb))
    ]
    shown = [*files, *tuples]
    text = ["```text", "\n".join(shown).rstrip(), "```", ""] if shown else []
    return ["```yaml", example["graph"].rstrip(), "```", "", *text]
