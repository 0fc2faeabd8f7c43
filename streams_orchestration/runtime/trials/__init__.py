"""The trial of a redeploy: the verdict on the new plan, and the rows of the previous plan, which a revert restores.

Any process that watches an application decides its open trial (`advancing.py`), also a host. So this package is below
`hosts/`, and `redeployment/`, which opens and awaits trials, is above it (decision 0041).
"""
