"""TupleToJSON of the toolkit com.ibm.streamsx.json: writes tuples as JSON."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import UnknownAttributeError
from streams_orchestration.operators.toolkits.typed_ports import TypedPortParameters, column_values, tuple_values
from streams_orchestration.operators.toolkits.typed_results import TypedResults
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.types.types import Collection, Tuple, Type, is_string

JSON_STRING = "jsonString"
"""The attribute with the JSON text if no parameter names one and the stream has several."""


class TupleToJSONParameters(TypedPortParameters):
    """The parameters of `TupleToJSON`."""

    input_attribute: str | None = Field(
        default=None,
        alias="inputAttribute",
        description="Attribute with a tuple, list or set to write; the whole tuple by default.",
    )
    root_attribute: str | None = Field(
        default=None, alias="rootAttribute", description="Attribute to write; an older name of inputAttribute."
    )
    json_string_attribute: str | None = Field(
        default=None,
        alias="jsonStringAttribute",
        description="Output attribute that gets the text; the only attribute, or jsonString, by default.",
    )
    prefix_to_ignore: str = Field(
        default="", alias="prefixToIgnore", description="Prefix of attribute names that is left out in JSON."
    )


class TupleToJSON(Operator):
    """Submits each tuple with its JSON text; other attributes come from input attributes of the same name and type.

    Timestamps are seconds since 1970; blobs, XML and complex numbers are null.
    """

    Parameters = TupleToJSONParameters
    pure = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: TupleToJSONParameters) -> None:
        """Raise ValueError if an attribute is missing or has an unsuitable type."""
        cls._root(context, parameters)
        cls._target(context, parameters)

    @staticmethod
    def _root(context: OperatorContext, parameters: TupleToJSONParameters) -> tuple[str, Type]:
        """Return the attribute to write, with its type; an empty name for the whole tuple."""
        given = parameters.input_type(context)
        name = parameters.input_attribute or parameters.root_attribute
        if name is None:
            return "", given
        return name, structured_type(given, name, "inputAttribute")

    @staticmethod
    def _target(context: OperatorContext, parameters: TupleToJSONParameters) -> str:
        return text_attribute(parameters.output_type(context), parameters.json_string_attribute, "jsonStringAttribute")

    def setup(self) -> None:
        """Prepare the writer."""
        from streams_orchestration.spl.programs.library.json_texts import json_text

        self.root, kind = self._root(self.context, self.parameters)
        self.target = self._target(self.context, self.parameters)
        self.given = self.parameters.input_type(self.context)
        self.results = TypedResults(self)
        self.write = json_text(kind, self.parameters.prefix_to_ignore)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the tuples of a batch with their JSON texts.

        Raises:
            RunError: an attribute is null without being optional, or a value cannot be stored in its column.
        """
        values = column_values(batch, self.given, self.root) if self.root else tuple_values(batch, self.given)
        self.results.submit(batch, [{self.target: self.write(each)} for each in values])


def attribute_type(type_: Tuple, name: str, parameter: str) -> Type:
    """Return the type of an attribute. Raise UnknownAttributeError if there is no such attribute."""
    kind = type_.type_of(name)
    if kind is None:
        names = [each.name for each in type_.attributes]
        message = f"{parameter}: the stream has no attribute {name}{nearest(name, names)}"
        raise UnknownAttributeError(message)
    return kind


def structured_type(type_: Tuple, name: str, parameter: str) -> Type:
    """Return the type of an attribute. Raise ValueError if it is not a tuple, a list or a set."""
    kind = attribute_type(type_, name, parameter)
    if not (isinstance(kind, Tuple) or (isinstance(kind, Collection) and kind.kind != "map")):
        message = f"{parameter}: {name} is {kind}, but a tuple, list or set is expected"
        raise ValueError(message)
    return kind


def text_attribute(type_: Tuple, name: str | None, parameter: str) -> str:
    """Return the attribute with JSON: the named one, the only one, or `jsonString`. Raise ValueError for no string."""
    name = name or (type_.attributes[0].name if len(type_.attributes) == 1 else JSON_STRING)
    kind = attribute_type(type_, name, parameter)
    if not is_string(kind):
        message = f"{parameter}: {name} is {kind}, but rstring or ustring is expected"
        raise ValueError(message)
    return name
