"""The second output port of a source, which gets a description of everything that cannot become a tuple."""

from __future__ import annotations

from collections.abc import Mapping

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name


def check_bad_port(context: OperatorContext, on_bad_tuple: str, columns: Mapping[str, str], what: str) -> None:
    """Check that there is a second output port exactly if `onBadTuple` is `stream`, and its attributes.

    Args:
        context: the operator's context.
        on_bad_tuple: the policy.
        columns: the attributes that the port may have, with their types.
        what: the things that the port gets, as the message names them.

    Raises:
        ValueError: the port is missing, superfluous, or has another attribute.
    """
    if (on_bad_tuple == "stream") != (len(context.outputs) > 1):
        message = f"onBadTuple: stream and a second output port for {what} require each other; give both or neither"
        raise ValueError(message)
    if len(context.outputs) > 1:
        check_bad_attributes(context.outputs[1], columns)


def check_bad_attributes(schema: pa.Schema | None, columns: Mapping[str, str], instead: str = "") -> None:
    """Check the attributes of the second output port.

    Args:
        schema: the attributes of the port.
        columns: the attributes that it may have, with their types.
        instead: the end of the message, about other uses of the port.

    Raises:
        ValueError: it has another attribute.
    """
    if schema is None or any(columns.get(each.name) != type_name(each.type) for each in schema):
        known = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        message = f"the second output port may only have the attributes `{known}`{instead}"
        raise ValueError(message)
