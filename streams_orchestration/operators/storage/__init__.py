"""Storage of operators' files: this machine, or an object store.

`port.py` defines the interface, `local.py` and `remote.py` implement it, and `storages.py` chooses an implementation by
path.
"""
