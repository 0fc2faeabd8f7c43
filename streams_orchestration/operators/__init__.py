"""The SDK for writing operators, and the standard operators.

An operator of your own is a subclass of `Operator` or `SourceOperator`, or a function under `@operator`. A spec names
it as `package.module:Name`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from streams_orchestration.operators.contract.clock_operator import ClockOperator
    from streams_orchestration.operators.contract.function import operator
    from streams_orchestration.operators.contract.metrics import Counter, Gauge, Metrics
    from streams_orchestration.operators.contract.operator import (
        Operator,
        OperatorContext,
        Parameters,
        ProducedTo,
        Punctuation,
        SourceOperator,
    )
    from streams_orchestration.operators.errors.errors import DataError, OutsideError, RefusedError
    from streams_orchestration.operators.expressions.evaluable import Evaluable
    from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
    from streams_orchestration.operators.sinks.epoch_sink import EpochSink
    from streams_orchestration.operators.states.dict_state import DictState
    from streams_orchestration.operators.states.keyed_state import KeyedState
    from streams_orchestration.operators.states.rescaling import PortKeys, RescaleError, Route, Sharding
    from streams_orchestration.operators.states.state import State
    from streams_orchestration.operators.states.timers import DueTimers, Timers
    from streams_orchestration.operators.states.tuple_log import TupleLog
    from streams_orchestration.operators.tuples.batch import TupleBatch

__all__ = [
    "ClockOperator",
    "Counter",
    "DataError",
    "DeliveryKey",
    "DictState",
    "DueTimers",
    "EpochSink",
    "Evaluable",
    "Gauge",
    "KeyedState",
    "Metrics",
    "Operator",
    "OperatorContext",
    "OutsideError",
    "Parameters",
    "PortKeys",
    "ProducedTo",
    "Punctuation",
    "RefusedError",
    "RescaleError",
    "Route",
    "Sharding",
    "SourceOperator",
    "State",
    "Timers",
    "TupleBatch",
    "TupleLog",
    "operator",
]

_MODULES = {
    "ClockOperator": "contract.clock_operator",
    "Counter": "contract.metrics",
    "DataError": "errors.errors",
    "DeliveryKey": "sinks.delivery_key",
    "DictState": "states.dict_state",
    "DueTimers": "states.timers",
    "EpochSink": "sinks.epoch_sink",
    "Evaluable": "expressions.evaluable",
    "Gauge": "contract.metrics",
    "KeyedState": "states.keyed_state",
    "Metrics": "contract.metrics",
    "OutsideError": "errors.errors",
    "PortKeys": "states.rescaling",
    "RefusedError": "errors.errors",
    "RescaleError": "states.rescaling",
    "Route": "states.rescaling",
    "Sharding": "states.rescaling",
    "State": "states.state",
    "Timers": "states.timers",
    "TupleBatch": "tuples.batch",
    "TupleLog": "states.tuple_log",
    "operator": "contract.function",
}
"""Map a name to the module of this package that defines it; names not listed are in `contract.operator`."""


def __getattr__(name: str) -> Any:
    # the compiler imports this package and must not wait for Arrow, numpy and pandas
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(f"{__name__}.{_MODULES.get(name, 'contract.operator')}"), name)
