"""Hosts: the processes that run queries, how they are started, known, watched and stopped."""
