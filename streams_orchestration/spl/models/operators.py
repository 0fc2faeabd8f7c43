"""Operator models for checking invocations.

Models of the standard toolkit are read from `standard.txt`. Models of other toolkits' operators that are implemented
here are read from `toolkits.txt`.

>>> aggregate = standard_operator("spl.relational::Aggregate")
>>> [str(each) for each in aggregate.outputs[0].functions if each.name == "Max"][0]
'T Max(T)'
>>> aggregate.parameters["groupBy"].mode, standard_operator("Beacon").input_counts
('Expression', (0, 0))
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TypeVar

from streams_orchestration.spl.functions.signatures import Signature, signature_of_text

IMPLICIT_NAMESPACES = (
    *("spl", "spl.adapter", "spl.collection", "spl.control", "spl.eventtime", "spl.math", "spl.relational"),
    *("spl.string", "spl.time", "spl.utility", "spl.XML"),
)
"""The namespaces whose names every file may use."""


@dataclass(frozen=True, slots=True)
class InputPorts:
    """One or more input ports with equal properties.

    Attributes:
        count: the number of ports; None for any number.
        windowing: `never`, `optional` or `always`.
        mutable: True if logic may change the tuples.
        control: True if the ports only control the operator.
        optional: True if the ports may be left out.
    """

    count: int | None
    windowing: str = "never"
    mutable: bool = False
    control: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class OutputPorts:
    """One or more output ports with equal properties.

    Attributes:
        count: the number of ports; None for any number.
        mode: the expressions that an `output` clause may have, as in `ParameterModel`; `Nonexistent` for none.
        auto: True if attributes without an assignment come from input attributes of equal name and type.
        complete: True if every attribute must be assigned, or come from an input attribute.
        marks: the treatment of window markers: `Generating`, `Free` or `Preserving`.
        functions: the output functions.
        opaque: the output functions whose types cannot be read.
        default: the output function that is applied to an assignment without one; empty for none.
        optional: True if the ports may be left out.
    """

    count: int | None
    mode: str = "Nonexistent"
    auto: bool = False
    complete: bool = False
    marks: str = "Free"
    functions: tuple[Signature, ...] = ()
    opaque: tuple[str, ...] = ()
    default: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class ParameterModel:
    """A parameter of an operator.

    Attributes:
        mode: `Expression`, `Attribute`, `AttributeFree`, `Constant`, `CustomLiteral`, or `Text` for an expression over
            names that other applications define, as a subscription.
        type: the type of the values as the model writes it; empty for any type.
        count: the number of values; None for any number.
        words: the allowed words of a `CustomLiteral`.
        port: the input port whose attributes the values may read; None for all ports.
    """

    name: str
    mode: str
    optional: bool = False
    type: str = ""
    count: int | None = None
    words: tuple[str, ...] = ()
    port: int | None = None


@dataclass(frozen=True, slots=True)
class SplOperatorModel:
    """The model of an SPL operator.

    Attributes:
        any_parameter: True if the operator accepts parameters that the model does not name.
        implementation: the Python class of an operator of a toolkit that is implemented here, `module:Class`.
        stateful: True if a tuple's results depend on earlier tuples.
    """

    kind: str
    inputs: tuple[InputPorts, ...] = ()
    outputs: tuple[OutputPorts, ...] = ()
    parameters: dict[str, ParameterModel] = field(default_factory=dict[str, ParameterModel])
    any_parameter: bool = False
    implementation: str = ""
    stateful: bool = True

    @property
    def name(self) -> str:
        """The operator's name without the namespace."""
        return self.kind.rpartition("::")[2]

    @property
    def input_counts(self) -> tuple[int, int | None]:
        """The smallest and the largest number of input ports; None for no limit."""
        return _counts(self.inputs)

    @property
    def output_counts(self) -> tuple[int, int | None]:
        """The smallest and the largest number of output ports; None for no limit."""
        return _counts(self.outputs)

    def input(self, number: int) -> InputPorts | None:
        """Return the model of the input port with a number, or None if there is no such port."""
        return _port(self.inputs, number)

    def output(self, number: int) -> OutputPorts | None:
        """Return the model of the output port with a number, or None if there is no such port."""
        return _port(self.outputs, number)


def is_single(model: SplOperatorModel, name: str) -> bool:
    """Return True if the model says that a parameter has one value; False for a parameter that it lacks."""
    return name in model.parameters and model.parameters[name].count == 1


_Ports = TypeVar("_Ports", InputPorts, OutputPorts)


def standard_operator(name: str) -> SplOperatorModel | None:
    """Return the model of an operator of the standard toolkit by its name, with or without its namespace.

    None if there is none.
    """
    models = _models("standard.txt")
    if "::" in name:
        return models.get(name)
    return next((models[kind] for each in IMPLICIT_NAMESPACES if (kind := f"{each}::{name}") in models), None)


def toolkit_operator(kind: str) -> SplOperatorModel | None:
    """Return the model of an operator that is implemented here and belongs to a toolkit, by its name with namespace.

    None if there is none.
    """
    return _models("toolkits.txt").get(kind)


def standard_operators() -> tuple[str, ...]:
    """Return the names of all operators of the standard toolkit, with namespaces."""
    return tuple(_models("standard.txt"))


def _counts(ports: tuple[InputPorts, ...] | tuple[OutputPorts, ...]) -> tuple[int, int | None]:
    least = sum(each.count or 0 for each in ports if not each.optional)
    counts = [each.count for each in ports]
    return least, None if None in counts else sum(each or 0 for each in counts)


def _port(ports: tuple[_Ports, ...], number: int) -> _Ports | None:
    for each in ports:
        if each.count is None or number < each.count:
            return each
        number -= each.count
    return None


@cache
def _models(file: str) -> dict[str, SplOperatorModel]:
    text = files("streams_orchestration.spl.models").joinpath(file).read_text(encoding="utf-8")
    blocks = [block for block in text.split("\n\n") if not block.startswith("#")]
    return {model.kind: model for model in map(model_of_text, blocks)}


_WORD = re.compile(r"(\w+)=(\S+)|(\S+)")


def model_of_text(text: str) -> SplOperatorModel:
    """Parse a model in the form of `standard.txt`: the name, then lines for ports, output functions and parameters.

    Raises UnreadableSignatureError for the signature of an output function that cannot be read.
    """
    lines = text.strip().splitlines()
    inputs: list[InputPorts] = []
    outputs: list[OutputPorts] = []
    parameters: dict[str, ParameterModel] = {}
    any_parameter, implementation, stateful = False, "", True
    functions = [
        signature_of_text("", line.strip().removeprefix("function "))
        for line in lines
        if line.strip().startswith("function ")
    ]
    for line in lines[1:]:
        kind, _, rest = line.strip().partition(" ")
        values = {match[1]: match[2] for match in _WORD.finditer(rest) if match[1]}
        words = [match[3] for match in _WORD.finditer(rest) if match[3]]
        if kind == "in":
            flags = {"mutable", "control", "optional"} & set(words)
            windowing = values.get("window", "never")
            inputs.append(InputPorts(_count(words[0]), windowing, **dict.fromkeys(flags, True)))
        elif kind == "out":
            auto, complete, optional = (flag in words for flag in ("auto", "complete", "optional"))
            functional = tuple(functions) if "functions" in words else ()
            outputs.append(
                OutputPorts(
                    _count(words[0]),
                    values.get("mode", "Nonexistent"),
                    auto=auto,
                    complete=complete,
                    marks=values.get("marks", "Free"),
                    functions=functional,
                    default=values.get("default", ""),
                    optional=optional,
                )
            )
        elif kind == "python":
            implementation, stateful = words[0], "stateless" not in words
        elif kind == "param" and words[0] == "any":
            any_parameter = True
        elif kind == "param":
            name = words[0].removesuffix("?")
            port = values.get("port")
            parameters[name] = ParameterModel(
                name,
                words[1],
                optional=words[0].endswith("?"),
                type=values.get("type", ""),
                count=_count(values.get("count", "*")),
                words=tuple(values["words"].split(",")) if "words" in values else (),
                port=None if port is None else int(port),
            )
    return SplOperatorModel(
        *(lines[0].strip(), tuple(inputs), tuple(outputs), parameters, any_parameter),
        implementation=implementation,
        stateful=stateful,
    )


def _count(text: str) -> int | None:
    return None if text == "*" else int(text)
