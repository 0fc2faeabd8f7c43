"""The use cases that put a plan in place: run, deploy, redeploy, restore and revert."""
