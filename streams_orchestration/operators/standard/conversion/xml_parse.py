"""XMLParse: reads tuples from XML."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError, check_attributes
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.formats.xml_paths import (
    ParsedElement,
    XmlError,
    XmlReader,
    path_finder,
    trigger_path,
)
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch


class XmlParseParameters(Parameters):
    """The parameters of `XMLParse`."""

    trigger: str | list[str] = Field(
        min_length=1, description="Path of the elements that give a tuple, as in /a/b; one for each output port."
    )
    xml_input: str | None = Field(
        default=None,
        alias="xmlInput",
        description="Attribute with the text or bytes of documents, which may continue in the next tuple. "
        "May be omitted if there is only one.",
    )
    parsing: Literal["strict", "permissive"] = Field(
        default="strict",
        description="permissive: drop and count documents that are not well-formed, and elements without a value.",
    )
    paths: dict[str, str] | list[dict[str, str]] = Field(
        default_factory=dict[str, str],
        description="Maps names for expressions to paths in the element, as in name/text() or @id; '' for none.",
    )
    path_lists: dict[str, str] | list[dict[str, str]] = Field(
        default_factory=dict[str, str],
        alias="pathLists",
        description="Maps names for expressions to paths whose texts are a list.",
    )
    output: dict[str, ExpressionText] | list[dict[str, ExpressionText]] = Field(
        default_factory=dict,
        description="Maps attributes to expressions over these names and the attributes of the input stream.",
    )

    @property
    def triggers(self) -> list[tuple[str, ...]]:
        """The names of the elements on the path of each trigger. Raises ValueError for a path of another form."""
        return [trigger_path(each) for each in ([self.trigger] if isinstance(self.trigger, str) else self.trigger)]

    def of_port(self, name: str, port: int) -> dict[str, str]:
        """Return the part of a parameter that belongs to an output port; empty if there is none."""
        value = getattr(self, name)
        given = value if isinstance(value, list) else [value]
        return given[port] if port < len(given) else {}


class XMLParse(Operator):
    """Submits a tuple for each element that a trigger names, and a window marker after each document.

    A document may begin in one tuple and end in another; attributes of the input come from the tuple in which the
    element ends. Names are compared as they are written, with their prefixes. Paths are names, `*`, `.`, `@name`,
    `text()`, and the conditions `[2]`, `[@a="v"]` and `[a="v"]`.
    """

    Parameters = XmlParseParameters
    stateful = True
    indivisible = "is the beginning of a document that one channel has read"
    passes_marks = False

    @classmethod
    def check(cls, context: OperatorContext, parameters: XmlParseParameters) -> None:
        """Raise ValueError unless each output port has one trigger, and the input, paths and expressions fit."""
        if len(parameters.triggers) != len(context.outputs):
            message = f"trigger: one for each of the {len(context.outputs)} output ports is expected"
            raise ValueError(message)
        cls._input(context, parameters)
        for port in range(len(context.outputs)):
            cls._port(context, parameters, port)

    @staticmethod
    def _input(context: OperatorContext, parameters: XmlParseParameters) -> str:
        schema = context.inputs[0]
        name = parameters.xml_input or schema.names[0]
        if parameters.xml_input is None and len(schema) != 1:
            message = f"xmlInput: name the attribute that contains the documents: {', '.join(schema.names)}"
            raise ValueError(message)
        check_attributes("xmlInput", [name], schema.names)
        kind = schema.field(name).type
        if not (pa.types.is_string(kind) or pa.types.is_binary(kind)):
            message = f"xmlInput: {name} is {type_name(kind)}, but string or binary is expected"
            raise ValueError(message)
        return name

    @staticmethod
    def _port(context: OperatorContext, parameters: XmlParseParameters, port: int) -> _Port:
        paths, lists = (parameters.of_port(name, port) for name in ("paths", "path_lists"))
        fields = [pa.field(name, pa.string()) for name in paths]
        fields += [pa.field(name, pa.list_(pa.string())) for name in lists]
        source, target = pa.schema([*context.inputs[0], *fields]), context.outputs[port]
        assert target is not None
        output = parameters.of_port("output", port)
        finders = {name: path_finder(path) for name, path in (paths | lists).items()}
        made = Assignments(output, source, target, context.zone, context.required_at(port))
        return _Port(made, source, finders, frozenset(lists))

    def setup(self) -> None:
        """Prepare the reader, which has read nothing yet."""
        self.content = self._input(self.context, self.parameters)
        self.ports = [self._port(self.context, self.parameters, port) for port in range(len(self.context.outputs))]
        text = pa.types.is_string(self.context.inputs[0].field(self.content).type)
        self.reader = XmlReader(self.parameters.triggers, "utf-8" if text else None)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Read the documents of a batch, and submit their tuples and a window marker after each.

        With `parsing: permissive`, documents that are not valid, and elements without a value, are dropped and counted.
        """
        found: list[list[tuple[int, ParsedElement]]] = [[] for _ in self.ports]
        for place, value in enumerate(batch.arrow.column(self.content).to_pylist()):
            data = value.encode() if isinstance(value, str) else value or b""
            try:
                for each in self.reader.read(data):
                    if each is not None:
                        found[each[0]].append((place, each[1]))
                        continue
                    self._submit(batch, found)
                    for number in range(len(self.ports)):
                        self.punctuate(Punctuation.WINDOW, number)
            except XmlError as error:
                message = f"xmlInput: {shortened(data.decode(errors='replace'))!r}: {error}"
                if self.parameters.parsing == "strict":
                    raise TupleError(place) from DataError(message)
                self._drop(message)
        self._submit(batch, found)

    def _drop(self, message: str) -> None:
        self.context.logger.warning("%s", message)
        self.context.metrics.dropped.add(1)

    def _submit(self, batch: TupleBatch, found: list[list[tuple[int, ParsedElement]]]) -> None:
        """Submit the elements found so far, and forget them."""
        for number, port in enumerate(self.ports):
            if found[number]:
                places, elements = zip(*found[number], strict=True)
                self._submit_port(number, port.rows(batch.arrow, list(places), list(elements)))
            found[number].clear()

    def _submit_port(self, number: int, rows: pa.RecordBatch) -> None:
        made = self.ports[number].assignments
        try:
            self.submit(made.apply(rows), number)
        except DataError:
            if self.parameters.parsing == "strict":
                raise
            for place in range(rows.num_rows):
                try:
                    result = made.apply(rows.slice(place, 1))
                except DataError as error:
                    self._drop(str(error))
                else:
                    self.submit(result, number)

    def checkpoint(self) -> State:
        """Return the bytes of the document whose end has not come yet."""
        return {"rest": pa.table({"rest": pa.array([self.reader.rest], pa.binary())})}

    def restore(self, state: State) -> None:
        """Restore the document that has begun. Its complete elements have been submitted."""
        for _ in self.reader.read(state["rest"].column("rest")[0].as_py()):
            pass


class _Port:
    """The columns and the expressions of one output port."""

    def __init__(
        self, assignments: Assignments, source: pa.Schema, finders: dict[str, Any], several: frozenset[str]
    ) -> None:
        self.assignments = assignments
        self._source = source
        self._finders = finders
        self._several = several

    def rows(self, batch: pa.RecordBatch, places: list[int], elements: list[ParsedElement]) -> pa.RecordBatch:
        """Return the tuples in which elements ended, with the texts of the paths in these elements.

        A path that gives one text gives the first one, or an empty text.
        """
        columns = batch.take(pa.array(places)).columns
        for name, find in self._finders.items():
            texts = [find(each) for each in elements]
            kind = self._source.field(name).type
            values = texts if name in self._several else [next(iter(each), "") for each in texts]
            columns.append(pa.array(values, kind))
        return pa.RecordBatch.from_arrays(columns, schema=self._source)
