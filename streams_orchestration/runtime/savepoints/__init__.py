"""Savepoints: the positions and states of an application at a cut, each in a directory of its own.

Taking a savepoint (`creating.py`) is the first half of a redeploy. All units are held and drained, so states and
positions describe the application completely, and no stream between units holds unread tuples. The state files, which
never change, get second names in the directory of the savepoint. Garbage collection removes only the first names.
States that are in the catalog are written as files. Then the application runs on, while every file is read, checked and
described in the manifest.

Starting from a savepoint (`restoring.py`) is the second half. The plan of the savepoint is compared with the new plan,
and states are carried over as in a redeploy. One transaction enters the application, with its units at the savepoint's
epoch (`redeployment/switching.py`). `restore_checks.py` makes all refusals first, such as the refusal of a target that
another application has.

`atomic_places.py` fills a directory beside its final place, under a lock, and renames it when the manifest is written.
An object store has no rename; there, a savepoint exists while its manifest does, which is written last and removed
first (decision 0033).
"""
