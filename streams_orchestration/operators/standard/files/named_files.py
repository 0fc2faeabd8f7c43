"""FileSource with an input port: reads the files that its tuples name."""

from __future__ import annotations

from streams_orchestration.operators.background.background import Background
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import DataError, TupleError, behind
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.logic.operator import LogicOperator
from streams_orchestration.operators.standard.files.file_rows import (
    file_schema,
    made_columns,
    output_logic,
    source_file,
)
from streams_orchestration.operators.standard.files.second_port import FileOutputs, brings_tuples, check_second_port
from streams_orchestration.operators.standard.files.source_parameters import FileParameters
from streams_orchestration.operators.storage.input_files import resolve_input
from streams_orchestration.operators.storage.port import File, StorageRefusedError, is_address
from streams_orchestration.operators.storage.storages import storage_of
from streams_orchestration.operators.tuples.batch import TupleBatch


class NamedFiles(LogicOperator):
    """Reads the file that each tuple names to its end. A window marker follows its last tuple.

    The second output port is the same as in a `FileSource` without an input port. With `ignoreOpenErrors`, it gets the
    name of a missing file with the number of the error.
    """

    Parameters = FileParameters
    naming_parameters = NamingParameters()
    free_parameters = frozenset(("parsing", "storage", "spl"))

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileParameters) -> None:
        """Raise ValueError unless one attribute names the file, and the format and the ports suit the attributes."""
        cls._attribute(context)
        schema = file_schema(context, parameters)
        output_logic(context, parameters, after_input=True)
        if len(context.outputs) > 1:
            check_second_port(context.outputs[1], permissive=parameters.parsing == "permissive")
        source_file(context.base, parameters, schema, context).check_schema()

    @staticmethod
    def _attribute(context: OperatorContext) -> str:
        """Return the attribute that names the file, the only string attribute of the input."""
        texts = [field.name for field in context.inputs[0] if pa.types.is_string(field.type)]
        if len(texts) != 1:
            message = (
                f"the input stream must have exactly one string attribute, the name of a file; it has {len(texts)}"
            )
            raise ValueError(message)
        return texts[0]

    def setup(self) -> None:
        """Prepare the reader, which has no open file yet, and run the initialisers of the logic."""
        self.attribute = self._attribute(self.context)
        self.schema = file_schema(self.context, self.parameters)
        self.logic_of_output = output_logic(self.context, self.parameters, after_input=True)
        if self.parameters.spl is not None and self.logic_of_output is not None:
            self.use(self.logic_of_output.logic)
        self.background = Background()
        self.base = self.context.base / (self.parameters.directory or "")

    def brings(self, port: int) -> bool:
        """Return True, except for a port that gets the names of files."""
        return brings_tuples(self.context, port)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Read the named files one after the other, and submit their rows. Logic runs before each file.

        With `ignoreOpenErrors`, a missing file is skipped with a warning.

        Raises:
            StorageAwayError: an object store cannot be reached.
        """
        for place, name in enumerate(batch.arrow.column(self.attribute).to_pylist()):
            if self.logic is not None:
                try:
                    self.logic.tuples(0, batch.slice(place, 1))
                except TupleError as error:
                    raise TupleError(place) from error.__cause__
            if name is None:
                message = f"{self.attribute} is null, but the name of a file is expected"
                raise DataError(message)
            if self.parameters.ignore_open_errors and not is_address(name) and not (self.base / name).exists():
                self.context.logger.warning("%s: the file does not exist, which ignoreOpenErrors allows", name)
                FileOutputs(self).missing(self.base / name)
                continue
            try:
                self._read(name, self._file(name))
            except TupleError as error:
                raise TupleError(place) from error.__cause__
            except (ValueError, OSError, StorageRefusedError) as error:
                raise DataError(str(error)) from error

    def _file(self, name: str) -> File:
        if is_address(name):
            return storage_of(name, self.base, self.parameters.storage).file(name)
        return resolve_input(name, self.base)

    def _read(self, name: str, path: File) -> None:
        """Read a file, submit its tuples, set its malformed rows aside, and report its end; see `FileOutputs`.

        `FileName()` is the name in the tuple.
        """
        file, number = source_file(path, self.parameters, self.schema, self.context), 0
        file.check()
        outputs = FileOutputs(self)
        pieces = file.rows(self.background)
        schema = self.context.output_schema()
        try:
            for piece in pieces:
                logic = self.logic_of_output
                try:
                    columns = made_columns(name, number, piece.batch, self.context, self.parameters, logic)
                except TupleError as error:
                    assert isinstance(error.__cause__, DataError)
                    row = number + error.position
                    raise TupleError(row) from behind(f"{name}, row {row + 1}: ", error.__cause__)
                self.submit(TupleBatch(pa.RecordBatch.from_arrays(columns, schema=schema)))
                number += piece.batch.num_rows
                outputs.set_aside(path, piece.malformed)
        finally:
            pieces.close()
        outputs.end(path)
