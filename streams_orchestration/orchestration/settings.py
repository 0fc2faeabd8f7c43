"""The compiler's options as Dagster config of the first stage."""

from __future__ import annotations

from typing import Any, Literal

import dagster as dg
from pydantic import Field

from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment_document import assignment_from_mapping
from streams_orchestration.model.profile_document import profile_from_mapping


class Width(dg.Config):
    """A width for the parallel regions whose operator's name matches a pattern."""

    pattern: str = Field(description="Logical name of the region's operator; `*` matches any text.")
    width: int = Field(ge=1)


class CompileOptions(dg.Config):
    """The options of `streams compile`; an option that is left out has the value in the application's definitions."""

    keep: bool = Field(
        default=False,
        description=(
            "Options that are left out keep their deployed (else last compiled) values; the values of the definitions "
            "are not used."
        ),
    )
    submission: dict[str, str] = Field(default_factory=dict, description="Submission-time values by name.")
    widths: list[Width] = Field(
        default_factory=list[Width], description="The first pattern that matches a region counts."
    )
    fusion: Literal["default", "legacy", "manual", "automatic"] = "default"
    pes: int | None = Field(default=None, description="Number of PEs to aim at.")
    pe_capacity: float | None = Field(
        default=None,
        gt=0,
        description="Processors that a PE may keep busy when automatic fusion uses a profile of operators.",
    )
    channel_fusion: Literal["default", "noChannelInfluence", "channelIsolation", "channelExlocation"] = "default"
    threading: Literal["default", "manual", "automatic", "dynamic", "dedicated"] = "default"
    profile: dict[str, Any] = Field(
        default_factory=dict, description="Measured rates, a document as for `streams compile --profile`."
    )
    decoupling: dict[str, Any] = Field(
        default_factory=dict, description="A decision, a document as for `streams compile --decoupling`."
    )
    decision_gain: float | None = Field(
        default=None,
        ge=0,
        description=(
            "Compile with the last decision of `decoupling_decision`, whose predicted gain over the running plan must "
            "be at least this; other options keep their deployed values."
        ),
    )
    faithful: bool | None = Field(
        default=None, description="Plan exactly as IBM Streams does, without this product's improvements."
    )

    def options(self, defaults: Options) -> Options:
        """Return the compiler's options: these values, or the default of an option that was left out.

        Submission-time values and widths are combined with the defaults, which they precede.

        Raises:
            ApplicationError: `profile` or `decoupling` is not such a document.
        """
        return Options(
            name=defaults.name,
            submission={**defaults.submission, **self.submission},
            widths=defaults.with_widths((each.pattern, each.width) for each in self.widths).widths,
            fusion=defaults.fusion if self.fusion == "default" else self.fusion,
            pes=self.pes if self.pes is not None else defaults.pes,
            pe_capacity=self.pe_capacity if self.pe_capacity is not None else defaults.pe_capacity,
            channel_fusion=defaults.channel_fusion if self.channel_fusion == "default" else self.channel_fusion,
            threading=defaults.threading if self.threading == "default" else self.threading,
            profile=profile_from_mapping(self.profile) if self.profile else defaults.profile,
            decoupling=assignment_from_mapping(self.decoupling) if self.decoupling else defaults.decoupling,
            faithful=self.faithful if self.faithful is not None else defaults.faithful,
        )
