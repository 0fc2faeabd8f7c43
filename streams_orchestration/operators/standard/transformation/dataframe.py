"""DataFrame: applies a function to Spark DataFrames."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field

from streams_orchestration.operators.contract.frame_operator import FrameOperator, FrameParameters, as_frames
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.implementations.implementation import ImplementationError, import_name

if TYPE_CHECKING:
    import pyspark.sql


class DataFrameParameters(FrameParameters):
    """The parameters of `DataFrame`."""

    function: str = Field(description="Function package.module:name that takes one DataFrame for each input port.")
    arguments: dict[str, Any] = Field(default_factory=dict, description="Further arguments of the function, by name.")


class DataFrame(FrameOperator):
    """Calls a function once with a streaming DataFrame for each input port, and streams the result.

    Static tables are passed as further arguments, by name.
    """

    Parameters = DataFrameParameters

    @classmethod
    def check(cls, context: OperatorContext, parameters: DataFrameParameters) -> None:
        """Raise ValueError if the function is missing or takes other arguments, or a watermark does not fit."""
        super().check(context, parameters)
        try:
            function = import_name(parameters.function)
        except ImplementationError as error:
            message = f"function: {error}"
            raise ValueError(message) from error
        if not callable(function):
            message = f"function: {parameters.function} is not a function"
            raise ValueError(message)
        try:
            inspect.signature(function).bind(*context.inputs, **parameters.static, **parameters.arguments)
        except TypeError as error:
            message = f"function: {parameters.function} cannot be called with {len(context.inputs)} DataFrames: {error}"
            raise ValueError(message) from error

    def compose(
        self,
        spark: pyspark.sql.SparkSession,
        inputs: Mapping[str, pyspark.sql.DataFrame],
        tables: Mapping[str, pyspark.sql.DataFrame],
    ) -> list[pyspark.sql.DataFrame]:
        """Call the function and return its DataFrames.

        Raises:
            TypeError: the function does not return one DataFrame for each output port.
        """
        function = import_name(self.parameters.function)
        return as_frames(function(*inputs.values(), **tables, **self.parameters.arguments), len(self.context.outputs))
