"""Limits that several packages of the runtime share."""

from __future__ import annotations

SOURCE_LIMIT = 1 << 24
"""The most tuples that a source may produce in one batch, unless a setting gives another number."""
OUTSTANDING_LIMIT = 32
"""The number of segments that a consumer may lag, or of epochs that a sink may be late, before the producer waits for
it: the back-pressure."""
SEGMENTS_LIMIT = 64
"""The most segments that a batch reads from one stream, unless one batch of an uncommitted stream has more."""
HEARTBEAT_LIMIT = 20.0
"""Seconds without a heartbeat after which a running host counts as dead."""
ENTERED_LIMIT = 15.0
"""Seconds after which a new host of a redeploy counts as failed if the redeploying process has not started it."""
START_LIMIT = 90.0
"""Seconds a host may take from launch to its first heartbeat."""
AGENT_LIMIT = 15.0
"""Seconds after which a launched host without a process counts as failed: its agent or launcher did not start it."""
LEASE_SECONDS = 15.0
"""Seconds that a machine counts as up after its agent has renewed its lease."""
AHEAD_SECONDS = 5.0
"""Seconds by which a time in the catalog may lie in the future although no clock was set back."""
HOLD_SECONDS = 30.0
"""Seconds after which a hold on a unit expires unless it is renewed, since the process that holds it may die."""
