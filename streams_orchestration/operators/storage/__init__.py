"""Storage of operators' files: this machine, or an object store.

`local.py` and `remote.py` have the two kinds of storage, and `storages.py` chooses one by path. `port.py` has their
files and errors.
"""
