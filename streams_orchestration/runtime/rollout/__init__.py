"""The use cases that put a plan in place: run, deploy, redeploy, restore and revert.

`deploy_plan` (`deploying.py`) writes an application into the catalog, in one course for each kind of request. If its
plan replaces another one, `redeploy` also starts the hosts and waits for the decision of the trial, since the trial
needs the start lock. Afterwards the caller starts the missing hosts by `launch_hosts`. Dagster does so in a step of its
own, so that a retry does not start over twice.

An application is compiled and checked once for a deployment: deploying, redeploying and restoring accept a `Deployable`
only (`compiler/checking/deployable.py`, decision 0068). A deployment writes the program of each PE into the row of the
PE, and the plan document into the row of the application. A host only loads the programs. `streams run` launches the
hosts before it loads Dagster; the run of `APP__redeploy` stores the compilation in Dagster when the engines of the
hosts are up.
"""
