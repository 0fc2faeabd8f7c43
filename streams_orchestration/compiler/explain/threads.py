"""Explanations of queues, locks and the threads that enter operators (rules 64-77)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.explanation import Fact, listed
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.threads.origins import threading_model, threads_at
from streams_orchestration.compiler.threads.queues import added_for
from streams_orchestration.model.brief import plural

_SHOWN = 8
"""The most threads that an explanation names one by one."""


def threads_into(lookup: CompilationIndex, operator: int) -> list[str]:
    """Return the threads that enter an operator, each with its origin (rules 73, 74)."""
    upstream: dict[int, list[int]] = {}
    for each in lookup.origins.followed:
        upstream.setdefault(each.target, []).append(each.source)
    threads: list[str] = []
    seen = {operator}
    queue = [operator]
    behind: list[int] = []
    for each in queue:
        for kind, port in threads_at(each, len(lookup.model(each).inputs), lookup.origins):
            threads.append(_begin(lookup, kind, each, port))
        for producer in dict.fromkeys(upstream.get(each, ())):
            behind.append(producer)
            if producer not in seen:
                seen.add(producer)
                queue.append(producer)
    for each in dict.fromkeys(behind):
        if each in lookup.origins.never_single:
            threads.append(f"{lookup.name(each)} submits from a thread of its own, by its operator model")
    return threads


def _begin(lookup: CompilationIndex, kind: str, operator: int, port: int) -> str:
    name = lookup.name(operator)
    if kind == "source":
        return f"the source {name}"
    if kind == "queue":
        return f"the queue on input port {port} of {name}"
    if kind == "PE input":
        return f"the PE input port of input port {port} of {name}"
    return f"input port {port} of {name}, which is not under the manual model"


def model_fact(lookup: CompilationIndex, operator: int) -> Fact:
    """Explain the threading model of an operator, and which annotation or option sets it."""
    threading = lookup.model(operator).threading
    model = threading_model(lookup.model(operator), lookup.options)
    if threading.explicit:
        by = f"by the annotation of {threading.introducer}" if threading.introducer else "by an annotation around it"
        return Fact(f"threading model {model}, {by}", "67", str(threading.location or ""))
    source = "given with --threading" if threading.model or lookup.options.threading else "the default"
    return Fact(f"threading model {model}, {source}; no annotation is around it", "68")


def lock_facts(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Name up to `_SHOWN` threads that enter an operator, and say if a lock protects the operator for that reason."""
    threads = lookup.compilation.threads.operators[operator]
    begins = threads_into(lookup, operator)
    if threads.threads < len(begins):
        yield Fact(f"{threads.threads} or more threads can enter it", "73, 74")
    else:
        yield Fact(f"{plural(threads.threads, 'thread')} can enter it", "73, 74")
    for begin in begins[:_SHOWN]:
        yield Fact(f"  from {begin}", "73")
    if len(begins) > _SHOWN:
        yield Fact(f"  and {len(begins) - _SHOWN} more")
    ports = len(lookup.model(operator).inputs)
    if threads.locked and threads.threads > 1:
        yield Fact("locked: more than one thread can be in it at once", "75, 77")
    elif threads.locked:
        yield Fact(f"locked: it has {ports} input ports and is not under the manual model", "75, 77")
    else:
        why = (
            "it is under the manual model"
            if operator in lookup.origins.manual
            else f"it has {plural(ports, 'input port')}"
        )
        yield Fact(f"no lock: at most one thread can enter it, and {why}", "75, 77")


def queue_facts(lookup: CompilationIndex, operator: int, port: int) -> Iterator[Fact]:
    """Explain the queue on an input port (size, policy, cause and producers), or why there is none."""
    queue = lookup.queues.get((operator, port))
    connections = [lookup.physical.connections[number] for number in lookup.incoming.get((operator, port), ())]
    dedicated = {operator} if threading_model(lookup.model(operator), lookup.options) == "dedicated" else set[int]()
    causes = {each: added_for(each, lookup.fusion.pe_of, dedicated) for each in connections}
    if queue is None:
        here = [each for each in connections if lookup.fusion.pe_of[each.source] == lookup.fusion.pe_of[operator]]
        if connections and not here:
            yield Fact("no queue: all its producers are in other PEs", "66")
        elif here:
            yield Fact("no queue: no splitter of its own PE feeds it, the model is not dedicated, no config asks", "66")
        else:
            yield Fact("no queue: nothing in the application feeds it", "66")
        return
    size = f"a queue of {queue.queue_size} tuples, {queue.congestion_policy}"
    if not queue.injected:
        yield Fact(f"{size}: a threadedPort config asks for it", "64", str(lookup.model(operator).location or ""))
    else:
        cause = next(each for each in connections if causes[each] is not None)
        if causes[cause] == "splitter":
            splitter = lookup.physical.splitters[cause.splitter]
            yield Fact(
                f"{size}, added: channel {cause.channel} of the splitter {splitter.id} in the same PE feeds it", "66"
            )
        else:
            yield Fact(f"{size}, added: the dedicated model gives every input port a thread", "66, 69")
    yield Fact("one thread puts tuples in" if queue.single_producer else "several threads put tuples in", "65, 75")


def feed_facts(lookup: CompilationIndex, operator: int, port: int) -> Iterator[Fact]:
    """Name the producers and Imports that feed an input port, and connections to it that close a loop in its PE.

    Of producers and Imports, six are named, and the others counted. Say so if nothing feeds the port.
    """
    sources = [lookup.physical.connections[number] for number in lookup.incoming.get((operator, port), ())]
    pe = lookup.fusion.pe_of[operator]
    for where, feeding in (
        (f"in its own PE {pe}", [each for each in sources if lookup.fusion.pe_of[each.source] == pe]),
        ("in other PEs", [each for each in sources if lookup.fusion.pe_of[each.source] != pe]),
    ):
        if feeding:
            yield Fact(
                f"fed {where} by {listed([f'{lookup.name(each.source)}.{each.source_port}' for each in feeding])}"
            )
    for number in sorted(lookup.returning.intersection(lookup.incoming.get((operator, port), ()))):
        back = lookup.physical.connections[number]
        sender = f"{lookup.name(back.source)}.{back.source_port}"
        yield Fact(f"tuples of {sender} come back in a later batch: the connection closes a loop in PE {pe}", "39")
    imports = [each.name for each in lookup.physical.imports if (each.operator, each.port) == (operator, port)]
    if imports:
        yield Fact(f"fed by the import {listed(imports)}", "34")
    if not sources and not imports:
        yield Fact("fed by nothing")
