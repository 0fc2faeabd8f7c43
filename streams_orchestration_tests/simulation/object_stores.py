"""The object store of a simulation: objects in memory, behind requests that fail, take long, or arrive unseen."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import IO, Any, Literal
from unittest.mock import patch

from streams_orchestration.operators.storage import storages
from streams_orchestration.operators.storage.port import File, ListedFile, StorageAwayError
from streams_orchestration.runtime.catalog.place_of_files import OWNER
from streams_orchestration.runtime.storage.stores import STORAGE
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

ADDRESS = "s3://simulated/streams"
"""The address that the processes of a simulation have as STREAMS_STORAGE."""


@dataclass(frozen=True)
class StoredFile:
    """An object as a file to read; it need not exist."""

    store: ObjectStore
    place: str

    def __str__(self) -> str:
        return self.place

    @property
    def name(self) -> str:
        """The object's name without its directory."""
        return PurePosixPath(self.place).name

    @property
    def suffix(self) -> str:
        """The suffix of the name."""
        return PurePosixPath(self.place).suffix

    def open(self, _mode: Literal["rb"], /) -> IO[bytes]:
        """Open the object for reading."""
        return io.BytesIO(self.store.get(self.place))

    def stat(self) -> Any:
        """Return an object with the size as `st_size`."""
        return SimpleNamespace(st_size=len(self.store.get(self.place)))

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove the object."""
        self.store.remove(self.place, missing_ok=missing_ok)


@dataclass
class ObjectStore:
    """All objects, as every machine sees them. A write is there as a whole or not at all."""

    scheduler: Scheduler
    objects: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Address -> content."""
    away_until: float = 0.0
    """Simulated time until which no request is answered."""
    unseen: int = 0
    """The number of writes to come that take effect although the client gets an error."""
    slow: float = 0.0
    """Seconds that the next write is under way; it takes effect at their end, even if its client was killed."""
    late: set[str] = field(default_factory=set[str])
    """Addresses in the catalog's terms of objects whose writers had ended when they arrived; nobody may know them."""

    def holds(self, address: str) -> bool:
        """Return True if the store has the file of an address of the catalog."""
        return f"{ADDRESS}/{address}" in self.objects

    def content(self, address: str) -> bytes:
        """Return the file of an address of the catalog."""
        return self.objects[f"{ADDRESS}/{address}"]

    def flip(self, address: str) -> str:
        """Flip a bit of an object that is at rest; return where."""
        content = bytearray(self.objects[f"{ADDRESS}/{address}"])
        at = self.scheduler.choices.pick("flip", (1,) * 64) * len(content) // 64
        content[at] ^= 1 << self.scheduler.choices.pick("bit", (1,) * 8)
        self.objects[f"{ADDRESS}/{address}"] = bytes(content)
        return f"byte {at} of {len(content)} of {address}"

    def forget_catalog(self) -> None:
        """Remove the mark of the catalog to which the files belong, so that another one may use the store."""
        self.objects.pop(f"{ADDRESS}/{OWNER}", None)

    def files(self, place: str) -> Sequence[File]:
        """Return the object of an address, or those directly in a directory."""
        names = [place] if place in self.objects else [f"{place}/{each.name}" for each in self.listed(place)]
        if not names:
            message = f"{place}: no files there"
            raise ValueError(message)
        return [StoredFile(self, name) for name in sorted(names)]

    def file(self, place: str) -> StoredFile:
        """Return the object of an address, which need not exist."""
        return StoredFile(self, place)

    def below(self, place: str) -> Sequence[File]:
        """Return all objects below a directory."""
        return [StoredFile(self, name) for name in sorted(self.sizes(place))]

    def listed(self, place: str) -> Sequence[ListedFile]:
        """Return the objects directly in a directory."""
        sizes = {name.removeprefix(f"{place}/"): size for name, size in self.sizes(place).items()}
        return [ListedFile(name, size, 0) for name, size in sizes.items() if "/" not in name]

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes of all objects below a directory."""
        self._request("list")
        return {name: len(content) for name, content in sorted(self.objects.items()) if name.startswith(f"{place}/")}

    def get(self, place: str) -> bytes:
        """Return the content of an object."""
        self._request("get")
        return self._content(place)

    def put(self, place: str, data: Any) -> None:
        """Write an object."""
        self._write("put", place, bytes(data))

    def copy(self, place: str, other: str) -> None:
        """Copy an object."""
        self._write("copy", other, self._content(place))

    def publish(self, pending: Path, final: str) -> None:
        """Write a local file under its final name, which may have the same content already."""
        content = pending.read_bytes()
        if self.objects.get(final, content) != content:
            raise FileExistsError(final)
        self.put(final, content)

    def remove(self, place: str, *, missing_ok: bool) -> None:
        """Remove an object."""
        self._request("remove")
        if self.objects.pop(place, None) is None and not missing_ok:
            raise FileNotFoundError(place)
        self._answer()

    def _content(self, place: str) -> bytes:
        if place not in self.objects:
            raise FileNotFoundError(place)
        return self.objects[place]

    def _write(self, name: str, place: str, content: bytes) -> None:
        self._request(name)
        current = self.scheduler.current
        if self.slow and current is not None:
            seconds, self.slow = self.slow, 0.0
            self.scheduler.later(seconds, partial(self._arrive, place, content, current.process))
            self.scheduler.sleep(seconds)
        else:
            self.objects[place] = content
        self._answer()

    def _arrive(self, place: str, content: bytes, writer: SimulatedProcess) -> None:
        if not writer.alive:
            self.late.add(place.removeprefix(f"{ADDRESS}/"))
        self.objects[place] = content

    def _request(self, name: str) -> None:
        """Step before a request, and refuse it if the store cannot be reached from the machine of the caller."""
        if self.scheduler.current is None:
            return  # asked by the simulation itself
        self.scheduler.step(name)
        if self.scheduler.now < max(self.away_until, self.scheduler.machine.storage_away_until):
            message = f"{ADDRESS}: it cannot be reached"
            raise StorageAwayError(message)

    def _answer(self) -> None:
        """Lose the answer to a request that has changed the store, if that is wanted."""
        if self.unseen and self.scheduler.current is not None:
            self.unseen -= 1
            message = f"{ADDRESS}: the connection was lost before the answer came"
            raise StorageAwayError(message)

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """Let all processes within a block keep the files of the catalog in this store."""
        with patch.object(storages, "_remote", lambda *_: self), patch.dict(os.environ, {STORAGE: ADDRESS}):
            yield
