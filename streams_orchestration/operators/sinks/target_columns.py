"""The parameters of sinks that write tuples as rows of a table, and the columns of the attributes."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from streams_orchestration.operators.contract.operator import Parameters
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.sinks.undeliverable import OnUndeliverable


class TargetParameters(Parameters):
    """The parameters shared by sinks that write tuples as rows of a table."""

    columns: dict[str, str] = Field(
        default_factory=dict, description="Maps an attribute to its column where the names differ."
    )
    suppress: list[str] = Field(default_factory=list, description="Attributes that are not written.")
    key: list[str] = Field(
        default_factory=list, description="Attributes of the key. A tuple replaces the row with the same key."
    )
    create_table: bool = Field(default=False, alias="createTable", description="Create the table if it is missing.")
    on_undeliverable: OnUndeliverable = "fail"


def target_columns(names: Sequence[str], parameters: TargetParameters) -> dict[str, str]:
    """Map the attributes that are written to their columns.

    Args:
        names: the attributes of the stream.
        parameters: the parameters of the sink.

    Raises:
        UnknownAttributeError: a parameter names an attribute that the stream does not have.
        ValueError: nothing is written, two attributes have the same column, or a key attribute is not written.
    """
    columns, suppress, key = parameters.columns, parameters.suppress, parameters.key
    for parameter, named in (("columns", columns), ("suppress", suppress), ("key", key)):
        check_attributes(parameter, named, names)
    written = {name: columns.get(name, name) for name in names if name not in suppress}
    if not written:
        message = "suppress: no attribute is left to be written; suppress fewer"
        raise ValueError(message)
    if missing := [name for name in key if name not in written]:
        message = f"key: {', '.join(missing)} is not written, since suppress names it; leave it out of one of them"
        raise ValueError(message)
    targets = list(written.values())
    if twice := next((column for column in targets if targets.count(column) > 1), None):
        message = f"columns: two attributes go to the column {twice}"
        raise ValueError(message)
    return written
