"""The compiler: pure functions that turn an application into a plan, with one package for each stage.

One value describes a stage (`stage.py`), in the module `stage` of its package: its name, the stages whose results it
reads, its function, its *invariant*, its section of the plan document, and its summary. The compiler runs the list in
`stages.py`, Dagster has an asset with a check for each entry, and the plan document has the sections.

The invariant is a condition on the result, which is computed again from the inputs. Dagster checks it, and
`open_application` again before a deployment, redeploy, restore or revert, so a defect of the compiler cannot reach the
catalog. The tests check it for every application that they compile (decision 0025).

The rules of Streams that the compiler follows have numbers. A docstring cites the number of the rule that it
implements; `docs/rules.md` explains each rule.
"""
