"""Enrich: adds attributes from a small table that does not change while the application runs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from pydantic import Field

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters
from streams_orchestration.operators.encoding import encoded, remember
from streams_orchestration.operators.files import open_decompressed, resolve_input
from streams_orchestration.operators.libraries import compute as pc

REPEATED = 4
"""Times that a value comes on the average, from which on values are looked up once each rather than tuple by tuple."""


class EnrichParameters(Parameters):
    """Parameters of `Enrich`."""

    table: str = Field(min_length=1, description="CSV or Parquet file; paths as in FileSource")
    key: str = Field(description="the table's column to look up; every value once")
    attribute: str = Field(description="the stream's attribute that is looked up")
    take: dict[str, str] = Field(min_length=1, description="new attribute -> the table's column; null where not found")


class Enrich(Operator):
    """A left join of the stream with the table."""

    Parameters = EnrichParameters
    pure = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: EnrichParameters) -> None:
        """Raises ValueError when an attribute or a column is missing, or the table has a key twice."""
        source, target = context.inputs[0], context.outputs[0] or context.inputs[0]
        if parameters.attribute not in source.names:
            message = f"attribute: the input stream has no attribute {parameters.attribute}"
            raise ValueError(message + nearest(parameters.attribute, source.names))
        for name in target.names:
            if name not in parameters.take and name not in source.names:
                message = f"take: nothing says what {name} is"
                raise ValueError(message)
        for name in parameters.take:
            if name not in target.names:
                message = f"take: the output stream has no attribute {name}{nearest(name, target.names)}"
                raise ValueError(message)
        table = _read_table(context, parameters)
        if len(table.column(parameters.key).unique()) != table.num_rows:
            message = f"table: {parameters.table} has the same {parameters.key} in several rows"
            raise ValueError(message)

    def setup(self) -> None:
        """Read the table."""
        table = _read_table(self.context, self.parameters)
        self.schema = self.context.outputs[0] or self.context.inputs[0]
        self.keys = table.column(self.parameters.key).combine_chunks()
        self.repeating = True
        """The attribute has had the same values again and again."""
        self.taken = {
            name: table.column(column).cast(self.schema.field(name).type).combine_chunks()
            for name, column in self.parameters.take.items()
        }

    def process(self, port: int, batch: TupleBatch) -> None:
        """Look up and append; a null has no match."""
        source = batch.arrow
        attribute = source.column(self.parameters.attribute)
        taken = self._looked_up(attribute) if self.repeating else self._looked_up_each(attribute)
        columns = {name: taken[name] if name in taken else source.column(name) for name in self.schema.names}
        self.submit(TupleBatch.from_columns(columns, self.schema))

    def _looked_up(self, attribute: pa.Array) -> dict[str, pa.Array]:
        """What is taken for a column: every different value is looked up once."""
        encoding = encoded(attribute)
        self.repeating = len(encoding.dictionary) * REPEATED <= len(attribute)
        taken = {}
        for name, values in self._looked_up_each(encoding.dictionary).items():
            taken[name] = values.take(encoding.indices)
            remember(taken[name], encoding.indices, values)
        return taken

    def _looked_up_each(self, attribute: pa.Array) -> dict[str, pa.Array]:
        rows = pc.index_in(attribute, self.keys, skip_nulls=True)
        return {name: column.take(rows) for name, column in self.taken.items()}


def _read_table(context: OperatorContext, parameters: EnrichParameters) -> pa.Table:
    """The key and the columns to take, in the types of the stream's attributes."""
    path = resolve_input(parameters.table, context.base)
    target = context.outputs[0] or context.inputs[0]
    types = {column: target.field(name).type for name, column in parameters.take.items()}
    types[parameters.key] = context.inputs[0].field(parameters.attribute).type
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
        else:
            # the types must be known beforehand: a key 007 that was guessed to be a number would never match
            convert = pa_csv.ConvertOptions(column_types=types)
            with open_decompressed(path) as file:
                table = pa_csv.read_csv(file, convert_options=convert)
        for name in types:
            if name not in table.column_names:
                message = f"table: {path} has no column {name}{nearest(name, table.column_names)}"
                raise ValueError(message)
        return pa.table({name: table.column(name).cast(kind) for name, kind in types.items()})
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        message = f"table: {path}: {error}"
        raise ValueError(message) from error
