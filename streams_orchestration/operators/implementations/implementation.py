"""Finds and imports the class that implements an operator."""

from __future__ import annotations

import functools
import inspect
import logging
from typing import Any

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, SourceOperator
from streams_orchestration.operators.errors.errors import ResultError
from streams_orchestration.operators.expressions.spl.program_environment import setting_up
from streams_orchestration.operators.loading.import_path import LOGIC_SUFFIX, ImplementationError, import_name, is_class
from streams_orchestration.operators.states.timers import Timers

log = logging.getLogger("streams.operator")
MAX_CACHED_CLASSES = 1_000
"""The number of classes for which the result of the method checks is cached."""
NO_WATERMARK = (
    "{}, but no watermark arrives at it: annotate an operator upstream of it with eventTime, and keep the attribute "
    "in all streams between them (SO0806)"
)
"""Message for an operator outside of event-time graphs. The placeholder is the feature that needs a watermark."""


def import_operator(name: str) -> type[Operator]:
    """Import the class `package.module:Class`, or a function under `@operator`.

    A class whose name ends with `LOGIC_SUFFIX` runs logic of SPL before its own code.

    Raises:
        ImplementationError: the name has another form, its module cannot be imported, whatever its code raises, or the
            class is missing or not an `Operator`.
    """
    if name.endswith(LOGIC_SUFFIX):
        from streams_orchestration.operators.logic.with_logic import with_logic

        return with_logic(import_operator(name.removesuffix(LOGIC_SUFFIX)))
    imported = import_name(name, Operator)
    if not is_class(imported, Operator):
        message = f"{name}: this is not a subclass of streams_orchestration.operators.Operator"
        if callable(imported) and not isinstance(imported, type):
            message += ", nor a function with @operator"
        raise ImplementationError(message)
    return imported


def wrong_method(kind: type[Operator], inputs: int) -> str | None:
    """Describe the first method of a class that is missing or has a wrong signature; None if all are right.

    A source needs `produce`. An operator with input ports needs `process` or `on_punctuation`.
    """
    return _missing_method(kind, inputs) or _uncallable_method(kind)


def _missing_method(kind: type[Operator], inputs: int) -> str | None:
    if issubclass(kind, SourceOperator):
        name, lacks = "produce", kind.produce is SourceOperator.produce
    else:
        silent = kind.process is Operator.process and kind.on_punctuation is Operator.on_punctuation
        name, lacks = "process", inputs > 0 and silent
    if not lacks:
        return None
    own = [each for each, value in vars(kind).items() if callable(value) and not each.startswith("__")]
    what = "every tuple that arrives would be dropped" if name == "process" else "it would never make a tuple"
    return f"{kind.__name__} has no method {name}, so {what}{nearest(name, own)}"


@functools.lru_cache(maxsize=MAX_CACHED_CLASSES)
def _uncallable_method(kind: type[Operator]) -> str | None:
    """Describe the first overriding method whose signature differs from the base class; None if all fit."""
    base = SourceOperator if issubclass(kind, SourceOperator) else Operator
    for name in dir(base):
        expected, own = (inspect.getattr_static(each, name) for each in (base, kind))
        if own is expected or not inspect.isroutine(expected) or (name.startswith("_") and name != "__init__"):
            continue
        names = [each for each in inspect.signature(getattr(base, name)).parameters if each != "self"]
        on_object = inspect.isfunction(expected) and inspect.isfunction(own)
        try:
            inspect.signature(getattr(kind, name)).bind(*(("self",) if on_object else ()), *names)
        except TypeError as error:
            return f"{kind.__name__}.{name} cannot be called as {name}({', '.join(names)}): {error}"
        except ValueError:  # a method that is compiled may not show what it takes
            continue
    return None


def make_operator(kind: type[Operator], context: OperatorContext, parameters: Any) -> Operator:
    """Create an operator, load the modules that a source needs, and call its `setup`, whose errors are raised.

    Raises:
        ResultError: its `__init__` does not call the `__init__` of its base class, or it has timers that would never
            fire.
    """
    operator = kind(context, parameters)
    if not hasattr(operator, "context"):
        message = "its `__init__` does not call `super().__init__(context, parameters)`"
        raise ResultError(message)
    if isinstance(operator, SourceOperator):
        load(operator)  # a source may read ahead on threads of its own
    with setting_up(context):
        operator.setup()
    if timers_of(operator) is not None:
        _check_timers(operator)
    return operator


def timers_of(operator: Operator) -> Timers | None:
    """Return the timers of an operator; None for most operators."""
    return getattr(operator, "timers", None)


def timer_count(operator: Operator) -> int | None:
    """Return the number of an operator's timers that are set; None for an operator without timers."""
    timers = getattr(operator, "own_timers", None) if timers_of(operator) is None else timers_of(operator)
    return None if timers is None else len(timers)


def _check_timers(operator: Operator) -> None:
    """Raise ResultError if the timers of an operator would never fire."""
    role = operator.context.event_time
    if role is None or not role.ports:
        message = NO_WATERMARK.format("it has timers")
        raise ResultError(message)
    if operator.keeps_places:
        message = "it has timers, but its class sets `keeps_places`, with which no timer fires; remove one of the two"
        raise ResultError(message)


def load(operator: Operator) -> None:
    """Call the operator's `load` on this thread, and log errors instead of raising them."""
    try:
        operator.load()
    except Exception:
        log.debug("operator %s: loading failed", operator.context.name, exc_info=True)
