"""Lookup: joins a stream with a table that does not change while the application runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from streams_orchestration.model.containers import listed
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.formats.checks import check_values
from streams_orchestration.operators.formats.csv_dialect import CsvDialect
from streams_orchestration.operators.keys.comparison import count_keys, key_batch, key_schema, normalised
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa, pq
from streams_orchestration.operators.states.key_index import KeyIndex
from streams_orchestration.operators.storage.input_files import resolve_input
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.encoding import encoded, remember

REPEATED = 4
"""If each value occurs this often on average, distinct values are looked up instead of tuples."""
_ROW = "@row"
"""The name of an added column with the table's row number. No column of a table can have it."""


class LookupParameters(Parameters):
    """The parameters of `Lookup`."""

    table: str = Field(min_length=1, description="CSV or Parquet file, with a path as in FileSource.")
    key: str | list[str] = Field(
        min_length=1, description="Column, or list of columns, of the table to look up. Keys are unique."
    )
    attribute: str | list[str] | None = Field(
        default=None,
        min_length=1,
        description="Attributes of the stream to look up. Default: those named like the key.",
    )
    take: dict[str, str] = Field(
        min_length=1, description="Maps a new attribute to a column of the table. It is null where there is no row."
    )
    algorithm: Literal["leftOuter", "inner"] = Field(
        default="leftOuter", description="inner: a tuple without a row goes to the second output port, if there is one."
    )

    def _faults(self) -> Iterator[str]:
        if len(self.attributes()) != len(self.columns()):
            yield f"attribute: one attribute for each of the {len(self.columns())} columns of key is expected"

    def columns(self) -> list[str]:
        """Return the columns of the table that form its key."""
        return [self.key] if isinstance(self.key, str) else self.key

    def attributes(self) -> list[str]:
        """Return the attributes of the stream that are compared with the key columns."""
        return self.columns() if self.attribute is None else listed(self.attribute)


class Lookup(Operator):
    """Adds to each tuple the attributes of the table row with its key. A null matches no row.

    Without a row these attributes are null. With `algorithm: inner` such a tuple goes to output port 1, or is dropped.

    The table is read when the operator is created and again after a reset. It must not change while the application
    runs.
    """

    keeps_places = True
    Parameters = LookupParameters
    pure = True

    @classmethod
    def input_files(cls, parameters: LookupParameters) -> tuple[str, ...]:
        """Return the file from which the lookup table is read."""
        return (parameters.table,)

    @classmethod
    def check(cls, context: OperatorContext, parameters: LookupParameters) -> None:
        """Raise ValueError if an attribute, a column or the table is missing, or several rows have the same key.

        Also refuse a value that cannot be read, and a second output port without `algorithm: inner`. Raise OSError if
        the table's file cannot be read to its end.
        """
        source, target = context.inputs[0], context.outputs[0] or context.inputs[0]
        for attribute in parameters.attributes():
            if attribute not in source.names:
                message = f"attribute: the input stream has no attribute {attribute}"
                raise ValueError(message + nearest(attribute, source.names))
        for name in target.names:
            if name not in parameters.take and name not in source.names:
                message = f"take: {name} has no value; name a column for it"
                raise ValueError(message)
        for name in parameters.take:
            if name not in target.names:
                message = f"take: the output stream has no attribute {name}{nearest(name, target.names)}"
                raise ValueError(message)
        if len(context.outputs) > 1 and parameters.algorithm != "inner":
            message = "algorithm: a second output port, for tuples without a row, needs algorithm: inner"
            raise ValueError(message)
        table = _read_table(context, parameters)
        if count_keys([table.column(name).combine_chunks() for name in parameters.columns()]) != table.num_rows:
            message = f"table: {parameters.table} has several rows with the same {', '.join(parameters.columns())}"
            raise ValueError(message)

    def setup(self) -> None:
        """Read the lookup table, and index it by its keys."""
        table = _read_table(self.context, self.parameters)
        self.schema = self.context.outputs[0] or self.context.inputs[0]
        self.keys = [normalised(table.column(name).combine_chunks()) for name in self.parameters.columns()]
        self.index = KeyIndex(key_schema([key.type for key in self.keys]))
        self.indexed = len(self.keys) > 1 or pa.types.is_nested(self.keys[0].type)
        if self.indexed:
            self.index.add(key_batch(self.keys, np.arange(table.num_rows)))
        self.repeating = True
        """True if values last repeated often enough that looking up each distinct value once pays off."""
        self.taken = {
            name: table.column(column).cast(self.schema.field(name).type).combine_chunks()
            for name, column in self.parameters.take.items()
        }
        if self.parameters.algorithm == "inner":
            self.taken[_ROW] = pa.array(np.arange(table.num_rows))

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the tuples with the attributes of their table rows; by `algorithm`, tuples without a row to port 1."""
        if not len(batch):
            return
        source = batch.arrow
        attributes = [source.column(name) for name in self.parameters.attributes()]
        repeats = self.repeating and not self.indexed
        taken = self._look_up(attributes[0]) if repeats else self._look_up_each(attributes)
        columns = {name: taken[name] if name in taken else source.column(name) for name in self.schema.names}
        result = TupleBatch.from_columns(columns, self.schema)
        result.watermarks = batch.watermarks
        if _ROW in taken:
            known = pc.is_valid(taken[_ROW])
            if len(self.context.outputs) > 1:
                self.submit(batch.filter(pc.invert(known)), 1)
            result = result.filter(known)
        self.submit(result)

    def _look_up(self, attribute: pa.Array) -> dict[str, pa.Array]:
        """Return the looked-up columns, after looking up each distinct value once. Updates `repeating`."""
        encoding = encoded(attribute)
        self.repeating = len(encoding.dictionary) * REPEATED <= len(attribute)
        taken = {}
        for name, values in self._look_up_each([encoding.dictionary]).items():
            taken[name] = values.take(encoding.indices)
            remember(taken[name], encoding.indices, values)
        return taken

    def _look_up_each(self, attributes: list[pa.Array]) -> dict[str, pa.Array]:
        if not self.indexed:
            rows = pc.index_in(normalised(attributes[0]), self.keys[0], skip_nulls=True)
        else:
            wanted = key_batch(attributes, np.arange(len(attributes[0])))
            at = self.index.find(wanted)
            for part in attributes:
                at[pc.is_null(part).to_numpy(zero_copy_only=False)] = -1
            rows = pa.array(at, mask=at < 0)
        return {name: column.take(rows) for name, column in self.taken.items()}


def _read_table(context: OperatorContext, parameters: LookupParameters) -> pa.Table:
    """Return the key columns and the columns to take, in the types of the stream's attributes."""
    path = resolve_input(parameters.table, context.base)
    target = context.outputs[0] or context.inputs[0]
    types = {column: target.field(name).type for name, column in parameters.take.items()}
    compared = zip(parameters.columns(), parameters.attributes(), strict=True)
    types |= {key: context.inputs[0].field(name).type for key, name in compared}
    try:
        table = _read(path, types)
        for name in types:
            if name not in table.column_names:
                message = f"table: {path} has no column {name}{nearest(name, table.column_names)}"
                raise ValueError(message)
        return pa.table({name: table.column(name).cast(kind) for name, kind in types.items()})
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, DataError) as error:
        place = "" if str(error).startswith(str(path)) else f"{path}: "
        message = f"table: {place}{error}"
        raise ValueError(message) from error


def _read(path: Path, types: dict[str, pa.DataType]) -> pa.Table:
    """Read a table of reference data: a Parquet file whole, of a CSV file the wanted columns that it has.

    A CSV file's columns get their wanted types. Types are not guessed: a key 007 guessed to be a number would never
    match.
    """
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        wanted = table.select([name for name in types if name in table.column_names]).combine_chunks()
        for batch in wanted.to_batches():
            check_values(batch)
        return table
    file = CsvFile(path, CsvDialect(), has_header_line=True)
    there = file.first_line()
    schema = pa.schema([(name, kind) for name, kind in types.items() if name in there])
    return pa.Table.from_batches(file.read(schema), schema=schema) if len(schema) else pa.table({})
