"""FileSink to a device: prints the lines for the standard output or error, and discards tuples for the null device."""

from __future__ import annotations

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.program_environment import PrintedLines
from streams_orchestration.operators.files.spl_lines import LINE_FORMATS, SinceLast, WrittenMark, check_lines, lines_of
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.files.sink_parameters import FileSinkParameters
from streams_orchestration.operators.tuples.batch import TupleBatch


class DeviceSink(Operator):
    """Prints the tuples of a FileSink whose `file` is `/dev/stdout` or `/dev/stderr`, as the print functions of SPL do.

    A sink of `/dev/null` drops them. A replay prints again.
    """

    Parameters = FileSinkParameters
    naming_parameters = NamingParameters(inputs=("suppress",))

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSinkParameters) -> None:
        """Raise ValueError if the format has no lines, or cannot represent the tuples; not for `/dev/null`."""
        if parameters.file == "/dev/null":
            return
        if parameters.format not in LINE_FORMATS:
            message = (
                f"format: {parameters.file} takes lines, as {', '.join(LINE_FORMATS)} have, not {parameters.format}"
            )
            raise ValueError(message)
        written = [field for field in context.inputs[0] if field.name not in parameters.suppress]
        check_lines(pa.schema(written), parameters.writing())

    def setup(self) -> None:
        """Prepare to print."""
        self._lines, self._since = PrintedLines(self.context), SinceLast(self.context)
        suppressed = self.parameters.suppress
        self._names = [name for name in self.context.inputs[0].names if name not in suppressed]

    def process(self, port: int, batch: TupleBatch) -> None:
        """Print a line for each tuple; drop the tuples for `/dev/null`."""
        if self.parameters.file == "/dev/null":
            return
        tuples = batch.arrow.select(self._names)
        tuples = self._since.in_front_of(tuples) if self.parameters.has_delay_field else tuples
        for line in lines_of(tuples, self.parameters.writing()):
            self._lines.print(f"{line}\n")

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Print a line for a mark, with `writePunctuations`; nothing for `/dev/null`."""
        if self.parameters.write_punctuations and self.parameters.file != "/dev/null":
            for line in lines_of(WrittenMark(mark, self._since.step()), self.parameters.writing()):
                self._lines.print(f"{line}\n")
