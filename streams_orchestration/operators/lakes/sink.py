"""The base class of lake table sinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.contract.operator import OperatorContext, PendingFile
from streams_orchestration.operators.errors.errors import UnknownAttributeError
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.files.partitions import check_partitions
from streams_orchestration.operators.lakes.data_files import DataFileWriter, gathered
from streams_orchestration.operators.lakes.fitting import WantedTable
from streams_orchestration.operators.loading.libraries import import_modules, pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink, waiting_directory
from streams_orchestration.operators.sinks.target_columns import TargetParameters, target_columns
from streams_orchestration.operators.tuples.arrow_types import batch_without_unsigned, schema_without_unsigned
from streams_orchestration.operators.tuples.batch import TupleBatch

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.target import LakeTarget

SCRATCH = "_merging"
"""The name of the directory for merged files, within the directory of waiting files."""


class LakeSinkParameters(TargetParameters):
    """The parameters of all sinks of lake tables."""

    partition_by: list[str] = Field(
        default_factory=list, alias="partitionBy", description="Columns that the table is partitioned by."
    )
    add_columns: bool = Field(
        default=False, alias="addColumns", description="Add a column to the table for each attribute that has none."
    )

    def _faults(self) -> Iterator[str]:
        if len(set(self.partition_by)) < len(self.partition_by):
            yield f"partitionBy: a column is named twice: {', '.join(self.partition_by)}"


class LakeSink(EpochSink):
    """A sink that writes data files in its tasks and adds them to the table in one commit for each epoch.

    With a `key`, tuples wait instead, and the commit replaces the rows with the same keys. The commit stores
    application, operator and epoch, so a repeated delivery is detected and changes nothing.
    """

    module: ClassVar[str]
    """The module of the required library."""
    extra: ClassVar[str]
    whole: ClassVar[bool] = False
    """True if data files also contain the columns that the table is partitioned by."""
    naming_parameters = NamingParameters(inputs=("columns", "suppress", "key"))

    @classmethod
    def check(cls, context: OperatorContext, parameters: LakeSinkParameters) -> None:
        """Raise ValueError if attributes and columns do not fit, types cannot name partitions, or a package is missing.

        Connects to nothing.
        """
        check_partitions(written_schema(context, parameters), parameters.partition_by)
        require_package(cls.__name__, cls.module, cls.extra)

    def table(self) -> LakeTarget:
        """Return the table to write, without connecting to it."""
        raise NotImplementedError

    def wanted(self) -> WantedTable:
        """Return the table that the parameters require."""
        parameters: LakeSinkParameters = self.parameters
        columns = target_columns(self.context.inputs[0].names, parameters)
        return WantedTable(
            schema=written_schema(self.context, parameters),
            partition_by=parameters.partition_by,
            key=[columns[attribute] for attribute in parameters.key],
            create=parameters.create_table,
            add_columns=parameters.add_columns,
        )

    def load(self) -> None:
        """Import the libraries that a commit uses."""
        self.table()
        import_modules("streams_orchestration.operators.storage.remote", "pyarrow.fs", "pyarrow.dataset")

    def open(self) -> None:
        """Connect, create the table if it is missing and `createTable` is set, and check that it fits.

        Raises:
            LakeError: the table is missing, does not fit or cannot be reached.
            UnresolvedReferenceError: a reference to a secret cannot be resolved.
        """
        self._table = self.table()
        self._table.prepare()

    def deliver_files(self, key: DeliveryKey, files: Sequence[Path]) -> None:
        """Commit the files of an epoch to the table, unless that was done before.

        Raises:
            LakeError: the table refuses or cannot be reached.
            UnresolvedReferenceError: a reference to a secret cannot be resolved.
            OSError: a merged file cannot be written.
        """
        aside = partial(self.set_aside, key) if self.sets_aside else None
        if self.parameters.key:
            self._table.upsert(key, self.waiting_tuples(files), aside)
            return
        waiting = waiting_directory(self.context)
        with gathered(key, files, waiting, self.context.pending / SCRATCH, self.checksums) as data_files:
            self._table.append(key, data_files, aside)

    def close(self) -> None:
        """Disconnect."""
        self.__dict__.pop("_table", None)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Keep the tuples for the files of this micro-batch, with attributes renamed to columns.

        Without a key and partitions, many tuples are written to a file at once.

        Raises:
            OSError: the file cannot be written.
        """
        renamed = self.__dict__.setdefault("_renamed", target_columns(self.context.inputs[0].names, self.parameters))
        columns = [batch.arrow.column(attribute) for attribute in renamed]
        named = batch_without_unsigned(pa.RecordBatch.from_arrays(columns, names=list(renamed.values())))
        if self.parameters.key:
            super().process(port, TupleBatch(named))
        else:
            self._files.add(named)

    @cached_property
    def _files(self) -> DataFileWriter:
        """The writer of this replica's files. It is not part of the state, since it is empty between micro-batches."""
        return DataFileWriter(waiting_directory(self.context), self.parameters.partition_by, whole=self.whole)

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Write the data files of the micro-batch, or with a `key` a file of its tuples, and return them.

        There are none without tuples.

        Raises:
            DataError: a value is too long to name a partition directory.
        """
        if self.parameters.key:
            return super().prepare_commit()
        return self._files.finish()


def written_schema(context: OperatorContext, parameters: LakeSinkParameters) -> pa.Schema:
    """Return the schema of the tuples as columns of the table.

    Raises:
        ValueError: attributes and columns do not match, or `partitionBy` names a column that is not written, or all
            columns.
    """
    columns = target_columns(context.inputs[0].names, parameters)
    source = schema_without_unsigned(context.inputs[0])
    schema = pa.schema([pa.field(columns[name], source.field(name).type) for name in columns])
    for name in parameters.partition_by:
        if name not in schema.names:
            message = f"partitionBy: no column {name} is written{nearest(name, schema.names)}"
            raise UnknownAttributeError(message)
    if parameters.partition_by and len(parameters.partition_by) == len(schema):
        message = "partitionBy: no column is left beside those that the table is partitioned by"
        raise ValueError(message)
    return schema
