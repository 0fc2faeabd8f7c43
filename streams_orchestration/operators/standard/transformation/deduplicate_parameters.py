"""The parameters of DeDuplicate."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters


class DeDuplicateParameters(ExpressionParameters):
    """The parameters of `DeDuplicate`.

    Without `count`, `delta`, `timeOut` and `within`, keys are remembered forever.
    """

    key: ExpressionText | list[ExpressionText] = Field(
        default_factory=list, description="List of expressions that form the key; all attributes by default."
    )
    count: int | None = Field(default=None, ge=0, description="Number of further tuples for which a key is remembered.")
    delta: float | None = Field(
        default=None, ge=0, description="A key is forgotten once deltaAttribute has grown by more than this."
    )
    delta_attribute: str | None = Field(
        default=None,
        alias="deltaAttribute",
        description="Number attribute, or a timestamp, for which delta is in seconds.",
    )
    time_out: float | None = Field(
        default=None,
        ge=0,
        alias="timeOut",
        allow_inf_nan=False,
        description="Seconds by the clock for which a key is remembered; after a reset other tuples may pass.",
    )
    within: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Seconds of event time before and after a tuple, within which tuples of its key are duplicates.",
    )
    discard_age: float = Field(
        default=0.0,
        ge=0,
        alias="discardAge",
        allow_inf_nan=False,
        description="Seconds before the watermark from which on a tuple is too late to be judged; needs within.",
    )
    reset_on_duplicate: bool = Field(
        default=True,
        alias="resetOnDuplicate",
        description="Remember a key from its last duplicate on, instead of from its first tuple.",
    )
    flush_on_punctuation: bool = Field(
        default=False, alias="flushOnPunctuation", description="Forget all keys at a window marker."
    )
    output: dict[str, ExpressionText] = Field(
        default_factory=dict,
        description="Maps an attribute of output port 0 to an expression. Other attributes keep their values.",
    )

    @property
    def keys(self) -> list[ExpressionText]:
        """The expressions that form the key; empty for all attributes."""
        return self.key if isinstance(self.key, list) else [self.key]

    def _faults(self) -> Iterator[str]:
        given = [name for name in ("count", "delta", "within") if getattr(self, name) is not None]
        given += [] if self.time_out is None else ["timeOut"]
        if len(given) > 1:
            yield f"{' and '.join(given)} exclude each other; give one of them"
        if self.within is None and "discard_age" in self.model_fields_set:
            yield "discardAge needs the parameter within"
        if self.within is not None and "reset_on_duplicate" in self.model_fields_set:
            yield (
                "resetOnDuplicate cannot be combined with within, which remembers only tuples that passed; leave it out"
            )
        if (self.delta is None) != (self.delta_attribute is None):
            yield "delta and deltaAttribute require each other; give both or neither"
