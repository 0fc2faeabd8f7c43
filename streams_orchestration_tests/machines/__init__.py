"""Several machines on one: each has a network and a process table of its own, and a link that can be cut."""
