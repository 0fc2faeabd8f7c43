"""Keys and parameters that only sources have in event-time graphs."""

from __future__ import annotations

import pytest

from streams_orchestration.compiler.compilation import CompileError
from streams_orchestration.compiler.event_time.roles import role_in
from streams_orchestration_tests.compiler.event_time.annotated import (
    AT,
    SCHEMAS,
    compiled,
    findings,
    sink,
    sound,
    source,
    through,
)


@pytest.mark.parametrize("key", ["idleAfter", "maxDrift"])
def test_event_time_keys_of_sources_are_refused_of_other_operators(key: str):
    graph = [source("A"), through("F", "A", annotations={"eventTime": {**AT, key: 5}}), sink("K", "F")]
    (refused,) = [each for each in findings({"schemas": SCHEMAS, "graph": graph}) if each.severity == "error"]
    assert (refused.code, refused.operator) == ("SO0811", "F")
    assert refused.message.startswith(f"{key}: F has an input port, and only a source ")
    sound({"graph": [source("A", {**AT, key: 5}), sink("K", "A")]})


def test_files_are_read_in_order_of_event_time_only_where_there_is_event_time():
    files = source("A")
    files["parameters"] = {**files["parameters"], "interleave": True}
    with pytest.raises(CompileError) as refusal:
        compiled({"schemas": SCHEMAS, "graph": [files, sink("K", "A")]})
    (found,) = [each for each in refusal.value.diagnostics if each.severity == "error"]
    assert (found.code, found.operator) == ("SO0806", "A")
    sound({"graph": [files | {"annotations": {"eventTime": AT}}, sink("K", "A")]})


def test_sources_know_the_others_of_their_graph_if_one_of_them_has_a_maximum_drift():
    graph = [source("A", AT), source("B", {**AT, "maxDrift": 0.0005}), source("C", AT), sink("K", "A", "B")]
    graph += [sink("L", "C")]
    done = sound({"graph": graph})
    roles = {done.physical.operators[each.operator].name: role_in(done, each) for each in done.event_time.operators}
    assert {name: (role.max_drift, role.peers) for name, role in roles.items()} == {
        "A": (None, ("B",)),
        "B": (1, ("A",)),
        "C": (None, ()),
        "K": (None, ()),
        "L": (None, ()),
    }
