"""Units of recovery: the state machine of a consistent region, its controller, and the roll back.

**State.** A region has the states, counters and timeouts of Streams. The record of a unit is its row in the catalog.
One pure function in `region_machine.py` implements the machine: (record, event) -> record. `health.py` reads the PEs of
a unit and judges its hosts, heartbeats and failed queries; `unit_facts.py` finds the events that these facts show.
`controller.py` passes new facts to the machine as events, writes the record and rolls the unit back if a reset begins,
all in one transaction. It keeps nothing in memory, and a timer is a deadline in the row. So any process may call it:
every host, Dagster's sensor, `streams run`, `streams reset`, and the commit that closes an epoch.

`STOPPED` and `COMPLETED` are not states of the machine. They mark the row of a unit whose hosts end, and the machine
takes no step of such a unit. A stopped unit enters `STARTED` by an event of the machine, and so does a unit whose hosts
move or that a redeploy takes back: its PEs continue in a new generation (`begin_again`, `take_back`). For a PE outside
of regions every batch ends an epoch. The commit writes this into the record itself, and saves a step of the machine.

**Closing an epoch.** The open epoch is closed when the period has passed since the end of the last drain or reset. A PE
with a start operator ends its batch at that point. Every other PE ends the epoch when it has read the epoch's boundary
on all its streams of the region. No batch crosses a boundary. The last PE whose commit carries the boundary also
records the cut. Result files become visible after that, never before (`sinks/publishing.py`). When the cut of a unit
has moved, `garbage.py` deletes the rows and files that no cut needs.

**The last epoch.** When all start operators are exhausted, the next epoch is the last one. Final punctuation follows
the tuples, the operators flush, and the epoch completes. Then the results are published and the queries stop.

**Failures.** One pure function judges the hosts and PEs of a unit (`health_of` in `health.py`): the state machine,
the report of failures and the launch of hosts ask it. `find_reset_cause` decides which units need a reset, and
`decide_resets` which resets to begin (`reset_decisions.py`); both are pure. Two other questions are not about a unit:
whether a start has failed (`deployment/awaiting.py`), and whether a new plan may be the cause of a failure
(`trials/trial.py`). Each unit is judged by itself. The first process that detects a failure begins the reset, by a call
that may be repeated (`deployment/reset.py`), and the generation makes a second request harmless. Beginning a reset and
waiting for its PEs are separate calls, so one slow reset delays no other. A host that dies during a reset is a new
failure of the same unit.

**Resets.** The commits of a region are refused from the moment at which the region becomes `UNHEALTHY`. The process
that begins the reset kills hosts that hang, and starts missing hosts. It starts them first, because that takes longest,
and then stops processes that dead hosts have left. The first process that sees all hosts run rolls the region back
(`roll_back.py`). This is one transaction: it raises the generation of the region, deletes all commits after the cut
with the files that they name, and sets every PE to the cut. The open epoch gets a number that was never used. The PEs
continue in the new generation. Every step may be repeated: if a process dies during a reset, the next call of any
process completes it. Rolling back selects an older commit, so a crash leaves either the old state or the new one.

**Repeated failures.** The state machine counts resets by the *kind* of their cause (`catalog/cause_kinds.py`): the code
of an operator, a host, a time limit. Each kind has `maxConsecutiveResetAttempts` resets until an epoch completes. A
cause outside of the application, such as an unavailable service, is limited by time instead of by number (decision
0079). `operators/errors/external_errors.py` recognises these errors in the task that meets them. An error caused by the
data, such as a malformed row, would recur after a reset; it stops the application and names the place. An exception of
an operator is kept in the row of its PE over resets (`judged_failures.py`). If it recurs at the same tuples, the
error says so, and an application with a pure operator stops; at other tuples, resets come later each time.
"""
