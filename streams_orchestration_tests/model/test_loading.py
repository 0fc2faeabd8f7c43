"""Loading: shorthands, defaults, files and Python values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.reading import load_application, read_application
from streams_orchestration.model.application import InputBinding, OutputBinding
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.model.spec_texts import FULL
from streams_orchestration_tests.specs import read


def test_a_full_spec() -> None:
    application = read(FULL)
    assert application.name == "flight_delays"
    source, out, sink = application.graph
    assert source.outputs == (OutputBinding(stream="Src", schema="Flight", rate=5000.0),)
    assert [binding.streams for binding in out.inputs] == [("Src",), ("Src",)]
    assert sink.inputs == (InputBinding(streams=("Out",), name="control0", control=True),)
    assert out.annotations.parallel is not None
    assert out.annotations.parallel.width == "${width}"
    assert source.annotations.consistent is not None
    assert source.annotations.consistent.drain_timeout == 180.0
    composite = application.composites["Comp1"]
    assert composite.config.placement is not None
    assert composite.config.placement.partition_colocation == ("byChannel()", "x")
    assert str(out.location("annotations", "parallel")) == "spec:43"
    assert str(application.location("schemas", "Flight")) == "spec:8"
    enrich = application.operators["Enrich"].signature()
    assert [enrich.input(port).is_mutable for port in range(6)] == [True, False, False, True, True, True]


def test_the_same_application_from_python(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    path.write_text(FULL)
    loaded = load_application(path)
    built = application_from_mapping(loaded.model_dump(exclude_unset=True))
    assert built == loaded
    assert built.graph[0].location() is None
    assert str(loaded.graph[0].location()) == f"{path}:34"


def test_the_error_says_where_what_and_which_operator(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("application: a\ngraph:\n  - name: Src\n    operator: Becon\n")
    with pytest.raises(ApplicationError) as caught:
        load_application(path)
    assert str(caught.value) == f"{path}:4: Src: error SO0101: there is no operator Becon; the nearest is Beacon"
    read = read_application(path)
    assert read.application is not None
    assert [each.code for each in read.diagnostics] == ["SO0101"]


@pytest.mark.parametrize("value", [None, 5, "x", [1], {"graph": 5}, {"application": "a", "graph": ({},)}])
def test_any_python_value_is_refused_cleanly(value: Any) -> None:
    with pytest.raises(ApplicationError):
        application_from_mapping(value)


def test_keys_with_nothing_behind_them_are_empty(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(
        """
specVersion: 1
application: empty
description:
submission:
schemas:
operators:
composites:
hostPools:
graph:
  - {name: S, operator: Beacon, inputs: , parameters: , annotations: , config: }
  - {name: K, operator: FileSink, inputs: [S], config: {placement: , threadedPort: }}
"""
    )
    source = load_application(path).graph[0]
    assert (source.inputs, source.parameters) == ((), {})
