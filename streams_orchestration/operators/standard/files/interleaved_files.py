"""FileSource with `interleave`: all matching files are read side by side, in order of event time (EV52)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streams_orchestration.operators.contract.operator import Offset, OperatorContext, ProducedTo, Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.event_time.partition_time import NO_TIME
from streams_orchestration.operators.event_time.times import times_and_nulls
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.standard.files.source_parameters import FileSourceParameters
from streams_orchestration.operators.tuples.batch import TupleBatch

MOST_FILES = 500
"""The most files that are open at the same time."""
MAX_READ_TUPLES = 4_096
"""The most tuples of a file that are read at once, before tuples of another file are submitted."""


class InterleavedFiles(FileSource):
    """The source that merges files by event time: the next tuple is from the file with the least time so far.

    The time of a file is the greatest time of its submitted tuples; of files with equal times, the one with the first
    path is read. So the order of the tuples depends on nothing but the files. Each file is a partition of the source,
    and ends when it is read to its end. When all files have ended, the source looks for files with later paths.

    The offset has for each open file a position, the number of tuples submitted from there on, and the greatest time.
    """

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSourceParameters) -> None:
        """Raise ValueError as FileSource does, and if the source has no event time or its rows wait for the clock."""
        if context.event_time is None:
            message = (
                "interleave needs event time, but the source has none; name its time attribute in the annotation "
                "eventTime"
            )
            raise ValueError(message)
        if parameters.has_delay_field:
            message = (
                "interleave reads files in order of event time, but hasDelayField by the clock; leave one of them out"
            )
            raise ValueError(message)
        super().check(context, parameters)

    @classmethod
    def initial_offset(cls) -> Offset:
        """Return an offset without files, with which the source looks for files first."""
        return {}

    @classmethod
    def restored(cls, offset: Offset) -> Offset:
        """Return the offset after a restore. Copies of the files on another machine are accepted."""
        files = {
            name: {**each, "at": FileSource.restored(each["at"])} for name, each in offset.get("files", {}).items()
        }
        return offset | {"files": files} if files else offset

    def setup(self) -> None:
        """Prepare the source; the first call of `produce` opens the files."""
        super().setup()
        self.reading: list[_File] = []
        """The files that have not ended, in the order of their paths."""
        self.stands: Offset | None = None
        """The offset of the open files; None if they must be opened, at the start and after an outage."""
        self.submitted: Sequence[str] = ()
        """The names of the files of the last submission."""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit at most `limit` next tuples of all files; none while the store cannot be reached.

        A missing file that `ignoreOpenErrors` allows gives a warning, and exhausts the source.
        """
        if self.missing:
            self.context.logger.warning("%s: the file does not exist, which ignoreOpenErrors allows", self.path)
            return ProducedTo(offset, exhausted=True)
        produced = self.backoff.reached(lambda: self._produce(offset, limit))
        if produced is None:
            self.stands = None
            return ProducedTo(offset, exhausted=False)
        self.context.away = any(each.source.context.away for each in self.reading)
        return produced

    def available(self, offset: Offset) -> Offset | None:
        """Return the sizes of all files that exist; None if the store cannot be reached."""
        if self.missing:
            return {"sizes": {}}
        return self.backoff.reached(
            lambda: {"sizes": {self._name(file): file.stat().st_size for file in self._files()}}
        )

    def pause(self) -> float | None:
        """Return the seconds until the next attempt if the store cannot be reached, else None."""
        pauses = [each.source.backoff.pause for each in self.reading if each.source.backoff.pause]
        return self.backoff.pause or min(pauses, default=None)

    def at_end(self) -> Collection[str]:
        """Return no file: all files wait for one that has no tuples yet, so no file may count as idle (EV51)."""
        return ()

    def place(self) -> str:
        """Return the files of the last submission."""
        return f"the files {', '.join(self.submitted)}"

    def _produce(self, offset: Offset, limit: int) -> ProducedTo:
        if self.stands is None or offset != self.stands:
            self._go_to_files(offset)
        return self._merge(offset.get("last", ""), limit)

    def _merge(self, last: str, limit: int) -> ProducedTo:
        """Submit tuples file by file, each time from the file with the least time so far.

        Stop after `limit` tuples, or when the file with the least time has none now. Close the files that have ended.
        After the last one, open the files with later paths; in an operator-driven region, end the epoch first.
        """
        for each in self.reading:
            each.waits = False
        left = limit
        while self.reading:
            first = min(range(len(self.reading)), key=lambda number: self.reading[number].reached)
            taken = self._submit_up_to(self.reading[first].reached, first, left)
            left -= taken
            if taken:
                if not left:
                    break
            elif self.reading[first].waits:
                break
            elif not self.reading[first].ended:
                self.reading[first].fill(min(limit, MAX_READ_TUPLES))
            else:
                self.reading[first].close()
                gone = self.reading.pop(first)
                last = max(last, gone.name)
                self._set_aside_rest(gone)
                if self.reading:
                    self._assign()
        if self.reading:
            return self._produced(last)
        if self.context.region is not None and self.context.region.trigger:
            self.context.make_consistent()
        names = self._later(last)
        self._open_files({name: {} for name in names})
        return self._produced(last) if names else ProducedTo({"files": {}, "last": last}, exhausted=True)

    def _submit_up_to(self, bound: int, first: int, most: int) -> int:
        """Submit the tuples already read that precede the next unread tuple of the file `first`.

        Args:
            bound: the greatest time of the tuples that were read from the file `first`.
            first: the number of that file in `reading`.
            most: the most tuples to submit.

        Returns:
            The number of submitted tuples.
        """
        counts = [each.before(bound, behind=number > first) for number, each in enumerate(self.reading)]
        keys = np.concatenate([each.keys(count) for each, count in zip(self.reading, counts, strict=True)])
        if not len(keys):
            return 0
        files = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((files, keys))[:most]
        files = files[order]
        used = np.bincount(files, minlength=len(counts))
        parts = [each.take(count) for each, count in zip(self.reading, used.tolist(), strict=True) if count]
        first_of = np.cumsum(np.r_[0, counts[:-1]])
        place_of = np.cumsum(np.r_[0, used[:-1]])
        tuples = TupleBatch.concat(parts, self.context.output_schema()).take(order - first_of[files] + place_of[files])
        names = [each.name for each in self.reading]
        self.submitted = [names[number] for number in np.flatnonzero(used).tolist()]
        self.submit(tuples, partitions=pa.DictionaryArray.from_arrays(pa.array(files, pa.int32()), pa.array(names)))
        for each in self.reading:
            self._set_aside_rest(each)
        return len(order)

    def _set_aside_rest(self, file: _File) -> None:
        """Submit to the second port the malformed rows of pieces whose tuples were all submitted; forget these rows."""
        for port, batch in file.passed:
            self.context.submit(port, batch)
        file.passed.clear()

    def _produced(self, last: str) -> ProducedTo:
        self.stands = {"files": {each.name: each.offset() for each in self.reading}, "last": last}
        return ProducedTo(self.stands, exhausted=False)

    def _go_to_files(self, offset: Offset) -> None:
        """Open the files of an offset at their positions; if the offset names no files, look for files."""
        files: dict[str, Any] | None = offset.get("files")
        self._open_files({name: {} for name in self._later("")} if files is None else files)

    def _open_files(self, files: dict[str, Any]) -> None:
        for each in self.reading:
            each.close()
        if len(files) > MOST_FILES:
            message = (
                f"{self.parameters.file}: {len(files):,} files, and interleave reads at most {MOST_FILES} side by side;"
                " move them in groups, or leave interleave out"
            )
            raise DataError(message)
        self.reading = [_File(self, name, files[name]) for name in sorted(files)]
        if self.reading:
            self._assign()

    def _assign(self) -> None:
        self.assign([each.name for each in self.reading])

    def _later(self, last: str) -> Sequence[str]:
        """Return the names of the files whose paths come after `last`.

        A run with `--available-now` reads only files that existed at its beginning.
        """
        known = None if self.until is None else self.until["sizes"]
        names = (self._name(file) for file in self._files())
        return [name for name in names if name > last and (known is None or name in known)]


@dataclass(slots=True)
class _Piece:
    """Tuples of one file that were read together; `before` has the greatest time before each tuple."""

    tuples: TupleBatch
    before: np.ndarray
    others: list[tuple[int, TupleBatch]]
    """Batches of malformed rows, each with the number of the output port to which it goes."""
    behind: Offset
    """The offset of the file after the piece."""


class _File:
    """One of the files that are read side by side."""

    def __init__(self, owner: InterleavedFiles, name: str, offset: dict[str, Any]) -> None:
        """Open a file.

        Args:
            owner: the source.
            name: the name of the file.
            offset: the value that `offset` returned before; empty for the beginning of the file.
        """
        self.name = name
        self.passed: list[tuple[int, TupleBatch]] = []
        """Batches for the second output port, from pieces whose tuples were all submitted."""
        self.ended = self.waits = False
        self.reached: int = NO_TIME if offset.get("clock") is None else offset["clock"]
        """The greatest time of the tuples that were read."""
        self._owner = owner
        self._clock = self.reached
        """The greatest time of the tuples that were submitted."""
        self._caught: list[tuple[int, TupleBatch]] = []
        self._piece: _Piece | None = None
        self._taken = 0
        """The number of tuples of the piece that were submitted."""
        self._begin: Offset = offset.get("at") or FileSource.initial_offset()
        """The position in the file at which the piece begins."""
        self._skips: int = offset.get("taken", 0)
        """The number of tuples to skip, since they were submitted before the file was opened again."""
        parameters = owner.parameters.model_copy(update={"file": name, "interleave": False})
        self.source = FileSource(self._context(owner.context), parameters)
        self.source.background = owner.background
        self.source.setup()

    def fill(self, most: int) -> None:
        """Read the next tuples, about `most` at most, after all earlier ones were submitted.

        Sets `ended` at the end of the file, and `waits` if it has no further tuples now.
        """
        until = self._owner.until
        self.source.until = None if until is None else {"file": self.name, "size": until["sizes"][self.name]}
        self._caught.clear()
        begin, most = self._begin, most + self._skips
        produced = self.source.produce(begin, most)
        self.ended = produced.exhausted
        self.waits = not self.ended and produced.offset["row"] < begin["row"] + most
        if produced.offset != begin:
            self._append([batch for port, batch in self._caught if port == 0], produced.offset)

    def before(self, bound: int, *, behind: bool) -> int:
        """Return the number of tuples in the piece that come before the next tuple of another file.

        Args:
            bound: the greatest time of the other file's tuples that were read.
            behind: True if a tuple of this file comes after the other file's at equal times.
        """
        return int(np.searchsorted(self.keys(), bound, side="left" if behind else "right"))

    def keys(self, count: int | None = None) -> np.ndarray:
        """Return the greatest time of the file before each remaining tuple of the piece; at most `count` values."""
        if self._piece is None:
            return np.zeros(0, np.int64)
        return self._piece.before[self._taken :][:count]

    def take(self, count: int) -> TupleBatch:
        """Take the next tuples of the piece, and return them for the caller to submit."""
        piece = self._piece
        assert piece is not None
        taken = piece.tuples.slice(self._taken, count)
        self._taken += count
        if self._taken == len(piece.tuples):
            self._clock = self.reached
            self._drop(piece)
        else:
            self._clock = int(piece.before[self._taken])
        return taken

    def offset(self) -> dict[str, Any]:
        """Return as JSON the position of the piece, the number of its submitted tuples, and their greatest time."""
        clock = None if self._clock == NO_TIME else self._clock
        return {"at": self._begin, "taken": self._skips + self._taken, "clock": clock}

    def close(self) -> None:
        """Close the file that is being read."""
        if self.source.pieces is not None:
            self.source.pieces.close()

    def _append(self, batches: Sequence[TupleBatch], behind: Offset) -> None:
        tuples = TupleBatch.concat(batches, self._owner.context.output_schema())
        role = self._owner.context.event_time
        assert role is not None
        times, missing = times_and_nulls(tuples.arrow, role)
        self._taken = min(self._skips, len(tuples))
        self._skips -= self._taken
        moves_nothing = np.arange(len(times)) < self._taken  # the clock holds the times of these already
        times = np.where(moves_nothing if missing is None else moves_nothing | missing, NO_TIME, times)
        greatest = np.maximum.accumulate(np.r_[self.reached, times])
        self.reached = int(greatest[-1])
        others = [each for each in self._caught if each[0] != 0]
        self._piece = _Piece(tuples, greatest[:-1], others, behind)
        if self._taken == len(tuples):
            self._drop(self._piece)

    def _drop(self, piece: _Piece) -> None:
        self.passed += piece.others
        self._piece = None
        self._begin = piece.behind
        self._taken = 0

    def _context(self, context: OperatorContext) -> OperatorContext:
        def submit(port: int, batch: TupleBatch) -> None:
            self._caught.append((port, batch))

        def punctuate(port: int, mark: Punctuation) -> None:
            """Drop the marker at the end of one file, since tuples of other files follow."""

        return replace(context, submit=submit, punctuate=punctuate, region=None)
