"""What has to share a PE or a host, what must not, and what contradicts itself in that."""
