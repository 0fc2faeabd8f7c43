"""Redeploying: another plan replaces the deployed one, with its states; and hosts are moved between machines.

A redeploy replaces the *deployed plan*, which runs, by a *new plan*. The plan that it has replaced is the *previous
plan*. `compiler/redeployment/` decides about the state of every operator; this package carries the decision out while
the application runs. `redeploying.py` has one function for each phase. `redeploy` refuses a plan that would lose
state. Its call of `replace_plan` carries out the phases 1 to 3; the phases 4 and 5 follow.

`replace_plan` begins with a dry run (`rehearse`), which converts the current states and discards the result. So a state
that does not fit is refused, and the code that divides states is loaded, before the application pauses. `predicting.py`
predicts the length of the pause. Then:

1. **Drain** (`draining.py`). The units that change are held. Their sources produce nothing, and they stop reading
   streams of the units that run on. Regions close their epochs at once. In the end, no tuple is unread between the held
   units, and their outputs are visible. A failed unit is rolled back to its last cut. A region whose epochs only its
   trigger operator ends continues to its next cut, or is rolled back to its last one after some seconds (decision
   0034). If the process dies, the hold expires.
2. **Carry over** (`state_migration.py`). The states of this cut are read, and the states of the new plan that differ
   are written. `rescaling.py` carries out a move on states that were read, and writes nothing. It converts types,
   proves the keys of the stored states with the old splitters, calls the operator to divide them (`Operator.rescale`),
   and proves the result with the new splitters (decision 0029). `SplitterRoute` uses the hash function of the splitters
   themselves.
3. **Switch** (`switching.py`). One transaction replaces the rows of these units. Each PE gets a boundary commit whose
   batch and epoch are higher than all earlier ones. The commit names the states and positions to continue from, so a
   reset before the first epoch of the new plan returns to the same place. All generations rise, which fences off the
   old queries. Epochs, batches and generations never decrease over all plans. The row of the application has the
   highest of each, so a sink that is removed and later added again continues above its old numbers. A completed unit
   stays completed. A connection with another application names operators instead of numbers, so both plans have it. A
   connection that the new plan of the exporter ends keeps the number of its last segment, and is deleted when that
   segment is read.
4. **Start.** Each host sees the new plan, loads its programs, and replaces queries of older generations. A host without
   PEs ends, and new hosts are started. Units that run on are not touched.
5. **Trial** (`trials/trial.py`). Epochs that the changed units complete are not shown to others (`unit.shown_epoch`)
   until each of these units has completed an epoch. Any process that observes the units may decide the trial.
   `trials/previous_plan.py` keeps the rows of the previous plan, and restores them if the trial fails (decision 0041).
   The process that redeploys waits, and restarts failed hosts and units meanwhile (`trial_supervision.py`).
"""
