"""Split: sends every tuple to one or more of its output ports."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field

from streams_orchestration.model.short_texts import shortened
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.evaluation import parse_expression
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import (
    ExpressionParameters,
    FailureFilter,
    check_failure_port,
    own_outputs,
)
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.storage.input_files import resolve_input
from streams_orchestration.operators.tuples.arrow_types import is_text, type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

DEFAULT = "default"
"""The key in a mapping file whose ports apply to all keys not listed."""


class SplitParameters(ExpressionParameters):
    """The parameters of `Split`."""

    index: ExpressionText | int | list[ExpressionText | int] | None = Field(
        default=None,
        description=(
            "An expression for the port number, or a list of numbers, modulo the number of ports. A tuple with a "
            "negative or null number is dropped."
        ),
    )
    file: str | None = Field(
        default=None,
        description=(
            "CSV file of keys with their indexes, written as for `index`: `UA,0,2`, `default,-1`. A `#` after "
            "the indexes or in front of a line begins a comment."
        ),
    )
    key: ExpressionText | None = Field(
        default=None, description="An expression whose value, as text, is looked up in the file."
    )
    repeat: bool = Field(
        default=False, description="Send a tuple to a port as often as index, or the line of the file, names the port."
    )
    unlisted: Literal["drop", "fail"] = Field(
        default="drop",
        alias="unlisted",
        description="A tuple whose key is not in a file without a line `default`: drop it, or stop the application.",
    )

    def _faults(self) -> Iterator[str]:
        if self.file is None and self.unlisted != "drop":
            yield "unlisted needs the parameters file and key"
        if (self.file is None) != (self.key is None) or (self.index is None) == (self.file is None):
            yield "either the parameter index, or file and key are expected"


class Split(Operator):
    """Sends each tuple to output ports, at most once to each unless `repeat` is true.

    The order of tuples is kept on every port.
    """

    keeps_places = True
    Parameters = SplitParameters
    naming_parameters = NamingParameters(expressions=("key", "index"))
    pure = True

    @classmethod
    def input_files(cls, parameters: SplitParameters) -> tuple[str, ...]:
        """Return the file that maps keys to output ports."""
        return () if parameters.file is None else (parameters.file,)

    @classmethod
    def check(cls, context: OperatorContext, parameters: SplitParameters) -> None:
        """Raise ValueError if an expression, the file or the port for failed tuples does not fit."""
        cls._compile(context, parameters)

    @classmethod
    def _compile(cls, context: OperatorContext, parameters: SplitParameters) -> tuple[list[Any], dict[str, list[int]]]:
        check_failure_port(context, parameters, context.inputs[0])
        source = context.inputs[0]
        if parameters.key is not None and parameters.file is not None:
            key = parse_expression(parameters.key, source, "key", context.zone)
            if not pa.types.is_integer(key.arrow_type) and not is_text(key.arrow_type):
                message = f"{parameters.key!r} is {key.type}, but a text or an integer is expected"
                key.refuse(message)
            return [key], _read_mapping(context, parameters.file, len(own_outputs(context, parameters)))
        texts = parameters.index if isinstance(parameters.index, list) else [parameters.index]
        indexes = [parse_expression(str(text), source, "index", context.zone) for text in texts]
        for text, index in zip(texts, indexes, strict=True):
            kind = index.arrow_type
            if not pa.types.is_integer(kind.value_type if pa.types.is_list(kind) else kind):
                message = f"{text!r} is {type_name(kind)}, but an integer is expected; CAST it AS BIGINT"
                index.refuse(message)
        return indexes, {}

    def setup(self) -> None:
        """Compile the expressions, and read the file if there is one."""
        self.expressions, self.mapping = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, self.expressions)
        self.width = len(own_outputs(self.context, self.parameters))

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit each tuple to the ports of its index or key; set failed tuples aside."""
        tuples, failures = self.failure_filter.split(batch)
        values = [tuples.value(expression) for expression in self.expressions]
        masks = self._by_key(values[0]) if self.mapping else self._by_index(values)
        self.failure_filter.distribute(batch, list(masks), (tuples, failures))

    def _by_index(self, values: list[pa.Array]) -> np.ndarray:
        counts = np.zeros((self.width, len(values[0])), np.int64)
        for array in values:
            if pa.types.is_list(array.type):
                self._count_lists(array, counts)
                continue
            numbers = pc.fill_null(self._numbers(array), -1).to_numpy(zero_copy_only=False)
            valid = np.flatnonzero(numbers >= 0)
            counts[numbers[valid] % self.width, valid] += 1
        return counts if self.parameters.repeat else counts > 0

    def _numbers(self, array: pa.Array) -> pa.Array:
        """Return numbers as int64. Numbers of uint64 are taken modulo the number of ports, since they may be larger."""
        if pa.types.is_uint64(array.type):
            width = pa.scalar(self.width, pa.uint64())
            array = pc.subtract(array, pc.multiply(pc.divide(array, width), width))
        return pc.cast(array, pa.int64())

    def _count_lists(self, lists: pa.ListArray, counts: np.ndarray) -> None:
        """Count how often every list names each port."""
        numbers = self._numbers(lists.flatten()).to_numpy(zero_copy_only=False)
        places = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
        valid = numbers >= 0
        np.add.at(counts, (numbers[valid] % self.width, places[valid]), 1)

    def _by_key(self, values: pa.Array) -> np.ndarray:
        encoded = pc.cast(values, pa.string()).dictionary_encode(null_encoding="encode")
        counts = np.zeros((self.width, max(len(encoded.dictionary), 1)), np.int64)
        for code, key in enumerate(encoded.dictionary.to_pylist()):
            ports = self.mapping.get(key, self.mapping.get(DEFAULT))
            if ports is None and self.parameters.unlisted == "fail":
                message = f"key: {self.parameters.file} has no line for {shortened(repr(key))}, and no `{DEFAULT}`"
                raise DataError(message)
            counts[:, code] = np.bincount(np.array(ports or [], np.int64), minlength=self.width)
        return (counts if self.parameters.repeat else counts > 0)[:, encoded.indices.to_numpy(zero_copy_only=False)]


def _read_mapping(context: OperatorContext, name: str, ports: int) -> dict[str, list[int]]:
    path = resolve_input(name, context.base)
    mapping: dict[str, list[int]] = defaultdict(list)
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.reader((line for line in file if not line.startswith("#")), skipinitialspace=True):
            if not row:
                continue
            if len(row) == 1:
                message = f"file: {path}: {row[0]} has no port; lines are like `UA,0,2`, `{DEFAULT},1`"
                raise ValueError(message)
            ports_of_key = mapping[row[0]]
            for written in row[1:]:
                text, comment, _ = written.partition("#")
                if text.strip() or not comment:
                    ports_of_key += _ports(text, f"file: {path}: {row[0]} goes to {text!r}", ports)
                if comment:
                    break
    if not mapping:
        message = f"file: {path}: no key has a port; lines are like `UA,0,2`, `{DEFAULT},1`"
        raise ValueError(message)
    return dict(mapping)


def _ports(text: str, place: str, ports: int) -> list[int]:
    """Return the port of an index, modulo the number of ports; no port for a negative index."""
    try:
        index = int(text)
    except ValueError:
        message = f"{place}, which is not an integer; lines are like `UA,0,2`, `{DEFAULT},1`"
        raise ValueError(message) from None
    return [index % ports] if index >= 0 else []
