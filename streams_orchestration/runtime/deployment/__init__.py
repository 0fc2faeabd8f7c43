"""Deploys compiled applications: writes their wanted state into the catalog, starts their hosts, and resets units.

Nothing here runs on its own. Commands, Dagster's ops and sensor, and hosts call these functions, and any of them may
repeat a call that another process has begun.

**A deployment** begins with a request (`requests.py`), under the start lock. `open_application` (`opening.py`) creates
a missing catalog, and checks that hosts can run on this machine. `deployment.py` writes the wanted state: the rows of
the application, and of its PEs, units, hosts and sinks. `query_columns.py` and `run_kinds.py` add the output columns of
Spark's queries, and the end of a bounded run. Before a complete application runs again, `source_probing.py` finds out
if its sources have more input.

**Hosts** are rows before they are processes. A row is claimed in a transaction, and the process is started after it
(`claims.py`), so that concurrent callers start each host once. `launch_hosts` (`control.py`) claims all missing hosts,
and marks the units of dead hosts as failed. `awaiting.py` waits for engines and PEs. `host_relocation.py` and
`silent_machines.py` decide for a host whose machine cannot use its files, or does not answer.

**A reset** (`reset.py`) ends hosts that are of no use, records that the reset is taken up, and starts missing hosts.
The first process that sees all hosts run rolls the unit back. `awaiting_reset.py` waits until the unit works.

**An end** is a stop, which keeps all state (`control.py`), a drop of the state before an application starts over
(`dropping.py`), or a removal for good (`removing.py`).
"""
