"""Reading of the XML files of toolkits: operator models, function models, and the index of a toolkit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from streams_orchestration.spl.functions.signatures import (
    Signature,
    UnreadableSignatureError,
    separated,
    signature_of_text,
)
from streams_orchestration.spl.models.operators import InputPorts, OutputPorts, ParameterModel, SplOperatorModel

_OutputFunctions = tuple[tuple[Signature, ...], tuple[str, ...]]
_WINDOWING = {"Windowed": "always", "OptionallyWindowed": "optional"}
_MODIFIERS = re.compile(r"^(?:(?:public|stateful) )+")
_PARAMETER_NAME = re.compile(r"(?<=[\w>\]}])(?<!^mutable)\s+\w+$")
_STATEFUL = re.compile(r"^(?:public )?stateful ")
_LARGEST = 16 * 2**20
"""The size limit of a file in bytes; a larger file is not read."""


class ModelError(ValueError):
    """The file is not an operator model, a function model, or the index of a toolkit."""


@dataclass(frozen=True, slots=True)
class Prototype:
    """A native function as its model describes it.

    Attributes:
        text: the signature in the form that `signatures` parses, perhaps with named types.
        public: True if other namespaces may call it.
    """

    name: str
    text: str
    public: bool


def read_model(path: Path, kind: str) -> SplOperatorModel:
    """Return the operator that a model describes; `kind` is its name with the namespace.

    Raises:
        ModelError: the file cannot be read as an operator model.
    """
    root = _root(path, "operatorModel", "an operator model")
    return model_of_element(root, kind)


def read_toolkit(path: Path) -> dict[str, SplOperatorModel]:
    """Return the primitive operators that the index of a toolkit, `toolkit.xml`, describes, by name with namespace.

    Raises:
        ModelError: the file cannot be read as an index of a toolkit.
    """
    root = _root(path, "toolkitModel", "an index of a toolkit")
    models: dict[str, SplOperatorModel] = {}
    for namespace in _all(root, "namespace"):
        for each in _all(namespace, "primitiveOperator"):
            name = f"{namespace.get('name', '')}::{each.get('name', '')}".removeprefix("::")
            model = next((inner for inner in each.iter() if _local(inner) == "operatorModel"), each)
            models[name] = model_of_element(model, name)
    return models


def read_functions(path: Path) -> tuple[Prototype, ...]:
    """Return the native functions that a function model, `function.xml`, describes.

    Raises:
        ModelError: the file cannot be read as a function model.
    """
    root = _root(path, "functionModel", "a function model")
    found: list[Prototype] = []
    for each in _all(root, "prototype"):
        text = without_names(each.text or "")
        name = text.partition("(")[0].rpartition(" ")[2]
        if name:
            found.append(Prototype(name, text, "public" in (each.text or "").partition("(")[0].split()))
    return tuple(found)


def model_of_element(root: ET.Element, kind: str) -> SplOperatorModel:
    """Return the operator that an `operatorModel` element describes, for C++ or Java."""
    enumerations = {
        _text(each, "name"): tuple((value.text or "").strip() for value in each if _local(value) == "value")
        for each in _all(root, "enumeration")
    }
    functions = {_text(each, "name"): _prototypes(each) for each in _all(root, "customOutputFunction")}
    outputs = [_output(each, functions) for each in _all(root, "outputPortSet", "outputPortOpenSet")]
    inputs = [_input(each) for each in _all(root, "inputPortSet", "inputPortOpenSet")]
    parameters = [
        _parameter(each, enumerations)
        for group in _all(root, "parameters")
        for each in group
        if _local(each) == "parameter"
    ]
    any_parameter = any(_flag(group, "allowAny") for group in _all(root, "parameters"))
    return SplOperatorModel(
        kind, tuple(inputs), tuple(outputs), {each.name: each for each in parameters}, any_parameter
    )


def _input(element: ET.Element) -> InputPorts:
    return InputPorts(
        _cardinality(element),
        _WINDOWING.get(_text(element, "windowingMode"), "never"),
        mutable=_flag(element, "tupleMutationAllowed"),
        control=_flag(element, "controlPort"),
        optional=_flag(element, "optional"),
    )


def _output(element: ET.Element, functions: dict[str, _OutputFunctions]) -> OutputPorts:
    signatures: tuple[Signature, ...] = ()
    opaque: tuple[str, ...] = ()
    used = next((each for each in element if _local(each) == "outputFunctions"), None)
    if used is not None:
        signatures, opaque = functions.get(_text(used, "type"), ((), ()))
    return OutputPorts(
        _cardinality(element),
        _text(element, "expressionMode") or ("Expression" if _local(element).startswith("output") else "Nonexistent"),
        auto=_flag(element, "autoAssignment"),
        complete=_flag(element, "completeAssignment"),
        marks=_text(element, "windowPunctuationOutputMode") or "Free",
        functions=signatures,
        opaque=opaque,
        default="" if used is None else _text(used, "default"),
        optional=_flag(element, "optional"),
    )


def _parameter(element: ET.Element, enumerations: dict[str, tuple[str, ...]]) -> ParameterModel:
    type_ = _text(element, "type")
    mode = _text(element, "expressionMode") or "Expression"
    cardinality = _text(element, "cardinality")
    ports = [(port.text or "").strip() for scope in _all(element, "portScope") for port in _all(scope, "port")]
    words = enumerations.get(type_, ()) if mode == "CustomLiteral" else ()
    return ParameterModel(
        _text(element, "name"),
        mode,
        optional=_flag(element, "optional"),
        type="" if mode == "CustomLiteral" else type_,
        count=int(cardinality) if cardinality.isdecimal() else None,
        words=words,
        port=int(ports[0]) if len(ports) == 1 and ports[0].isdecimal() else None,
    )


def _prototypes(element: ET.Element) -> _OutputFunctions:
    """Return the signatures of output functions, and the names of those whose signatures name a toolkit's types."""
    found: list[Signature] = []
    opaque: list[str] = []
    for each in _all(element, "prototype"):
        text = without_names(each.text or "")
        try:
            found.append(signature_of_text("", text))
        except UnreadableSignatureError:
            opaque.append(text.partition("(")[0].rpartition(" ")[2])
    return tuple(found), tuple(dict.fromkeys(opaque))


def without_names(prototype: str) -> str:
    """Return a prototype of a function without the names of its parameters, as `signatures` reads it.

    >>> without_names("<any T>[N]  public list<T>[N] Of (list<T>[N] v, mutable  tuple<int32 a> w)")
    '<any T> [N] list<T>[N] Of(list<T>[N], mutable tuple<int32 a>)'
    >>> without_names("<any T> public stateful void send(T what)")
    'stateful <any T> void send(T)'
    """
    text = " ".join(prototype.split())
    variables = re.match(r"(?:<[^>]*> ?)?(?:\[[^\]]*\] ?)?", text)
    assert variables is not None
    words, text = variables[0], text[variables.end() :]
    stateful = bool(_STATEFUL.match(text))
    head, _, rest = _MODIFIERS.sub("", text).partition("(")
    head = " ".join([*["stateful"] * stateful, *words.replace(">", "> ").split(), head])
    types = [_PARAMETER_NAME.sub("", part) for part in separated(rest.rpartition(")")[0])]
    return f"{head.strip()}({', '.join(types)})"


def _cardinality(element: ET.Element) -> int | None:
    if _local(element).endswith("OpenSet"):
        return None
    text = _text(element, "cardinality")
    return int(text) if text.isdecimal() else 1


def _root(path: Path, name: str, what: str) -> ET.Element:
    try:
        if path.stat().st_size > _LARGEST:
            message = f"{path} has more than {_LARGEST} bytes"
            raise ModelError(message)
        text = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}"
        raise ModelError(message) from error
    if b"<!ENTITY" in text:
        message = f"{path} declares entities, which are not allowed in an operator model"
        raise ModelError(message)
    try:
        root = ET.fromstring(text)  # noqa: S314 - entities are refused above
    except ET.ParseError as error:
        message = f"{path} is not XML: {error}"
        raise ModelError(message) from error
    if _local(root) != name:
        message = f"{path} is not {what}: it begins with {_local(root)}"
        raise ModelError(message)
    return root


def _local(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _all(element: ET.Element, *names: str) -> list[ET.Element]:
    return [each for each in element.iter() if _local(each) in names]


def _text(element: ET.Element, name: str) -> str:
    return next(((each.text or "").strip() for each in element if _local(each) == name), "")


def _flag(element: ET.Element, name: str) -> bool:
    return _text(element, name) == "true"
