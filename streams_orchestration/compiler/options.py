"""Options of a compilation: what does not stand in the spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.profile import Profile


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line, or the Dagster run config, says beyond the spec."""

    name: str | None = None
    """Of the application; that of the spec when None."""
    submission: dict[str, str] = field(default_factory=dict[str, str])
    widths: tuple[tuple[str, int], ...] = ()
    """(pattern of logical region names, width), first match wins (rule 6)."""
    fusion: Literal["legacy", "manual", "automatic"] = "automatic"
    pes: int | None = None
    pe_capacity: float = 0.8
    """Processors that a PE may keep busy under automatic fusion by a profile of operators: the rest is for what is no
    operator's, and for peaks."""
    channel_fusion: Literal["noChannelInfluence", "channelIsolation", "channelExlocation"] = "noChannelInfluence"
    threading: Literal["manual", "automatic", "dynamic", "dedicated"] | None = None
    faithful: bool = False
    profile: Profile | None = None
    """Measured rates of streams, stronger than declared ones (rule 55), and what operators cost (rule 56)."""
    decoupling: Assignment | None = None
    """A decision which operators of a PE go to machines of their own."""

    def with_widths(self, widths: Iterable[tuple[str, int]]) -> Options:
        """With these in front; a pattern that is there already gets another width."""
        new = tuple(widths)
        if not new:
            return self
        patterns = {pattern for pattern, _ in new}
        return replace(self, widths=(*new, *(each for each in self.widths if each[0] not in patterns)))


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """Options that were asked for; the others may be kept from what is deployed."""

    options: Options = Options()
    """Those that were not asked for have their defaults."""
    plain: frozenset[str] = frozenset()
    """Fields of `options` that were asked for and take the place of what is kept, besides name, values and widths."""

    def over(self, kept: Options) -> Options:
        """Return kept options, changed as was asked for."""
        asked = {field: getattr(self.options, field) for field in self.plain}
        submission = {**kept.submission, **self.options.submission}
        wider = kept.with_widths(self.options.widths)
        return replace(wider, name=self.options.name, submission=submission, **asked)
