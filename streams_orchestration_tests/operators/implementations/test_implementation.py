"""The class of an operator: methods that cannot be called as the product calls them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.implementations.implementation import wrong_method
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.batch import TupleBatch


class NoPort(Operator):
    def process(self, batch: TupleBatch) -> None:  # type: ignore[override]
        self.submit(batch)


class OneArgument(Operator):
    def __init__(self, context: OperatorContext) -> None:
        super().__init__(context, None)

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)


class CheckOfObjects(Operator):
    def check(self, context: OperatorContext, parameters: Any) -> None:  # type: ignore[override]
        pass

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)


class Loose(Operator):
    def __init__(self, *everything: Any, **named: Any) -> None:
        super().__init__(*everything, **named)

    @staticmethod
    def process(port: int, batch: TupleBatch, *, more: bool = False) -> None:  # type: ignore[override]
        pass

    def setup(self, more: int = 0) -> None:
        pass


class NoSuper(Operator):
    def __init__(self, context: OperatorContext, parameters: Any) -> None:
        self.seen = 0

    def process(self, port: int, batch: TupleBatch) -> None:
        self.seen += len(batch)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (NoPort, "process cannot be called as process(port, batch): too many positional arguments"),
        (
            OneArgument,
            "__init__ cannot be called as __init__(context, parameters): too many positional arguments",
        ),
        (
            CheckOfObjects,
            "check cannot be called as check(context, parameters): missing a required argument: 'parameters'",
        ),
    ],
)
def test_a_method_that_cannot_be_called_is_named(kind: type[Operator], wanted: str):
    assert wrong_method(kind, 1) == f"{kind.__name__}.{wanted}"
    with pytest.raises(ValueError, match=re.escape(wanted)):
        OperatorHarness(kind, ["a int"], ["a int"])


def test_a_method_may_take_more_than_it_is_given():
    assert wrong_method(Loose, 1) is None


def test_an_object_whose_class_leaves_out_the_base_s_init_is_refused():
    with pytest.raises(ResultError, match=re.escape("does not call `super().__init__(context, parameters)`")):
        OperatorHarness(NoSuper, ["a int"], ["a int"])
