"""An application over two machines: one dies, one is cut off and comes back, one is drained."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration_tests.chaos.shapes import Make, Shape, node, sink
from streams_orchestration_tests.machines.machine_cluster import Field, apart, field_of
from streams_orchestration_tests.machines.namespaces import why_not
from streams_orchestration_tests.postgresql import why_not as why_no_server

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(bool(why_not()), reason=str(why_not())),
    pytest.mark.skipif(bool(why_no_server()), reason=str(why_no_server())),
]


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    source = Make(random.Random(7), 200.0).source("A", period=1.0)
    shape = apart(Shape("machines", [source, node("Sums", "Totals", "A", schema="Total"), sink("Out", "Sums")]))
    with field_of(shape, tmp_path, "a", "b") as field:
        assert set(field.on()) == {"a", "b"}
        yield field


def test_a_machine_that_dies(field: Field):
    field.machines["a"].die()
    field.until(lambda: set(field.on()) == {"b"}, "the move")
    field.goes_on()
    assert field.finish() == []


def test_hosts_that_are_killed_are_started_anew(field: Field):
    field.machines["a"].kill_hosts()
    field.goes_on()
    assert field.finish() == []


def test_a_machine_that_is_cut_off_and_comes_back(field: Field):
    field.machines["a"].cut()
    field.until(lambda: set(field.on()) == {"b"}, "the move")
    field.machines["a"].heal()
    field.goes_on()
    assert field.finish() == []
    field.until(lambda: len(field.machines["a"].processes()) <= 2, "the end of its hosts")


def test_a_machine_that_is_drained(field: Field):
    subprocess.run([sys.executable, "-m", "streams_orchestration", "machines", "drain", "a"], check=True)
    assert set(field.on()) == {"b"}
    assert not any(field.resets.values())
    field.goes_on()
    assert field.finish() == []
