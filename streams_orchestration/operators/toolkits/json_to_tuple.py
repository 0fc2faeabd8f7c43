"""JSONToTuple of the toolkit com.ibm.streamsx.json: reads tuples from JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.loading.libraries import np
from streams_orchestration.operators.toolkits.tuple_to_json import attribute_type, structured_type, text_attribute
from streams_orchestration.operators.toolkits.typed_ports import TypedPortParameters, column_values
from streams_orchestration.operators.toolkits.typed_results import TypedResults
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.spl.programs.errors import RunError

Found = dict[str, Any]


class JSONToTupleParameters(TypedPortParameters):
    """The parameters of `JSONToTuple`."""

    input_attribute: str | None = Field(
        default=None,
        alias="inputAttribute",
        description="Attribute with the text; the only attribute, or jsonString, by default.",
    )
    json_string_attribute: str | None = Field(
        default=None,
        alias="jsonStringAttribute",
        description="Attribute with the text; an older name of inputAttribute.",
    )
    json_string_output_attribute: str | None = Field(
        default=None, alias="jsonStringOutputAttribute", description="Output attribute that gets the text itself."
    )
    target_attribute: str | None = Field(
        default=None,
        alias="targetAttribute",
        description="Output attribute, a tuple, list or set, that gets the JSON; the whole tuple by default.",
    )
    ignore_parsing_error: bool = Field(
        default=False, alias="ignoreParsingError", description="Drop tuples whose text is not valid JSON."
    )
    prefix_to_ignore: str = Field(
        default="", alias="prefixToIgnore", description="Prefix of attribute names that is left out in JSON."
    )


class JSONToTuple(Operator):
    """Submits each tuple with the attributes that its JSON text has.

    Other attributes come from input attributes of the same name and type, or are defaults. A text that cannot be read
    fails the application, unless `ignoreParsingError` drops its tuple or a second output port gets it.
    """

    Parameters = JSONToTupleParameters
    pure = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: JSONToTupleParameters) -> None:
        """Raise ValueError if an attribute is missing or has an unsuitable type."""
        cls._source(context, parameters)
        own = parameters.output_type(context)
        if parameters.json_string_output_attribute is not None:
            text_attribute(own, parameters.json_string_output_attribute, "jsonStringOutputAttribute")
        if parameters.target_attribute is not None:
            structured_type(own, parameters.target_attribute, "targetAttribute")
        if len(context.outputs) > 1 and context.outputs[1] != context.inputs[0]:
            message = "the second output stream must have the type of the input stream, whose tuples it gets"
            raise ValueError(message)

    @staticmethod
    def _source(context: OperatorContext, parameters: JSONToTupleParameters) -> str:
        name = parameters.input_attribute or parameters.json_string_attribute
        return text_attribute(parameters.input_type(context), name, "inputAttribute")

    def setup(self) -> None:
        """Prepare the reader."""
        self.source = self._source(self.context, self.parameters)
        self.given = self.parameters.input_type(self.context)
        self.results = TypedResults(self)
        self.read = self._reader()

    def _reader(self) -> Callable[[str], Found]:
        """Return the function from a text to the attributes of the output that it gives.

        The function raises ValueError for a text that is not JSON, and RunError for JSON that does not fit.
        """
        from streams_orchestration.spl.programs.library.json_values import parse_json, read_tuple, read_value

        prefix, target = self.parameters.prefix_to_ignore, self.parameters.target_attribute
        if target is None:
            whole = read_tuple(self.results.made, prefix)
            return lambda text: whole(parse_json(text))
        convert = read_value(attribute_type(self.results.made, target, "targetAttribute"), prefix)
        return lambda text: {target: convert(parse_json(text))}

    def process(self, port: int, batch: TupleBatch) -> None:
        """Read the texts of a batch and submit their tuples.

        A tuple whose text does not fit goes to the second port. Without this port it is dropped and counted.

        Raises:
            RunError: an attribute is null without being optional, or a value cannot be stored in its column.
        """
        texts = column_values(batch, self.given, self.source)
        found: list[Found] = []
        faulty: list[int] = []
        for place, text in enumerate(texts):
            try:
                found.append(self.read(text))
            except (ValueError, RunError) as error:
                self._refuse(place, text, error)
                faulty.append(place)
        if faulty:
            good = np.isin(np.arange(len(batch)), faulty, invert=True)
            if len(self.context.outputs) > 1:
                self.submit(batch.filter(~good), 1)
            else:
                self.context.metrics.dropped.add(len(faulty))
            texts = [text for text, is_good in zip(texts, good, strict=True) if is_good]
            batch = batch.filter(good)
        if found:
            if (name := self.parameters.json_string_output_attribute) is not None:
                found = [{**values, name: text} for values, text in zip(found, texts, strict=True)]
            self.results.submit(batch, found)

    def _refuse(self, place: int, text: str, error: Exception) -> None:
        """Raise the error of a tuple, unless another port gets it or it is dropped."""
        if len(self.context.outputs) == 1 and not self.parameters.ignore_parsing_error:
            message = f"{self.source}: {shortened(text)!r} cannot be read: {error}"
            raise TupleError(place) from DataError(message)
