"""Storages of operators' files: this machine, or an object store.

`port.py` has the methods of a storage, `local.py` and `remote.py` implement them, `storages.py` chooses one by a path.
"""
