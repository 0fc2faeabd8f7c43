"""Where files of operators lie: on this machine, or in an object store.

`port.py` says what is asked of a storage, `local.py` and `remote.py` do it, `addresses.py` says which one a path means.
"""
