"""The second stage: expands parallel regions into replicas with splitters in front of their channels."""
