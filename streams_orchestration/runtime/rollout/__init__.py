"""The use cases that put a plan in place: run, deploy, redeploy, restore and revert.

`bring_up` (`bringing_up.py`) has two halves. `write_wanted` writes an application into the catalog, in one course for
each kind of request. Then its missing hosts are started: by `launch_hosts`, or by `try_out`, which also awaits the
trial, if the plan has replaced another one. Dagster calls `write_wanted` and `launch_hosts` in steps of their own, so
that a retry does not start over twice; a plan on trial is tried out in the first step, under the start lock.

An application is compiled and checked once for a deployment: deploying, redeploying and restoring accept a `Deployable`
only (`compiler/checking/deployable.py`, decision 0068). A deployment writes the program of each PE into the row of the
PE, and the plan document into the row of the application. A host only loads the programs. `streams run` launches the
hosts before it loads Dagster; the run of `APP__redeploy` stores the compilation in Dagster when the engines of the
hosts are up.
"""
