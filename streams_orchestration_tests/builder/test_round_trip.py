"""An application that goes through the builder stays the same, so Python can say all that a spec can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.builder import Application
from streams_orchestration.model import application as model
from streams_orchestration.model.annotations import (
    Annotations,
    Consistent,
    Parallel,
    PartitionBy,
    Restart,
    ThreadingAnnotation,
)
from streams_orchestration.model.application import Composite, InputBinding, Invocation, OutputBinding
from streams_orchestration.model.operators import (
    ConsistentSupport,
    InputPortModel,
    OperatorModel,
    OutputPortModel,
    Wait,
)
from streams_orchestration.model.placement import (
    CheckpointConfig,
    Config,
    HostPoolDeclaration,
    Placement,
    ThreadedPortConfig,
)
from streams_orchestration.model.values import SubmissionValue
from streams_orchestration_tests.examples import examples

ROOT = Path(__file__).parents[2]
SPECS = sorted((ROOT / "specs").glob("*.yaml"))


def several(of: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, min_size=least, max_size=3).map(tuple)


def maybe(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | of


NAMES = st.sampled_from(["A", "B", "Src", "Out", "In", "Work_2"])
TEXTS = st.text("abc '\"$:#\né", max_size=8)
TAGS = several(st.sampled_from(["t", "u{getChannel()}", "byChannel()"]), 1)
WIDTHS = st.sampled_from([1, 3, "${width}"])
SECONDS = st.sampled_from([0.5, 10.0, "${width}"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
PARALLEL = st.builds(
    Parallel, width=WIDTHS, partition_by=several(st.builds(PartitionBy, port=NAMES, attributes=several(NAMES, 1)), 1),
    broadcast=several(NAMES), replicate_host_tags=several(NAMES),
) | st.builds(Parallel, width=WIDTHS)  # fmt: skip
CONSISTENT = st.builds(
    Consistent, trigger=st.sampled_from(["periodic", "operatorDriven"]), period=maybe(SECONDS),
    drain_timeout=maybe(SECONDS), reset_timeout=maybe(SECONDS), max_consecutive_reset_attempts=maybe(WIDTHS),
    restart=maybe(st.builds(Restart, pause=maybe(SECONDS), limit=maybe(SECONDS))),
)  # fmt: skip
THREADING = st.builds(
    ThreadingAnnotation, model=st.sampled_from(["manual", "dedicated"]), threads=maybe(WIDTHS),
    elastic=maybe(st.booleans()),
)  # fmt: skip
ANNOTATIONS = st.builds(
    Annotations, parallel=maybe(PARALLEL), consistent=maybe(CONSISTENT), autonomous=st.booleans(),
    threading=maybe(THREADING), atomic=maybe(NAMES),
)  # fmt: skip
PLACEMENT = st.builds(
    Placement, partition_colocation=maybe(TAGS), partition_exlocation=maybe(TAGS),
    partition_isolation=maybe(st.booleans()), host=maybe(NAMES), host_pool=maybe(NAMES), host_colocation=maybe(TAGS),
    host_exlocation=maybe(TAGS), host_isolation=maybe(st.booleans()),
)  # fmt: skip
CONFIG = st.builds(
    Config, placement=maybe(PLACEMENT),
    threaded_port=several(
        st.builds(
            ThreadedPortConfig, port=st.integers(0, 2), congestion_policy=st.sampled_from(["Sys.Wait", "Sys.DropLast"]),
            queue_size=WIDTHS,
        )
    ),
    restartable=maybe(st.booleans()), relocatable=maybe(st.booleans()),
    checkpoint=maybe(st.builds(CheckpointConfig, periodic=SECONDS) | st.just(CheckpointConfig(operator_driven=True))),
    visibility=st.sampled_from([None, "read_committed", "read_uncommitted"]),
)  # fmt: skip
INVOCATIONS = st.builds(
    Invocation, name=NAMES, operator=st.sampled_from(["Filter", "FileSink", "Comp", "a.b:C", "Nowhere"]),
    inputs=several(
        st.builds(
            InputBinding, streams=several(NAMES), name=maybe(NAMES), control=st.booleans(),
            mutates=maybe(several(NAMES)),
        )
    ),
    outputs=maybe(
        several(st.builds(OutputBinding, stream=NAMES, schema=maybe(TEXTS), rate=maybe(SECONDS)))
    ),
    parameters=st.dictionaries(NAMES, JSON, max_size=2), annotations=ANNOTATIONS, config=CONFIG, uid=maybe(NAMES),
)  # fmt: skip
COMPOSITES = st.builds(
    Composite, inputs=several(NAMES), outputs=several(NAMES), config=CONFIG, graph=several(INVOCATIONS),
    annotations=st.builds(Annotations, threading=maybe(THREADING)),
)  # fmt: skip
OPERATORS = st.builds(
    OperatorModel, implementation=maybe(st.just("a.b:C")), stateful=st.booleans(),
    inputs=maybe(several(st.builds(InputPortModel, name=TEXTS, mutable=maybe(st.booleans()), control=st.booleans()))),
    outputs=maybe(several(st.builds(OutputPortModel, mutable=st.booleans()))),
    single_threaded=st.sampled_from(["Always", "Never", "WindowBound"]),
    consistent=st.builds(ConsistentSupport, member=st.booleans(), reason=TEXTS),
    waits=several(st.just(Wait(port=0, other=1))),
)  # fmt: skip
APPLICATIONS = st.builds(
    model.Application, application=NAMES.map(lambda name: name.replace("-", "_")), description=TEXTS,
    time_zone=st.sampled_from(("UTC", "Europe/Berlin", "Asia/Kolkata")),
    submission=st.dictionaries(NAMES, st.just(SubmissionValue(type="int32", default=2)), max_size=2),
    schemas=st.dictionaries(NAMES, TEXTS, max_size=2), operators=st.dictionaries(NAMES, OPERATORS, max_size=2),
    composites=st.dictionaries(NAMES, COMPOSITES, max_size=2),
    host_pools=several(st.builds(HostPoolDeclaration, name=NAMES, tags=several(NAMES), size=maybe(st.integers(1, 9)))),
    annotations=st.builds(Annotations, threading=maybe(THREADING)), config=CONFIG, graph=several(INVOCATIONS),
)  # fmt: skip


@pytest.mark.slow
@given(application=APPLICATIONS)
@examples(100)
def test_any_application_comes_back_from_the_builder(application: model.Application):
    built = Application.from_spec(application)
    assert model.Application.model_validate(built.document()) == application
    assert model.Application.model_validate(yaml.safe_load(built.to_yaml())) == application


@pytest.mark.parametrize("spec", SPECS, ids=lambda path: path.stem)
def test_a_spec_comes_back_as_it_was(spec: Path):
    before = Application.from_spec(spec)
    assert Application.from_spec(model.Application.model_validate(yaml.safe_load(before.to_yaml()))).model() == (
        before.model()
    )
