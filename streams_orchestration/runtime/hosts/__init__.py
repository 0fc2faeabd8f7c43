"""Hosts: the processes that run queries. They are started, identified, watched and stopped here.

A host reads from the catalog what should run, and reports what runs: the state of every PE, and a heartbeat every five
seconds. A heartbeat is not notified and waits for no writer. A host checks the units of its PEs when one of them has
changed, when a timer has run out, or when a query has ended; at most ten times a second. It checks all units of the
application every ten seconds, and when another host has died (`unit_observer.py`).

A host listens to the notifications of the catalog for all its planners (`planner_notifier.py`), and wakes only those
that await the changed unit (decision 0065). A source says when it may have tuples again, and until then its PE plans no
batch.
"""
