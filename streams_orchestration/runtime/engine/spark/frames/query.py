"""A PE that is a Structured Streaming query of its own, with Spark's operators and Spark's state."""

from __future__ import annotations

import contextlib
import functools
import shutil
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.model.short_texts import shortened
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.engine.port import QueryStart
from streams_orchestration.runtime.engine.spark.frames.checkpoints import (
    continue_after,
    name_own_schemas,
    restore_checkpoint,
)
from streams_orchestration.runtime.engine.spark.frames.composing import Composition, segments_source
from streams_orchestration.runtime.engine.spark.frames.programs import frame_text, state_operator
from streams_orchestration.runtime.engine.spark.frames.progress import ProgressNote
from streams_orchestration.runtime.engine.spark.query import SparkQuery
from streams_orchestration.runtime.errors.errors import CatalogError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.failure import Failure, Nature
from streams_orchestration.runtime.programs.stored_compilation import places_of
from streams_orchestration.runtime.tasks.stored_states import at_boundary, newest_batch, newest_states

NOTE_SECONDS = 1.0
"""Seconds between two notes of the query's progress."""
TEXT_LIMIT = 120
"""The most characters of a query's text in a message."""


def require_local(program: PeProgram, *, elsewhere: bool) -> None:
    """Refuse executors on other machines, on which dataframe queries are not known to be safe.

    Raises:
        OperatorError: the tasks of the host run in executors of a cluster.
    """
    if elsewhere:
        message = (
            "Spark queries run only on the machine of their host; give the query's operators a host pool with a tag, "
            "and map that tag to the master `local`, as in STREAMS_MASTER='spark://north:7077 here=local'"
        )
        raise OperatorError(state_operator(program), message)


class WithinEpochError(OperatorError):
    """The PE is within an epoch, while a query can only continue at a boundary."""


class FrameQuery(SparkQuery):
    """One generation of a PE whose operators are a single Spark query."""

    def __init__(self, spark: SparkSession, start: QueryStart, *, apart: bool = False) -> None:
        self._catalog = Catalog(start.home)
        self._notes_at = 0.0
        super().__init__(spark, start, apart=apart)

    @functools.cached_property
    def _notes(self) -> ProgressNote:
        return ProgressNote(self._scratch.path)

    def start(self) -> None:
        """Start the query at the position in the catalog, with the checkpoint that is stored for it.

        A query that cannot be composed or started, whose checkpoint is damaged, or whose tasks run on a cluster, has
        then failed permanently; a query within an epoch has failed until a reset. The error is logged, and `failure`
        returns it.

        Raises:
            CatalogError: the catalog cannot be read.
            OSError: the scratch directory, which has the checkpoint, cannot be written.
            ImplementationError: the class of an operator cannot be imported.
        """
        try:
            super().start()
        except OperatorError as error:
            place = self._places().get(error.operator)
            at = "" if place is None else f" ({place})"
            nature: Nature = "unknown" if isinstance(error, WithinEpochError) else "data"
            self._failure = Failure(f"{error}{at}", nature)
            self.log.error("%s", self._failure)

    def find_failure_or_restart(self) -> Failure | None:
        """Return why the query ended, or start it again, as `SparkQuery` does.

        While the query runs, also note its progress every `NOTE_SECONDS`, if that succeeds.
        """
        if self._query is None:
            return self._failure
        failure = super().find_failure_or_restart()
        if failure is None and time.monotonic() >= self._notes_at and self.active:
            self._notes_at = time.monotonic() + NOTE_SECONDS
            with contextlib.suppress(Exception):  # a figure that is missing is not a failure
                self._notes.take(self._query)
        return failure

    def _whose(self) -> str:
        """Return words for error messages: the operators of the query, their places and texts."""
        operators = [self.program.operators[index] for index in self.program.tasks[0].operators]
        places = self._places()
        texts = [shortened(" ".join(frame_text(each).split()), TEXT_LIMIT) for each in operators]
        named = [
            f"{each.name} ({', '.join(filter(None, (places.get(each.name), text)))})"
            for each, text in zip(operators, texts, strict=True)
        ]
        return f"{', '.join(named)}: "

    def _places(self) -> dict[str, str]:
        """Return the places of the query's operators in the spec, as far as they can be read."""
        names = [each.name for each in self.program.operators.values()]
        try:
            with self._catalog.read() as connection:
                return places_of(connection, self.program.application, names, ("query", "function"))
        except CatalogError:
            return {}

    def _begin(self) -> StreamingQuery:
        require_local(self.program, elsewhere=self._scratch.launched.apart)
        self._restore()
        composition = Composition(
            self.spark.newSession(), self.program, self.directories, segments_source(self._options)
        )
        writer = (
            composition.query(self._scratch)
            .writeStream.queryName(f"{self.program.application} PE {self.program.pe}")
            .option("checkpointLocation", self._scratch.checkpoint)
            .outputMode(composition.output_mode)
            .format("noop")
        )
        try:
            return writer.start()
        except Exception as error:
            raise OperatorError(state_operator(self.program), str(error).partition(";\n")[0]) from error

    def _restore(self) -> None:
        """Replace the checkpoint by the stored one at the position in the catalog; at the beginning remove it.

        The records of planned batches (`BatchRecord`) are removed, too.
        """
        checkpoint = Path(self._scratch.checkpoint)
        shutil.rmtree(checkpoint, ignore_errors=True)
        shutil.rmtree(Path(self._scratch.path) / "frames", ignore_errors=True)
        with self._catalog.read() as connection:
            stored = newest_states(connection, self.program.application, self.program.pe)
            state = stored.get(name := state_operator(self.program))
            batch = newest_batch(connection, self.program.application, name)
            boundary = at_boundary(connection, self.program.application, self.program.pe)
        if not boundary:
            message = "its last commit ended no epoch, so it has no checkpoint; reset its unit"
            raise WithinEpochError(name, message)
        if state is not None and batch is not None:
            restore_checkpoint(self.directories.store, state, checkpoint)
            continue_after(checkpoint, batch)
            name_own_schemas(checkpoint)
