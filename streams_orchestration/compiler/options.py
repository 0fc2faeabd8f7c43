"""Options of a compilation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.profile import Profile


@dataclass(frozen=True, slots=True)
class Options:
    """The options that the command line or the Dagster run config adds to the spec."""

    name: str | None = None
    """Name of the application; None keeps the name in the spec."""
    submission: dict[str, str] = field(default_factory=dict[str, str])
    widths: tuple[tuple[str, int], ...] = ()
    """(pattern of logical region names, width); the first matching pattern decides (rule 6)."""
    fusion: Literal["legacy", "manual", "automatic"] = "automatic"
    pes: int | None = None
    """The number of PEs to aim at; None leaves the number to the scheme."""
    pe_capacity: float = 0.8
    """Processors that a PE may keep busy under automatic fusion by load. The rest is left for peaks and for the work
    of the runtime."""
    channel_fusion: Literal["noChannelInfluence", "channelIsolation", "channelExlocation"] = "noChannelInfluence"
    threading: Literal["manual", "automatic", "dynamic", "dedicated"] | None = None
    faithful: bool = False
    profile: Profile | None = None
    """A profile with measured rates of streams, which precede declared ones (rule 55), and costs of operators (rule
    56); None without measurements."""
    decoupling: Assignment | None = None
    """A decoupling decision, which assigns the operators of a PE to several machines; None leaves PEs whole."""

    def with_widths(self, widths: Iterable[tuple[str, int]]) -> Options:
        """Return the options with these widths in front, so that they take precedence over all others.

        An earlier entry with an equal pattern is removed.
        """
        new = tuple(widths)
        if not new:
            return self
        patterns = {pattern for pattern, _ in new}
        return replace(self, widths=(*new, *(each for each in self.widths if each[0] not in patterns)))


@dataclass(frozen=True, slots=True)
class GivenOptions:
    """Options that a user has set; a redeploy keeps the deployed values of all others."""

    options: Options = Options()
    """The options, with the defaults of those that the user has not set."""
    plain: frozenset[str] = frozenset()
    """The fields of `options` that the user has set, without name, submission values and widths."""

    def over(self, kept: Options) -> Options:
        """Return the kept options, overridden by those that the user has set.

        Submission values and widths are overridden one by one. The name always comes from the user's options, where
        None means the name in the spec.
        """
        asked = {name: getattr(self.options, name) for name in self.plain}
        submission = {**kept.submission, **self.options.submission}
        wider = kept.with_widths(self.options.widths)
        return replace(wider, name=self.options.name, submission=submission, **asked)
