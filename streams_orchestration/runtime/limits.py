"""Limits that several packages of the runtime share."""

from __future__ import annotations

SOURCE_LIMIT = 1 << 24
"""Tuples that a source may produce in one batch, unless a setting says less."""
OUTSTANDING_LIMIT = 32
"""Segments of a stream that a consumer may be behind, or epochs that a sink may be late, before the producer waits for
it: the back-pressure."""
SEGMENTS_LIMIT = 64
"""Segments that a batch may read from one stream."""
HEARTBEAT_LIMIT = 20.0
"""Seconds without a heartbeat after which a running host counts as dead."""
ENTERED_LIMIT = 15.0
"""Seconds in which the process that redeploys starts the hosts that are new, unless it has died."""
START_LIMIT = 90.0
"""Seconds a host may take from launch to its first heartbeat."""
AGENT_LIMIT = 15.0
"""Seconds in which the agent of a machine starts a host that is to run there, unless the machine is lost."""
LEASE_SECONDS = 15.0
"""Seconds that a machine counts as up after its agent has renewed its lease."""
AHEAD_SECONDS = 5.0
"""Seconds by which a time in the catalog may lie in the future although no clock was set back."""
HOLD_SECONDS = 30.0
"""Seconds after which a hold expires unless it is renewed, since the process that drains may die."""
