"""The second stage: parallel regions become replicas, with splitters in front of their channels."""
