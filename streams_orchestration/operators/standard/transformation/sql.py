"""Sql: a Spark SQL query over streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import Field, field_validator

from streams_orchestration.operators.contract.frame_operator import FrameOperator, FrameParameters

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SqlParameters(FrameParameters):
    """The parameters of `Sql`."""

    query: str = Field(description="SELECT statement of Spark SQL. Each input stream is a view with its name.")

    @field_validator("query")
    @classmethod
    def _is_there(cls, value: str) -> str:
        if not value.strip():
            message = "a query is expected"
            raise ValueError(message)
        return value


class Sql(FrameOperator):
    """Runs a query over the input streams with Spark Structured Streaming, including windows, joins and aggregates."""

    Parameters = SqlParameters

    def compose(
        self, spark: SparkSession, inputs: Mapping[str, DataFrame], tables: Mapping[str, DataFrame]
    ) -> list[DataFrame]:
        """Return the query's result as a DataFrame."""
        return [spark.sql(self.parameters.query)]
