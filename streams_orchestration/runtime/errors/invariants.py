"""Assertions of the recovery protocol that stay on in production, each with the number of its rule.

A broken promise is a defect of the product. It stops the transaction that has met it, which then changes nothing, so a
defect costs an error in place of lost or doubled tuples.

>>> promise(True, "B4", "epochs grow")
>>> promise(False, "B4", "app: epoch 3 follows epoch 5")
Traceback (most recent call last):
    ...
streams_orchestration.runtime.errors.invariants.InvariantError: app: epoch 3 follows epoch 5. This breaks rule B4 of \
the recovery protocol, so nothing was changed. It is a defect of the product: report it with the logs. A reset of the \
unit may help.
"""

from __future__ import annotations

from typing import NoReturn

from streams_orchestration.runtime.errors.errors import StreamsRuntimeError


class InvariantError(StreamsRuntimeError):
    """A transaction breaks a rule of the recovery protocol. It changes nothing."""


def promise(kept: bool, rule: str, otherwise: str) -> None:  # noqa: FBT001
    """Raise InvariantError unless a rule of the protocol, such as B4, holds; `otherwise` names the wrong state."""
    if not kept:
        broken(rule, otherwise)


def broken(rule: str, otherwise: str) -> NoReturn:
    """Raise InvariantError for a rule; arguments as in `promise`."""
    message = (
        f"{otherwise}. This breaks rule {rule} of the recovery protocol, so nothing was changed. It is a "
        "defect of the product: report it with the logs. A reset of the unit may help."
    )
    raise InvariantError(message)
