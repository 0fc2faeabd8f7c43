"""A PE becomes tasks and levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.cutting import cut_pes
from streams_orchestration.compiler.deployment.errors import CannotRunError
from streams_orchestration.compiler.deployment.recovery_units import recovery_units
from streams_orchestration.compiler.pe_program import Direct, Exchange, PeProgram, Remote, SplitDelivery
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import (
    ALONE,
    compiled,
    network,
    node,
    sink,
    source,
    totals,
    write_rows,
)

ONE: dict[str, Any] = {"fusion": "manual", "pes": 1}


def programs(compilation: Compilation) -> tuple[PeProgram, ...]:
    return cut_pes(compilation, recovery_units(compilation))


def levels(program: PeProgram) -> list[list[list[str]]]:
    """Return the operators' names by level and task; a task that only forwards has none."""
    return [[[program.operators[o].name for o in task.operators] for task in level] for level in program.levels]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.parquet", 10)


def test_direct_calls_are_one_task(file: Path):
    (program,) = programs(compiled([source("Rows", file), node("Kept", "Filter", "Rows"), sink("Out", "Kept")], **ONE))
    assert levels(program) == [[["Rows", "Kept", "Out"]]]


def test_a_stateful_operator_that_several_threads_enter_is_behind_a_merge(file: Path):
    compilation = compiled([source("A", file), source("B", file), sink("Out", "A", "B")], **ONE)
    (program,) = programs(compilation)
    assert compilation.threads.operators[2].locked
    assert levels(program) == [[["A"], ["B"]], [["Out"]]]
    assert program.operators[0].deliveries[0] == (Exchange(2, 0, connection=0, queue=False),)


@pytest.mark.parametrize(("threading", "locked"), [("manual", False), ("automatic", True), (None, True)])
def test_a_stateful_operator_that_one_task_enters_is_called_directly(file: Path, threading: str | None, locked: bool):
    """It does not matter if the thread plan proves the operator single-threaded: no other task could hold its mutex."""
    compilation = compiled([source("Rows", file), sink("Out", "Rows")], threading=threading, **ONE)
    (program,) = programs(compilation)
    assert compilation.threads.operators[1].locked is locked
    assert levels(program) == [[["Rows", "Out"]]]
    (delivery,) = program.operators[0].deliveries[0]
    assert delivery == Direct(1, 0, copies=False, mutable=False, attributes=None, connection=0)


def test_behind_a_merge_there_is_one_task(file: Path):
    graph = [source("A", file), source("B", file), node("Held", "Holding") | {"inputs": [["A", "B"]]}]
    (program,) = programs(compiled([*graph, sink("Out", "Held")], **ONE))
    assert levels(program) == [[["A"], ["B"]], [["Held", "Out"]]]


def test_a_stateful_operator_beside_a_queue_is_behind_a_merge(file: Path):
    """One of its ports is fed by a thread of its own, so the other one has to be, too."""
    queue = {"threadedPort": [{"port": 0, "congestionPolicy": "Sys.Wait", "queueSize": 10}]}
    graph = [source("Rows", file), node("Marks", "Marks", "Rows", "Rows", schema="Key", config=queue)]
    (program,) = programs(compiled([*graph, sink("Out", "Marks")], **ONE))
    assert levels(program) == [[["Rows"]], [["Marks", "Out"]]]
    first, second = program.operators[0].deliveries[0]
    assert isinstance(first, Exchange)
    assert isinstance(second, Exchange)
    assert (first.queue, second.queue) == (True, False)


def test_a_locked_stateless_operator_needs_no_merge(file: Path):
    graph = [
        source("A", file),
        source("B", file),
        node("Kept", "Filter") | {"inputs": [["A", "B"]]},
        sink("Out", "Kept"),
    ]
    (program,) = programs(compiled(graph, **ONE))
    assert levels(program) == [[["A", "Kept"], ["B", "Kept"]], [["Out"]]]


def test_every_channel_has_a_task_of_its_own(file: Path):
    (program,) = programs(totals(file, width=3, **ONE))
    kept = [[name for name in task if name.endswith(".Kept")] for task in levels(program)[1]]
    assert [names for names in kept if names] == [[f"PerKey[{channel}].Kept"] for channel in range(3)]
    (split,) = [d for d in program.operators[1].deliveries[0] if isinstance(d, SplitDelivery)]
    assert (split.policy, split.attributes, len(split.channels)) == ("hash", ("k",), 3)
    assert all(isinstance(delivery, Exchange) and delivery.queue for (delivery,) in split.channels)


def test_a_pe_input_of_a_later_level_is_read_at_level_0_and_forwarded(file: Path):
    graph = [
        source("A", file),
        source("B", file, config=ALONE),
        sink("Out", "A", "B"),
    ]
    program = next(p for p in programs(compiled(graph, fusion="manual", pes=2)) if len(p.operators) == 2)
    (out,) = (operator.index for operator in program.operators.values() if operator.name == "Out")
    forwarding = [task for task in program.tasks if task.forwards]
    assert [(task.level, task.home, task.operators) for task in forwarding] == [(0, out, ())]
    assert [stream.stream for stream in forwarding[0].inputs] == ["B"]
    assert program.task_of[out].level == 1
    assert not program.task_of[out].inputs


def test_streams_to_other_pes_are_named_after_stream_and_channel(file: Path):
    names = {name for program in programs(totals(file, fusion="legacy")) for name in program.consumers}
    assert {"Rows", "Doubled>PerKey.In[0]", "Doubled>PerKey.In[1]"} <= names


def test_nested_channels_have_streams_of_their_own(file: Path):
    parallel = {"parallel": {"width": 2}}
    graph = [
        source("Rows", file, config=ALONE),
        {"name": "Outer", "operator": "O", "inputs": ["Rows"], "outputs": ["Outer"], "annotations": parallel},
        sink("Out", "Outer"),
    ]
    inner = {"name": "Inner", "operator": "I", "inputs": ["In"], "outputs": ["Inner"], "annotations": parallel}
    composites = {
        "O": {"inputs": ["In"], "outputs": ["Inner"], "graph": [inner]},
        "I": {"inputs": ["Deep"], "outputs": ["Kept"], "graph": [node("Kept", "Filter", "Deep")]},
    }
    for fusion in ("legacy", "manual", "automatic"):
        options: Any = {"pes": 8} if fusion == "manual" else {}
        cut = programs(compiled(graph, composites, fusion=fusion, **options))
        written = [name for program in cut for name in program.consumers]
        assert len(set(written)) == len(written)
        assert {stream.stream for program in cut for stream in program.inputs} <= set(written)


def test_an_operator_without_an_incoming_stream_is_run(file: Path):
    lonely = {"name": "Lonely", "operator": "Holding", "inputs": [[]], "outputs": [{"stream": "L", "schema": "Row"}]}
    cut = programs(compiled([source("Rows", file), sink("Out", "Rows"), lonely], **ONE))
    assert any(program.operators[task.home].name == "Lonely" for program in cut for task in program.tasks)


def loop(file: Path, **config: Any) -> list[dict[str, Any]]:
    return [
        source("Rows", file, annotations={}),
        node("Round", "Passing") | {"inputs": [["Rows", "Back"]]},
        node("Back", "Passing", "Round", **config),
        sink("Out", "Back"),
    ]


def test_a_stream_that_closes_a_loop_is_one_that_the_pe_reads_itself(file: Path):
    (program,) = programs(compiled(loop(file), **ONE))
    assert program.returning == {"Back"}
    assert [(each.stream, each.foreign) for each in program.inputs] == [("Back", True)]
    assert program.consumers == {"Back": (program.pe,)}


def test_a_loop_through_a_queue_is_a_stream_that_the_pe_reads_itself(file: Path):
    queue = {"threadedPort": [{"port": 0, "congestionPolicy": "Sys.Wait", "queueSize": 10}]}
    (program,) = programs(compiled(loop(file, config=queue), **ONE))
    assert program.returning == {"Back"}


def test_a_loop_of_queries_is_refused_with_its_operators(file: Path):
    together: Any = {"config": {"placement": {"partitionColocation": "queries"}}}
    both = {"parameters": {"query": "SELECT * FROM a UNION ALL SELECT * FROM b"}, **together}
    inputs = [{"streams": ["Rows"], "name": "a"}, {"streams": ["Back"], "name": "b"}]
    graph = [
        source("Rows", file, annotations={}),
        node("Round", "Sql", **both) | {"inputs": inputs},
        node("Back", "Sql", "Round", parameters={"query": "SELECT k, n - 1 AS n FROM Round"}, **together),
        sink("Out", "Back"),
    ]
    with pytest.raises(CannotRunError, match=r"a loop goes through (Round -> Back|Back -> Round); a loop inside"):
        programs(compiled(graph, **ONE))


def test_an_input_without_a_schema_is_named(file: Path):
    graph = [source("Rows", file), {"name": "P", "operator": "Passing", "inputs": ["Rows"], "outputs": ["P"]}]
    graph += [node("Q", "Passing", "P"), sink("Out", "Q")]
    with pytest.raises(CannotRunError, match="operator Q: the stream on input port 0 has no schema; declare it"):
        programs(compiled(graph, **ONE))


@given(
    fusion=st.sampled_from(["legacy", "manual", "automatic"]),
    pes=st.integers(1, 8),
    threading=st.sampled_from([None, "manual", "automatic", "dynamic", "dedicated"]),
    kind=st.sampled_from([totals, network]),
    width=st.integers(1, 4),
)
@examples(60)
def test_every_stateful_operator_is_in_exactly_one_task(
    file: Path, fusion: str, pes: int, threading: str | None, kind: Any, width: int
):
    options: dict[str, Any] = {"fusion": fusion, "threading": threading, "pes": pes if fusion == "manual" else None}
    compilation = totals(file, width, **options) if kind is totals else network(file.parent, 4, **options)
    for program in programs(compilation):
        homes = [task.home for task in program.tasks if not task.forwards]
        assert len(set(homes)) == len(homes)
        run = [operator for task in program.tasks for operator in task.operators]
        assert set(run) == set(program.operators)
        owned = [operator for task in program.tasks for operator in task.owns]
        assert sorted(owned) == sorted(program.operators)
        entering = entries(program)
        for operator in program.operators.values():
            if operator.stateful:
                assert run.count(operator.index) == 1
        for target, origins in entering.items():
            assert any(exchange.queue for _, exchange in origins) or len({origin for origin, _ in origins}) > 1, target
        for task in program.tasks:
            for operator in task.operators:
                check_exchanges_lead_to_later_levels(program, task.level, program.operators[operator].deliveries)


def entries(program: PeProgram) -> dict[int, list[tuple[Any, Exchange]]]:
    """Operators behind exchanges, with the tasks that these come from; for a stream of another PE, that."""
    by_operator: dict[int, list[tuple[Any, Exchange]]] = {}

    def collect(origin: Any, deliveries: Any) -> None:
        for delivery in deliveries:
            match delivery:
                case tuple():
                    collect(origin, delivery)
                case SplitDelivery():
                    collect(origin, delivery.channels)
                case Exchange():
                    by_operator.setdefault(delivery.operator, []).append((origin, delivery))

    for task in program.tasks:
        for operator in task.operators:
            collect((task.level, task.partition), program.operators[operator].deliveries)
    for task in program.tasks:
        for stream in task.inputs:
            if stream.operator in by_operator:
                by_operator[stream.operator].append((stream.stream, Exchange(stream.operator, stream.port, -1, False)))
    return by_operator


def check_exchanges_lead_to_later_levels(program: PeProgram, level: int, deliveries: Any) -> None:
    for delivery in deliveries:
        match delivery:
            case tuple():
                check_exchanges_lead_to_later_levels(program, level, delivery)
            case SplitDelivery():
                check_exchanges_lead_to_later_levels(program, level, delivery.channels)
            case Exchange():
                assert program.task_of[delivery.operator].level > level
            case Remote():
                assert delivery.stream in program.consumers


def test_the_unit_and_the_start_of_a_pe_are_known(tmp_path: Path):
    cut = programs(network(tmp_path, 4, fusion="legacy"))
    for program in cut:
        names = {operator.name for operator in program.operators.values()}
        assert program.starts == (bool(names & {"Rows", "Other"}) or program.autonomous)
        assert program.autonomous == bool(names & {"Tail", "Tails", "Either", "Both"})
        foreign = {stream.stream: stream.foreign for stream in program.inputs}
        if "Tail" in names:
            assert foreign == {"Rows": True}
        if "Totals" in names:
            assert not any(foreign.values())
