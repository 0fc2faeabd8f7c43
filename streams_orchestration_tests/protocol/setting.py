"""The setting of a trial: an application, its possible faults, and the parts of the protocol that are switched off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.world import Flight

FAULTS = ("reset", "new host")
OUTSIDE = "outside"
"""A cause that takes no attempt away."""


@dataclass(frozen=True)
class Setting:
    """The parameters of the steps."""

    topology: Topology
    epochs: int = 2
    """Epochs that the period ends before nothing else is possible."""
    faults: int = 1
    causes: tuple[str, ...] = ("",)
    """The causes of resets, counted for each if there are several; the first cause is a request by hand."""
    kinds: tuple[str, ...] = FAULTS
    """The kinds of faults. A crashed part does nothing any more, which needs no step; the steps after a crash do."""
    fenced: bool = True
    """A commit of another generation is refused."""
    fenced_start: bool = True
    """A host that is started anew has a generation of its own."""
    aligned: bool = True
    """An epoch ends at a PE when all its streams have come to the boundary."""
    publishes_complete_epochs: bool = True
    """A file becomes visible when its epoch is complete, and not before."""
    keeps_cut: bool = True
    """Garbage is what lies before the cut, not what was read."""
    waits_for_outsiders: bool = False
    """A PE is held up by consumers outside of its region, which cannot read yet what it writes."""
    forgets: bool = True
    """Items that will be refused are no longer checked."""
    redeploys: int = 0
    """The redeploys that may be begun; each changes one unit, or all."""
    trials: bool = True
    """A redeploy is on trial first, and may be reverted; else it passes in the switch."""
    boundary_commits: bool = True
    """A switch leaves a commit in every PE that a reset can go back to."""
    looks_again: bool = True
    """A switch is refused when anything was committed since states were carried over."""
    divides: bool = True
    """States go where the new splitter sends the tuples of their keys; else they stay where the old one did."""
    proves: bool = True
    """A switch is refused when a key lies elsewhere than where its tuples will go."""
    shows_after_trial: bool = True
    """Results of a plan on trial are seen outside when the trial has passed, and not before."""
    keeps_cut_on_trial: bool = True
    """As long as a redeploy can be reverted, garbage is what lies before the cut at which it took place."""
    numbers_grow: bool = True
    """A revert goes on with batches, epochs and a generation higher than all that the trial has used."""
    compares: bool = True
    """A query of Spark's fails that does not stand where the catalog does."""
    cuts_back: bool = True
    """A restart of a query goes back to the checkpoint that a commit names."""
    links_in_commit: bool = True
    """The commit of a boundary names the checkpoint; else another transaction does, behind it."""
    starts_at_boundary: bool = True
    """A host that is started anew takes a unit back to its cut, where a query has no checkpoint of its last batch."""
    renumbers: bool = True
    """A checkpoint that a redeploy or its revert brings back gets the number of the commit that names it."""
    flushes: bool = True
    """A query has a batch with a marker in front of its last one."""
    watermarks_go_back: bool = True
    """A reset takes watermarks back with the tuples that they came behind."""
    merges_least: bool = True
    """The watermark behind several streams is the least of theirs, not the greatest."""
    switches_watermarks: Literal["least", "greatest", "none"] = "least"
    """The watermark of every stream after a redeploy: the operator's own, the greatest of all streams, or none."""
    flights: dict[tuple, tuple[Flight, ...]] = field(default_factory=dict, compare=False, repr=False)
    """The flights that `begin` has computed."""
