"""The surroundings of simulated processes: what `streams_orchestration.world` is while a simulation runs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from streams_orchestration import world
from streams_orchestration_tests.simulation.scheduler import Scheduler, Signal, SimulatedThread

EPOCH = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
"""The time of the wall clock when a simulation begins."""


@contextlib.contextmanager
def installed(scheduler: Scheduler) -> Iterator[None]:
    """Replace the surroundings within a block by those of a scheduler."""
    made = surroundings(scheduler)
    before = {name: getattr(world, name) for name in made}
    try:
        for name, value in made.items():
            setattr(world, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(world, name, value)


def surroundings(scheduler: Scheduler) -> dict[str, Any]:
    """Return the value of each name of `world` in a simulation."""

    def thread_of() -> SimulatedThread:
        assert scheduler.current is not None
        return scheduler.current

    def wall() -> float:
        return EPOCH + scheduler.now + scheduler.machine.ahead(scheduler.now)

    def new_id() -> str:
        scheduler.names += 1
        return f"{scheduler.names * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}"

    return {
        "now": wall,
        "now_ns": lambda: int(wall() * 1e9) + next(scheduler.ticks),
        "monotonic": lambda: scheduler.now,
        "monotonic_ns": lambda: int(scheduler.now * 1e9),
        "boot_time": lambda: scheduler.now - scheduler.machine.booted,
        "boot": lambda: f"boot {scheduler.machine.boots} of {scheduler.machine.name}",
        "utc": lambda: datetime.fromtimestamp(wall(), UTC),
        "sleep": scheduler.pause,
        "pid": lambda: thread_of().process.pid,
        "load_average": lambda: (0.0, 0.0, 0.0),
        "new_id": new_id,
        "uniform": lambda low, high: low + (high - low) * scheduler.choices.pick("uniform", (1,) * 8) / 7,
        "randbelow": lambda below: scheduler.choices.pick("randbelow", (1,) * min(below, 64)),
        "current_thread": thread_of,
        "Thread": lambda **given: Thread(scheduler, **given),
        "Lock": lambda: Lock(scheduler),
        "Condition": lambda lock=None: Condition(scheduler, lock),
        "Event": lambda: Event(scheduler),
        "Local": lambda: Local(scheduler),
        "Pool": lambda *_, **__: Pool(),
    }


class Thread:
    """Stands for `threading.Thread`."""

    def __init__(
        self, scheduler: Scheduler, *, target: Callable[..., object], args: Iterable[Any] = (), name: str = "thread",
        daemon: bool = False,
    ) -> None:  # fmt: skip
        self._scheduler, self._target, self._args = scheduler, target, tuple(args)
        self.name, self.daemon = name, daemon
        self._thread: SimulatedThread | None = None

    def start(self) -> None:
        """Start it in the process of the caller."""
        assert self._scheduler.current is not None
        process = self._scheduler.current.process
        self._thread = self._scheduler.start(process, lambda: self._target(*self._args), self.name)

    def is_alive(self) -> bool:
        """Return True while it runs."""
        return self._thread is not None and not self._thread.finished

    def join(self, timeout: float | None = None) -> None:
        """Wait until it has ended."""
        if self._thread is not None and not self._thread.finished:
            self._scheduler.wait(self._thread.done, timeout)


class Lock:
    """Stands for `threading.Lock`; the thread that has it is not remembered."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._taken, self._freed = scheduler, False, Signal()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it, or wait until it is free."""
        while self._taken:
            if not blocking or not self._scheduler.wait(self._freed, None if timeout < 0 else timeout):
                return False
        self._taken = True
        return True

    def release(self) -> None:
        """Let the next one take it."""
        self._taken = False
        self._scheduler.notify(self._freed, 1)

    def locked(self) -> bool:
        """Return True if it is taken."""
        return self._taken

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.release()


class Condition:
    """Stands for `threading.Condition`, with a lock that its thread may take twice."""

    def __init__(self, scheduler: Scheduler, lock: Lock | None = None) -> None:
        self._scheduler, self._lock = scheduler, lock or Lock(scheduler)
        self._owner: SimulatedThread | None = None
        self._depth = 0
        self._rung = Signal()

    def __enter__(self) -> Self:
        me = self._scheduler.current
        if self._owner is not me or me is None:
            self._lock.acquire()
            self._owner = me
        self._depth += 1
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._depth -= 1
        if not self._depth:
            self._owner = None
            self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        """Release the lock, wait to be notified, and take the lock again."""
        depth, self._depth, self._owner = self._depth, 0, None
        self._lock.release()
        notified = self._scheduler.wait(self._rung, timeout)
        self._lock.acquire()
        self._depth, self._owner = depth, self._scheduler.current
        return notified

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        """Wait until a predicate is true; return its last value."""
        until = None if timeout is None else self._scheduler.now + timeout
        while not (result := predicate()):
            left = None if until is None else until - self._scheduler.now
            if left is not None and left <= 0:
                break
            self.wait(left)
        return result

    def notify_all(self) -> None:
        """Wake all that wait."""
        self._scheduler.notify(self._rung)

    def notify(self, n: int = 1) -> None:
        """Wake some that wait."""
        self._scheduler.notify(self._rung, n)


class Event:
    """Stands for `threading.Event`."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._set, self._rung = scheduler, False, Signal()

    def is_set(self) -> bool:
        """Return True if it is set."""
        return self._set

    def set(self) -> None:
        """Set it, and wake all that wait."""
        self._set = True
        self._scheduler.notify(self._rung)

    def clear(self) -> None:
        """Take it back."""
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set; return True if it is."""
        if not self._set:
            self._scheduler.wait(self._rung, timeout)
        return self._set


class Local:
    """Stands for `threading.local`: attributes that each thread has for itself."""

    def __init__(self, scheduler: Scheduler) -> None:
        object.__setattr__(self, "_scheduler", scheduler)
        object.__setattr__(self, "_values", dict[SimulatedThread | None, dict[str, Any]]())

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[self._scheduler.current][name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: object) -> None:
        self._values.setdefault(self._scheduler.current, {})[name] = value


class Pool:
    """Stands for a `ThreadPoolExecutor`; it does everything at once, in the thread of the caller."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        return None

    def submit(self, work: Callable[..., Any], *arguments: Any, **named: Any) -> Future[Any]:
        """Do something, and return its result."""
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments, **named))
        except Exception as error:  # noqa: BLE001  raised where the result is taken
            future.set_exception(error)
        return future

    def map(self, work: Callable[..., Any], *items: Iterable[Any], **_: Any) -> Iterator[Any]:
        """Do something for each item."""
        return map(work, *items)

    def shutdown(self, **_: Any) -> None:
        """Do nothing: all is done."""
