"""The machines on which hosts run: their register, the placing of hosts, and the agent that starts hosts.

If machines are registered, the process that deploys does not start hosts itself. It chooses a machine for each host by
the host's requirements and the load (`placing.py`), and writes the choice into the row of the host. The agent of that
machine (`agent.py`) reads the row and starts the process. An agent also renews the lease of its machine. When a lease
expires, the hosts of the machine are lost: they are started on other machines, and their units are reset. One leading
agent starts hosts that had to wait for a machine, and moves hosts that are on the wrong machine
(`redeployment/host_rescheduling.py`).

A process sends signals only to processes of its own machine. Times that processes compare are of the database's clock
(`runtime/clocks/clock.py`, decision 0060). When that clock is set back, the first process that sees a time in the
future moves it to now (`units/clock_set_back.py`).

A host also leaves a machine whose files it cannot use while it lives itself, if another machine takes it:

- If PEs fail because of files, their resets are counted for each host and machine (`units/unusable_files.py`). After
  three resets the host starts on a machine with at least three fewer (`deployment/host_relocation.py`).
- If a sink cannot use a file, and no PE needs it, the seconds are counted for each reason (`units/unusable_files.py`).
  The host ends after a minute; after earlier resets the wait doubles, to at most five minutes.
- The ends of a host for this reason count together with the resets. The host returns to that machine only if no other
  one takes it.

The numbers of a region last for ten minutes even if it completes epochs, since an epoch without tuples needs no file.
"""
