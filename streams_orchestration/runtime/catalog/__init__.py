"""The catalog: one SQL database, in SQLite or PostgreSQL, that is the authority on every application.

`catalog.py` provides transactions. `database.py` is the interface of a database that can hold a catalog; `sqlite.py`
and `postgresql.py` implement it. `open_catalog` opens the catalog and checks its version. A function that is called
repeatedly gets the open catalog, which knows the state directory. A function that a command calls once may get the
state directory alone, and opens the catalog itself.

**Transactions.** A reader sees one consistent state and never waits. Writers take turns from the beginning of a
transaction to its commit: in SQLite by `BEGIN IMMEDIATE`, in PostgreSQL by locks that are taken before the snapshot. So
a transaction may read, decide and write as if it were alone. A transaction must be short, and its statements must suit
both databases: `Count` for numbers that may exceed 32 bits, `upsert`, `ORDER BY` where the order matters, `int()`
around a sum.

**Locks.** Frequent transactions write the rows of one unit and lock only that unit (`write_unit`): commits, steps of
the state machine, publishing, garbage collection. `write` locks everything; it is for deploying, switching plans,
dropping, and connecting applications. In PostgreSQL, `write_unit` takes the lock of `write` in a shared mode, and then
an advisory lock for the unit. A transaction takes both locks at its beginning, for one unit at most, and two writers of
units never write the same rows. So writers cannot wait for each other in a circle (decision 0061). The rows of other
units may change while such a transaction reads them. The transaction may rely only on values that never decrease, such
as the cut of a reader. A segment counts as a row of the unit that wrote it.

**Statements.** Frequent statements are constants of their modules, because making a statement takes longer than running
it. Their values are bound parameters.

**Changes of rows.** The rows of applications, hosts, units, PEs, sinks and trials are changed by the functions of
`application_transitions.py`, `host_transitions.py`, `unit_transitions.py`, `pe_transitions.py`, `sink_transitions.py`
and `trial_transitions.py`, one for each act. So the same act writes the same columns, whichever process carries it out.

**Commits of batches.** A commit reads with one statement, and sends its rows without waiting for an answer to each
(`together`). A counter in the unit's row tells the last PE that closes an epoch, which then calls the state machine
(decision 0062).

**Lost connections.** A connection may be lost at any statement. A transaction that has not begun gets a new connection
within a few seconds. A transaction that has begun has changed nothing (`CatalogUnavailableError`). If the connection is
lost during the commit, the outcome is unknown (`CommitUnknownError`). A long-running process repeats its transaction
(`outage.py`), so a transaction that runs twice must change nothing the second time. The planner gives every batch a
token, by which the repeated commit recognises a batch that is committed already. `test_lost_connections.py` ends the
session at every statement and around every commit, and compares the catalog with the catalog of an undisturbed run.

**Notifications.** Planners, hosts and publishers do not poll the catalog. The commit of a write transaction is notified
(`changes.py`): PostgreSQL sends a notification, which names the changed unit; for SQLite, the times of a file beside
the database are set. The processes listen, and check without a notification only now and then, for safety. A process
pauses after a check that found nothing, so a busy catalog wakes it at most some ten times a second (decision 0028). A
command or op that waits for units, Dagster's sensor and the console poll the catalog.

**Upgrades.** A new catalog is created from `tables.py`, which makes most tables of the dataclasses in `rows.py`. An
older catalog goes through the migrations in `migrations/versions` in one transaction, while no host lives
(`upgrading.py`). CONTRIBUTING.md says how a table is changed.
"""
