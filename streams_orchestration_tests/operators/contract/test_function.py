"""`@operator`: functions as operators, by themselves and in an application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.operators import Parameters, TupleBatch, operator
from streams_orchestration.operators.errors.errors import ConstTupleError
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

ROW = "k string, n bigint"


@operator
def positive(batch: TupleBatch) -> TupleBatch:
    """Lets through positive numbers."""
    return batch.filter(batch.column("n") > 0)


class Factor(Parameters):
    factor: int = Field(description="what numbers are multiplied with")


@operator(parameters=Factor)
def times(batch: TupleBatch, parameters: Factor) -> dict[str, Any]:
    return {"k": batch.arrow["k"], "n": batch.column("n") * parameters.factor}


@operator(mutates=("n",), preserves_window_punctuation=True)
def negate(batch: TupleBatch) -> TupleBatch:
    batch.writable("n")[:] *= -1
    return batch


@operator
def both(batch: TupleBatch) -> Iterator[TupleBatch]:
    yield batch
    yield batch


@operator
def nothing(batch: TupleBatch) -> None:
    pass


@operator
def write(batch: TupleBatch) -> None:
    batch.writable("n")


@operator
def wrong(batch: TupleBatch) -> Any:
    return {"k": batch.arrow["k"]}


def harness(kind: Any, **parameters: Any) -> OperatorHarness:
    return OperatorHarness(kind, [ROW], [ROW], parameters=parameters)


DATA = [("a", 1), ("b", -2)]


@pytest.mark.parametrize(
    ("kind", "parameters", "result"),
    [
        (positive, {}, [("a", 1)]),
        (times, {"factor": 3}, [("a", 3), ("b", -6)]),
        (negate, {}, [("a", -1), ("b", 2)]),
        (both, {}, DATA + DATA),
        (nothing, {}, []),
    ],
)
def test_the_result_of_a_function_is_submitted(kind: Any, parameters: dict[str, Any], result: list[Any]):
    assert harness(kind, **parameters).send(DATA).rows() == result


def test_a_function_may_be_called_as_it_is():
    batch = harness(positive).send(DATA).batches()[0]
    assert len(positive.function(batch)) == 1


def test_the_operator_is_found_by_the_function_s_name_and_tells_its_purpose():
    assert import_operator(f"{__name__}:positive") is positive
    assert positive.__doc__ == "Lets through positive numbers."


def test_a_function_writes_to_its_tuples_only_where_it_says_so():
    with pytest.raises(ConstTupleError, match="attribute n"):
        harness(write).send(DATA)


def test_other_columns_than_the_stream_s_are_refused():
    with pytest.raises(ValueError, match="has the attributes k, n, but the function returned k"):
        harness(wrong).send(DATA)


def test_a_function_runs_in_an_application(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", 50)
    thrice = node("Thrice", f"{__name__}:times", "Rows", parameters={"factor": 3})
    local = LocalApplication(
        Home(tmp_path / "home"), compiled([source("Rows", file), thrice, sink("Out", "Thrice")]), 7
    )
    local.run()
    assert published(local.published("Out")) == sorted((k, 3 * n) for k, n in rows(50))


def test_an_application_that_does_not_know_what_the_code_writes_to_is_not_deployed(tmp_path: Path):
    file = write_rows(tmp_path / "rows.parquet", 5)
    graph = [source("Rows", file), node("Less", f"{__name__}:negate", "Rows"), sink("Out", "Less")]
    (actual,) = check_operators(compiled(graph).progress)
    assert actual.code == "SO5004"
    assert f"operators: {{negate: {{implementation: {__name__}:negate, inputs: [{{mutates: [n]}}], outputs: " in str(
        actual.message
    )


@pytest.mark.parametrize(
    "function",
    [
        lambda batch, metrics: metrics.counter("seen").add(len(batch)),
        lambda batch, metrics, parameters: metrics.counter("seen").add(len(batch)),
        lambda batch, parameters, metrics: metrics.counter("seen").add(len(batch)),
    ],
)
def test_a_function_may_have_metrics_of_its_own(function: Any):
    harness = OperatorHarness(operator(function), ["n bigint"]).send([(1,), (2,)])
    assert harness.metrics == {"seen": 2}


@pytest.mark.parametrize("function", [lambda: None, lambda metrics: None, lambda batch, a, b: None])
def test_other_arguments_are_refused(function: Any):
    with pytest.raises(TypeError, match="the metrics as `metrics`"):
        operator(function)
