"""Parameters that map attributes to constant expressions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from streams_orchestration.model.containers import scalar_text
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.evaluated_batch import Evaluated
from streams_orchestration.operators.expressions.evaluation import parse_expression
from streams_orchestration.operators.expressions.spl.text import text_or_program
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.batch import TupleBatch


def constants(texts: Mapping[str, Any], schema: pa.Schema, parameter: str, zone: dt.tzinfo) -> dict[str, pa.Array]:
    """Return the value of each attribute that a parameter gives, as a column of one value.

    Args:
        texts: maps attributes to expressions without attributes, or to numbers, truth values and null.
        schema: the schema of the tuples.
        parameter: the name of the parameter, for errors.
        zone: the time zone of the application.

    Raises:
        UnknownAttributeError: the tuples do not have an attribute.
        ValueError: an expression is wrong, uses an attribute, or has no value.
    """
    values: dict[str, pa.Array] = {}
    nothing = Evaluated(TupleBatch(pa.RecordBatch.from_arrays([pa.nulls(1)], ["@"])))
    for name, given in texts.items():
        check_attributes(parameter, [name], schema.names, "the stream")
        text = text_or_program(given, scalar_text)
        kind = schema.field(name).type
        constant = parse_expression(text, pa.schema([]), f"{parameter}.{name}", zone).assigned(kind)
        value = nothing.value(constant)
        values[name] = value if value.type == kind else value.cast(kind)
    return values
