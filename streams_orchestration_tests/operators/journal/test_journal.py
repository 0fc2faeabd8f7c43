"""A journal: what was acknowledged is there, once, in order, whatever ended the process that wrote it."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.journal import writing
from streams_orchestration.operators.journal.files import DamagedError, JournalFiles, places
from streams_orchestration.operators.journal.reading import JournalReader, TrimmedError
from streams_orchestration.operators.journal.records import Arrival, JournalRecord, load
from streams_orchestration.operators.journal.writing import Journal, JournalFullError, JournalHeldError

LIMIT = 1 << 20


def arrivals(*sizes: int, first: int = 1) -> list[Arrival]:
    """Return one arrival of so many messages for each size; the messages are their numbers."""
    made: list[Arrival] = []
    for size in sizes:
        made.append(Arrival([b"%d" % number for number in range(first, first + size)], "s", 5.0))
        first += size
    return made


def values(reader: JournalReader, number: int = 1, limit: int = 10**6) -> list[int]:
    return [int(message.value) for message in reader.read(number, limit)]


@given(st.lists(st.binary(max_size=40), max_size=5), st.text(max_size=5), st.integers(1, 2**63), st.text(max_size=5))
def test_a_record_is_what_was_written_and_no_other(messages: list[bytes], origin: str, first: int, key: str):
    record = JournalRecord(first, Arrival(messages, origin, 1.5, key), {"a": "", "b": "digest"})
    content = record.dump()
    assert load(content) == record
    for at in range(4, len(content)):
        altered = bytearray(content)
        altered[at] ^= 1
        assert load(bytes(altered)) is None
    assert load(content[:-1]) is None


@given(st.data())
def test_reading_gives_what_was_written_from_any_number_in_any_steps(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    directory = tmp_path_factory.mktemp("journal")
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=12))
    total = sum(sizes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "SEGMENT_BYTES", data.draw(st.sampled_from((1, 150, 10**6))))
        journal = Journal(directory, LIMIT)
        reader, number, read = JournalReader(directory), 1, list[int]()
        for arrival in arrivals(*sizes):
            journal.append([arrival])
            if data.draw(st.booleans()):
                if data.draw(st.booleans()):
                    journal.close()
                    journal = Journal(directory, LIMIT)
                some = values(reader, number, data.draw(st.integers(1, 5)))
                number, read = number + len(some), read + some
        journal.close()
    while some := values(reader, number, 3):
        number, read = number + len(some), read + some
    assert read == list(range(1, total + 1))
    begin = data.draw(st.integers(1, total))
    assert values(reader, begin) == list(range(begin, total + 1))


def end(directory: Path) -> Path:
    return JournalFiles(directory).segments()[-1][1]


@pytest.mark.parametrize("missing", [1, 5, 40])
@pytest.mark.parametrize("garbage", [b"", b"\0" * 100, b"\xff" * 60], ids=["nothing", "zeros", "ones"])
def test_a_torn_append_is_cut_off_and_its_numbers_are_used_again(tmp_path: Path, missing: int, garbage: bytes):
    journal = Journal(tmp_path, LIMIT)
    journal.append(arrivals(3, 2))
    whole = end(tmp_path).read_bytes()
    durable = (tmp_path / "durable").read_bytes()
    journal.append(arrivals(4, first=6))
    journal.close()
    torn = end(tmp_path).read_bytes()[:-missing]
    assert len(torn) > len(whole)
    end(tmp_path).write_bytes(torn + garbage)
    (tmp_path / "durable").write_bytes(durable)  # the append had not ended
    journal = Journal(tmp_path, LIMIT)
    assert end(tmp_path).read_bytes() == whole
    journal.append(arrivals(1, first=6))
    assert values(JournalReader(tmp_path)) == [1, 2, 3, 4, 5, 6]


def test_a_crash_behind_the_disk_and_before_the_mark_loses_nothing(tmp_path: Path):
    journal = Journal(tmp_path, LIMIT)
    durable = (tmp_path / "durable").read_bytes()
    journal.append(arrivals(3))
    journal.close()
    (tmp_path / "durable").write_bytes(durable)
    assert values(JournalReader(tmp_path)) == []
    Journal(tmp_path, LIMIT).close()
    assert values(JournalReader(tmp_path)) == [1, 2, 3]


def test_a_crash_while_a_file_is_begun_loses_nothing(tmp_path: Path):
    journal = Journal(tmp_path, LIMIT)
    journal.append([Arrival([b"1"], key="k")])
    journal.close()
    JournalFiles(tmp_path).segment(2).write_bytes(b"\1\2\3")
    journal = Journal(tmp_path, LIMIT)
    assert journal.knows("k")
    journal.append(arrivals(1, first=2))
    assert values(JournalReader(tmp_path)) == [1, 2]


@pytest.mark.parametrize("open_again", [True, False])
def test_damage_of_acknowledged_messages_is_an_error_that_names_their_numbers(tmp_path: Path, open_again: bool):
    journal = Journal(tmp_path, LIMIT)
    for number in range(1, 4):
        journal.append(arrivals(2, first=2 * number - 1))
    journal.close()
    content = bytearray(end(tmp_path).read_bytes())
    content[content.index(b"34")] ^= 1
    end(tmp_path).write_bytes(content)
    with pytest.raises(DamagedError, match=r"segment, byte \d+: .* messages 3 to 6 .* --fresh"):
        Journal(tmp_path, LIMIT) if open_again else JournalReader(tmp_path).read(1, 100)


def test_one_process_at_a_time_writes(tmp_path: Path):
    journal = Journal(tmp_path, LIMIT)
    assert journal.files.is_held()
    with pytest.raises(JournalHeldError):
        Journal(tmp_path, LIMIT)
    journal.close()
    assert not journal.files.is_held()
    with pytest.raises(JournalFullError, match="has stopped receiving"):
        journal.append(arrivals(1))
    Journal(tmp_path, LIMIT).append(arrivals(1))


def fill(journal: Journal) -> int:
    """Write until it is full; gives the number of messages."""
    number = 0
    while True:
        try:
            journal.append([Arrival([bytes(10_000)])])
        except JournalFullError:
            return number
        number += 1


def test_a_full_journal_takes_nothing_until_what_was_read_is_trimmed(tmp_path: Path):
    journal = Journal(tmp_path, LIMIT)
    count = fill(journal)
    assert journal.size <= LIMIT
    assert count >= 100
    with pytest.raises(JournalFullError, match=rf"the journal is full: \d+ of {LIMIT} bytes are not read yet"):
        journal.append([Arrival([bytes(10_000)])])
    journal.trim(count // 2)
    assert fill(journal) > count // 4
    first = JournalReader(tmp_path).first()
    assert 1 < first <= count // 2
    assert JournalReader(tmp_path).read(count // 2, 1)[0].number == count // 2
    with pytest.raises(TrimmedError, match=f"message 1 is the next to read, but only messages from {first} on"):
        JournalReader(tmp_path).read(1, 1)


def test_arrivals_for_which_there_is_no_room_are_not_written_and_the_ones_before_are(tmp_path: Path):
    journal = Journal(tmp_path, LIMIT)
    assert journal.append([Arrival([bytes(LIMIT // 2)]), Arrival([bytes(LIMIT)]), Arrival([b"x"])]) == 1
    assert journal.append([Arrival([b"x"])]) == 1
    assert [len(message.value) for message in JournalReader(tmp_path).read(1, 9)] == [LIMIT // 2, 1]


@pytest.mark.parametrize("call", ["pwrite", "fdatasync"])
def test_a_full_disk_is_named_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str):
    journal = Journal(tmp_path, LIMIT)
    journal.append(arrivals(2))
    full = True
    true = getattr(os, call)

    def failing(*arguments: Any) -> Any:
        if full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return true(*arguments)

    monkeypatch.setattr(writing.os, call, failing)
    for _ in range(2):
        with pytest.raises(JournalFullError, match="cannot be written: No space left on device"):
            journal.append(arrivals(3, first=3))
        assert values(JournalReader(tmp_path)) == [1, 2]
    full = False
    journal.append(arrivals(3, first=3))
    journal.close()
    Journal(tmp_path, LIMIT).close()
    assert values(JournalReader(tmp_path)) == [1, 2, 3, 4, 5]


def test_keys_are_remembered_over_files_and_openings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writing, "SEGMENT_BYTES", 1)
    monkeypatch.setattr(writing, "KEYS_REMEMBERED", 3)
    journal = Journal(tmp_path, LIMIT)
    for number in range(1, 6):
        journal.append([Arrival([b"%d" % number], key=f"k{number}")])
    journal.trim(5)
    journal.close()
    journal = Journal(tmp_path, LIMIT)
    known: Sequence[bool] = [journal.knows(f"k{number}") for number in range(1, 6)]
    assert known == [False, False, True, True, True]


def test_a_journal_that_is_recreated_is_another_one(tmp_path: Path):
    ids = set[str | None]()
    for name in ("a", "b"):
        journal = Journal(tmp_path / name, LIMIT)
        ids.add(journal.files.id)
        journal.close()
        assert Journal(tmp_path / name, LIMIT).files.id in ids
    assert len(ids) == 2
    assert JournalFiles(tmp_path / "none").id is None


def test_a_journal_that_replaces_another_one_takes_its_notes_unless_it_has_its_own(tmp_path: Path):
    former, empty, noted = (JournalFiles(tmp_path / name) for name in ("former", "empty", "noted"))
    for files in (former, empty, noted):
        files.make()
    former.note({"name": "a"})
    noted.note({"name": "b"})
    for files in (empty, noted):
        files.take_over(former)
    assert (empty.noted(), noted.noted()) == ({"name": "a"}, {"name": "b"})


def descriptors() -> int:
    return psutil.Process().num_fds()


@pytest.mark.parametrize("fails", ["durable", "segments"])
def test_a_journal_that_cannot_be_recovered_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: str
):
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    Journal(tmp_path, LIMIT).close()
    before = descriptors()
    with monkeypatch.context() as patch:
        patch.setattr(JournalFiles, fails, fail)
        for _ in range(3):
            with pytest.raises(OSError, match="Input/output error"):
                Journal(tmp_path, LIMIT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing.os, "ftruncate", fail)
        with pytest.raises(OSError, match="Input/output error"):
            Journal(tmp_path, LIMIT)
    assert descriptors() == before
    Journal(tmp_path, LIMIT).close()


def test_a_key_is_known_also_while_the_journal_is_looked_through_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    journal = Journal(tmp_path, LIMIT)
    journal.append([Arrival([b"a"], "s", 5.0, "known")])
    known: list[bool] = []

    def looked_through(*arguments: Any) -> Any:
        known.append(journal.knows("known"))
        return places(*arguments)

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch, pytest.raises(JournalFullError):
        patch.setattr(writing.os, "fdatasync", fail)
        journal.append([Arrival([b"b"])])
    monkeypatch.setattr(writing, "places", looked_through)
    journal.append([Arrival([b"b"])])
    assert known == [True, True]
    assert journal.knows("known")
    journal.close()


def test_the_keys_that_came_last_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writing, "KEYS_REMEMBERED", 2)
    journal = Journal(tmp_path, LIMIT)
    journal.append([Arrival([b"a"], "s", 5.0, key) for key in ("one", "two", "one", "three")])
    assert [journal.knows(key) for key in ("one", "two", "three")] == [True, False, True]
    journal.close()
