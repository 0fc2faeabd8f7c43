"""Measures one task of a batch: the processor time of every operator by itself, and the flows through ports."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.background.background import background_cpu_ns
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.programs.batches import Segment
from streams_orchestration.runtime.programs.counts import Counts
from streams_orchestration.runtime.transport.segments import Item

Result = TypeVar("Result")


def clock() -> int:
    """Return the processor time of this process in nanoseconds, without the time of background threads.

    All other threads count, since Polars and Arrow use some, and the process runs one task at a time.
    """
    return time.process_time_ns() - background_cpu_ns()


class Flow:
    """The numbers of tuples, batches, bytes and marks that passed one port."""

    __slots__ = ("batches", "bytes", "marks", "tuples")

    def __init__(self) -> None:
        self.tuples = self.batches = self.bytes = self.marks = 0

    def add(self, item: Item) -> None:
        """Count an item; the size of a batch is the size of its columns in memory."""
        if isinstance(item, TupleBatch):
            self.tuples += len(item)
            self.batches += 1
            self.bytes += item.nbytes
        else:
            self.marks += 1

    def counts(self) -> Counts:
        """Return the counts by name."""
        return {"tuples": self.tuples, "batches": self.batches, "bytes": self.bytes, "marks": self.marks}


class Account:
    """An account of processor time, in nanoseconds."""

    __slots__ = ("cpu",)

    def __init__(self) -> None:
        self.cpu = 0


class OperatorAccount(Account):
    """The account of an operator: its time, its calls, and the flows through its ports."""

    __slots__ = ("calls", "inputs", "outputs")

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.inputs: dict[int, Flow] = defaultdict(Flow)
        self.outputs: dict[int, Flow] = defaultdict(Flow)

    def counts(self) -> Counts:
        """Return the counts by name, with the counts of each port under its number."""
        return {
            "calls": self.calls,
            "cpu_ns": self.cpu,
            "inputs": {str(port): flow.counts() for port, flow in self.inputs.items()},
            "outputs": {str(port): flow.counts() for port, flow in self.outputs.items()},
        }


class PassageAccount(Account):
    """The account of a passage of Arrow data, which is a stream between PEs or an exchange within a PE."""

    __slots__ = ("bytes", "pieces", "tuples")

    def __init__(self) -> None:
        super().__init__()
        self.tuples = self.bytes = self.pieces = 0

    def counts(self, pieces: str, cost: str) -> Counts:
        """Return the counts by name; `pieces` and `cost` are the names for the pieces and for the processor time."""
        return {"tuples": self.tuples, "bytes": self.bytes, pieces: self.pieces, cost: self.cpu}


class Meter:
    """The measurements of one task.

    Processor time is added to one account at a time, mostly to the account of the operator that runs. A call of an
    operator switches to its account and back. So the time in which receivers handle a tuple is not added to the
    sender's account, but the time to split and copy the tuple is. Time between calls is added to the account of the
    task.
    """

    def __init__(self, program: PeProgram) -> None:
        self.program = program
        self.task = self._paying = Account()
        self.operators: dict[int, OperatorAccount] = defaultdict(OperatorAccount)
        self.read: dict[str, PassageAccount] = defaultdict(PassageAccount)
        self.written: dict[str, PassageAccount] = defaultdict(PassageAccount)
        self.sent: dict[tuple[int, int], PassageAccount] = defaultdict(PassageAccount)
        """The account of the items that were sent into an exchange, by operator and input port.

        `received` has the account of the items that were taken out.
        """
        self.received: dict[tuple[int, int], PassageAccount] = defaultdict(PassageAccount)
        self.waited: dict[tuple[int, int], int] = defaultdict(int)
        """The sum of the times at which items left an exchange, minus the sum of the times at which items entered it.

        One task may see only one end of an exchange. Added up over all tasks, this is the waiting time of the items.
        """
        self._began = world.monotonic_ns()
        self._since = clock()

    def switch(self, account: Account) -> Account:
        """Add processor time to another account from now on, and return the account that got it until now."""
        now = clock()
        paying = self._paying
        paying.cpu += now - self._since
        self._since, self._paying = now, account
        return paying

    def charge(self, account: Account, call: Callable[[], Result]) -> Result:
        """Call a function, add its processor time to an account even if it raises, and return its result."""
        paying = self.switch(account)
        try:
            return call()
        finally:
            self.switch(paying)

    def enter(self, operator: int) -> Account:
        """Add processor time to an operator's account from now on; return the account to `switch` to afterwards."""
        # as `switch`, without a call more: this runs twice for every call of an operator
        now = clock()
        paying = self._paying
        paying.cpu += now - self._since
        self._since, self._paying = now, self.operators[operator]
        return paying

    def arrives(self, operator: int, port: int, item: Item) -> None:
        """Count a call of an operator, and the item that arrives at its input port."""
        account = self.operators[operator]
        account.calls += 1
        account.inputs[port].add(item)

    def produces(self, operator: int) -> None:
        """Count a call of a source."""
        self.operators[operator].calls += 1

    def worked(self, operator: int, spent: int) -> None:
        """Add nanoseconds of processor time that a source's own threads took."""
        self.operators[operator].cpu += spent

    def submits(self, operator: int, port: int, item: Item) -> None:
        """Count an item that an operator sends, once for any number of receivers."""
        self.operators[operator].outputs[port].add(item)

    def passes_marks(self, operator: int, port: int, number: int) -> None:
        """Count window marks on an output port whose receivers do not handle them."""
        self.operators[operator].outputs[port].marks += number

    def takes_marks(self, operator: int, port: int, number: int) -> None:
        """Count window marks of an input port whose operator does not handle them."""
        self.operators[operator].inputs[port].marks += number

    def enqueues(self, operator: int, port: int) -> None:
        """Note that an item is ready for the exchange of an input port."""
        self.waited[operator, port] -= world.now_ns()

    def dequeues(self, operator: int, port: int) -> None:
        """Note that an item of an input port's exchange is about to be handled."""
        self.waited[operator, port] += world.now_ns()

    def reading(self, segment: Segment, items: Iterator[Item]) -> Iterator[Item]:
        """Yield the items of a segment; add its size, and their tuples and reading time, to its stream's account."""
        return self._taking(self.read[segment.stream], items, segment.size)

    def receiving(self, operator: int, port: int, items: Iterator[Item], size: int) -> Iterator[Item]:
        """Yield the items of an exchange; add `size` bytes, their tuples and the time to decode them to its account."""
        return self._taking(self.received[operator, port], items, size)

    def writing(self, stream: str, write: Callable[[], Segment]) -> Segment:
        """Write a segment, return it, and add the time for that, its tuples and its size to its stream's account."""
        account = self.written[stream]
        segment = self.charge(account, write)
        account.tuples += segment.rows
        account.bytes += segment.size
        account.pieces += 1
        return segment

    def sending(self, operator: int, port: int, item: Item, send: Callable[[], None]) -> None:
        """Send an item into the exchange of an input port; add the time for that and its tuples to its account."""
        account = self.sent[operator, port]
        self.charge(account, send)
        account.tuples += len(item) if isinstance(item, TupleBatch) else 0
        account.pieces += 1

    def sent_all(self, operator: int, port: int, end: Callable[[], tuple[bytes, int]]) -> bytes:
        """Return the payload of all sent items, and add their size and the time to make it to the exchange's account.

        Args:
            operator: the number of the receiving operator.
            port: its input port.
            end: returns the payload, and the size of the items in bytes.
        """
        account = self.sent[operator, port]
        payload, size = self.charge(account, end)
        account.bytes += size
        return payload

    def counts(self, copies: Mapping[int, int], enqueued: Mapping[int, int], objects: Mapping[int, Operator]) -> Counts:
        """Return all counts up to now, and take the custom metrics, which the next call does not return again.

        Args:
            copies: connection -> number of batches that its sender copied.
            enqueued: connection -> number of batches that were copied into a queue.
            objects: the operators' objects, whose custom metrics are taken.
        """
        self.switch(self.task)
        names = {index: program.name for index, program in self.program.operators.items()}
        operators = {names[index]: account.counts() for index, account in sorted(self.operators.items())}
        for index, operator in sorted(objects.items()):
            if custom := operator.context.metrics.take():
                operators.setdefault(names[index], {}).update(custom)
        queues: Counts = {}
        for key in sorted({*self.sent, *self.received, *self.waited}):
            queue = queues[f"{names[key[0]]}:{key[1]}"] = {"wait_ns": self.waited.get(key, 0)}
            if key in self.sent:
                queue |= self.sent[key].counts("items", "serialise_ns")
            if key in self.received:
                queue["deserialise_ns"] = self.received[key].cpu
        connections: Counts = defaultdict(dict)
        for what, numbers in (("copies", copies), ("enqueued", enqueued)):
            for number, count in numbers.items():
                connections[self.program.connection_names[number]][what] = count
        return {
            "tasks": {"cpu_ns": self.task.cpu, "wall_ns": world.monotonic_ns() - self._began, "count": 1},
            "operators": operators,
            "written": {name: account.counts("segments", "serialise_ns") for name, account in self.written.items()},
            "read": {name: account.counts("segments", "deserialise_ns") for name, account in self.read.items()},
            "queues": queues,
            "connections": dict(connections),
        }

    def _taking(self, account: PassageAccount, items: Iterator[Item], size: int) -> Iterator[Item]:
        account.bytes += size
        account.pieces += 1
        while (item := self.charge(account, lambda: next(items, None))) is not None:
            if isinstance(item, TupleBatch):
                account.tuples += len(item)
            yield item


class NoMeter(Meter):
    """The meter of an application with measuring off: it measures nothing."""

    def switch(self, account: Account) -> Account:
        """Return the account; nothing is measured."""
        return account

    def enter(self, operator: int) -> Account:
        """Return the account of the task; nothing is measured."""
        return self.task

    def arrives(self, operator: int, port: int, item: Item) -> None:
        """Do nothing: calls of operators are not counted."""

    submits = arrives

    def passes_marks(self, operator: int, port: int, number: int) -> None:
        """Do nothing: marks are not counted."""

    takes_marks = passes_marks

    def produces(self, operator: int) -> None:
        """Do nothing: calls of sources are not counted."""

    def worked(self, operator: int, spent: int) -> None:
        """Do nothing: work is not measured."""

    def enqueues(self, operator: int, port: int) -> None:
        """Do nothing: queues are not timed."""

    dequeues = enqueues

    def reading(self, segment: Segment, items: Iterator[Item]) -> Iterator[Item]:
        """Return the items unchanged."""
        return items

    def receiving(self, operator: int, port: int, items: Iterator[Item], size: int) -> Iterator[Item]:
        """Return the items unchanged."""
        return items

    def writing(self, stream: str, write: Callable[[], Segment]) -> Segment:
        """Write and return the segment, without measuring."""
        return write()

    def sending(self, operator: int, port: int, item: Item, send: Callable[[], None]) -> None:
        """Send the item, without measuring."""
        send()

    def sent_all(self, operator: int, port: int, end: Callable[[], tuple[bytes, int]]) -> bytes:
        """Return the payload of all that was sent, without measuring."""
        return end()[0]

    def counts(self, copies: Mapping[int, int], enqueued: Mapping[int, int], objects: Mapping[int, Operator]) -> Counts:
        """Return no counts, and take no custom metrics."""
        return {}
