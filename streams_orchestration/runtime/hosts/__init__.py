"""Hosts: the processes that run queries. They are started, identified, watched and stopped here."""
